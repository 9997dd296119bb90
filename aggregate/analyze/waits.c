/* Runs the rule of waiting over a session that was read back; see waits.h. */
#include "aggregate/analyze/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/request.h"
#include "core/base/compare.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"

struct finder {
	struct pp_join j;
	struct pp_dataset_input in;
	struct pp_dataset d;              /* a view: only `collective` and `arrival` are its own */
	struct pp_row_collective *ledger; /* of the session, by communicator and sequence */
	struct pp_requests *requests;     /* [ranks] */
	struct pp_waits *to;
};

static int compare_operation(const void *a, const void *b)
{
	struct pp_operation_key x = pp_operation_key_of(a), y = pp_operation_key_of(b);

	return pp_operation_compare(&x, &y);
}

static int init(struct finder *f, const struct pp_capture *c, const struct pp_dataset *d)
{
	f->j.run = calloc(c->ranks + 1, sizeof(*f->j.run));
	f->j.worker_of = calloc(c->ranks + 1, sizeof(*f->j.worker_of));
	f->j.rank_of = calloc(d->workers + 1, sizeof(*f->j.rank_of));
	f->ledger = malloc((d->collectives + 1) * sizeof(*f->ledger));
	f->requests = calloc(c->ranks + 1, sizeof(*f->requests));
	if (!f->j.run || !f->j.worker_of || !f->j.rank_of || !f->ledger || !f->requests)
		return -ENOMEM;
	for (size_t w = 0; w < d->workers; w++)
		f->j.rank_of[w] = -1;
	for (size_t r = 0; r < c->ranks; r++) {
		f->j.worker_of[r] = (uint32_t)pp_dataset_worker(d, c->rank[r].rank);
		f->j.rank_of[f->j.worker_of[r]] = (int32_t)r;
		if (pp_requests_init(&f->requests[r], &c->rank[r]))
			return -ENOMEM;
	}
	for (size_t i = 0; i < d->collectives; i++)
		f->ledger[i] = d->collective[i];
	qsort(f->ledger, d->collectives, sizeof(*f->ledger), compare_operation);
	return 0;
}

static void release(struct finder *f, size_t ranks)
{
	for (size_t r = 0; f->requests && r < ranks; r++)
		pp_requests_release(&f->requests[r]);
	free(f->j.run);
	free(f->j.worker_of);
	free(f->j.rank_of);
	free(f->j.member);
	free(f->d.collective);
	free(f->d.arrival);
	free(f->ledger);
	free(f->requests);
}

static struct pp_place place_of(const struct finder *f, const struct pp_member *m)
{
	return (struct pp_place){(uint32_t)f->j.rank_of[m->worker], m->thread, m->span};
}

PP_COMPARE_BY(compare_worker, struct pp_member, worker)

/* The call of the awaited worker in the operation `c`, whose members are ordered by worker. */
static struct pp_place last_of(const struct finder *f, const struct pp_row_collective *c, int32_t worker)
{
	const struct pp_member key = {.worker = (uint32_t)worker},
	                       *m = bsearch(&key, &f->j.member[c->row_first], c->row_count, sizeof(*m), compare_worker);

	return m ? place_of(f, m) : (struct pp_place){.span = UINT32_MAX};
}

static void add_wait(struct finder *f, const struct pp_row_collective *c, size_t i, int is_known)
{
	const struct pp_member *m = &f->j.member[i];
	struct pp_wait *w = &f->to->wait[f->to->waits];
	const struct pp_done *done;

	f->to->waits++;
	*w = (struct pp_wait){.call = place_of(f, m), .is_message = m->key.is_message, .is_known = is_known, .last_rank = -1};
	if (!is_known)
		return;
	w->until_ns = m->waited.until;
	w->bound_ns = m->waited.bound_ns;
	w->waiter = w->call;
	w->last.span = UINT32_MAX;
	if (m->key.is_message ? m->request != 0 : pp_mpi_call_info(m->call)->nonblocking) {
		done = pp_requests_find(&f->requests[w->call.rank], m->request);
		w->waiter.span = UINT32_MAX;
		if (done && done->wait_span != UINT32_MAX)
			w->waiter = (struct pp_place){w->call.rank, done->wait_thread, done->wait_span};
	}
	if (m->waited.waits_for >= 0) {
		w->last = last_of(f, c, m->waited.waits_for);
		w->last_rank = f->d.worker[m->waited.waits_for].rank;
	}
}

/* Rows of an operation are its members, in their order. */
static void add_operation(struct finder *f, const struct pp_row_collective *c, size_t ledgers)
{
	const struct pp_row_collective *row = bsearch(c, f->ledger, ledgers, sizeof(*row), compare_operation);
	int known = row && row->wait_ns == c->wait_ns && row->transfer_ns == c->transfer_ns;

	for (size_t i = c->row_first; i < c->row_first + c->row_count; i++)
		add_wait(f, c, i, known && !f->j.member[i].waited.is_unsplit);
}

int pp_waits_find(const struct pp_capture *capture, const struct pp_dataset *d, struct pp_waits *ret)
{
	struct finder f = {.d = *d, .to = ret};
	int rc;

	*ret = (struct pp_waits){.wait = NULL};
	f.d.collective = NULL;
	f.d.arrival = NULL;
	f.d.collectives = f.d.arrivals = 0;
	f.in.capture = capture;
	f.j.in = &f.in;
	f.j.d = &f.d;
	rc = init(&f, capture, d);
	if (!rc)
		rc = pp_join_collectives(&f.j);
	if (!rc) {
		ret->wait = calloc(f.j.members + 1, sizeof(*ret->wait));
		rc = ret->wait ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < f.d.collectives && !rc; i++)
		add_operation(&f, &f.d.collective[i], d->collectives);
	release(&f, capture->ranks);
	if (rc)
		pp_waits_release(ret);
	return rc;
}

void pp_waits_release(struct pp_waits *w)
{
	free(w->wait);
	*w = (struct pp_waits){.wait = NULL};
}
