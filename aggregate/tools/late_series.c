/* Delays by step and rank, and robust statistics; see late_series.h. Called by straggler_class.c and late_pattern.c. */
#include "aggregate/tools/late_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/huge.h"

#define EFFECT 0.03    /* of a step: what costs less is nobody's concern */
#define LATE_SHARE 0.5 /* of the range of waits: a rank is late in a step if it waits that much less than its peers */
#define EARLY 0.8      /* quantile of the waits of ranks that are on time; at most this share of ranks is late */
enum { PEERS_LEAST = 3, FIRST_LEAST = 8 };

double pp_quantile(double *value, size_t n, double q)
{
	if (!n)
		return 0;
	qsort(value, n, sizeof(*value), pp_compare_double);
	return value[(size_t)(q * (double)(n - 1) + 0.5)];
}

double pp_chance(double hits, double n, double p)
{
	double f = n > 0 ? hits / n : 0, kl;

	if (f <= p || p <= 0 || n <= 0)
		return p <= 0 && f > 0 ? 0 : 1;
	if (p >= 1)
		return 1;
	kl = f * log(f / p) + (f < 1 ? (1 - f) * log((1 - f) / (1 - p)) : 0);
	return exp(-n * kl);
}

const struct pp_row_cell *pp_late_cell(const struct pp_late_series *k, size_t step, size_t rank)
{
	return &k->in->cell[(k->first + step) * k->ranks + rank];
}

static double at_least_0(int64_t ns)
{
	return ns > 0 ? (double)ns : 0;
}

double pp_late_work(const struct pp_late_series *k, size_t step, size_t rank)
{
	const struct pp_row_cell *c = pp_late_cell(k, step, rank);
	double sum = 0;

	for (int i = 1; i <= PP_CATEGORIES; i++)
		if (i != PP_CATEGORY_HOST_COMMUNICATION && i != PP_CATEGORY_DEVICE_COLLECTIVE)
			sum += at_least_0(c->exclusive_ns[i]);
	return sum;
}

/* What is below its clock error is a tie. Returns the sum of the errors of what is not, over the other ranks. */
static double read_delays(struct pp_late_series *k, const struct pp_table *t)
{
	const struct pp_row_blame_step *row = t->row;
	double error = 0;

	for (size_t i = 0; i < t->rows; i++) {
		size_t s = pp_dataset_step(k->in, row[i].step), w = pp_dataset_worker(k->in, row[i].worker), at;
		double others = (double)(k->ranks - 1), ns = at_least_0(row[i].step_blame_ns),
		       error_ns = at_least_0(row[i].step_error_ns);

		if (s == SIZE_MAX || w == SIZE_MAX || s < k->first || ns <= error_ns)
			continue;
		at = (s - k->first) * k->ranks + w;
		k->delay[at] += ns / others;
		k->reason[at] = row[i].step_reason >= 0 && row[i].step_reason < PP_REASONS ? (uint8_t)row[i].step_reason : 0;
		error += error_ns / others;
	}
	return error;
}

void pp_late_sum_up(struct pp_late_series *k)
{
	for (size_t s = 0; s < k->steps; s++) {
		k->total[s] = 0;
		for (size_t w = 0; w < k->ranks; w++)
			k->total[s] += k->delay[s * k->ranks + w];
	}
}

static void find_step_time(struct pp_late_series *k)
{
	for (size_t s = 0; s < k->steps; s++) {
		double sum = 0, n = 0;

		for (size_t w = 0; w < k->ranks; w++)
			if (pp_late_cell(k, s, w)->present) {
				sum += at_least_0(pp_late_cell(k, s, w)->step_ns);
				n++;
			}
		k->scratch[s] = n > 0 ? sum / n : 0;
	}
	k->step_ns = pp_quantile(k->scratch, k->steps, 0.5);
}

/* Small roles are compared with all ranks of such. */
static int find_groups(struct pp_late_series *k)
{
	size_t *many = calloc(k->in->workers + 1, sizeof(*many)), *place, at = 0;
	const struct pp_row_worker *worker = k->in->worker;

	if (!many)
		return -ENOMEM;
	for (size_t w = 0; w < k->ranks; w++)
		if (worker[w].role >= 0 && (size_t)worker[w].role < k->ranks)
			many[worker[w].role]++;
	for (size_t w = 0; w < k->ranks; w++) {
		int is_large = worker[w].role >= 0 && (size_t)worker[w].role < k->ranks && many[worker[w].role] >= PEERS_LEAST;

		k->group[w] = is_large ? worker[w].role : -1;
	}
	place = calloc(k->ranks + 2, sizeof(*place)); /* counting sort by group + 1 */
	for (size_t w = 0; w < k->ranks && place; w++)
		place[k->group[w] + 1]++;
	for (size_t g = 0; g < k->ranks + 1 && place; g++) {
		size_t n = place[g];

		place[g] = at;
		at += n;
	}
	for (size_t w = 0; w < k->ranks && place; w++)
		k->member[place[k->group[w] + 1]++] = w;
	free(many);
	if (!place)
		return -ENOMEM;
	free(place);
	return 0;
}

size_t pp_late_group_end(const struct pp_late_series *k, size_t from)
{
	size_t end = from + 1;

	while (end < k->ranks && k->group[k->member[end]] == k->group[k->member[from]])
		end++;
	return end;
}

const size_t *pp_late_peers(const struct pp_late_series *k, size_t from, size_t end, size_t *ret_n)
{
	int is_small = end - from < PEERS_LEAST;

	*ret_n = is_small ? k->ranks : end - from;
	return is_small ? k->member : &k->member[from];
}

/* How long ranks on time wait in a step, and how late the latest is; 0: no rank is late. */
static double find_early(struct pp_late_series *k, size_t s, const size_t *peer, size_t peers, double *ret_most)
{
	double early;
	size_t present = 0;

	for (size_t i = 0; i < peers; i++)
		if (pp_late_cell(k, s, peer[i])->present)
			k->scratch[present++] = at_least_0(pp_late_cell(k, s, peer[i])->wait_ns);
	if (present < 2)
		return 0;
	early = pp_quantile(k->scratch, present, EARLY);
	*ret_most = early - k->scratch[0];
	return *ret_most >= k->floor_ns ? early : 0;
}

static void mark_group(struct pp_late_series *k, size_t s, size_t from, size_t end)
{
	double most = 0, early;
	size_t peers;
	const size_t *peer = pp_late_peers(k, from, end, &peers);

	early = find_early(k, s, peer, peers, &most);
	if (early <= 0)
		return;
	for (size_t i = from; i < end; i++) {
		const struct pp_row_cell *c = pp_late_cell(k, s, k->member[i]);
		double less = c->present ? early - at_least_0(c->wait_ns) : 0;

		if (less >= LATE_SHARE * most)
			k->late[s * k->ranks + k->member[i]] = (float)less;
		if (less > 0)
			k->lateness[k->member[i]] += less / (double)k->steps;
	}
	for (size_t i = 0; i < peers && peers > end - from; i++) {
		const struct pp_row_cell *c = pp_late_cell(k, s, peer[i]);

		if (c->present && early > at_least_0(c->wait_ns))
			k->lateness_all[peer[i]] += (early - at_least_0(c->wait_ns)) / (double)k->steps;
	}
}

static void mark_late(struct pp_late_series *k)
{
	size_t end;

	for (size_t i = 0; i < k->ranks; i = end) {
		end = pp_late_group_end(k, i);
		for (size_t s = 0; s < k->steps; s++)
			if (k->total[s] >= k->floor_ns)
				mark_group(k, s, i, end);
	}
}

int pp_late_series_init(struct pp_late_series *k, const struct pp_dataset *in, const struct pp_table *step_delays)
{
	size_t cells;
	double error;

	*k = (struct pp_late_series){.in = in, .ranks = in->workers, .steps = in->steps};
	if (in->steps >= FIRST_LEAST && in->step[0].number <= 1 && in->step[0].number >= 0) /* start-up is in it */
		k->first = 1;
	k->steps -= k->first;
	cells = k->steps * k->ranks;
	k->delay = calloc(cells + 1, sizeof(*k->delay));
	k->reason = calloc(cells + 1, 1);
	k->late = calloc(cells + 1, sizeof(*k->late));
	k->lateness = calloc(k->ranks + 1, sizeof(*k->lateness));
	k->lateness_all = calloc(k->ranks + 1, sizeof(*k->lateness_all));
	k->total = calloc(k->steps + 1, sizeof(*k->total));
	k->scratch = calloc(k->steps + k->ranks + 1, sizeof(*k->scratch));
	k->group = calloc(k->ranks + 1, sizeof(*k->group));
	k->member = calloc(k->ranks + 1, sizeof(*k->member));
	if (!k->delay || !k->reason || !k->late || !k->lateness || !k->lateness_all || !k->total || !k->scratch || !k->group ||
	    !k->member || find_groups(k)) {
		pp_late_series_release(k);
		return -ENOMEM;
	}
	for (size_t i = 0; i < in->collectives && !k->has_messages; i++)
		k->has_messages = in->collective[i].message != 0;
	error = read_delays(k, step_delays);
	pp_late_sum_up(k);
	find_step_time(k);
	k->floor_ns = EFFECT * k->step_ns;
	if (k->steps && error / (double)k->steps > k->floor_ns)
		k->floor_ns = error / (double)k->steps;
	k->floor_ns = k->floor_ns > 1 ? k->floor_ns : 1;
	mark_late(k);
	return 0;
}

void pp_late_series_release(struct pp_late_series *k)
{
	free(k->delay);
	free(k->reason);
	free(k->late);
	free(k->lateness);
	free(k->lateness_all);
	free(k->total);
	free(k->scratch);
	free(k->group);
	free(k->member);
}
