/* Finds waits without a range: C++ waits for collectives inside backward and forward. Called by c10d.c. A thread that runs none
 * of its ranges there while a collective it began completes has waited for it. */
#include "aggregate/read/torch/c10d_wait.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

struct flight {
	int64_t begin, done;
	int64_t reach; /* the latest `done` of the flights up to here */
	size_t call;
};

struct flights {             /* calls of one thread whose end is known */
	struct flight *at;   /* [n] by begin */
	struct flight *over; /* [n] by done */
	size_t n;
};

struct around {               /* an open range in which C++ waits */
	int64_t covered, end; /* end of the time that other ranges account for */
	uint32_t name;
};

struct stack {
	struct around *at;
	size_t n, room;
};

PP_COMPARE_BY(compare_done, struct flight, done)

static void list_flights(const struct c10d *c, uint32_t thread, struct flights *f)
{
	int64_t reach = INT64_MIN;

	f->n = 0;
	for (size_t i = 0; i < c->calls; i++) {
		const struct c10d_call *call = &c->call[i];

		if (call->thread != thread || call->done == C10D_UNKNOWN)
			continue;
		reach = call->done > reach ? call->done : reach;
		f->over[f->n] = f->at[f->n] = (struct flight){call->span->begin, call->done, reach, i};
		f->n++;
	}
	qsort(f->over, f->n, sizeof(*f->over), compare_done);
}

/* The thread went on at `when`, although its collective's own range ended later. */
static void was_complete(struct c10d *c, const struct flight *flight, int64_t when)
{
	size_t at = c->call[flight->call].request_at;

	if (at && c->extra[at - 1].span.end > when)
		c->extra[at - 1].span.end = when;
}

/* The thread ran no range in [begin, end]: until when it waited; `begin`: it did not. The backend's thread wakes it before its
 * own range ends: with few cores, that may take a while. */
static int64_t waited_until(struct c10d *c, const struct flights *f, int64_t begin, int64_t end)
{
	size_t low = PP_PARTITION(f->n, i, f->at[i].begin <= begin); /* behind it: those that were begun later */
	int64_t reach, late;

	reach = low ? f->at[low - 1].reach : begin;
	if (reach <= begin)
		return begin;
	low = PP_PARTITION(f->n, i, f->over[i].done <= begin); /* from it on: those that were not complete */
	late = end / 4 - begin / 4;
	late = end <= INT64_MAX - late ? end + late : INT64_MAX;
	for (; low < f->n && f->over[low].done <= late; low++) /* few: no other collective is begun in between */
		if (f->over[low].begin <= begin) {
			was_complete(c, &f->over[low], end);
			return reach < end ? reach : end;
		}
	return begin;
}

/* "c10d::wait in backward": distinct from recorded calls. */
static uint32_t name_in(const struct c10d *c, const struct pp_span *around)
{
	char text[80];
	const char *name = pp_intern_text(c->texts, around->name, NULL);
	int n = snprintf(text, sizeof(text), "c10d::wait in %s",
	                 strncmp(name, C10D_ENGINE, strlen(C10D_ENGINE)) ? name : "backward");

	return pp_intern_put(c->texts, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static int add_wait(struct c10d *c, uint32_t thread, const struct flights *f, uint32_t name, int64_t begin, int64_t end)
{
	int64_t until = end > begin ? waited_until(c, f, begin, end) : begin;
	struct c10d_extra *extra;

	if (until <= begin)
		return 0;
	if (PP_GROW(c->extra, c->extras, c->extras_room))
		return -ENOMEM;
	extra = &c->extra[c->extras++];
	memset(extra, 0, sizeof(*extra));
	extra->thread = thread;
	extra->span = (struct pp_span){.begin = begin,
	                               .end = until,
	                               .name = name,
	                               .kind = PP_SPAN_MPI,
	                               .source = PP_SOURCE_SHIM,
	                               .mpi = {.peer = -1, .call = C10D_WAIT}};
	return 0;
}

/* The innermost range is over; the range around it has counted it when it began. */
static int close_around(struct c10d *c, uint32_t thread, const struct flights *f, struct stack *s)
{
	const struct around *top = &s->at[--s->n];

	if (s->n && top->covered > s->at[s->n - 1].covered)
		s->at[s->n - 1].covered = top->covered;
	return add_wait(c, thread, f, top->name, top->covered, top->end);
}

static int open_around(struct c10d *c, const struct pp_span *span, struct stack *s)
{
	struct around *at = pp_grow(s->at, s->n, &s->room, sizeof(*at));

	if (!at)
		return -ENOMEM;
	s->at = at;
	at[s->n++] = (struct around){span->begin, span->end, name_in(c, span)};
	return 0;
}

/* Looks at time that no range covers directly inside such a range. */
static int match_inside(struct c10d *c, uint32_t t, const struct flights *f, struct stack *s)
{
	const struct pp_thread *thread = &c->rank->thread[t];
	int rc = 0;

	s->n = 0;
	for (size_t i = 0; rc == 0 && i < thread->spans; i++) {
		const struct pp_span *span = &thread->span[i];
		struct around *top;

		if (span->kind != PP_SPAN_RANGE && span->kind != PP_SPAN_MPI)
			continue;
		while (rc == 0 && s->n && s->at[s->n - 1].end <= span->begin)
			rc = close_around(c, t, f, s);
		top = s->n ? &s->at[s->n - 1] : NULL;
		if (rc == 0 && top && span->begin > top->covered)
			rc = add_wait(c, t, f, top->name, top->covered, span->begin);
		if (top && span->end > top->covered)
			top->covered = span->end;
		if (rc == 0 && span->kind == PP_SPAN_RANGE && c10d_name_of(c, span)->what == C10D_AROUND)
			rc = open_around(c, span, s);
	}
	while (rc == 0 && s->n)
		rc = close_around(c, t, f, s);
	return rc;
}

int c10d_wait(struct c10d *c)
{
	struct flights f = {.at = calloc(c->calls + 1, sizeof(*f.at)), .over = calloc(c->calls + 1, sizeof(*f.over))};
	struct stack s = {0};
	int rc = f.at && f.over ? 0 : -ENOMEM;

	for (uint32_t t = 0; rc == 0 && t < c->rank->threads; t++) {
		list_flights(c, t, &f);
		if (f.n)
			rc = match_inside(c, t, &f, &s);
	}
	free(f.at);
	free(f.over);
	free(s.at);
	return rc;
}
