/* What holds for a whole capture and for each of its ranks: times, lists, release; see capture.h. Called by aggregate/read, the
 * clock and the keeper. */
#include "core/capture/capture.h"

#include <stdlib.h>
#include <string.h>

#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

enum { PART = 512 }; /* spans whose begins and ends are mapped one after the other: they stay in the cache */

void pp_rank_list_others(struct pp_rank *rank)
{
	for (size_t t = 0; t < rank->threads; t++)
		pp_thread_list_others(&rank->thread[t]);
}

static void map_threads(struct pp_rank *rank, const struct pp_time_mapper *m)
{
	for (size_t t = 0; t < rank->threads; t++) {
		struct pp_thread *thread = &rank->thread[t];

		m->map(m->context, &thread->first, 1, 0);
		m->map(m->context, &thread->last, 1, 0);
		for (size_t i = 0; i < thread->spans; i += PART) {
			size_t n = thread->spans - i < PART ? thread->spans - i : PART;

			m->map(m->context, &thread->span[i].begin, n, sizeof(*thread->span));
			m->map(m->context, &thread->span[i].end, n, sizeof(*thread->span));
		}
	}
}

/* Converts times of reports into times of begins: an age is by another clock of the same host. */
static void take_ages(const struct pp_side_array *side, const struct pp_side_field *field, char *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *at = rows + i * side->size;
		int64_t time, age;

		memcpy(&time, at + field->offset, sizeof(time));
		memcpy(&age, at + field->with, sizeof(age));
		if (__builtin_sub_overflow(time, age, &time))
			time = age > 0 ? INT64_MIN : INT64_MAX;
		memcpy(at + field->offset, &time, sizeof(time));
	}
}

static void map_times(struct pp_rank *rank, const struct pp_time_mapper *m, int of_ticks)
{
	map_threads(rank, m);
	for (const struct pp_side_array *side = pp_side_arrays; side < pp_side_arrays + PP_SIDE_IDS; side++) {
		size_t count = pp_side_count(side, rank);
		char *rows = pp_side_rows(side, rank);

		for (size_t f = 0; count && f < side->fields; f++) {
			const struct pp_side_field *field = &side->field[f];

			if (field->type != PP_SIDE_TYPE_TICK && field->type != PP_SIDE_TYPE_AGED)
				continue;
			m->map(m->context, (int64_t *)(void *)(rows + field->offset), count, side->size);
			if (of_ticks && field->type == PP_SIDE_TYPE_AGED)
				take_ages(side, field, rows, count);
		}
	}
	m->map(m->context, &rank->open_tick, 1, 0);
	m->map(m->context, &rank->recorded_from, 1, 0);
	if (rank->recorded_to != INT64_MIN)
		m->map(m->context, &rank->recorded_to, 1, 0);
	if (rank->horizon != INT64_MIN)
		m->map(m->context, &rank->horizon, 1, 0);
}

void pp_rank_map_times(struct pp_rank *rank, const struct pp_time_mapper *mapper)
{
	map_times(rank, mapper, 1);
}

static void add(const void *context, int64_t *time, size_t times, size_t stride)
{
	const int64_t *by = context;

	for (char *at = (char *)time; times > 0; times--, at += stride) {
		int64_t *one = (int64_t *)(void *)at;

		*one = (int64_t)((uint64_t)*one + (uint64_t)*by);
	}
}

void pp_rank_shift(struct pp_rank *rank, int64_t by)
{
	struct pp_time_mapper mapper = {.map = add, .context = &by};

	map_times(rank, &mapper, 0);
}

void pp_rank_release(struct pp_rank *rank)
{
	for (size_t t = 0; t < rank->threads; t++)
		pp_thread_release(&rank->thread[t]);
	free(rank->thread);
	rank->thread = NULL;
	rank->threads = 0;
	pp_side_release_all(rank);
}

void pp_capture_release(struct pp_capture *c)
{
	for (size_t i = 0; i < c->ranks; i++)
		pp_rank_release(&c->rank[i]);
	free(c->rank);
	pp_intern_free(c->names);
	pp_intern_free(c->payloads);
	*c = (struct pp_capture){0};
}

struct pp_rank *pp_capture_rank(const struct pp_capture *c, int32_t number)
{
	for (size_t i = 0; i < c->ranks; i++)
		if (c->rank[i].rank == number)
			return &c->rank[i];
	return NULL;
}
