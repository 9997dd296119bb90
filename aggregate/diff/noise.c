/* The usual value of a run, its error, and the noise floor; see noise.h. The rule stands in docs/diff.md,
 * tests/unit/aggregate/diff/noise_test.c counts its false alarms. */
#include "aggregate/diff/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"

enum { PARTS = 4, FEW_STEPS = 10 };

#define LEVEL 0.01
#define ALIKE_MOST 0.95
#define NINE_OF_TEN 1.2816 /* standard errors */

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

/* The part of n sorted values that counts: [first, next). */
struct part {
	size_t first, next;
};

static struct part middle_part(size_t n)
{
	return (struct part){n / 4, n - n / 4};
}

static struct part short_part(size_t n)
{
	return (struct part){n / 20, n / 20 + (n + 3) / 4};
}

/* Sorts v. */
static double mean_of(double *v, size_t n, struct part part)
{
	double sum = 0;

	qsort(v, n, sizeof(*v), pp_compare_double);
	for (size_t i = part.first; i < part.next; i++)
		sum += v[i];
	return n ? sum / (double)(part.next - part.first) : 0;
}

static double floor_of(struct pp_noise_series s, double *room, struct part (*part_of)(size_t n))
{
	double low = INFINITY, high = -INFINITY;

	for (size_t p = 0; p < PARTS && s.steps >= PARTS; p++) {
		const size_t from = p * s.steps / PARTS, to = (p + 1) * s.steps / PARTS;
		double usual;

		memcpy(room, s.value + from, (to - from) * sizeof(*room));
		usual = mean_of(room, to - from, part_of(to - from));
		low = fmin(low, usual);
		high = fmax(high, usual);
	}
	return high > low ? (high - low) * (1 + FEW_STEPS / (double)s.steps) : 0;
}

/* Error of the part, where values beyond `low` and `high` count as these. Correlation with the step before, corrected for what a
 * short series hides of it, leaves fewer values. */
static void set_error(struct pp_noise_series s, double low, double high, struct part part, struct pp_noise_middle *m)
{
	const double n = (double)s.steps, counted = (double)(part.next - part.first);
	double mean = 0, square = 0, product = 0, last = 0, alike, values;

	for (size_t i = 0; i < s.steps; i++)
		mean += fmin(fmax(s.value[i], low), high) / n;
	for (size_t i = 0; i < s.steps; i++) {
		const double x = fmin(fmax(s.value[i], low), high) - mean;

		square += x * x;
		product += x * last;
		last = x;
	}
	m->freedom = fmax(1, counted - 1);
	if (!(square > 0))
		return;
	alike = product / square;
	alike = fmin(fmax(alike + (1 + 4 * alike) / n, 0), ALIKE_MOST);
	values = n * (1 - alike) / (1 + alike);
	m->error = sqrt(square / (n - 1) / values) * n / counted;
	m->freedom = fmax(1, values * counted / n - 1);
}

static void find_part(struct pp_noise_series s, double *room, struct part (*part_of)(size_t n), struct pp_noise_middle *ret_middle)
{
	const struct part part = part_of(s.steps);
	struct pp_noise_middle m = {.steps = s.steps, .freedom = 1};

	if (s.steps) {
		m.floor = floor_of(s, room, part_of);
		memcpy(room, s.value, s.steps * sizeof(*room));
		m.usual = mean_of(room, s.steps, part);
	}
	if (s.steps > 1)
		set_error(s, room[part.first], room[part.next - 1], part, &m);
	*ret_middle = m;
}

void pp_noise_middle(struct pp_noise_series s, double *room, struct pp_noise_middle *ret_middle)
{
	find_part(s, room, middle_part, ret_middle);
}

void pp_noise_short(struct pp_noise_series s, double *room, struct pp_noise_middle *ret_middle)
{
	find_part(s, room, short_part, ret_middle);
}

static double error_of(const struct pp_noise_middle *a, const struct pp_noise_middle *b)
{
	return hypot(a->error, b->error);
}

double pp_noise_half(const struct pp_noise_middle *a, const struct pp_noise_middle *b, size_t family)
{
	const double error = error_of(a, b), parts = pow(a->error, 4) / a->freedom + pow(b->error, 4) / b->freedom;

	return error > 0 ? pp_noise_quantile(pow(error, 4) / parts, family) * error : 0;
}

struct pp_noise pp_noise_compare(const struct pp_noise_middle *a, const struct pp_noise_middle *b, double least, double matters,
                                 size_t family)
{
	const double by = b->usual - a->usual;
	struct pp_noise n = {.a = a->usual, .b = b->usual, .low = by, .high = by};
	double half;

	n.floor = fmax(least, fmax(a->floor, b->floor));
	if (a->steps < PP_NOISE_STEPS || b->steps < PP_NOISE_STEPS)
		return n;
	half = pp_noise_half(a, b, family);
	n.low -= half;
	n.high += half;
	n.power = fmax(n.floor, half) + NINE_OF_TEN * error_of(a, b);
	if (fabs(by) > n.floor && fabs(by) > half)
		n.word = by > 0 ? PP_NOISE_LONGER : PP_NOISE_SHORTER;
	else
		n.word = n.power > matters ? PP_NOISE_WEAK : PP_NOISE_SAME;
	return n;
}

struct pp_noise pp_noise_compare_known(const struct pp_noise_middle *a, const struct pp_noise_middle *b, double least,
                                       double matters, size_t family)
{
	struct pp_noise n = pp_noise_compare(a, b, least, matters, family);

	if (a->steps && b->steps)
		return n;
	n.word = PP_NOISE_UNKNOWN;
	n.low = n.high = (double)NAN;
	n.a = a->steps ? n.a : (double)NAN;
	n.b = b->steps ? n.b : (double)NAN;
	return n;
}
