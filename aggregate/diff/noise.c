/* Block bootstrap and noise floor; see noise.h. The rule stands in docs/diff.md, tests/unit/aggregate/diff/noise_test.c counts its
 * false alarms. */
#include "aggregate/diff/noise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/compare.h"

enum { DRAWS = 1000, TAIL = 5, PARTS = 4, LEAST_BLOCKS = 3, FEW_STEPS = 10 };

#define SEED UINT64_C(0x706f6470726f6621)
#define LEVEL 0.01
#define ALIKE_MOST 0.95

double pp_noise_mean(struct pp_noise_series s)
{
	double sum = 0;

	for (size_t i = 0; i < s.steps; i++)
		sum += s.value[i];
	return s.steps ? sum / (double)s.steps : 0;
}

double pp_noise_floor(struct pp_noise_series s)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t p = 0; p < PARTS && s.steps >= PARTS; p++) {
		size_t from = p * s.steps / PARTS, to = (p + 1) * s.steps / PARTS;
		double mean = pp_noise_mean((struct pp_noise_series){s.value + from, to - from});

		low = fmin(low, mean);
		high = fmax(high, mean);
	}
	return high > low ? (high - low) * (1 + FEW_STEPS / (double)s.steps) : 0;
}

/* Correlation of a step with the one before it, corrected for what a short series hides of it. */
static double correlation(struct pp_noise_series s)
{
	double mean = pp_noise_mean(s), square = 0, product = 0, r;

	for (size_t i = 0; i < s.steps; i++) {
		double d = s.value[i] - mean;

		square += d * d;
		if (i)
			product += d * (s.value[i - 1] - mean);
	}
	if (!(square > 0))
		return 0;
	r = product / square;
	r += (1 + 4 * r) / (double)s.steps;
	return fmin(fmax(r, 0), ALIKE_MOST);
}

uint32_t pp_noise_block(struct pp_noise_series s)
{
	double r = correlation(s), alike = (1 + r) / (1 - r);
	double block = fmax(ceil(cbrt((double)s.steps)), r > 0 ? ceil(2 * alike) : 0);
	double most = floor((double)s.steps / LEAST_BLOCKS);

	return (uint32_t)fmax(1, fmin(block, fmin(most, UINT32_MAX)));
}

double pp_noise_quantile(double freedom, size_t family)
{
	double tail = LEVEL / (double)(family ? family : 1), low = 0, high = 40, z, z2;

	for (int i = 0; i < 64; i++) { /* erfc(z / sqrt(2)) is the normal's part outside of +-z */
		z = (low + high) / 2;
		if (erfc(z / sqrt(2)) > tail)
			low = z;
		else
			high = z;
	}
	z = (low + high) / 2;
	z2 = z * z;
	freedom = fmax(freedom, 1);
	return z + z * (z2 + 1) / (4 * freedom) + z * (5 * z2 * z2 + 16 * z2 + 3) / (96 * freedom * freedom) +
	       z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / (384 * freedom * freedom * freedom);
}

static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Adds sign * (mean of blocks drawn anywhere in the series, taken as a ring, less its mean) to each draw. 0, or -ENOMEM. */
static int draw(struct pp_noise_series s, uint32_t block, double sign, uint64_t seed, double *drawn)
{
	double *sum = malloc((s.steps + block + 1) * sizeof(*sum)), mean = pp_noise_mean(s);
	size_t blocks = s.steps / block;

	if (!sum)
		return -ENOMEM;
	sum[0] = 0;
	for (size_t i = 0; i < s.steps + block; i++)
		sum[i + 1] = sum[i] + (s.value[i % s.steps] - mean);
	for (size_t k = 0; k < DRAWS; k++) {
		double all = 0;

		for (size_t i = 0; i < blocks; i++) {
			size_t at = (size_t)(((next(&seed) >> 32) * s.steps) >> 32);

			all += sum[at + block] - sum[at];
		}
		drawn[k] += sign * all / ((double)blocks * block);
	}
	free(sum);
	return 0;
}

/* How much wider the interval of few blocks, and of many comparisons, has to be than that of the draws. */
static double widen(size_t blocks, size_t freedom, size_t family)
{
	return pp_noise_quantile((double)freedom, family) / pp_noise_quantile(INFINITY, 1) *
	       (blocks > 1 ? sqrt((double)blocks / ((double)blocks - 1)) : 1);
}

int pp_noise_compare(struct pp_noise_series a, struct pp_noise_series b, double least, size_t family, struct pp_noise *ret_noise)
{
	struct pp_noise n = {.a = pp_noise_mean(a), .b = pp_noise_mean(b)};
	double difference = n.b - n.a, drawn[DRAWS] = {0}, wider;
	size_t blocks_a, blocks_b;

	n.floor = fmax(least, fmax(pp_noise_floor(a), pp_noise_floor(b)));
	n.low = n.high = difference;
	if (a.steps < PP_NOISE_STEPS || b.steps < PP_NOISE_STEPS) {
		*ret_noise = n;
		return 0;
	}
	n.block_a = pp_noise_block(a);
	n.block_b = pp_noise_block(b);
	if (draw(a, n.block_a, -1, SEED, drawn) || draw(b, n.block_b, 1, SEED + 1, drawn))
		return -ENOMEM;
	qsort(drawn, DRAWS, sizeof(*drawn), pp_compare_double);
	blocks_a = a.steps / n.block_a;
	blocks_b = b.steps / n.block_b;
	wider = widen(blocks_a < blocks_b ? blocks_a : blocks_b, blocks_a + blocks_b - 2, family);
	n.low += wider * drawn[TAIL - 1];
	n.high += wider * drawn[DRAWS - TAIL];
	n.word = fabs(difference) <= n.floor || (n.low <= 0 && n.high >= 0) ? PP_NOISE_SAME
	         : difference > 0                                           ? PP_NOISE_LONGER
	                                                                    : PP_NOISE_SHORTER;
	*ret_noise = n;
	return 0;
}

int pp_noise_half(struct pp_noise_series a, double *ret_half)
{
	double drawn[DRAWS] = {0};
	uint32_t block;

	*ret_half = 0;
	if (a.steps < PP_NOISE_STEPS)
		return 0;
	block = pp_noise_block(a);
	if (draw(a, block, 1, SEED, drawn))
		return -ENOMEM;
	qsort(drawn, DRAWS, sizeof(*drawn), pp_compare_double);
	*ret_half = widen(a.steps / block, a.steps / block - 1, 1) * (drawn[DRAWS - TAIL] - drawn[TAIL - 1]) / 2;
	return 0;
}
