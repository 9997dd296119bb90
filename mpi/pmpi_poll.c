/* Merges unsuccessful polls. Called by the Test and Iprobe wrappers, and before the next record. */
#include "mpi/pmpi_poll.h"

#include "mpi/pmpi_announce.h"

static pp_tick gap = PP_POLL_GAP_NS, longest = PP_POLL_LONGEST_NS;

void pp_poll_start(pp_tick ticks, pp_tick raw_ns)
{
	double rate = raw_ns ? (double)ticks / (double)raw_ns : 1;

	if (rate < 0.001 || rate > 100) /* the thread was interrupted between the readings */
		rate = 1;
	gap = (pp_tick)(rate * PP_POLL_GAP_NS);
	longest = (pp_tick)(rate * PP_POLL_LONGEST_NS);
}

void pp_poll_end(struct pp_mpi_thread *t)
{
	t->poll.mpi.sequence = t->polls;
	t->polls = 0;
	pp_mpi_append(t, &t->poll);
}

/* Inside a call (a step mark of a reduction's operator, a signal handler) they stay: the call may be using them. */
void pp_poll_flush(void)
{
	struct pp_mpi_thread *t = &pp_mpi_thread;

	if (t->depth)
		return;
	if (t->polls)
		pp_poll_end(t);
	/* fetched again at the next call: after the thread's end another one may own its ring */
	t->where = NULL;
	t->cursor = NULL;
}

/* Adds a poll of the same wait. Fields in which the polls differ are cleared. */
static void merge(struct pp_mpi_thread *t, const struct pp_mpi_scope *s, pp_tick end)
{
	struct pp_record_mpi *m = &t->poll.mpi;

	if (m->comm != (s->comm ? s->comm->id : 0)) {
		m->comm = 0;
		m->peer = -1;
	} else if (m->peer != s->peer) {
		m->peer = -1;
	}
	m->end = end;
	t->polls++;
}

void pp_poll(struct pp_mpi_scope *s, pp_tick end)
{
	struct pp_mpi_thread *t = s->thread;
	const struct pp_record *next = t->cursor ? t->cursor->next : NULL;
	struct pp_record *r = &t->poll;

	if (t->polls && t->poll_next == next && s->begin - r->mpi.end < gap && end - r->tick < longest) {
		merge(t, s, end);
		return;
	}
	if (t->polls)
		pp_poll_end(t);
	if (s->comm && atomic_load_explicit(&s->comm->announced, memory_order_relaxed) != PP_COMM_ANNOUNCED_ALL)
		pp_comm_announce(s->comm);
	*r = (struct pp_record){.tick = s->begin, .kind = PP_RECORD_MPI};
	r->mpi.end = end;
	r->mpi.comm = s->comm ? s->comm->id : 0;
	r->mpi.peer = s->peer;
	r->mpi.call = s->call;
	r->mpi.flags = (uint16_t)(s->flags | PP_MPI_POLLS);
	t->polls = 1;
	t->poll_next = t->cursor ? t->cursor->next : NULL;
}
