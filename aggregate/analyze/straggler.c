/* What is known of the rank that the others wait for most: for whom it waited itself, and how often it lost its core. Called when
 * all parts of a dataset are in: by late.c and settle.c. */
#include "aggregate/analyze/straggler.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/waiting.h"
#include "core/source/mpi_call.h"

/* Its row in a collective of the steps' communication; UINT32_MAX: it has none. */
static uint32_t row_of(const struct pp_dataset *d, const struct pp_collective *c, int32_t rank)
{
	if (c->step == INT64_MIN || pp_mpi_class_is_file(pp_mpi_call_info(c->call)->class))
		return UINT32_MAX;
	for (uint32_t i = 0; i < c->row_count; i++)
		if (d->row[c->row_first + i].worker == rank)
			return i;
	return UINT32_MAX;
}

/* waited_ns: [workers] what it waited for each of them. */
static int sum_waits(const struct pp_dataset *d, int32_t rank, int64_t *waited_ns)
{
	struct pp_waiting w = {.d = d};
	int rc = 0;

	for (size_t i = 0; i < d->collectives && rc == 0; i++) {
		struct pp_collective c = d->collective[i];
		uint32_t at = row_of(d, &c, rank);

		if (at == UINT32_MAX)
			continue;
		rc = pp_waiting_solve(&w, &c);
		if (rc == 0 && w.row[at].blame >= 0)
			waited_ns[w.row[at].blame] += pp_wrap_minus(w.row[at].until, d->row[c.row_first + at].arrival_ns);
	}
	pp_waiting_release(&w);
	return rc;
}

int pp_dataset_straggler(struct pp_dataset *d)
{
	struct pp_straggler *s = &d->straggler;
	int64_t exposed = 0, *waited_ns;
	size_t who, most = 0;

	*s = (struct pp_straggler){.waited_for = -1};
	if (!d->workers || !d->late || d->late[0].wait_ns <= 0)
		return 0;
	who = pp_dataset_worker(d, d->late[0].rank);
	waited_ns = calloc(d->workers, sizeof(*waited_ns));
	if (!waited_ns || sum_waits(d, d->late[0].rank, waited_ns) < 0) {
		free(waited_ns);
		return -ENOMEM;
	}
	for (size_t i = 0; i < d->workers; i++)
		if (waited_ns[i] > waited_ns[most])
			most = i;
	for (size_t i = 0; i < d->steps; i++) {
		exposed += d->cell[i * d->workers + who].wait_ns;
		if (d->process && d->process[i * d->workers + who].present)
			s->involuntary += d->process[i * d->workers + who].involuntary;
	}
	if (waited_ns[most] > 0 && exposed > 0) {
		s->waited_for = d->worker[most].rank;
		s->waited_ns = waited_ns[most] < exposed ? waited_ns[most] : exposed; /* work hid the rest */
	}
	free(waited_ns);
	return 0;
}
