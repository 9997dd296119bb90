/* Replay of the steps: every rank does what it did, in the same order and for as long, less what a scenario saves; waiting is
 * computed anew. In: a finished pp_dataset and savings. Out: how long the steps would take. Pure. Called by what_if.c;
 * docs/steps.md has the rules. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* Time of a rank from its row before to the arrival of a row: in the step of the row before, outside of steps, in its own step. */
enum pp_replay_part { PP_REPLAY_TAIL, PP_REPLAY_BETWEEN, PP_REPLAY_HEAD, PP_REPLAY_PARTS };

struct pp_replay_row {
	int64_t part_ns[PP_REPLAY_PARTS];  /* measured, without communication */
	int64_t saved_ns[PP_REPLAY_PARTS]; /* of these by the scenario, >= 0 */
	int64_t wait_ns;                   /* measured, also where it is hidden */
	int64_t shift_ns;                  /* replayed arrival less the measured one */
	uint32_t operation, worker;        /* indexes; UINT32_MAX: the row is not replayed */
	uint32_t place;                    /* in of_worker */
	uint32_t before;                   /* operation of the rank's row before; UINT32_MAX: none */
	int overlaps;                      /* its rank went on before it was complete */
};

struct pp_replay {
	const struct pp_dataset *d;
	struct pp_replay_row *row; /* [d->arrivals] */
	uint32_t *of_worker;       /* rows by rank, in order of arrival */
	size_t *worker_first;      /* [workers + 1] into it */
	size_t *step_first; /* [steps + 2][workers] into it; [0]: rows before the first step, [s + 1]: of step s and behind it */
	int64_t *transfer_saved_ns; /* [collectives] by the scenario, >= 0 */
	struct pp_replay_need *need;
	struct pp_replay_event *event;
	size_t events;
	struct pp_replay_rank *rank; /* [workers] */
};

/* 0, or -ENOMEM. */
int pp_replay_init(const struct pp_dataset *d, struct pp_replay *ret_replay);
/* No savings. */
void pp_replay_reset(struct pp_replay *r);
/* Mean time of a step, with the time between steps that follow each other, of the rank with most; 0: there is no step. A delay
 * behind the last operation of a step, which others wait for in the next one, so counts once. */
int64_t pp_replay_run(struct pp_replay *r);
void pp_replay_release(struct pp_replay *r);
