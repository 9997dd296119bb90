/* Replay of the steps: every rank does what it did, in the same order and for as long, less what a scenario saves; waiting is
 * computed anew. In: a finished pp_dataset and savings. Out: how long the steps would take. Pure. Called by what_if.c;
 * docs/steps.md has the rules. */
#pragma once

#include "aggregate/tools/ledger.h"

/* Time of a rank from its row before to the arrival of a row: in the step of the row before, outside of steps, in its own step. */
enum pp_replay_part { PP_REPLAY_TAIL, PP_REPLAY_BETWEEN, PP_REPLAY_HEAD, PP_REPLAY_PARTS };

struct pp_replay_row {
	int64_t part_ns[PP_REPLAY_PARTS]; /* measured, without communication */
	int64_t wait_ns;                  /* measured, also where it is hidden */
	int64_t shift_ns;                 /* replayed arrival less the measured one */
	uint32_t alike; /* rows with equal numbers have the same call, the same one before, and the same side of a message */
	int overlaps;   /* its rank went on before it was complete */
};

struct pp_replay_span { /* a step of a rank */
	int64_t begin_ns, end_ns, step_ns;
	uint32_t step;    /* index */
	uint32_t follows; /* the time since the rank's step before counts: it is the one right before */
};

struct pp_replay {
	const struct pp_dataset *d;
	struct pp_ledger ledger;
	struct pp_replay_row *row;   /* [d->arrivals] */
	struct pp_replay_span *span; /* [workers][d->steps], those that a rank has first */
	uint32_t *spans;             /* [workers] */
	size_t *step_first; /* [steps + 2][workers] into that list; [0]: before the first step, [s + 1]: of step s and behind it */
	int64_t *saved_ns;  /* [places of the ledger's list][PP_REPLAY_PARTS] by the scenario, >= 0; NULL: nothing */
	uint8_t *saves;     /* [workers]: the scenario saves something in its rows */
	int64_t *transfer_saved_ns; /* [collectives] by the scenario, >= 0 */
	int64_t saved_sum_ns;       /* of both; no step can gain more than that */
	struct pp_replay_need *need;
	struct pp_ledger_key *event;
	size_t events;
	struct pp_replay_rank *rank; /* [workers] */
};

/* 0, or -ENOMEM, -EOVERFLOW: more rows than an index holds. */
int pp_replay_init(const struct pp_dataset *d, struct pp_replay *ret_replay);
/* A scenario without savings. 0, or -ENOMEM. */
int pp_replay_begin(struct pp_replay *r);
/* Adds savings, > 0, of a row or of an operation's transfer on all its ranks; once each. */
void pp_replay_save(struct pp_replay *r, uint32_t row, enum pp_replay_part part, int64_t ns);
void pp_replay_save_transfer(struct pp_replay *r, size_t operation, int64_t ns);
/* Mean time of a step, with the time between steps that follow each other, of the rank with most; of ranks with equally many steps
 * only, the most that a rank has. 0: there is no step. A delay behind the last operation of a step, which others wait for in the
 * next one, so counts once. */
int64_t pp_replay_run(struct pp_replay *r);
/* The same of what was measured: what a run without savings gives, at once. */
int64_t pp_replay_measured(const struct pp_replay *r);
/* No scenario with these savings gains more per step, where steps follow each other. */
int64_t pp_replay_most_gain(const struct pp_replay *r);
void pp_replay_release(struct pp_replay *r);
