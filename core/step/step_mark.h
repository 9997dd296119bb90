/* Where steps begin and end. In: pp_capture in job ns. Out: one table of steps for all ranks.
 * Rules, in order of trust: PODPROF (podprof_step_*), RANGE (a repeating range of the main thread), PERIOD (the repeating pattern
 * of collectives of a communicator that spans the job), WINDOW (the whole window is one step): docs/steps.md. The same rule holds
 * on all ranks: PODPROF if any rank marked steps (the others have no cells then). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct pp_capture;

enum pp_step_rule { PP_STEP_RULE_PODPROF, PP_STEP_RULE_RANGE, PP_STEP_RULE_PERIOD, PP_STEP_RULE_WINDOW };

/* Part of the note of WINDOW. */
#define PP_STEPS_ONE "treated as one step"

struct pp_step_cell {       /* one rank's step */
	int64_t begin, end; /* job ns */
	uint32_t thread;    /* index of the step thread in pp_rank.thread */
	int present;
};

struct pp_steps {
	enum pp_step_rule rule;
	double confidence;                   /* 0..1 */
	uint32_t rule_name;                  /* RANGE: intern id of the range */
	uint32_t period;                     /* PERIOD: collectives of a step */
	double covered;                      /* PERIOD, RANGE: share of the recorded time; 0: not known */
	char remark[256];                    /* for the user, "" if nothing: e.g. asked for steps 10:20, no step mark was seen */
	int64_t *number;                     /* [steps], ascending */
	size_t steps;                        /* of the window only */
	struct pp_step_cell *cell;           /* [steps][ranks], row-major by step */
	struct pp_step_cell *before, *after; /* [ranks]: the labelled edge step on each side, present = 0 where there is none */
	int64_t before_number, after_number;
	uint64_t backwards; /* how many step numbers decreased: those steps keep their place */
};

/* Steps asked for are [first, last); last <= first: all that are complete on every rank and after each horizon. */
int pp_steps_find(const struct pp_capture *capture, int64_t first, int64_t last, struct pp_steps *ret_steps, struct pp_err *err);
void pp_steps_release(struct pp_steps *s);

const char *pp_step_rule_name(enum pp_step_rule rule);
