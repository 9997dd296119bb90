/* A timeline made of a capture and a dataset by hand: ranks 0 to ranks - 1 of one exact clock, with steps that the test sets. */
#pragma once

#include "aggregate/timeline/timeline_private.h"
#include "core/capture/thread.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

struct made {
	struct pp_capture *c; /* for the makers of tests/unit/capture.h */
	struct pp_dataset d;
	struct pp_timeline t;
	struct pp_timeline_options options;
	struct pp_timeline_maker m;
};

static inline void *kit_rows(size_t n, size_t size)
{
	void *rows = calloc(n + 1, size);

	if (!rows)
		abort();
	return rows;
}

static inline void begin_made(struct made *k, size_t ranks, size_t steps)
{
	*k = (struct made){.c = &k->m.capture};
	k->m = (struct pp_timeline_maker){.options = &k->options, .t = &k->t, .d = &k->d, .capture = make_capture(ranks)};
	k->d.workers = k->t.ranks = ranks;
	k->d.steps = k->t.steps = steps;
	k->d.worker = kit_rows(ranks, sizeof(*k->d.worker));
	k->d.step = kit_rows(steps, sizeof(*k->d.step));
	k->d.cell = kit_rows(steps * ranks, sizeof(*k->d.cell));
	k->t.rank = kit_rows(ranks, sizeof(*k->t.rank));
	k->t.step = kit_rows(steps, sizeof(*k->t.step));
	for (size_t r = 0; r < ranks; r++)
		k->d.worker[r].rank = k->t.rank[r].rank = (int32_t)r;
}

static inline void set_step(struct made *k, size_t s, size_t rank, int64_t number, int64_t begin, int64_t end)
{
	struct pp_row_cell *cell = &k->d.cell[s * k->d.workers + rank];

	k->d.step[s].number = k->t.step[s].number = number;
	cell->begin_ns = begin;
	cell->end_ns = end;
	cell->present = 1;
}

/* The session's ledger: a collective of communicator 77, then its rows. */
static inline void set_ledger(struct made *k, uint32_t sequence, int64_t wait)
{
	struct pp_row_collective *more = realloc(k->d.collective, (k->d.collectives + 1) * sizeof(*more));

	if (!more)
		abort();
	k->d.collective = more;
	more[k->d.collectives++] =
	        (struct pp_row_collective){.communicator = 77, .sequence = sequence, .wait_ns = wait, .row_first = k->d.arrivals};
}

/* A row of the last one: a call that blocks, which waited so long for that rank. The caller may change it. */
static inline struct pp_row_arrival *add_arrival(struct made *k, int32_t rank, int64_t begin, int64_t end, int64_t waited,
                                                 int32_t late)
{
	struct pp_row_arrival *more = realloc(k->d.arrival, (k->d.arrivals + 1) * sizeof(*more));

	if (!more)
		abort();
	k->d.arrival = more;
	k->d.collective[k->d.collectives - 1].row_count++;
	more += k->d.arrivals++;
	*more = (struct pp_row_arrival){.worker = rank,
	                                .arrival_ns = begin,
	                                .exit_ns = end,
	                                .call_begin_ns = begin,
	                                .call_end_ns = end,
	                                .call = (uint32_t)k->d.arrivals,
	                                .waited_ns = waited,
	                                .late_rank = late,
	                                .device_begin_ns = INT64_MIN,
	                                .device_end_ns = INT64_MIN};
	return more;
}

/* The capture's names are the timeline's then. */
static inline void end_made(struct made *k)
{
	k->t.names = k->c->names;
	k->c->names = NULL;
	k->d.names = k->t.names;
	k->m.from_ns = INT64_MIN;
	CHECK_INT(pp_timeline_make(&k->m), 0);
}

static inline void drop_made(struct made *k)
{
	for (size_t r = 0; r < k->c->ranks; r++)
		for (size_t t = k->c->rank[r].threads; t < MADE_THREADS; t++)
			free(k->c->rank[r].thread[t].span);
	pp_timeline_maker_release(&k->m);
	k->d.names = NULL;
	pp_dataset_release(&k->d);
	pp_timeline_release(&k->t);
}

/* The n-th event of this name, from 0; a zeroed one where there is none. */
static inline const struct pp_timeline_event *event_of(const struct pp_timeline *t, const char *name, size_t n)
{
	static const struct pp_timeline_event none = {.name = UINT32_MAX};

	for (size_t i = 0; i < t->events; i++)
		if (!strcmp(pp_intern_text(t->names, t->event[i].name, NULL), name) && !n--)
			return &t->event[i];
	return &none;
}

static inline const struct pp_timeline_detail *detail_of(const struct pp_timeline *t, const char *name, size_t n)
{
	static const struct pp_timeline_detail none = {.last = -99};
	const struct pp_timeline_event *e = event_of(t, name, n);

	return e->name != UINT32_MAX && e->detail ? &t->detail[e->detail - 1] : &none;
}

/* Number of arrows of a kind between these. */
static inline int arrows(const struct pp_timeline *t, enum pp_timeline_flow_kind kind, const struct pp_timeline_event *from,
                         const struct pp_timeline_event *to)
{
	int n = 0;

	for (size_t i = 0; i < t->flows; i++)
		n += t->flow[i].kind == (uint32_t)kind && (!from || &t->event[t->flow[i].from] == from) &&
		     (!to || &t->event[t->flow[i].to] == to);
	return n;
}
