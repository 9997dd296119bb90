/* What runs differ by: step time, categories per role, ranks, collectives, operators, environment. Made by compare.c and its parts,
 * shown by launchers/diff. */
#pragma once

#include "aggregate/diff/run.h"

enum { PP_DIFF_NAME = 96, PP_DIFF_VALUE = 256, PP_DIFF_OPERATIONS_MOST = 256 };

struct pp_diff_pair { /* run `to` against run `from` */
	size_t from, to;
	struct pp_noise usual; /* usual steps */
	struct pp_noise step;  /* what decides: usual steps, or the short ones of them where those see more */
	int is_short;
	double cores; /* ns per step that time without a core explains; 0: unknown, or the step changed by more */
	struct pp_noise (*group)[PP_DIFF_QUANTITIES]; /* [groups] */
};

struct pp_diff_rank { /* a rank whose own time changed other than that of the ranks of its role */
	int32_t rank;
	int quantity;        /* a category, or PP_DIFF_LATE: how long each other rank waits for it */
	int32_t other;       /* its number in the last run */
	double a, b, others; /* of usual steps; others: the change that is usual among the ranks of its role */
	double noise;        /* what its change, and that against the others, is more than */
};

struct pp_diff_operation { /* a collective on communicators of one size, or of all ranks; per operation */
	char name[PP_DIFF_NAME];
	uint32_t size_a, size_b; /* 0: only the other run has it */
	double count_a, count_b; /* per step */
	double bytes_a, bytes_b;
	struct pp_noise wait, transfer, busbw; /* of a rank; bandwidth in byte/s */
	double weight;                         /* change of wait and transfer per step and rank */
};

struct pp_diff_op { /* self time per step and rank, on host or device */
	char name[PP_DIFF_NAME];
	int side;
	double a, b, calls_a, calls_b;
};

struct pp_diff_cause { /* waiting that goes back to a rank, by reason; per step and other rank */
	int32_t rank;
	char reason[32];
	double a, b;
};

struct pp_diff_environment { /* one fact that is not equal in all runs */
	const char *what;
	char (*value)[PP_DIFF_VALUE]; /* [runs] */
};

struct pp_diff {
	struct pp_diff_run *run; /* borrowed */
	size_t runs;
	const struct pp_diff_shared *shared; /* borrowed */
	double least;                        /* the lowest noise floor of anything in a step: 1 % of the first run's usual step */
	double matters;                      /* a change of the step that must not stay hidden */
	enum pp_diff_usual usual;            /* from which kind of step on they are compared */
	struct pp_noise_middle *step;        /* [runs]: of the step time */
	struct pp_noise_middle *short_step;  /* [runs] */
	double *half;                        /* [runs]: half of the 99 % interval of that; 0: too few steps */
	double *chance;                      /* [runs]: that it has as many exceptional steps, held against the first run's */
	struct pp_diff_pair *before, *first; /* [runs - 1]: against the run before, and against the first one */
	/* Of the last run against the first one: */
	struct pp_diff_rank *rank; /* by change, largest first; of one rank together */
	size_t ranks, ranks_changed;
	struct pp_diff_operation *operation; /* by weight, largest first; all */
	size_t operations, operations_left;  /* left: not compared */
	struct pp_diff_op *op;               /* those above the floor, by change, largest first */
	size_t ops, ops_below;               /* below: changed by less */
	struct pp_diff_cause *cause;         /* those above the floor, by change, largest first; none where a run has no /blame */
	size_t causes, causes_below;
	struct pp_diff_environment *environment;
	size_t environments, environments_same;
};

static inline const struct pp_diff_pair *pp_diff_last(const struct pp_diff *d)
{
	return &d->first[d->runs - 2];
}

/* Was an operation's wait, transfer or bandwidth changed beyond its noise, or is it in one run only? */
static inline int pp_diff_operation_changed(const struct pp_diff_operation *o)
{
	return o->wait.word > PP_NOISE_SAME || o->transfer.word > PP_NOISE_SAME || o->busbw.word > PP_NOISE_SAME ||
	       !o->count_a != !o->count_b;
}
