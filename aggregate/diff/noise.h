/* Do two series of steps have different means, beyond what either shows within itself? In: times per step of two runs.
 * Out: means, interval of their difference, noise floor, verdict. Pure and repeatable: random numbers have a fixed seed.
 * docs/diff.md has the rule. Called by compare.c. Times are ns, fractions of which only means have. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_NOISE_STEPS = 8 }; /* fewer steps of a run decide nothing */

enum pp_noise_word {
	PP_NOISE_UNDECIDED, /* a run has too few steps */
	PP_NOISE_CORES,     /* set by compare.c: ranks that lacked a core explain the difference */
	PP_NOISE_SAME,      /* the interval has 0, or the difference is below the floor */
	PP_NOISE_LONGER,    /* b takes longer */
	PP_NOISE_SHORTER
};

struct pp_noise_series {
	const double *value; /* [steps] in the order of steps */
	size_t steps;
};

struct pp_noise {
	double a, b;      /* means; 0 without steps */
	double low, high; /* interval of b - a at 99 % for the whole family; equal to b - a where undecided */
	double floor;     /* ns: what the parts of one run differ by, at least `least` */
	uint32_t block_a, block_b;
	enum pp_noise_word word;
};

/* Compares two series as one of `family` comparisons that are looked at together. least: the lowest floor. 0, or -ENOMEM. */
int pp_noise_compare(struct pp_noise_series a, struct pp_noise_series b, double least, size_t family, struct pp_noise *ret_noise);
/* Half of the 99 % interval of one run's mean; 0 where its steps are too few. 0, or -ENOMEM. */
int pp_noise_half(struct pp_noise_series a, double *ret_half);

/* Mean of the steps; 0 without steps. */
double pp_noise_mean(struct pp_noise_series s);
/* The largest difference between the means of two quarters of the run, times 1 + 10 / steps: few steps show little of slow
 * changes. */
double pp_noise_floor(struct pp_noise_series s);
/* Steps of a block: n^(1/3), or twice the time over which steps are alike, at most a third of the run. */
uint32_t pp_noise_block(struct pp_noise_series s);
/* Two-sided quantile of Student's t at 99 % for each of `family` comparisons. */
double pp_noise_quantile(double freedom, size_t family);
