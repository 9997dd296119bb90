/* Findings: what limits the job, with evidence. In: a finished dataset, its graph, the rows of /blame_step. Out: rows of /finding.
 * docs/steps.md has the rules. One thread. Parts of finding.c, which the rest of podprof sees by pp_tool_finding() only. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/table/finding_kind.h"
#include "aggregate/graph/link.h"
#include "aggregate/tools/usual_step.h"

#define PP_FINDING_LEAST 0.02 /* of the usual step: a smaller gain is not worth a name */

struct pp_finding_search {
	const struct pp_dataset *d;
	struct pp_graph *g;
	const struct pp_table *step_blame; /* rows of /blame_step */
	const struct pp_table *speeds;     /* rows of /device_speed */
	struct pp_usual_steps usual;
	int64_t step_ns; /* mean usual step, of the rank with most */
	double least_ns;
	size_t blocks; /* parts of a step in which lateness is counted apart; 1 in windows of many steps */
	float *more;   /* [steps][blocks][workers] unusual work of the rank, ns */
	double *room;  /* [4 * steps] */
	/* 1: clocks are not joined, and lengths of kernels tell who waited. No replay knows it: blame stands for unusual work and
	 * for the gain. */
	int is_by_blame;
	struct pp_table *to;
};

/* ---- finding_search.c: what the parts share */

/* Sets step_ns and least_ns, after the usual steps have changed. */
void pp_finding_steps_measure(struct pp_finding_search *f);
/* One more row, about the usual steps, which names nobody. NULL: no memory. */
struct pp_row_finding *pp_finding_add(struct pp_finding_search *f, enum pp_finding_kind kind, int reason, int64_t gain_ns);

/* ---- finding_late.c: which ranks are late more often than by chance */

/* Fills `more`. 0, or -ENOMEM. */
int pp_finding_late_init(struct pp_finding_search *f);
/* Unusual work of a rank in a step, ns. */
double pp_finding_more(const struct pp_finding_search *f, size_t step, size_t worker);

struct pp_finding_late {
	uint8_t *is_late; /* [workers] more often than chance gives any rank in 1 of 50 jobs */
	size_t late;
	double chance;     /* largest of theirs; of all ranks together */
	size_t units, any; /* parts of usual steps, and those in which any rank is late */
};

/* Of the usual steps. 0, or -ENOMEM; is_late is the caller's. */
int pp_finding_late_find(const struct pp_finding_search *f, struct pp_finding_late *ret);

/* ---- finding_change.c: ranks that became late at a step, or more and more */

/* The course over all steps of the most unusual work of a chosen rank, which `more` [steps] gets. 0, or -ENOMEM. */
int pp_finding_course(const struct pp_finding_search *f, const uint8_t *chosen, double *more, struct pp_series *ret_course);
/* If the chosen ranks became late at a step, only those from there on are usual, also where noise hides the change in the times of
 * all steps. 1: so it is, and what was found of usual steps is to be found again; 0; -ENOMEM. */
int pp_finding_change_find(struct pp_finding_search *f, const uint8_t *chosen);

/* ---- finding_set.c: what must be repaired together */

struct pp_finding_set {
	uint8_t *chosen; /* [workers] */
	size_t ranks;    /* of them */
	uint8_t *link;   /* [links] slow ones of the worst pair */
	size_t links;    /* of them; 0: they need no repair */
	struct pp_link_choice choice;
	int64_t before_ns;    /* mean usual step */
	int64_t all_gain_ns;  /* if nothing were unusual, nor any link slow */
	int64_t gain_ns;      /* of the ranks together */
	int64_t wait_ns;      /* waiting of all ranks because of them, mean of the usual steps */
	int64_t link_gain_ns; /* of the links */
};

/* By replays of the usual steps. 0, or -ENOMEM; pp_finding_set_release() also then. */
int pp_finding_set_find(const struct pp_finding_search *f, const struct pp_finding_late *late, struct pp_finding_set *ret);
void pp_finding_set_release(struct pp_finding_set *set);

/* ---- finding_rare.c: exceptional steps */

/* Steps in which one rank is late at equal distances are exceptional, too, where noise hides them in the times of all steps. 0, or
 * -ENOMEM. */
int pp_finding_rare_find(struct pp_finding_search *f);
/* Adds their rows, if they cost something. 0, or -ENOMEM. */
int pp_finding_rare_add(struct pp_finding_search *f);

/* ---- finding_part.c: what the usual step consists of */

/* Adds input or output that stalls all ranks, and the row that is always there. 0, or -ENOMEM. */
int pp_finding_part_add(struct pp_finding_search *f, int64_t gain_ns);

/* ---- finding_text.c */

/* What to do about it. is_one: it is about a rank, and there are others to compare it with. */
const char *pp_finding_look_at(int reason, int is_one);
/* Names the chosen ranks, "rank 3", "ranks 1 and 6", "host a (ranks 4 and 5)", and their hosts. 1: it is a host; 0; -ENOMEM. */
int pp_finding_who(const struct pp_dataset *d, const uint8_t *chosen, size_t ranks, struct pp_row_finding *row);
/* Sets `finding` and `finding_next` of the kinds with ranks or a link from the row's other columns. are_alike: each of the ranks is
 * as late as the latest of them. */
void pp_finding_say(const struct pp_dataset *d, int is_host, int are_alike, struct pp_row_finding *row);
