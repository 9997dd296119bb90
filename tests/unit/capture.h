/* Captures made by hand: ranks, threads and spans in job ns. For unit tests of core/step and aggregate/analyze. */
#pragma once

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

enum { MADE_THREADS = 4, MADE_SPANS = 4096 };

static inline struct pp_capture make_capture(size_t ranks)
{
	struct pp_capture c = {.names = pp_intern_new(), .ranks = ranks, .ranks_asked = (int32_t)ranks};

	c.rank = calloc(ranks + 1, sizeof(*c.rank));
	for (size_t r = 0; r < ranks; r++) {
		c.rank[r].rank = (int32_t)r;
		c.rank[r].size = (int32_t)ranks;
		c.rank[r].horizon = INT64_MIN;
		snprintf(c.rank[r].status, sizeof(c.rank[r].status), "%s", "delivered");
		c.rank[r].thread = calloc(MADE_THREADS, sizeof(struct pp_thread));
		for (int t = 0; t < MADE_THREADS; t++)
			c.rank[r].thread[t].span = calloc(MADE_SPANS, sizeof(struct pp_span));
	}
	return c;
}

static inline void free_capture(struct pp_capture *c)
{
	for (size_t r = 0; r < c->ranks; r++) {
		for (int t = 0; t < MADE_THREADS; t++) {
			free(c->rank[r].thread[t].span);
			free(c->rank[r].thread[t].other);
		}
		free(c->rank[r].thread);
		free(c->rank[r].comm);
		free(c->rank[r].usage);
		free(c->rank[r].memory);
		free(c->rank[r].state);
		free(c->rank[r].port);
		free(c->rank[r].annotation);
		free(c->rank[r].allocation);
		free(c->rank[r].pool_event);
		free(c->rank[r].operation);
		free(c->rank[r].iterator);
	}
	free(c->rank);
	pp_intern_free(c->names);
	pp_intern_free(c->payloads);
}

/* Spans are given in the order of their begin. */
static inline struct pp_span *add_span(struct pp_capture *c, size_t r, uint32_t t, enum pp_span_kind kind, const char *name,
                                       int64_t begin, int64_t end)
{
	struct pp_rank *rank = &c->rank[r];
	struct pp_thread *thread = &rank->thread[t];
	struct pp_span *span = &thread->span[thread->spans];

	if (rank->threads <= t)
		rank->threads = t + 1;
	thread->is_main = t == 0;
	if (!thread->spans || begin < thread->first)
		thread->first = begin;
	if (!thread->spans || end > thread->last)
		thread->last = end;
	thread->spans++;
	span->kind = (uint8_t)kind;
	span->begin = begin;
	span->end = end;
	if (kind == PP_SPAN_MPI || kind == PP_SPAN_REQUEST)
		span->mpi.peer = -1;
	span->name = pp_intern_put(c->names, name, strlen(name));
	return span;
}

static inline struct pp_span *add_range(struct pp_capture *c, size_t r, uint32_t t, const char *name, int64_t begin, int64_t end)
{
	return add_span(c, r, t, PP_SPAN_RANGE, name, begin, end);
}

static inline struct pp_span *add_step(struct pp_capture *c, size_t r, int64_t number, int64_t begin, int64_t end)
{
	struct pp_span *span = add_span(c, r, 0, PP_SPAN_STEP, "step", begin, end);

	span->step.number = number;
	return span;
}

static inline uint16_t call_number(const char *name)
{
	for (unsigned i = 0; i < pp_mpi_call_count(); i++)
		if (strcmp(pp_mpi_call_info(i)->name, name) == 0)
			return (uint16_t)i;
	return UINT16_MAX;
}

static inline struct pp_span *add_mpi(struct pp_capture *c, size_t r, const char *call, uint32_t sequence, int64_t begin,
                                      int64_t end)
{
	struct pp_span *span = add_span(c, r, 0, PP_SPAN_MPI, call, begin, end);

	span->mpi.call = call_number(call);
	span->mpi.comm = 77;
	span->mpi.sequence = sequence;
	span->mpi.sent = span->mpi.received = 1000;
	return span;
}
