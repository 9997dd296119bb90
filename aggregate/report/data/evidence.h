/* What shows a finding: a few steps, a rank, a quantity; and the kind of each step. In: a dataset, its usual steps, rows of
 * /finding. Out: what the first screen selects and draws. Pure; one thread. Used by first.c. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/usual_step.h"

/* Kinds of steps, a letter each: usual, at equal distances, exceptional otherwise, at the begin, before a change. */
#define PP_REGIME_USUAL 'u'
#define PP_REGIME_PERIODIC 'p'
#define PP_REGIME_ODD 'o'
#define PP_REGIME_START 's'
#define PP_REGIME_BEFORE 'b'

struct pp_regimes {
	char *letter;   /* [steps], and a NUL */
	int64_t change; /* number of the first step behind a change; PP_UNKNOWN: there is none */
	int64_t period; /* steps from one periodic step to the next; PP_UNKNOWN: there is none */
};

/* 0, or -ENOMEM. Release also takes one whose making failed. */
int pp_regimes_of(const struct pp_dataset *d, const struct pp_usual_steps *u, struct pp_regimes *ret);
void pp_regimes_release(struct pp_regimes *r);

enum { PP_EVIDENCE_RANKS = 8, PP_EVIDENCE_COLOUR = 24 };

struct pp_evidence {
	int64_t from, to; /* numbers of steps; PP_UNKNOWN: none */
	int32_t rank;     /* the one to look at, of a link the sender; -1: none */
	int32_t late[PP_EVIDENCE_RANKS];
	size_t lates;                    /* ranks in it; the finding may name more */
	char colour[PP_EVIDENCE_COLOUR]; /* key of a plane, as cell.c has it */
	int category;                    /* of the plane; 0: it is of another quantity */
	int is_difference;               /* 1: what it is over the median of the ranks shows it */
};

/* Uses u->room. */
void pp_evidence_of(const struct pp_dataset *d, const struct pp_usual_steps *u, const struct pp_regimes *r,
                    const struct pp_row_finding *f, struct pp_evidence *ret);
