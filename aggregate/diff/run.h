/* One of the runs that `podprof diff` compares: its dataset reduced to series of steps. In: pp_dataset, the ranks that all runs
 * have, their roles. Out: times per step, per role and per rank. Pure. Called by compare.c and launchers/diff. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/diff/noise.h"

/* What is compared: the step, the categories by their ids, and two parts of communication. A rank's own time has LATE too. */
enum { PP_DIFF_STEP = 0, PP_DIFF_WAIT = PP_CATEGORIES + 1, PP_DIFF_TRANSFER, PP_DIFF_QUANTITIES, PP_DIFF_LATE = PP_DIFF_WAIT };
enum { PP_DIFF_PARTS = 8, PP_DIFF_ROLES_MOST = 64 };

struct pp_diff_group {       /* ranks that do the same kind of work; the first group is all shared ranks */
	int32_t role, first; /* -1: all ranks; lowest rank */
	uint32_t ranks;      /* of the shared ones */
	char ranks_text[96]; /* "0-3, 8", cut with dots */
	char why[192];
};

struct pp_diff_shared {     /* what all runs have */
	int32_t *rank;      /* [ranks], ascending */
	uint32_t *group_of; /* [ranks]: index of its role's group; 0: there are no roles; `groups`: of none that is compared */
	struct pp_diff_group *group;
	size_t ranks, groups, ranks_left; /* left: of roles beyond PP_DIFF_ROLES_MOST, or of none */
};

struct pp_diff_rank_part { /* a rank's own time: waiting is not in it; sums over the steps of a part of the run */
	double sum[PP_DIFF_LATE + 1];
	uint32_t steps;
};

struct pp_diff_run {
	const char *given;              /* borrowed: the word of the command line */
	struct pp_dataset d;            /* without its cells */
	size_t steps;                   /* that any shared rank has */
	double *slowest;                /* [steps] */
	double *series;                 /* [groups][PP_DIFF_QUANTITIES][d.steps], by pp_diff_series() */
	size_t *group_steps;            /* [groups] */
	struct pp_diff_rank_part *part; /* [ranks][PP_DIFF_PARTS] */
	uint64_t rank_steps;            /* steps of shared ranks, summed */
	double queue; /* part of their time that main threads were ready without a core, mean over ranks; -1: unknown */
};

/* The ranks that every dataset has, in groups of the first one's roles. Only worker and role tables are read. 0, or -ENOMEM. */
int pp_diff_share(const struct pp_dataset *const *d, size_t runs, struct pp_diff_shared *ret_shared);
void pp_diff_shared_release(struct pp_diff_shared *shared);

/* Takes the dataset, also on failure, and frees its cells. 0, or -ENOMEM. */
int pp_diff_run_init(struct pp_diff_run *run, const char *given, struct pp_dataset *d, const struct pp_diff_shared *shared);
void pp_diff_run_release(struct pp_diff_run *run);

/* A quantity of a group's ranks, step by step; borrowed from the run. */
struct pp_noise_series pp_diff_series(const struct pp_diff_run *run, size_t group, int quantity);
/* "Host compute", "step", "wait", "transfer". */
const char *pp_diff_quantity_name(int quantity);
