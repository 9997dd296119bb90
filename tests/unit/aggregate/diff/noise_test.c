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

static struct pp_noise compare_for(const double *a, size_t na, const double *b, size_t nb, double least, double matters)
{
	static double room[MOST_STEPS];
	struct pp_noise_middle x, y;

	pp_noise_middle((struct pp_noise_series){a, na}, room, &x);
	pp_noise_middle((struct pp_noise_series){b, nb}, room, &y);
	return pp_noise_compare(&x, &y, least, matters, 1);
}

static struct pp_noise compare(const double *a, size_t na, const double *b, size_t nb, double least)
{
	return compare_for(a, na, b, nb, least, INFINITY);
}

struct found {
	int all, able, of_able; /* found; have the power to find it; and both */
};

/* Of PAIRS; b is `by` longer than a. */
static struct found find(enum kind kind, size_t n, double by)
{
	static double a[MOST_STEPS], b[MOST_STEPS];
	struct found f = {0};

	for (int i = 0; i < PAIRS; i++) {
		struct pp_noise result;

		make(kind, a, n);
		make(kind, b, n);
		for (size_t k = 0; k < n; k++)
			b[k] += by;
		result = compare(a, n, b, n, MEAN / 100);
		f.all += by > 0 ? result.word == PP_NOISE_LONGER : result.word > PP_NOISE_SAME;
		f.able += result.power <= by;
		f.of_able += result.power <= by && result.word == PP_NOISE_LONGER;
	}
	return f;
}

/* docs/diff.md: less than 1 % of equal runs. Steps that are alike over a time as long as the run cannot be told from a change. */
TEST(false_alarms_are_rare)
{
	static const size_t steps[] = {8, 20, 60, 200};

	for (enum kind k = 0; k < KINDS; k++)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			int alarms = k == ALIKE_9 && steps[i] < MOST_STEPS ? 0 : find(k, steps[i], 0).all;

			if (alarms > PAIRS / 100)
				fprintf(stderr, "%s, %zu steps: %d of %d\n", name[k], steps[i], alarms, PAIRS);
			CHECK(alarms <= PAIRS / 100);
		}
}

TEST(changes_are_found)
{
	CHECK(find(INDEPENDENT, 20, 4 * SPREAD).all > PAIRS * 95 / 100);
	CHECK(find(INDEPENDENT, 200, SPREAD).all > PAIRS * 95 / 100);
	CHECK(find(ALIKE_5, 200, 2 * SPREAD).all > PAIRS * 95 / 100);
	CHECK(find(LOGNORMAL, 200, 3 * SPREAD).all > PAIRS * 90 / 100);
}

/* A busy machine makes part of the steps longer: short steps show a change that the usual ones hide. */
TEST(short_steps_see_more_on_a_busy_machine)
{
	static double a[MOST_STEPS], b[MOST_STEPS], room[MOST_STEPS];

	for (size_t n = 20; n <= 80; n *= 2) {
		int alarms = 0, usual = 0, few = 0;

		for (int i = 0; i < PAIRS; i++)
			for (int is_longer = 0; is_longer < 2; is_longer++) {
				struct pp_noise_middle x, y;
				enum pp_noise_word word;

				for (size_t k = 0; k < n; k++) {
					a[k] = MEAN * (1 + 0.005 * normal() + (uniform() < 0.5 ? -0.2 * log(uniform()) : 0));
					b[k] = MEAN * (1 + 0.1 * is_longer + 0.005 * normal() +
					               (uniform() < 0.5 ? -0.2 * log(uniform()) : 0));
				}
				usual += is_longer && compare(a, n, b, n, MEAN / 100).word == PP_NOISE_LONGER;
				pp_noise_short((struct pp_noise_series){a, n}, room, &x);
				pp_noise_short((struct pp_noise_series){b, n}, room, &y);
				word = pp_noise_compare(&x, &y, MEAN / 100, INFINITY, 1).word;
				few += is_longer && word == PP_NOISE_LONGER;
				alarms += !is_longer && word > PP_NOISE_SAME;
			}
		CHECK(alarms <= PAIRS / 100 && few > usual && (n < 40 || few > PAIRS * 9 / 10));
	}
}

/* The other rules hold for them, too. */
TEST(short_steps_raise_no_false_alarms)
{
	static double a[MOST_STEPS], b[MOST_STEPS], room[MOST_STEPS];

	for (enum kind k = 0; k < KINDS; k++)
		for (size_t n = 8; n <= MOST_STEPS; n *= 5) {
			int alarms = 0;

			for (int i = 0; i < PAIRS && (k != ALIKE_9 || n == MOST_STEPS); i++) {
				struct pp_noise_middle x, y;

				make(k, a, n);
				make(k, b, n);
				pp_noise_short((struct pp_noise_series){a, n}, room, &x);
				pp_noise_short((struct pp_noise_series){b, n}, room, &y);
				alarms += pp_noise_compare(&x, &y, MEAN / 100, INFINITY, 1).word > PP_NOISE_SAME;
			}
			if (alarms > PAIRS / 100)
				fprintf(stderr, "short steps: %s, %zu steps: %d of %d\n", name[k], n, alarms, PAIRS);
			CHECK(alarms <= PAIRS / 100);
		}
}

/* What is called no difference would have been found in 9 of 10 pairs. */
TEST(power_is_what_is_found)
{
	for (enum kind k = 0; k < KINDS; k++)
		for (size_t n = 20; n <= MOST_STEPS; n *= 10)
			for (double by = SPREAD; by <= 8 * SPREAD; by *= 2) {
				const struct found f = k == ALIKE_9 ? (struct found){0} : find(k, n, by);

				if (f.of_able * 10 < f.able * 9)
					fprintf(stderr, "%s, %zu steps, %g: %d of %d found, %d in all\n", name[k], n, by, f.of_able,
					        f.able, f.all);
				CHECK(f.of_able * 10 >= f.able * 9);
			}
	CHECK(find(INDEPENDENT, 40, 0.1 * MEAN).able > PAIRS * 9 / 10);
}

/* The usual step is doubled in a part of the steps, or in all: it is longer, or undecided, whatever the noise is. */
TEST(a_doubled_step_is_never_the_same)
{
	static double a[MOST_STEPS], b[MOST_STEPS];

	for (enum kind k = 0; k < KINDS; k++)
		for (size_t n = PP_NOISE_STEPS; n <= MOST_STEPS; n *= 5)
			for (size_t part = 4; part <= 10; part++) /* tenths */
				for (int turn = 0; turn < 20; turn++) {
					make(k, a, n);
					make(k, b, n);
					for (size_t i = 0; i < n; i++)
						b[i] *= turn % 2 ? 1 + (uniform() < (double)part / 10)
						                 : 1 + (10 * i >= (10 - part) * n);
					CHECK(compare_for(a, n, b, n, MEAN / 100, MEAN / 20).word != PP_NOISE_SAME);
				}
}

TEST(few_steps_decide_nothing)
{
	static const double a[PP_NOISE_STEPS] = {1, 1, 1, 1, 1, 1, 1, 1}, b[PP_NOISE_STEPS] = {2, 2, 2, 2, 2, 2, 2, 2};
	struct pp_noise n = compare(a, PP_NOISE_STEPS - 1, b, PP_NOISE_STEPS, 0);

	CHECK_INT(n.word, PP_NOISE_FEW);
	CHECK(n.a == 1 && n.b == 2 && n.low == 1 && n.high == 1);
	CHECK_INT(compare(a, PP_NOISE_STEPS, b, PP_NOISE_STEPS, 0).word, PP_NOISE_LONGER);
	CHECK_INT(compare(b, PP_NOISE_STEPS, a, PP_NOISE_STEPS, 0).word, PP_NOISE_SHORTER);
	CHECK_INT(compare(a, PP_NOISE_STEPS, a, PP_NOISE_STEPS, 0).word, PP_NOISE_SAME);
	n = compare(NULL, 0, NULL, 0, 0);
	CHECK_INT(n.word, PP_NOISE_FEW);
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

	CHECK(fabs(compare(a, 8, a, 8, 0).floor - 4.5) < 1e-9);
	CHECK(compare(a, 3, a, 3, 0).floor == 0);
}

/* Alike neighbours are worth fewer values. */
TEST(alike_steps_are_fewer)
{
	static double value[MOST_STEPS], room[MOST_STEPS];
	struct pp_noise_middle independent, alike;

	make(INDEPENDENT, value, MOST_STEPS);
	pp_noise_middle((struct pp_noise_series){value, MOST_STEPS}, room, &independent);
	make(ALIKE_9, value, MOST_STEPS);
	pp_noise_middle((struct pp_noise_series){value, MOST_STEPS}, room, &alike);
	CHECK(independent.freedom > 60 && alike.freedom < 20 && alike.error > 2 * independent.error);
	CHECK(fabs(independent.error - SPREAD / sqrt(MOST_STEPS)) < SPREAD / 40);
}

/* t at 99 %: 2.576 without end, 4.604 at 4; the level is shared by a family. */
TEST(quantiles)
{
	CHECK(fabs(pp_noise_quantile(INFINITY, 1) - 2.5758) < 1e-3);
	CHECK(fabs(pp_noise_quantile(4, 1) - 4.604) < 0.1);
	CHECK(fabs(pp_noise_quantile(30, 1) - 2.750) < 1e-2);
	CHECK(fabs(pp_noise_quantile(INFINITY, 10) - 3.2905) < 1e-3);
}

/* Rare values do not move the usual one. */
TEST(rare_values_do_not_count)
{
	static double value[MOST_STEPS], room[MOST_STEPS];
	struct pp_noise_middle m;

	make(INDEPENDENT, value, MOST_STEPS);
	for (size_t i = 0; i < MOST_STEPS; i += 20)
		value[i] *= 50;
	pp_noise_middle((struct pp_noise_series){value, MOST_STEPS}, room, &m);
	CHECK(fabs(m.usual - MEAN) < SPREAD / 2);
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
	short_steps_see_more_on_a_busy_machine();
	short_steps_raise_no_false_alarms();
	power_is_what_is_found();
	a_doubled_step_is_never_the_same();
	few_steps_decide_nothing();
	the_lowest_floor_holds();
	the_floor_is_between_quarters();
	alike_steps_are_fewer();
	quantiles();
	rare_values_do_not_count();
	absurd_values();
	return test_end();
}
