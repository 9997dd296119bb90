/* The rule of waiting in a collective. In: rows of a collective, workers, communicators and cells of a dataset with all ranks.
 * Out: its other columns, and until whose arrival each row waits. Called by finish.c. docs/steps.md explains the rule. */
#pragma once

#include "aggregate/analyze/bounds.h"
#include "aggregate/dataset/dataset.h"

struct pp_device_rank;

struct pp_waited {         /* waiting of one row */
	int64_t until;     /* arrival of the last rank whose data it needs, at most its exit; its own arrival: it does not wait */
	uint32_t worker;   /* index of its worker */
	int32_t waits_for; /* index of the worker it waits for; -1: none */
	int64_t bound_ns;  /* |error| of `until` against its own clock */
	int is_unsplit;    /* its record does not tell for whom it waits: its time is neither waiting nor transfer */
	size_t row;        /* of /collective */
};

struct pp_waiting_order {
	int64_t key;
	uint32_t row;
};

struct pp_waiting { /* scratch for one collective after the other */
	struct pp_dataset *d;
	struct pp_waited *row; /* [row_count] of the collective */
	int64_t *needs;        /* [row_count] row; -1: nobody; -2: not known */
	struct pp_waiting_order *order;
	size_t room;
	struct pp_bounds bounds; /* of d; groups is 0: not made yet */
	struct pp_bounds_event *event;
	struct pp_device_rank *device;
	int is_doubled;             /* the collective at hand */
	int is_mixed;               /* the same */
	int is_odd;                 /* the same: its rows do not belong together */
	int is_on_device;           /* the same: its kernels count, not its calls */
	int64_t device_transfer_ns; /* the same: from the last rank on; 0: not determined */
};

/* Fills the operation, its rows, and what the job's counts say of operations. The caller has set comm, call, bytes, row_first and
 * row_count; rows are ordered by worker. -ENOMEM. */
int pp_waiting_solve(struct pp_waiting *w, struct pp_row_collective *c);
void pp_waiting_release(struct pp_waiting *w);

/* Charges waiting and transfer of a part of a call to its step and row, and the lateness to the rank it waits for. Returns the
 * waiting. */
int64_t pp_waiting_charge(struct pp_dataset *d, const struct pp_waited *w, size_t step, int64_t begin, int64_t end);
/* The later arrival counts; of equal ones the lower rank, so that the order of calls does not matter. */
int pp_waiting_is_later(int64_t until, int64_t waits_for, int64_t than_until, int64_t than_waits_for);
