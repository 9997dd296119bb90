/* Which steps are usual: neither exceptional nor before a change. In: cells of a dataset. Out: the time of each step, and which
 * count. All headline numbers speak of the usual step. Pure; one thread. */
#pragma once

#include "aggregate/tools/series.h"

struct pp_dataset;

struct pp_usual_steps {
	double *time;      /* [steps] ns, of the slowest rank, to the begin of the next step where that is the one right after it;
	                    * of iterations their own: what is between them may be waiting for requests */
	uint8_t *is_usual; /* [steps] */
	uint8_t *is_rare;  /* [steps] */
	uint8_t *is_other; /* [steps] an engine's iteration of another kind, which is not compared with the usual ones */
	double *room;      /* [4 * steps] for series, and the times of one kind */
	size_t usuals;
	double usual_ns, spread_ns; /* median of the usual steps, and half their IQR */
	struct pp_series course;    /* of the times */
};

/* 0, or -ENOMEM. Release also takes one whose making failed. */
int pp_usual_steps_find(const struct pp_dataset *d, struct pp_usual_steps *ret);
void pp_usual_steps_release(struct pp_usual_steps *u);
/* Sets what follows from is_rare: is_usual, usuals, usual_ns and spread_ns. */
void pp_usual_steps_measure(struct pp_usual_steps *u, size_t steps);
/* What the step would take if it were usual, ns: before a change the level before it, in a growing job that of its place. */
double pp_usual_steps_base(const struct pp_usual_steps *u, size_t step);
/* The kind of the iterations of an engine that take most time, enum pp_step_kind; NONE: the steps are none. */
int pp_usual_steps_kind(const struct pp_dataset *d);
/* "the usual step", "the usual decode step", or what the only step of the dataset is: the base of percentages. */
const char *pp_usual_steps_name(const struct pp_dataset *d);
/* Time of a rank in a step, to the begin of the next one where that follows; -1: it has none. */
int64_t pp_usual_steps_time(const struct pp_dataset *d, size_t step, size_t worker);
