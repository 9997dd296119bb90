/* Sums over the cells of a dataset; see sums.h. */
#include "aggregate/tools/sums.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/dataset.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/wrap.h"

enum { FAR_FROM_MEDIAN = 2 };

/* Median and half IQR: single slow steps do not move them. The quartiles are as far from both ends. */
static void median_of(int64_t *v, size_t n, int64_t *ret_median, int64_t *ret_spread)
{
	*ret_median = *ret_spread = 0;
	if (!n)
		return;
	qsort(v, n, sizeof(*v), pp_compare_int64);
	*ret_median = n % 2 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
	*ret_spread = (v[n - 1 - (n - 1) / 4] - v[(n - 1) / 4]) / 2;
}

int64_t pp_sums_per_step(const struct pp_dataset *d, size_t worker, int64_t ns)
{
	/* how often other ranks may have waited for it */
	int64_t cells = worker < d->workers ? (int64_t)d->steps * (int64_t)pp_dataset_peers(d, worker) : 0;

	return cells ? ns / cells : 0;
}

int pp_sums_of(const struct pp_dataset *d, struct pp_sums *ret_sums)
{
	return pp_sums_of_steps(d, NULL, ret_sums);
}

static void add_cell(struct pp_sums *t, const struct pp_row_cell *c, size_t step, size_t worker)
{
	t->cells++;
	pp_wrap_add(&t->all_ns, c->step_ns);
	pp_known_add(&t->wait_ns, c->wait_ns);
	pp_known_add(&t->transfer_ns, c->transfer_ns);
	pp_wrap_add(&t->worker_ns[worker][0], c->step_ns);
	pp_known_add(&t->worker_wait_ns[worker], c->wait_ns);
	t->worker_steps[worker]++;
	if (c->step_ns > t->step_ns[step])
		t->step_ns[step] = c->step_ns;
	for (int k = 1; k <= PP_CATEGORIES; k++) {
		pp_wrap_add(&t->sum_ns[k], c->exclusive_ns[k]);
		pp_wrap_add(&t->worker_ns[worker][k], c->exclusive_ns[k]);
	}
}

int pp_sums_of_steps(const struct pp_dataset *d, const uint8_t *which, struct pp_sums *ret_sums)
{
	struct pp_sums t = {.step_ns = calloc(d->steps + 1, sizeof(*t.step_ns)),
	                    .worker_ns = calloc(d->workers + 1, sizeof(*t.worker_ns)),
	                    .worker_wait_ns = calloc(d->workers + 1, sizeof(*t.worker_wait_ns)),
	                    .worker_steps = calloc(d->workers + 1, sizeof(*t.worker_steps)),
	                    .worker_kept_ns = calloc(d->workers + 1, sizeof(*t.worker_kept_ns)),
	                    .worker_kept_error_ns = calloc(d->workers + 1, sizeof(*t.worker_kept_error_ns))};
	size_t *peers = calloc(d->workers + 1, sizeof(*peers));
	int64_t steps = 0;
	size_t n = 0;

	if (!peers || pp_dataset_count_peers(d, peers) || !t.step_ns || !t.worker_ns || !t.worker_wait_ns || !t.worker_steps ||
	    !t.worker_kept_ns || !t.worker_kept_error_ns) {
		free(peers);
		pp_sums_release(&t);
		return -ENOMEM;
	}
	t.wait_ns = t.transfer_ns = PP_UNKNOWN;
	for (size_t w = 0; w < d->workers; w++)
		t.worker_wait_ns[w] = t.worker_kept_ns[w] = PP_UNKNOWN;
	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_row_cell *c = &d->cell[i];
		size_t s = i / d->workers, w = i % d->workers;

		if (which && !which[s])
			continue;
		steps += w == 0;

		pp_known_add(&t.worker_kept_ns[w], c->late_ns);
		pp_wrap_add(&t.worker_kept_error_ns[w], pp_known_or(c->late_error_ns, 0));
		if (!c->present)
			continue;
		add_cell(&t, c, s, w);
	}
	for (size_t s = 0; s < d->steps; s++)
		if (t.step_ns[s] > t.longest_ns) {
			t.longest_ns = t.step_ns[s];
			t.longest_step = (int64_t)s;
		}
	for (size_t w = 0; w < d->workers; w++) {
		int64_t cells = steps * (int64_t)peers[w];

		t.worker_kept_ns[w] = pp_known_part(t.worker_kept_ns[w], cells);
		t.worker_kept_error_ns[w] = cells ? (t.worker_kept_error_ns[w] + cells - 1) / cells : 0;
	}
	free(peers);
	for (size_t s = 0; s < d->steps; s++)
		if (!which || which[s])
			t.step_ns[n++] = t.step_ns[s];
	median_of(t.step_ns, n, &t.median_ns, &t.spread_ns);
	*ret_sums = t;
	return 0;
}

struct pp_recording pp_sums_recording(const struct pp_dataset *d, const struct pp_sums *s)
{
	struct pp_recording r = {.record_ns = (double)d->record_cost_ps / 1000};
	double records = 0, kept_ns = 0;

	for (size_t w = 0; w < d->workers; w++) {
		if (!d->worker[w].records || d->worker[w].kept_ns <= 0)
			continue;
		records += (double)d->worker[w].records;
		kept_ns += (double)d->worker[w].kept_ns;
	}
	if (kept_ns <= 0 || !s->cells || s->all_ns <= 0)
		return r;
	r.records = records / kept_ns * ((double)s->all_ns / (double)s->cells);
	r.ns = r.records * r.record_ns;
	r.percent = 100 * records / kept_ns * r.record_ns;
	return r;
}

void pp_sums_release(struct pp_sums *s)
{
	free(s->worker_kept_error_ns);
	free(s->worker_kept_ns);
	free(s->worker_steps);
	free(s->worker_wait_ns);
	free(s->worker_ns);
	free(s->step_ns);
}

size_t pp_sums_most(const struct pp_dataset *d, const struct pp_sums *s, int category)
{
	size_t worst = 0;
	double most = -1;

	for (size_t w = 0; w < d->workers; w++) {
		double mean = s->worker_steps[w] ? (double)s->worker_ns[w][category] / (double)s->worker_steps[w] : -1;

		if (mean > most) {
			most = mean;
			worst = w;
		}
	}
	return worst;
}

int pp_sums_has_longest(const struct pp_dataset *d, const struct pp_sums *s)
{
	return d->steps > 1 && (double)s->longest_ns > FAR_FROM_MEDIAN * (double)s->median_ns;
}

double pp_sums_percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}
