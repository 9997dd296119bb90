/* Finds the call that completed each row's operation; see completing.h. */
#include "aggregate/analyze/completing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/lone_call.h"
#include "aggregate/analyze/request.h"
#include "aggregate/dataset/table/table.h"
#include "aggregate/dataset/table/table_list.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

#define PART UINT32_MAX /* as a number: a row has the span, as its own call or as polls of it, but it completes nothing */

struct completing {        /* of a rank */
	uint32_t **number; /* [threads][spans] of the calls; NULL: the thread has none. 0: no row has the span */
	int64_t *begin;    /* [number - 1] */
	uint32_t calls;
};

static int is_nonblocking(const struct pp_member *m)
{
	return m->key.is_message ? m->request != 0 : pp_mpi_call_info(m->call)->nonblocking;
}

/* 0: it was not seen. */
static int find_call(const struct pp_member *m, const struct pp_requests *requests, uint32_t *ret_thread, uint32_t *ret_span)
{
	const struct pp_done *done;

	*ret_thread = m->thread;
	*ret_span = m->span;
	if (!is_nonblocking(m))
		return m->exit_known;
	done = pp_requests_find(requests, m->request);
	if (!done || done->wait_span == UINT32_MAX)
		return 0;
	*ret_thread = done->wait_thread;
	*ret_span = done->wait_span;
	return 1;
}

/* Begin of the call. Polls without a result between it and the thread's call before are its first tries; a Wait makes none. */
static int64_t begin_of(const struct pp_thread *thread, size_t at, uint32_t *number)
{
	int64_t begin = thread->span[at].begin;

	if (!pp_mpi_call_polls(thread->span[at].mpi.call))
		return begin;
	while (at-- > 0) {
		if (thread->span[at].kind != PP_SPAN_MPI)
			continue;
		if (!(thread->span[at].flags & PP_SPAN_POLLS))
			break;
		begin = thread->span[at].begin;
		number[at] = PART;
	}
	return begin;
}

static int mark(struct completing *c, const struct pp_rank *rank, uint32_t thread, uint32_t span, int completes)
{
	uint32_t *number;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a thread */
	if (!c->number && !(c->number = calloc(rank->threads, sizeof(*c->number))))
		return -ENOMEM;
	if (!c->number[thread] && !(c->number[thread] = calloc(rank->thread[thread].spans, sizeof(**c->number))))
		return -ENOMEM;
	number = &c->number[thread][span];
	if (completes) {
		c->calls += !*number || *number == PART;
		*number = 1;
	} else if (!*number) {
		*number = PART;
	}
	return 0;
}

/* The marked spans of all threads, in the order of their begins. */
static int number_calls(struct completing *c, const struct pp_rank *rank)
{
	size_t *at = calloc(rank->threads + 1, sizeof(*at));
	uint32_t next = 0;

	c->begin = calloc((size_t)c->calls + 1, sizeof(*c->begin));
	for (; at && c->begin && next < c->calls; next++) {
		size_t first = SIZE_MAX;

		for (size_t t = 0; t < rank->threads; t++) {
			const struct pp_thread *thread = &rank->thread[t];

			while (c->number[t] && at[t] < thread->spans && (!c->number[t][at[t]] || c->number[t][at[t]] == PART))
				at[t]++;
			if (c->number[t] && at[t] < thread->spans &&
			    (first == SIZE_MAX || thread->span[at[t]].begin < rank->thread[first].span[at[first]].begin))
				first = t;
		}
		if (first == SIZE_MAX)
			break;
		c->begin[next] = begin_of(&rank->thread[first], at[first], c->number[first]);
		c->number[first][at[first]++] = next + 1;
	}
	free(at);
	return next == c->calls && c->begin ? 0 : -ENOMEM;
}

static void fill_rows(struct pp_join *j, const struct pp_requests *requests, const struct completing *c)
{
	for (size_t i = 0; i < j->members; i++) {
		size_t r = j->member[i].worker;
		struct pp_row_arrival *row = &j->d->arrival[i];
		uint32_t t, span;

		if (!find_call(&j->member[i], &requests[r], &t, &span))
			continue;
		row->call = c[r].number[t][span];
		row->call_begin_ns = c[r].begin[row->call - 1];
		row->call_end_ns = j->in->capture->rank[r].thread[t].span[span].end;
		row->polls = (pp_c_FLAG)(row->call_begin_ns != j->in->capture->rank[r].thread[t].span[span].begin);
	}
}

static int add_lone(struct pp_join *j, const struct completing *c)
{
	struct pp_table out = {.desc = pp_table_desc(PP_TABLE_lone_call)};
	int64_t left_out = 0;

	for (size_t r = 0; r < j->in->capture->ranks && left_out >= 0; r++) {
		left_out = pp_lone_calls_add(&j->in->capture->rank[r], c[r].number, &out);
		j->d->lone_calls_left_out += left_out > 0 ? (uint64_t)left_out : 0;
	}
	j->d->lone_call = out.row;
	j->d->lone_calls = out.rows;
	return left_out < 0 ? (int)left_out : 0;
}

int pp_completing_fill(struct pp_join *j, const struct pp_requests *requests)
{
	const struct pp_capture *capture = j->in->capture;
	struct completing *c = calloc(capture->ranks + 1, sizeof(*c));
	int rc = c ? 0 : -ENOMEM;

	for (size_t i = 0; i < j->members && rc == 0; i++) {
		size_t r = j->member[i].worker;
		uint32_t t, span;

		rc = mark(&c[r], &capture->rank[r], j->member[i].thread, j->member[i].span, 0);
		if (rc == 0 && find_call(&j->member[i], &requests[r], &t, &span))
			rc = mark(&c[r], &capture->rank[r], t, span, 1);
	}
	for (size_t r = 0; r < capture->ranks && rc == 0; r++)
		rc = c[r].calls ? number_calls(&c[r], &capture->rank[r]) : 0;
	if (rc == 0)
		fill_rows(j, requests, c);
	if (rc == 0)
		rc = add_lone(j, c);
	for (size_t r = 0; c && r < capture->ranks; r++) {
		for (uint32_t t = 0; c[r].number && t < capture->rank[r].threads; t++)
			free(c[r].number[t]);
		free(c[r].number);
		free(c[r].begin);
	}
	free(c);
	return rc;
}
