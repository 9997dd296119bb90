/* Exclusive time per category: the windowed sweep. In: one rank's spans and its steps. Out: pp_block rows.
 * Per thread the innermost range wins; over threads the rule of docs/formats.md (design section 4): device categories first by
 * xprof's order, then the step thread's range, then another thread's (4 before 8, 7, 10), then All others. */
#pragma once

#include "core/base/err.h"
#include "core/step/category.h"
#include "core/step/classify.h"
#include "core/step/step_lap.h"
#include "core/step/step_mark.h"

struct pp_capture;
struct pp_intern;
struct pp_rank;

struct pp_attr_step {
	int64_t exclusive_ns[PP_CATEGORIES + 1]; /* [id]; [0] unused; the sum over 1..10 is exactly step_ns */
	int64_t step_ns;
	int present;
};

enum { PP_ATTR_EDGE_BEFORE = 0xfffffffe, PP_ATTR_EDGE_AFTER = 0xffffffff };

struct pp_attr_segment {       /* time won by one span: a rank's segments never overlap; gaps inside a step are All others */
	int64_t begin, end;    /* job ns */
	uint32_t thread, span; /* indexes into pp_rank */
	uint32_t step;         /* index into pp_steps.number, or PP_ATTR_EDGE_* for the labelled edge steps */
	uint32_t category;     /* enum pp_category of the winner */
};

enum pp_attr_keep { PP_ATTR_KEEP_ALL, PP_ATTR_KEEP_COMMUNICATION }; /* which segments */

struct pp_attr_default { /* time won by host ranges of unknown category */
	uint32_t name;
	int64_t ns;
};

struct pp_attr {
	struct pp_attr_step *step; /* [steps] */
	size_t steps;
	struct pp_attr_segment *segment; /* winners, ordered by begin: XSpace's breakdown line shows all, waiting and transfer are
	                                  * cut from those of communication, in steps */
	size_t segments;
	struct pp_lap *lap; /* in order of time */
	size_t laps;
	int64_t evidence_ns[PP_GROUNDS];    /* time in steps that ranges, calls and device operations won, by enum pp_grounds */
	struct pp_attr_default *by_default; /* ordered by ns, descending */
	size_t defaults;
	uint64_t crossed; /* ranges of one thread that overlap without nesting: cut at the inner end, counted */
};

/* `rank_index` is the column of steps->cell. `names` has texts for the name rules. */
int pp_attr_rank(const struct pp_rank *rank, size_t rank_index, const struct pp_steps *steps, size_t ranks,
                 const struct pp_intern *names, enum pp_attr_keep which, struct pp_attr *ret_attr, struct pp_err *err);
/* Frees what it holds; empty then. */
void pp_attr_release(struct pp_attr *a);
/* All ranks of a capture; an array of [ranks]. */
int pp_attr_ranks(const struct pp_capture *c, const struct pp_steps *steps, enum pp_attr_keep which, struct pp_attr **ret_attr,
                  struct pp_err *err);
/* Releases the segments of all ranks early: they are larger than all else here. */
void pp_attr_drop_segments(struct pp_attr *attr, size_t ranks);
/* Frees what pp_attr_ranks() gave; NULL is fine. */
void pp_attr_free(struct pp_attr *attr, size_t ranks);
