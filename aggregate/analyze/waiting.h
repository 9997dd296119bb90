/* The rule of waiting in a collective, for a keeper that has all ranks and for merged parts of several hosts. In: rows of a
 * collective, workers, communicators and cells of a dataset. Out: its other columns, and until whose arrival each row waits.
 * Called by collective.c and finish.c. docs/steps.md explains the rule. */
#pragma once

#include "aggregate/analyze/bounds.h"
#include "aggregate/dataset/dataset.h"

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
	const struct pp_dataset *d;
	struct pp_waited *row; /* [row_count] of the collective */
	int64_t *needs;        /* [row_count] row; -1: nobody; -2: not known */
	struct pp_waiting_order *order;
	size_t room;
	const struct pp_row_communicator *placed; /* whose members `place` has */
	struct pp_waiting_order *place;           /* by world rank: place in the communicator */
	size_t places;
	struct pp_bounds bounds; /* of d; groups is 0: not made yet */
	struct pp_bounds_event *event;
	uint64_t violations; /* collectives that ended on some rank before the last arrival by more than the bound */
	struct pp_causality causality;
	int is_doubled;   /* the collective at hand */
	int is_mixed;     /* the same */
	int is_unknown;   /* the communicator matches no other rank's */
	uint64_t unsplit; /* rows without a known rank to wait for */
	uint64_t doubled; /* collectives with two calls of one rank: two communicators look like one */
	uint64_t mixed;   /* collectives with calls of different names: ranks call them in different orders */
	uint64_t lone;    /* messages of which one end is not recorded */
};

/* The caller has set comm, call, bytes, row_first and row_count; rows are ordered by worker. -ENOMEM. */
int pp_waiting_solve(struct pp_waiting *w, struct pp_row_collective *c);
void pp_waiting_release(struct pp_waiting *w);
/* Writes for whom each row of the solved operation waits. */
void pp_waiting_write(const struct pp_waiting *w, const struct pp_row_collective *c, struct pp_dataset *d);

/* Charges waiting and transfer of a part of a call to its step and row, and the lateness to the rank it waits for. Returns the
 * waiting. */
int64_t pp_waiting_charge(struct pp_dataset *d, const struct pp_waited *w, size_t step, int64_t begin, int64_t end);
/* The later arrival counts; of equal ones the lower rank, so that the order of calls does not matter. */
int pp_waiting_is_later(int64_t until, int64_t waits_for, int64_t than_until, int64_t than_waits_for);
