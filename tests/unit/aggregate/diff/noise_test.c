/* Comparison of two series of steps: false alarms counted over made-up runs with equal means, found differences, small and odd
 * series. Its random numbers are always the same ones. */
#include "aggregate/diff/noise.h"

#include <math.h>
#include <string.h>

#include "tests/test.h"

enum { MOST_STEPS = 200, PAIRS = 1000 };

#define MEAN 1000.0
#define SPREAD 30.0

static uint64_t state = 1;

static double uniform(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

enum kind { INDEPENDENT, ALIKE_5, ALIKE_9, DRIFT, SPIKES, PARETO, LOGNORMAL, WAVE, KINDS };

static const char *const name[KINDS] = {"independent", "AR(1) 0.5",  "AR(1) 0.9", "drift",
                                        "spikes",      "Pareto 2.2", "lognormal", "wave"};

/* Mean MEAN, spread about SPREAD. */
static void make(enum kind kind, double *value, size_t n)
{
	double alike = kind == ALIKE_5 ? 0.5 : kind == ALIKE_9 ? 0.9 : 0, x = normal(), slope = normal(), phase = 6.28 * uniform();

	for (size_t i = 0; i < n; i++) {
		double at = (double)i / (double)n, e;

		x = alike * x + sqrt(1 - alike * alike) * normal();
		e = kind == DRIFT       ? normal() + 3 * slope * (at - 0.5)
		    : kind == SPIKES    ? normal() / 2 + (uniform() < 0.03 ? 10 : 0)
		    : kind == PARETO    ? 1 / pow(uniform(), 1 / 2.2) - 2.2 / 1.2
		    : kind == LOGNORMAL ? exp(normal()) - exp(0.5)
		    : kind == WAVE      ? normal() + 2 * sin(phase + 10.7 * at)
		                        : x;
		value[i] = MEAN + SPREAD * e;
	}
}

/* How many of PAIRS are found longer or shorter; b is `by` longer than a. */
static int found(enum kind kind, size_t n, double by)
{
	static double a[MOST_STEPS], b[MOST_STEPS];
	struct pp_noise result;
	int count = 0;

	for (int i = 0; i < PAIRS; i++) {
		make(kind, a, n);
		make(kind, b, n);
		for (size_t k = 0; k < n; k++)
			b[k] += by;
		CHECK_INT(pp_noise_compare((struct pp_noise_series){a, n}, (struct pp_noise_series){b, n}, MEAN / 100, 1, &result),
		          0);
		count += by > 0 ? result.word == PP_NOISE_LONGER : result.word > PP_NOISE_SAME;
	}
	return count;
}

/* docs/diff.md: less than 1 % of equal runs. Steps that are alike over a time as long as the run cannot be told from a change. */
TEST(false_alarms_are_rare)
{
	static const size_t steps[] = {8, 20, 60, 200};

	for (enum kind k = 0; k < KINDS; k++)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			int alarms = k == ALIKE_9 && steps[i] < MOST_STEPS ? 0 : found(k, steps[i], 0);

			if (alarms > PAIRS / 100)
				fprintf(stderr, "%s, %zu steps: %d of %d\n", name[k], steps[i], alarms, PAIRS);
			CHECK(alarms <= PAIRS / 100);
		}
}

TEST(changes_are_found)
{
	CHECK(found(INDEPENDENT, 20, 4 * SPREAD) > PAIRS * 95 / 100);
	CHECK(found(INDEPENDENT, 200, SPREAD) > PAIRS * 95 / 100);
	CHECK(found(ALIKE_5, 200, 2 * SPREAD) > PAIRS * 95 / 100);
	CHECK(found(LOGNORMAL, 200, 3 * SPREAD) > PAIRS * 90 / 100);
}

static struct pp_noise compare(const double *a, size_t na, const double *b, size_t nb, double least)
{
	struct pp_noise n;

	CHECK_INT(pp_noise_compare((struct pp_noise_series){a, na}, (struct pp_noise_series){b, nb}, least, 1, &n), 0);
	return n;
}

TEST(few_steps_decide_nothing)
{
	static const double a[PP_NOISE_STEPS] = {1, 1, 1, 1, 1, 1, 1, 1}, b[PP_NOISE_STEPS] = {2, 2, 2, 2, 2, 2, 2, 2};
	struct pp_noise n = compare(a, PP_NOISE_STEPS - 1, b, PP_NOISE_STEPS, 0);

	CHECK_INT(n.word, PP_NOISE_UNDECIDED);
	CHECK(n.a == 1 && n.b == 2 && n.low == 1 && n.high == 1);
	CHECK_INT(compare(a, PP_NOISE_STEPS, b, PP_NOISE_STEPS, 0).word, PP_NOISE_LONGER);
	CHECK_INT(compare(b, PP_NOISE_STEPS, a, PP_NOISE_STEPS, 0).word, PP_NOISE_SHORTER);
	CHECK_INT(compare(a, PP_NOISE_STEPS, a, PP_NOISE_STEPS, 0).word, PP_NOISE_SAME);
	n = compare(NULL, 0, NULL, 0, 0);
	CHECK_INT(n.word, PP_NOISE_UNDECIDED);
	CHECK(n.a == 0 && n.b == 0);
}

TEST(the_lowest_floor_holds)
{
	static const double a[PP_NOISE_STEPS] = {1, 1, 1, 1, 1, 1, 1, 1}, b[PP_NOISE_STEPS] = {2, 2, 2, 2, 2, 2, 2, 2};

	CHECK_INT(compare(a, PP_NOISE_STEPS, b, PP_NOISE_STEPS, 1).word, PP_NOISE_SAME);
	CHECK_INT(compare(a, PP_NOISE_STEPS, b, PP_NOISE_STEPS, 0.99).word, PP_NOISE_LONGER);
}

/* One quarter of 8 steps is 2 longer: 2 x (1 + 10 / 8). */
TEST(the_floor_is_between_quarters)
{
	static const double a[8] = {1, 1, 3, 3, 1, 1, 1, 1};

	CHECK(fabs(pp_noise_floor((struct pp_noise_series){a, 8}) - 4.5) < 1e-9);
	CHECK(pp_noise_floor((struct pp_noise_series){a, 3}) == 0);
}

TEST(alike_steps_make_long_blocks)
{
	static double value[MOST_STEPS];

	make(INDEPENDENT, value, MOST_STEPS);
	CHECK(pp_noise_block((struct pp_noise_series){value, MOST_STEPS}) <= 8);
	make(ALIKE_9, value, MOST_STEPS);
	CHECK(pp_noise_block((struct pp_noise_series){value, MOST_STEPS}) >= 12);
	for (size_t i = 0; i < MOST_STEPS; i++)
		value[i] = (double)i;
	CHECK_INT(pp_noise_block((struct pp_noise_series){value, MOST_STEPS}), MOST_STEPS / 3); /* the most */
}

/* t at 99 %: 2.576 without end, 4.604 at 4; the level is shared by a family. */
TEST(quantiles)
{
	CHECK(fabs(pp_noise_quantile(INFINITY, 1) - 2.5758) < 1e-3);
	CHECK(fabs(pp_noise_quantile(4, 1) - 4.604) < 0.1);
	CHECK(fabs(pp_noise_quantile(30, 1) - 2.750) < 1e-2);
	CHECK(fabs(pp_noise_quantile(INFINITY, 10) - 3.2905) < 1e-3);
}

/* The same numbers give the same answer. */
TEST(answers_repeat)
{
	static double a[MOST_STEPS], b[MOST_STEPS];
	struct pp_noise x, y;

	make(LOGNORMAL, a, MOST_STEPS);
	make(LOGNORMAL, b, MOST_STEPS);
	x = compare(a, MOST_STEPS, b, MOST_STEPS, 0);
	y = compare(a, MOST_STEPS, b, MOST_STEPS, 0);
	CHECK(!memcmp(&x, &y, sizeof(x)));
	CHECK(x.low < x.b - x.a && x.high > x.b - x.a);
}

/* Times of a damaged file: any answer, no crash. */
TEST(absurd_values)
{
	static const double a[8] = {0, 0, 0, 0, 0, 0, 0, 0}, b[8] = {9e18, -9e18, 9e18, 0, 9e18, -9e18, 9e18, 1};

	(void)compare(a, 8, b, 8, 0);
	(void)compare(b, 8, b, 8, 0);
	CHECK_INT(compare(a, 8, a, 8, 0).word, PP_NOISE_SAME);
}

int main(void)
{
	false_alarms_are_rare();
	changes_are_found();
	few_steps_decide_nothing();
	the_lowest_floor_holds();
	the_floor_is_between_quarters();
	alike_steps_make_long_blocks();
	quantiles();
	answers_repeat();
	absurd_values();
	return test_end();
}
