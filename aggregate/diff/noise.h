/* Is what two series of steps are like different, beyond what either shows within itself? In: values of usual steps of two runs.
 * Out: the usual value of each, interval of their difference, noise floor, power, result. Pure: no random numbers.
 * docs/diff.md has the rule. Called by compare.c and its parts. Times are ns.
 *
 * The usual value is the mean of the middle half of the values: rare values do not move it, a mixture of short and long steps
 * does. Its error is that of a trimmed mean (Tukey and McLaughlin), with fewer degrees of freedom where neighbours are alike. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_NOISE_STEPS = 8 }; /* fewer steps of a run decide nothing */

enum pp_noise_word {
	PP_NOISE_FEW,     /* undecided: a run has too few steps */
	PP_NOISE_UNKNOWN, /* not measured in a run */
	PP_NOISE_WEAK,    /* undecided: a difference that matters could be hidden in the noise */
	PP_NOISE_ENDING,  /* undecided, set by compare.c: the last steps of a run are longer, it may have changed just then */
	PP_NOISE_CORES,   /* undecided, set by compare.c: ranks that lacked a core explain the difference */
	PP_NOISE_SAME,    /* a difference that matters would be seen, and is not */
	PP_NOISE_LONGER,  /* b takes longer */
	PP_NOISE_SHORTER
};

struct pp_noise_series {
	const double *value; /* [steps] in the order of steps */
	size_t steps;
};

struct pp_noise_middle {     /* of one series */
	double usual, error; /* mean of the part, and its standard error; 0 without steps */
	double freedom;      /* degrees of freedom of the error */
	double floor;        /* largest difference between quarters of the run, times 1 + 10 / steps */
	size_t steps;
};

struct pp_noise {
	double a, b;      /* usual values; 0 without steps, NaN: unknown */
	double low, high; /* interval of b - a at 99 % for the whole family; equal to b - a with too few steps */
	double floor;     /* what the parts of one run differ by, at least `least` */
	double power;     /* a difference of this is found in 9 of 10 pairs of runs like these; 0 with too few steps */
	enum pp_noise_word word;
};

/* Of the middle half. Room: [steps]. */
void pp_noise_middle(struct pp_noise_series s, double *room, struct pp_noise_middle *ret_middle);
/* Of a quarter of short steps: a twentieth that is shorter still does not count. What a busy machine adds is hardly in them. */
void pp_noise_short(struct pp_noise_series s, double *room, struct pp_noise_middle *ret_middle);
/* Compares two series as one of `family` comparisons that are looked at together. least: the lowest floor; matters: a difference
 * that must not stay hidden. */
struct pp_noise pp_noise_compare(const struct pp_noise_middle *a, const struct pp_noise_middle *b, double least, double matters,
                                 size_t family);
/* The same of quantities that may be unknown: a series without steps is. */
struct pp_noise pp_noise_compare_known(const struct pp_noise_middle *a, const struct pp_noise_middle *b, double least,
                                       double matters, size_t family);
/* Half of the interval of a difference of two usual values as one of `family`. */
double pp_noise_half(const struct pp_noise_middle *a, const struct pp_noise_middle *b, size_t family);
/* Two-sided quantile of Student's t at 99 % for each of `family` comparisons. */
double pp_noise_quantile(double freedom, size_t family);
