/* Finds the innermost open range at the arrival of each row; see place.h. */
#include "aggregate/analyze/place.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/table/table.h"
#include "aggregate/dataset/table/table_list.h"
#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

struct finder {
	struct pp_join *j;
	uint32_t **name;  /* [threads of all ranks][spans] of the range around a call; NULL: the thread has no row */
	size_t *first;    /* [ranks] the rank's first thread in it */
	uint32_t *number; /* [names] of /place; 0: no row has it yet */
};

/* Of each call on the thread the range around it. */
static int find_ranges(const struct pp_thread *thread, uint32_t *name)
{
	const struct pp_span **open = NULL;
	size_t opens = 0, room = 0;

	for (size_t i = 0; i < thread->spans; i++) {
		const struct pp_span *span = &thread->span[i];

		while (opens && open[opens - 1]->end <= span->begin)
			opens--;
		if (span->kind == PP_SPAN_MPI)
			name[i] = opens ? open[opens - 1]->name : 0;
		if (span->kind != PP_SPAN_RANGE)
			continue;
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
		if (PP_GROW(open, opens, room)) {
			free(open);
			return -ENOMEM;
		}
		open[opens++] = span;
	}
	free(open);
	return 0;
}

/* A new row of /place, if no row has the name yet. */
static int number_of(struct finder *f, uint32_t name, struct pp_table *to, uint32_t *ret_number)
{
	struct pp_row_place *row;
	uint64_t hash;

	if (name && !f->number[name]) {
		hash = pp_hash_text(pp_intern_text(f->j->in->capture->names, name, NULL));
		f->number[name] = (uint32_t)(hash ^ hash >> 32);
		f->number[name] += !f->number[name];
		row = pp_table_add(to);
		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_place){.place = f->number[name], .name = name};
	}
	*ret_number = f->number[name];
	return 0;
}

static int fill_rows(struct finder *f, struct pp_table *to)
{
	const struct pp_capture *capture = f->j->in->capture;
	int rc = 0;

	for (size_t i = 0; i < f->j->members && rc == 0; i++) {
		const struct pp_member *m = &f->j->member[i];
		size_t r = m->worker;
		const struct pp_thread *thread = &capture->rank[r].thread[m->thread];
		uint32_t **name = &f->name[f->first[r] + m->thread];

		if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_RANGE)))
			continue;
		if (!*name) {
			*name = calloc(thread->spans, sizeof(**name));
			rc = *name ? find_ranges(thread, *name) : -ENOMEM;
		}
		if (rc == 0)
			rc = number_of(f, (*name)[m->span], to, &f->j->d->arrival[i].place);
	}
	return rc;
}

int pp_places_fill(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct finder f = {.j = j};
	struct pp_table out = {.desc = pp_table_desc(PP_TABLE_place)};
	size_t threads = 0;
	int rc = -ENOMEM;

	f.first = calloc(capture->ranks + 1, sizeof(*f.first));
	f.number = calloc(pp_intern_count(capture->names) + 1, sizeof(*f.number));
	for (size_t r = 0; f.first && r < capture->ranks; r++) {
		f.first[r] = threads;
		threads += capture->rank[r].threads;
	}
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a thread */
	f.name = calloc(threads + 1, sizeof(*f.name));
	if (f.first && f.number && f.name)
		rc = fill_rows(&f, &out);
	for (size_t t = 0; f.name && t < threads; t++)
		free(f.name[t]);
	free(f.name);
	free(f.first);
	free(f.number);
	j->d->place = out.row;
	j->d->places = out.rows;
	return rc;
}
