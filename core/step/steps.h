/* The table of steps of all ranks. In: step_mark.c. Out: the sweep, aggregate/analyze. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pp_step_rule {
	PP_STEP_RULE_PODPROF,
	PP_STEP_RULE_RANGE,
	PP_STEP_RULE_OPTIMIZER,
	PP_STEP_RULE_PERIOD,
	PP_STEP_RULE_MESSAGES,
	PP_STEP_RULE_WINDOW
};

/* Parts of the notes: of WINDOW, and of the other rules that guess. */
#define PP_STEPS_ONE "treated as one step"
#define PP_STEPS_EXACT "podprof_step_begin() marks steps exactly"

struct pp_step_cell {       /* one rank's step */
	int64_t begin, end; /* job ns */
	uint32_t thread;    /* index of the step thread in pp_rank.thread */
	uint8_t present;
	uint8_t level; /* enum pp_level by its mark; else of the rank */
};

struct pp_steps {
	enum pp_step_rule rule;
	double confidence;                   /* 0..1 */
	uint32_t rule_name;                  /* intern id. RANGE: the range; OPTIMIZER: its class */
	uint32_t period;                     /* PERIOD: collectives of a step; MESSAGES: messages of a rank's step */
	double covered;                      /* all but PODPROF and WINDOW: share of the recorded time; 0: not known */
	char remark[256];                    /* for the user, "" if nothing: e.g. asked for steps 10:20, no step mark was seen */
	int64_t *number;                     /* [steps], ascending */
	uint8_t *kind;                       /* [steps] enum pp_step_kind: OTHER where ranks differ */
	size_t steps;                        /* of the window only */
	struct pp_step_cell *cell;           /* [steps][ranks], row-major by step */
	struct pp_step_cell *before, *after; /* [ranks]: the labelled edge step on each side, present = 0 where there is none */
	int64_t before_number, after_number;
	uint64_t backwards; /* how many step numbers decreased: those steps keep their place */
};
