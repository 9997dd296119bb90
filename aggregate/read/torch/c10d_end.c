/* Finds when collectives were complete: assigns ranges of the backend's threads to the calls that queued them. Called by c10d.c.
 * A process group of gloo has a queue and threads of its own, which serve it in order. No record names a thread's group: where
 * only one group has something in its queue when a thread begins, the thread belongs to that group. */
#include "aggregate/read/torch/c10d_end.h"

#include <errno.h>
#include <stdlib.h>

#include "core/capture/capture.h"
#include "core/capture/side.h"

enum { QUEUES_MOST = 256 };

struct queue { /* calls of one group and operation, in order; comm 0: the group is unknown */
	uint64_t comm;
	uint16_t operation;
	uint32_t first, last; /* index + 1, 0: none */
};

struct guess {         /* the group of a thread */
	uint64_t comm; /* 0: not known */
	uint64_t leads;
	int64_t votes;
};

struct ends {
	struct c10d *c;
	struct queue queue[QUEUES_MOST];
	size_t queues;
	struct guess *guess; /* [threads] */
};

static struct queue *queue_of(struct ends *e, uint64_t comm, uint16_t operation)
{
	for (size_t i = 0; i < e->queues; i++)
		if (e->queue[i].comm == comm && e->queue[i].operation == operation)
			return &e->queue[i];
	if (e->queues == QUEUES_MOST)
		return NULL;
	e->queue[e->queues] = (struct queue){.comm = comm, .operation = operation};
	return &e->queue[e->queues++];
}

static void fill_queues(struct ends *e)
{
	e->queues = 0;
	for (size_t i = 0; i < e->c->calls && i < UINT32_MAX; i++) {
		struct c10d_call *call = &e->c->call[i];
		struct queue *q;

		call->next = 0;
		if (call->enqueued || c10d_is_peer_to_peer(c10d_name_of(e->c, call->span)->call))
			continue;
		q = queue_of(e, call->annotation ? call->annotation->comm : 0, call->operation);
		if (!q)
			continue;
		if (q->last)
			e->c->call[q->last - 1].next = (uint32_t)i + 1;
		else
			q->first = (uint32_t)i + 1;
		q->last = (uint32_t)i + 1;
	}
}

/* The call that a thread of the backend works on: the oldest in a queue that may be its own; NULL: none of this window.
 * *ret_sure: only one queue is possible. */
static struct c10d_call *take(struct ends *e, const struct c10d_work *w, int *ret_sure)
{
	const struct guess *guess = &e->guess[w->thread];
	struct c10d_call *best = NULL;
	struct queue *from = NULL;
	size_t candidates = 0;

	for (size_t i = 0; i < e->queues; i++) {
		struct queue *q = &e->queue[i];
		struct c10d_call *call = q->first ? &e->c->call[q->first - 1] : NULL;

		if (!call || q->operation != w->operation || call->span->begin > w->begin ||
		    (guess->comm && q->comm && q->comm != guess->comm))
			continue;
		candidates++;
		if (!best || call->span->begin < best->span->begin) {
			best = call;
			from = q;
		}
	}
	*ret_sure = candidates == 1;
	if (!best)
		return NULL;
	from->first = best->next;
	if (!from->first)
		from->last = 0;
	return best;
}

/* Each thread's group by majority of the sure calls (Boyer and Moore's vote). */
static void guess_threads(struct ends *e)
{
	fill_queues(e);
	for (size_t i = 0; i < e->c->works; i++) {
		struct guess *guess = &e->guess[e->c->work[i].thread];
		int sure;
		const struct c10d_call *call = take(e, &e->c->work[i], &sure);

		if (!call || !sure || !call->annotation)
			continue;
		if (!guess->votes)
			guess->leads = call->annotation->comm;
		guess->votes += guess->leads == call->annotation->comm ? 1 : -1;
	}
	for (size_t t = 0; t < e->c->rank->threads; t++)
		e->guess[t].comm = e->guess[t].votes ? e->guess[t].leads : 0;
}

int c10d_end(struct c10d *c)
{
	struct ends *e = calloc(1, sizeof(*e));
	int sure;

	if (e)
		e->guess = calloc(c->rank->threads + 1, sizeof(*e->guess));
	if (!e || !e->guess) {
		free(e);
		return -ENOMEM;
	}
	e->c = c;
	guess_threads(e);
	fill_queues(e);
	for (size_t i = 0; i < c->works; i++) {
		struct c10d_call *call = take(e, &c->work[i], &sure);

		c->work[i].call = call && call->annotation && !c->work[i].is_cut;
		if (call && !c->work[i].is_cut)
			call->done = c->work[i].end;
	}
	free(e->guess);
	free(e);
	return 0;
}
