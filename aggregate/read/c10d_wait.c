/* Waits that have no range: C++ that waits for collectives inside backward and forward. Called by c10d.c.
 * A thread that runs none of its ranges there while a collective it began comes to its end has waited for it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/read/c10d_private.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

struct flight {
	int64_t begin, done;
	int64_t reach; /* the latest done of those up to here */
};

struct flights { /* calls of one thread whose end is known, by begin */
	struct flight *at;
	size_t n;
};

static void list_flights(const struct c10d *c, uint32_t thread, struct flights *f)
{
	int64_t reach = INT64_MIN;

	f->n = 0;
	for (size_t i = 0; i < c->calls; i++) {
		const struct c10d_call *call = &c->call[i];

		if (call->thread != thread || call->done == C10D_UNKNOWN)
			continue;
		reach = call->done > reach ? call->done : reach;
		f->at[f->n++] = (struct flight){call->span->begin, call->done, reach};
	}
}

/* The thread ran nothing in [begin, end]: until when it waited; `begin`: it did not. */
static int64_t waited_until(const struct flights *f, int64_t begin, int64_t end)
{
	size_t low = 0, high = f->n;
	int64_t until = begin;
	int ended = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->at[middle].reach > begin)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < f->n && f->at[low].begin <= begin; low++) {
		int64_t done = f->at[low].done;

		ended |= done > begin && done <= end;
		done = done < end ? done : end;
		until = done > until ? done : until;
	}
	return ended ? until : begin;
}

/* "c10d::wait in backward": not to be taken for a call that was seen. */
static uint32_t name_in(const struct c10d *c, const struct pp_span *around)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "c10d::wait in %s", pp_intern_text(c->texts, around->name, NULL));

	return pp_intern_put(c->texts, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static int add_wait(struct c10d *c, uint32_t thread, const struct flights *f, uint32_t name, int64_t begin, int64_t end)
{
	int64_t until = end > begin ? waited_until(f, begin, end) : begin;
	struct c10d_extra *extra;

	if (until <= begin)
		return 0;
	extra = c10d_more(&c->extra, &c->extras, &c->extras_room, sizeof(*extra));
	if (!extra)
		return -ENOMEM;
	extra->thread = thread;
	extra->span = (struct pp_span){.begin = begin,
	                               .end = until,
	                               .name = name,
	                               .kind = PP_SPAN_MPI,
	                               .source = PP_SOURCE_SHIM,
	                               .peer = -1,
	                               .call = C10D_WAIT};
	return 0;
}

/* What no range covers directly inside the range `at`. */
static int look_inside(struct c10d *c, uint32_t t, size_t at, const struct flights *f)
{
	const struct pp_thread *thread = &c->rank->thread[t];
	const struct pp_span *around = &thread->span[at];
	int64_t covered = around->begin;
	uint32_t name = name_in(c, around);

	for (size_t i = at + 1; i < thread->spans && thread->span[i].begin < around->end; i++) {
		const struct pp_span *span = &thread->span[i];

		if (span->kind != PP_SPAN_RANGE && span->kind != PP_SPAN_MPI)
			continue;
		if (span->begin > covered && add_wait(c, t, f, name, covered, span->begin))
			return -ENOMEM;
		covered = span->end > covered ? span->end : covered;
	}
	return add_wait(c, t, f, name, covered, around->end);
}

int c10d_wait(struct c10d *c)
{
	struct flights f = {.at = calloc(c->calls + 1, sizeof(*f.at))};
	int rc = f.at ? 0 : -ENOMEM;

	for (uint32_t t = 0; rc == 0 && t < c->rank->threads; t++) {
		const struct pp_thread *thread = &c->rank->thread[t];

		list_flights(c, t, &f);
		for (size_t i = 0; f.n && rc == 0 && i < thread->spans; i++)
			if (thread->span[i].kind == PP_SPAN_RANGE && c10d_name_of(c, &thread->span[i])->what == C10D_AROUND)
				rc = look_inside(c, t, i, &f);
	}
	free(f.at);
	return rc;
}
