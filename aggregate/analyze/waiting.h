/* Who waits for whom in a collective: the one rule, for a keeper that has all ranks and for hosts' shares that were merged.
 * In: rows of a collective, workers, communicators and cells of a dataset. Out: its other columns, and until whose arrival each row
 * waits. Called by collective.c and finish.c. The rule in words: docs/steps.md. */
#pragma once

#include "aggregate/analyze/bounds.h"
#include "aggregate/dataset/dataset.h"

struct pp_waited {         /* one row's */
	int64_t until;     /* arrival of the last rank whose data it needs, at most its exit; its own arrival: waits for nobody */
	uint32_t worker;   /* index of its worker */
	int32_t waits_for; /* of the worker it waits for; -1: nobody */
	int64_t bound_ns;  /* |error| of `until` against its own clock */
	int is_unsplit;    /* for whom it waits is not recorded: its time is neither waiting nor transfer */
};

struct pp_waiting_order {
	int64_t key;
	uint32_t row;
};

struct pp_waiting { /* room that many collectives use one after the other */
	const struct pp_dataset *d;
	struct pp_waited *row; /* [row_count] of the collective */
	int64_t *needs;        /* [row_count] row; -1: nobody */
	struct pp_waiting_order *order;
	size_t room;
	const struct pp_communicator *placed; /* whose members `place` has */
	struct pp_waiting_order *place;       /* by world rank: place in the communicator */
	size_t places;
	struct pp_bounds bounds; /* of d; groups is 0: not made yet */
	struct pp_bounds_event *event;
	uint64_t violations; /* collectives that ended on some rank before the last arrival by more than the bound */
	struct pp_causality causality;
	int is_doubled;   /* the collective at hand */
	int is_mixed;     /* it too */
	int is_unknown;   /* it is of a communicator that is like no other rank's */
	uint64_t unsplit; /* rows of which nobody knows for whom they waited */
	uint64_t doubled; /* collectives with two calls of one rank: of two communicators that were taken for one */
	uint64_t mixed;   /* collectives with calls of different names: ranks make them in another order */
};

/* comm, call, bytes, row_first and row_count are set, rows are ordered by worker. -ENOMEM. */
int pp_waiting_solve(struct pp_waiting *w, struct pp_collective *c);
void pp_waiting_release(struct pp_waiting *w);

/* Wait and transfer of a part of a call that its step shows, and who is late by it. */
void pp_waiting_charge(struct pp_dataset *d, const struct pp_waited *w, size_t step, int64_t begin, int64_t end);
/* A later arrival waits longer; of two at once the lower rank is named, so that the order in which they are told is nothing. */
int pp_waiting_is_later(int64_t until, int64_t waits_for, int64_t than_until, int64_t than_waits_for);
