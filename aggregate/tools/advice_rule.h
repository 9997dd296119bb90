/* Rules of /advice: each looks for its evidence in the tables of a dataset. In: a dataset with all tables, and sums over it. Out: a
 * finding. Pure. Called by advice.c; docs/tools.md lists them. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/sums.h"

struct pp_advising {
	const struct pp_dataset *d;
	struct pp_sums s;        /* of all steps, as the tables of operators and kernels are */
	struct pp_sums u;        /* of usual steps: what a category costs */
	const uint8_t *is_usual; /* [steps] */
	uint8_t *is;             /* [workers] for the rule at hand */
};

struct pp_finding {
	int32_t worker; /* rank that it is about; -1: several */
	int64_t cost_ns;
	char evidence[256];
	char advice[320]; /* "": as in advice_rule.def */
};

enum { PP_RANKS_TEXT = 80 };

/* 1: it holds; -ENOMEM. 0: it does not hold; what it left in the finding is not used. */
#define PP_ADVICE(name, items, advice) int pp_rule_##name(const struct pp_advising *a, struct pp_finding *f);
#include "aggregate/tools/advice_rule.def"
#undef PP_ADVICE

/* "rank 3", "ranks 0-3, 8", "all ranks": those with a->is; cut with dots where there is no room. Returns `text`. */
const char *pp_advice_ranks(const struct pp_advising *a, char text[PP_RANKS_TEXT]);
/* The only one with a->is; -1: several, or none. */
int32_t pp_advice_only(const struct pp_advising *a);
/* Mean per step and rank. */
int64_t pp_advice_per_cell(const struct pp_advising *a, int64_t ns);
/* The same of a category, over the usual steps. */
int64_t pp_advice_category(const struct pp_advising *a, int category);
/* A category's share of the time of the usual steps, in percent. */
double pp_advice_share(const struct pp_advising *a, int category);
/* [names] by id: those for which it holds; the caller's. NULL: no memory. */
uint8_t *pp_advice_names(const struct pp_advising *a, int (*is_one)(const char *name));
static inline int pp_advice_has_name(const struct pp_advising *a, const uint8_t *is, uint32_t name)
{
	return name < pp_intern_count(a->d->names) && is[name];
}
