/* One of the runs that `podprof diff` compares: its dataset reduced to series of steps. In: pp_dataset, which ranks of the runs are
 * the same, their roles. Out: times per step, per role and per rank, and which steps are usual. Pure. Called by compare.c and
 * launchers/diff. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/diff/map.h"
#include "aggregate/diff/noise.h"
#include "aggregate/tools/series.h"

/* What is compared: the step, the categories by their ids, and two parts of communication. A rank's own time has LATE too. */
enum { PP_DIFF_STEP = 0, PP_DIFF_WAIT = PP_CATEGORIES + 1, PP_DIFF_TRANSFER, PP_DIFF_QUANTITIES, PP_DIFF_LATE = PP_DIFF_WAIT };
/* Of a rank's own times, those that are compared; then how long it waited, which the page shows beside them. */
enum { PP_DIFF_WAITED = PP_DIFF_LATE + 1, PP_DIFF_OWN };
enum { PP_DIFF_ROLES_MOST = 64, PP_DIFF_LIST = 96 };

struct pp_diff_group {                 /* ranks that do the same kind of work; the first group is all ranks of each run */
	int32_t role, first;           /* -1: all ranks; lowest rank */
	uint32_t ranks;                /* of the shared ones */
	char ranks_text[PP_DIFF_LIST]; /* "0-3, 8", cut with dots */
	char why[192];
};

struct pp_diff_shared {     /* what all runs have */
	int32_t *rank;      /* [ranks], ascending: number in the first run */
	int32_t *other;     /* [ranks]: number in the others */
	uint32_t *group_of; /* [ranks]: index of its role's group; 0: there are no roles; `groups`: of none that is compared */
	struct pp_diff_group *group;
	const struct pp_diff_map *map;    /* borrowed */
	size_t ranks, groups, ranks_left; /* left: of roles beyond PP_DIFF_ROLES_MOST, or of none */
	/* Ranks of the first and of the last run that are not compared one by one; "": none. */
	char left[2][PP_DIFF_LIST];
};

enum pp_diff_usual {                    /* what a step is in its run */
	             PP_DIFF_NOT_USUAL, /* exceptional, or before the last change */
	             PP_DIFF_SHORT,     /* each 2nd, 3rd or 4th is longer, and this is one of these */
	             PP_DIFF_USUAL
};

struct pp_diff_run {
	const char *given;       /* borrowed: the word of the command line */
	struct pp_dataset d;     /* without its cells */
	size_t steps;            /* that any rank has */
	size_t *step;            /* [steps] index in the dataset */
	uint8_t *is_usual;       /* [steps] enum pp_diff_usual */
	size_t usual;            /* how many are */
	struct pp_series course; /* of the slowest rank's time */
	int is_ending;           /* its last steps are exceptional: it may have changed there */
	double *series;          /* [groups][PP_DIFF_QUANTITIES][steps], NaN: known of no rank; then [steps] of the slowest rank */
	struct pp_noise_middle (*own)[PP_DIFF_OWN]; /* [ranks] of usual steps: a rank's own time, waiting is not in it */
	uint64_t rank_steps;                        /* steps of ranks, summed */
	double queue; /* part of their time that main threads were ready without a core, mean over ranks; -1: unknown */
};

/* Which ranks every dataset has, in groups of the first one's roles. Only worker and role tables are read. 0, or -ENOMEM. */
int pp_diff_share(const struct pp_dataset *const *d, size_t runs, const struct pp_diff_map *map, struct pp_diff_shared *ret_shared);
void pp_diff_shared_release(struct pp_diff_shared *shared);
/* Index of the rank of a run among those that are compared one by one; SIZE_MAX: it is none. */
size_t pp_diff_shared_find(const struct pp_diff_shared *shared, int is_first, int32_t rank);

/* Takes the dataset, also on failure, and frees its cells. 0, or -ENOMEM. */
int pp_diff_run_init(struct pp_diff_run *run, const char *given, struct pp_dataset *d, const struct pp_diff_shared *shared,
                     int is_first);
void pp_diff_run_release(struct pp_diff_run *run);

/* What a quantity of a group's ranks is in usual steps; group `groups`, PP_DIFF_STEP: of the slowest rank. least: from which
 * kind of step on. find: of which part of the values. Room: [2 * steps]. */
void pp_diff_middle(const struct pp_diff_run *run, size_t group, int quantity, enum pp_diff_usual least,
                    void (*find)(struct pp_noise_series s, double *room, struct pp_noise_middle *ret_middle), double *room,
                    struct pp_noise_middle *ret_middle);
/* Are they of one session? Also a copy of it elsewhere. */
int pp_diff_run_is_same(const struct pp_diff_run *a, const struct pp_diff_run *b);
/* "Host compute", "step", "wait", "transfer". */
const char *pp_diff_quantity_name(int quantity);
