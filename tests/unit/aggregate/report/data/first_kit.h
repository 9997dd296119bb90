/* What the first screen makes of a made-up job: rank `rank` works 10 ms and what a fault adds to that, then all join. */
#pragma once

#include <stdlib.h>

#include "aggregate/report/data/first.h"
#include "aggregate/tools/sums.h"
#include "aggregate/tools/tools.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { US = 1000, MS = 1000 * US, FIRST = 100, WORK = 10 * MS };

/* ns that a rank works longer in a step. */
typedef int64_t kit_fault(size_t rank, size_t step);

struct screen {
	struct pp_dataset d;
	struct pp_sums sums;
	struct pp_answer answer;
	struct pp_first first;
};

static uint32_t kit_state;

/* -1 to 1, triangular. */
static inline double kit_noise(void)
{
	double sum = 0;

	for (int i = 0; i < 2; i++) {
		kit_state = kit_state * 1664525 + 1013904223;
		sum += (double)(kit_state >> 8) / (1 << 24);
	}
	return sum - 1;
}

/* The tools that the first screen needs, and what it makes of them. */
static inline void screen_finish(struct screen *s)
{
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};

	pp_dataset_tables(&s->d, table);
	CHECK_INT(pp_tool_blame(&s->d, table, &err), 0);
	CHECK_INT(pp_tool_finding(&s->d, table, &err), 0);
	pp_dataset_take_tables(&s->d, table);
	CHECK_INT(pp_sums_of(&s->d, &s->sums), 0);
	CHECK_INT(pp_answer_of(&s->d, &s->sums, "logs", &s->answer), 0);
	CHECK_INT(pp_first_of(&s->d, &s->answer, &s->first), 0);
	CHECK(strlen(s->first.sentence) > 0);
}

/* The caller's: screen_free(). */
static inline struct screen *screen_of(size_t ranks, size_t per_host, size_t steps, enum pp_category category, kit_fault *fault)
{
	struct screen *s = calloc(1, sizeof(*s));
	struct pp_made_job m;

	if (!s)
		abort();
	kit_state = 1;
	pp_made_begin(&m, ranks, per_host, FIRST, steps);
	for (size_t i = 0; i < steps; i++) {
		pp_made_begin_all(&m, i);
		for (size_t r = 0; r < ranks; r++) {
			pp_made_work(&m, r, PP_CATEGORY_HOST_COMPUTE, (int64_t)(WORK * (1 + 0.02 * kit_noise())));
			pp_made_work(&m, r, category, fault ? fault(r, i) : 0);
		}
		pp_made_collective(&m, 1, "MPI_Allreduce", 1000, 100 * US);
		pp_made_end_all(&m);
	}
	s->d = pp_made_end(&m);
	screen_finish(s);
	return s;
}

static inline void screen_free(struct screen *s)
{
	pp_first_release(&s->first);
	pp_sums_release(&s->sums);
	pp_intern_free((struct pp_intern *)s->d.names);
	pp_dataset_release(&s->d);
	free(s);
}

/* Index of the first finding of a kind among those that the page lists; aborts where there is none. */
static inline size_t screen_find(const struct screen *s, int kind)
{
	for (size_t i = 0; i < s->first.findings; i++)
		if (s->first.finding[i]->kind == kind)
			return i;
	CHECK_STR("a finding of the kind", "none");
	exit(1);
}
