/* The budget of communication, /budget: time of calls inside steps, by operation and communicator. In: calls with their begins and
 * ends, and the exposed segments of steps. Out: rows whose parts add up to their time, and together to all exposed communication.
 * One thread. Called by exposed.c, and by finish.c for calls that wait. Errors: 0 or -ENOMEM. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "core/base/map.h"

enum { PP_BUDGET_UNSPLIT = -1 };
enum pp_budget_blocks { PP_BUDGET_BESIDE, PP_BUDGET_BLOCKS, PP_BUDGET_BLOCKS_UNKNOWN };

struct pp_budget {
	struct pp_dataset *d;
	struct pp_row_budget *row;
	size_t rows, room;
	struct pp_map map; /* of rows */
	uint32_t *step_of; /* [workers] where its call before began */
	int by_step;       /* rows of a part: steps may be dropped when parts are merged */
};

struct pp_budget_call {
	uint64_t communicator;
	int64_t begin, end; /* as counted; equal: not counted */
	uint16_t operation;
};

struct pp_budget_segment {
	size_t step;                 /* index */
	int64_t begin, end, wait_ns; /* wait_ns: PP_BUDGET_UNSPLIT, or how much of it is waiting */
	enum pp_budget_blocks blocks;
};

/* Takes the dataset's rows. pp_budget_release(), whatever follows. */
int pp_budget_init(struct pp_budget *b, struct pp_dataset *d, int by_step);
/* A rank's call: all of it in steps is hidden, until segments are charged. */
int pp_budget_count(struct pp_budget *b, const struct pp_budget_call *c, uint32_t worker);
int pp_budget_charge(struct pp_budget *b, const struct pp_budget_call *c, const struct pp_budget_segment *s);
/* Gives the rows back, in order of their keys. */
int pp_budget_finish(struct pp_budget *b);
void pp_budget_release(struct pp_budget *b);
