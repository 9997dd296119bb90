/* What parts of a dataset left open, once all are in: collectives of several hosts, and the waiting of every call for them. The
 * rule is waiting.c's, as for a keeper that has all ranks. Called by merge.c. */
#include "aggregate/dataset/settle.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/straggler.h"
#include "aggregate/analyze/waiting.h"

/* A Wait and one of the operations that it waits for. */
struct shared {
	uint32_t exposed;
	int known; /* by its own host alone */
	struct pp_waited waited;
};

struct settle {
	struct pp_dataset *d;
	struct pp_waiting waiting;
	struct shared *shared;
	size_t n;
};

static void charge_call(struct pp_dataset *d, const struct pp_waited *waited, size_t exposed)
{
	for (int more = 1; more && exposed < d->exposeds; exposed++) {
		const struct pp_exposed *e = &d->exposed[exposed];

		more = e->more;
		if (e->step < d->steps)
			pp_waiting_charge(d, waited, e->step, e->begin_ns, pp_wrap_plus(e->begin_ns, e->length_ns));
	}
}

static void settle_rows(struct settle *s, const struct pp_collective *c)
{
	for (uint32_t i = 0; i < c->row_count; i++) {
		struct pp_collective_row *row = &s->d->row[c->row_first + i];
		struct pp_waited waited = s->waiting.row[i];

		if (!row->exposed)
			continue;
		if (waited.blame < 0) /* it waited for nobody: of a Wait too that began before the operation, on another thread */
			waited.until = INT64_MIN;
		if (waited.is_unsplit)
			; /* neither waiting nor transfer */
		else if (row->shared)
			s->shared[s->n++] = (struct shared){.exposed = row->exposed - 1, .waited = waited};
		else
			charge_call(s->d, &waited, row->exposed - 1);
		row->exposed = 0;
		row->shared = 0;
	}
}

static int compare_shared(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;

	if (x->exposed != y->exposed)
		return x->exposed < y->exposed ? -1 : 1;
	return x->known - y->known;
}

/* A Wait for several operations waits for the last of them. */
static void settle_shared(struct settle *s)
{
	struct pp_dataset *d = s->d;

	for (size_t i = 0; i < d->awaiteds; i++) {
		const struct pp_awaited *a = &d->awaited[i];
		size_t blame = pp_dataset_worker(d, a->blame);

		if (blame != SIZE_MAX)
			s->shared[s->n++] =
			        (struct shared){a->exposed, 1, {a->until_ns, 0, (int32_t)blame, d->worker[blame].own_bound_ns}};
	}
	qsort(s->shared, s->n, sizeof(*s->shared), compare_shared);
	for (size_t i = 0, n; i < s->n; i += n) {
		struct pp_waited last = s->shared[i].waited;

		for (n = 1; i + n < s->n && s->shared[i + n].exposed == s->shared[i].exposed; n++) {
			const struct pp_waited *one = &s->shared[i + n].waited;

			if (!pp_waiting_is_later(one->until, one->blame, last.until, last.blame))
				continue;
			last.until = one->until;
			last.blame = one->blame;
			last.bound_ns = one->bound_ns;
		}
		if (!s->shared[i].known)
			charge_call(d, &last, s->shared[i].exposed);
	}
}

/* People read collectives as they came. */
static int compare_first(const void *a, const void *b)
{
	const struct pp_collective *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->row_first > y->row_first) - (x->row_first < y->row_first);
}

int pp_dataset_settle(struct pp_dataset *d)
{
	struct settle s = {.d = d, .waiting = {.d = d}};
	size_t shared = 0;
	int rc = 0;

	for (size_t i = 0; i < d->rows; i++)
		shared += d->row[i].shared;
	s.shared = calloc(shared + d->awaiteds + 1, sizeof(*s.shared));
	if (!s.shared)
		return -ENOMEM;
	for (size_t i = 0; i < d->collectives && rc == 0; i++) {
		rc = pp_waiting_solve(&s.waiting, &d->collective[i]);
		if (rc == 0)
			settle_rows(&s, &d->collective[i]);
	}
	if (rc == 0)
		settle_shared(&s);
	d->violations = s.waiting.violations;
	d->unsplit = s.waiting.unsplit;
	d->doubled = s.waiting.doubled;
	d->mixed = s.waiting.mixed;
	d->causality = s.waiting.causality;
	pp_waiting_release(&s.waiting);
	free(s.shared);
	if (rc < 0)
		return rc;
	free(d->exposed);
	free(d->awaited);
	d->exposed = NULL;
	d->awaited = NULL;
	d->exposeds = d->awaiteds = 0;
	if (d->collectives)
		qsort(d->collective, d->collectives, sizeof(*d->collective), compare_first);
	free(d->late);
	d->late = NULL;
	rc = pp_dataset_late(d);
	return rc < 0 ? rc : pp_dataset_straggler(d);
}
