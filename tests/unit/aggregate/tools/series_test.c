/* Series of steps: made-up jobs at several levels of noise, many seeds each; how often an answer is wrong is bounded. Its random
 * numbers are always the same ones. */
#include "aggregate/tools/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

enum { MOST = 5000, SEEDS = 1000, FEW_SEEDS = 100 };

static double value[MOST], room[3 * MOST];
static uint8_t is_rare[MOST];
static struct pp_series s;
static uint64_t state = 1;

static const double noises[] = {0.01, 0.05, 0.2};
static const size_t lengths[] = {1, 2, 3, 4, 6, 10, 20, 40, 100};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

/* Steps of 100 with noise. */
static void make(size_t n, double noise)
{
	for (size_t i = 0; i < n; i++)
		value[i] = 100 * fmax(0.05, 1 + noise * normal());
}

static void find(size_t n)
{
	pp_series_of(value, n, 0, room, is_rare, &s);
}

static size_t count_rares(size_t n)
{
	size_t rares = 0;

	for (size_t i = 0; i < n; i++)
		rares += is_rare[i];
	return rares;
}

/* At most 1 of 1000 on average, and no kind of series much more often. */
TEST(a_series_without_a_fault_has_no_course_and_no_exceptions)
{
	int all_courses = 0, all_rares = 0, kinds = 0;

	for (size_t k = 0; k < COUNT(noises); k++)
		for (size_t l = 0; l < COUNT(lengths); l++) {
			const size_t n = lengths[l];
			int courses = 0, rares = 0;

			for (int seed = 0; seed < SEEDS; seed++) {
				make(n, noises[k]);
				find(n);
				courses += s.course != PP_COURSE_STEADY;
				rares += s.rare != PP_RARE_NONE || count_rares(n);
			}
			CHECK(courses <= 4 && rares <= 4);
			CHECK(fabs(s.level - 100) < 100 * noises[k] * (n < 4 ? 4 : 2));
			all_courses += courses;
			all_rares += rares;
			kinds++;
		}
	CHECK(all_courses <= kinds && all_rares <= kinds);
}

/* What a job does, and what must be found in it. */
struct job {
	const char *name;
	size_t n;
	double most_noise; /* up to which it must be found */
	void (*change)(size_t n);
	enum pp_course course;
	enum pp_rare rare;
	size_t at, period, rares; /* onset, or first exceptional value; 0 rares: not checked */
};

static void multiply(size_t first, size_t next, double by)
{
	for (size_t i = first; i < next; i++)
		value[i] *= by;
}

static void each(size_t first, size_t distance, size_t n, double by)
{
	for (size_t i = first; i < n; i += distance)
		value[i] *= by;
}

static void double_halfway(size_t n)
{
	multiply(n / 2, n, 2);
}

static void halve_late(size_t n)
{
	multiply(0, n - n / 4, 2);
}

static void grow(size_t n)
{
	for (size_t i = 0; i < n; i++)
		value[i] *= 1 + (double)i / (double)n;
}

static void checkpoint(size_t n)
{
	each(19, 20, n, 8);
}

static void checkpoint_and_start(size_t n)
{
	checkpoint(n);
	value[0] *= 10;
	value[1] *= 4;
}

static void checkpoint_and_others(size_t n)
{
	checkpoint(n);
	value[n / 2 + 5] *= 6;
}

/* By time: not always as many steps. */
static void checkpoint_by_time(size_t n)
{
	for (size_t i = 0; 20 * i + 19 < n; i++)
		value[20 * i + 18 + i % 2] *= 8;
}

static void checkpoint_while_it_doubles(size_t n)
{
	checkpoint(n);
	double_halfway(n);
}

static void two_one_offs(size_t n)
{
	value[n / 5] *= 6;
	value[n / 2 + 3] *= 9;
}

static void one_off(size_t n)
{
	value[n / 3] *= 6;
}

static void start_up(size_t n)
{
	(void)n;
	value[0] *= 10;
}

static void slow_start_up(size_t n)
{
	(void)n;
	value[0] *= 10;
	value[1] *= 6;
	value[2] *= 4;
}

static void second(size_t n)
{
	each(1, 2, n, 3);
}

static void fourth(size_t n)
{
	each(3, 4, n, 3);
}

static void fifth(size_t n)
{
	each(2, 5, n, 4);
}

static void second_while_it_doubles(size_t n)
{
	second(n);
	double_halfway(n);
}

/* A third of the steps at random: no exceptions, a mixture. */
static void mix(size_t n)
{
	for (size_t i = 0; i < n; i++)
		value[i] *= uniform() < 0.35 ? 2 : 1;
}

/* A busy machine: bursts of some steps. */
static void burst(size_t n)
{
	for (size_t i = 0; i + 3 < n; i++)
		if (uniform() < 2.0 / (double)n)
			multiply(i, i + 1 + (size_t)(3 * uniform()), 1 + 2 * uniform());
}

static const struct job jobs[] = {
        {"doubled halfway", 20, 0.1, double_halfway, PP_COURSE_SUDDEN, PP_RARE_NONE, 10, 0, 0},
        {"doubled halfway", 40, 0.1, double_halfway, PP_COURSE_SUDDEN, PP_RARE_NONE, 20, 0, 0},
        {"doubled halfway", 300, 0.1, double_halfway, PP_COURSE_SUDDEN, PP_RARE_NONE, 150, 0, 0},
        {"halved late", 40, 0.1, halve_late, PP_COURSE_SUDDEN, PP_RARE_NONE, 30, 0, 0},
        {"growing", 20, 0.05, grow, PP_COURSE_GROWING, PP_RARE_NONE, 0, 0, 0},
        {"growing", 60, 0.05, grow, PP_COURSE_GROWING, PP_RARE_NONE, 0, 0, 0},
        {"growing", 300, 0.2, grow, PP_COURSE_GROWING, PP_RARE_NONE, 0, 0, 0},
        {"checkpoint", 60, 0.2, checkpoint, PP_COURSE_STEADY, PP_RARE_PERIODIC, 19, 20, 3},
        {"checkpoint", 400, 0.2, checkpoint, PP_COURSE_STEADY, PP_RARE_PERIODIC, 19, 20, 20},
        {"checkpoint and start", 60, 0.2, checkpoint_and_start, PP_COURSE_STEADY, PP_RARE_PERIODIC, 19, 20, 3},
        {"checkpoint and others", 100, 0.2, checkpoint_and_others, PP_COURSE_STEADY, PP_RARE_PERIODIC, 19, 20, 6},
        {"checkpoint by time", 200, 0.2, checkpoint_by_time, PP_COURSE_STEADY, PP_RARE_PERIODIC, 18, 20, 10},
        {"checkpoint, doubled", 120, 0.1, checkpoint_while_it_doubles, PP_COURSE_SUDDEN, PP_RARE_PERIODIC, 19, 20, 6},
        {"two one-offs", 20, 0.2, two_one_offs, PP_COURSE_STEADY, PP_RARE_IRREGULAR, 4, 0, 2},
        {"two one-offs", 100, 0.2, two_one_offs, PP_COURSE_STEADY, PP_RARE_IRREGULAR, 20, 0, 2},
        {"one-off", 20, 0.2, one_off, PP_COURSE_STEADY, PP_RARE_ONE_OFF, 6, 0, 1},
        {"one-off", 200, 0.2, one_off, PP_COURSE_STEADY, PP_RARE_ONE_OFF, 66, 0, 1},
        {"start-up", 10, 0.05, start_up, PP_COURSE_STEADY, PP_RARE_START_UP, 0, 0, 1},
        {"start-up", 20, 0.2, start_up, PP_COURSE_STEADY, PP_RARE_START_UP, 0, 0, 1},
        {"slow start-up", 40, 0.2, slow_start_up, PP_COURSE_STEADY, PP_RARE_START_UP, 0, 0, 3},
        {"each second", 20, 0.01, second, PP_COURSE_STEADY, PP_RARE_PERIODIC, 1, 2, 10},
        {"each second", 300, 0.2, second, PP_COURSE_STEADY, PP_RARE_PERIODIC, 1, 2, 150},
        {"each second, doubled", 80, 0.1, second_while_it_doubles, PP_COURSE_SUDDEN, PP_RARE_PERIODIC, 1, 2, 40},
        {"each fourth", 40, 0.05, fourth, PP_COURSE_STEADY, PP_RARE_PERIODIC, 3, 4, 10},
        {"each fifth", 40, 0.05, fifth, PP_COURSE_STEADY, PP_RARE_PERIODIC, 2, 5, 8},
        {"mixture", 100, 0.05, mix, PP_COURSE_STEADY, PP_RARE_NONE, 0, 0, 0},
};

static int is_found(const struct job *j, size_t onset)
{
	if (s.course != j->course || s.rare != j->rare || s.period != j->period)
		return 0;
	if (j->course == PP_COURSE_SUDDEN && s.onset + 1 < onset)
		return 0;
	if (j->course == PP_COURSE_SUDDEN && s.onset > onset + 1)
		return 0;
	return j->rare == PP_RARE_NONE || (s.first_rare == j->at && s.rares == j->rares);
}

TEST(what_a_job_does_is_found)
{
	for (size_t k = 0; k < COUNT(noises); k++)
		for (const struct job *j = jobs; j < jobs + COUNT(jobs); j++) {
			const size_t onset = j->change == halve_late ? j->n - j->n / 4 : j->n / 2;
			int found = 0;

			for (int seed = 0; seed < FEW_SEEDS && noises[k] <= j->most_noise; seed++) {
				make(j->n, noises[k]);
				j->change(j->n);
				find(j->n);
				found += is_found(j, onset);
				CHECK_INT(s.rares + (s.rare == PP_RARE_START_UP ? 0 : s.start_ups), count_rares(j->n));
			}
			if (noises[k] <= j->most_noise && 100 * found < 90 * FEW_SEEDS)
				fprintf(stderr, "%s, noise %g, %zu values: found %d\n", j->name, noises[k], j->n, found);
			CHECK(noises[k] > j->most_noise || 100 * found >= 90 * FEW_SEEDS);
		}
}

TEST(values_are_those_of_usual_steps)
{
	make(400, 0.05);
	checkpoint_while_it_doubles(400);
	find(400);
	CHECK(fabs(s.before - 100) < 3 && fabs(s.level - 200) < 6);
	CHECK(s.sigma > 4 && s.sigma < 12);
	CHECK(s.spread > 2 && s.spread < 8);
	CHECK(fabs(s.rare_each - 1050) < 370); /* 7 of 100, later of 200 */
	CHECK(fabs(s.rare_cost - 1050.0 / 20) < 4);

	make(100, 0.01);
	grow(100);
	find(100);
	CHECK(fabs(s.slope - 1) < 0.03);
	CHECK(fabs(s.before - 100) < 2 && fabs(s.level - 199) < 2);
	CHECK(s.spread < 2.5);

	make(400, 0.05);
	second(400);
	find(400);
	CHECK(fabs(s.level - 100) < 2 && fabs(s.rare_each - 200) < 6 && fabs(s.rare_cost - 100) < 3);
	CHECK(s.sigma > 3.5 && s.sigma < 6.5);
}

/* Noise that stays for some steps is rarely a course. What stays for half of the series cannot be distinguished from one. */
TEST(bursts_and_waves_of_noise_are_no_course)
{
	const double alike[] = {0.3, 0.6, 0.9};
	const int most[] = {SEEDS / 100, SEEDS / 25, SEEDS / 8};

	for (size_t k = 0; k < COUNT(alike); k++)
		for (size_t n = 20; n <= 80; n *= 4) {
			int courses = 0;

			for (int seed = 0; seed < SEEDS / 2; seed++) {
				double x = normal();

				for (size_t i = 0; i < n; i++) {
					x = alike[k] * x + sqrt(1 - alike[k] * alike[k]) * normal();
					value[i] = 100 * (1 + 0.05 * x);
				}
				find(n);
				courses += s.course != PP_COURSE_STEADY;
			}
			CHECK(courses <= most[k]);
		}
	for (size_t n = 20; n <= 160; n *= 2) {
		int courses = 0;

		for (int seed = 0; seed < SEEDS; seed++) {
			make(n, 0.05);
			burst(n);
			find(n);
			courses += s.course != PP_COURSE_STEADY;
		}
		CHECK(courses <= SEEDS / 200);
	}
}

TEST(odd_series_are_taken)
{
	pp_series_of(value, 0, 0, room, is_rare, &s);
	CHECK(s.course == PP_COURSE_STEADY && !s.is_long && s.rare == PP_RARE_NONE && s.level == 0);
	for (size_t n = 1; n <= 100; n++) {
		for (size_t i = 0; i < n; i++)
			value[i] = 7;
		find(n);
		CHECK(s.course == PP_COURSE_STEADY && s.rare == PP_RARE_NONE);
		CHECK(s.level == 7 && s.sigma == 0 && s.spread == 0);
		CHECK_INT(s.is_long, n >= 18);
	}
	value[0] = 70; /* of equal values */
	find(100);
	CHECK(s.rare == PP_RARE_START_UP && s.rares == 1 && s.rare_each == 63);
	pp_series_of(value, 100, 64, room, is_rare, &s); /* below what the caller can tell apart */
	CHECK(s.rare == PP_RARE_NONE && !count_rares(100));
	for (size_t i = 0; i < 100; i++)
		value[i] = i < 50 ? 0 : 5;
	find(100);
	CHECK(s.course == PP_COURSE_SUDDEN && s.onset == 50 && s.before == 0 && s.level == 5);
}

TEST(a_long_series_takes_no_square_of_time)
{
	make(MOST, 0.05);
	grow(MOST);
	find(MOST);
	CHECK(s.course == PP_COURSE_GROWING && fabs(s.slope * MOST - 100) < 3);
}

TEST(noise_is_that_of_neighbours)
{
	make(1000, 0.05);
	for (size_t i = 0; i < 1000; i++)
		value[i] += (double)i + (i >= 300 ? 500 : 0) + (i % 10 ? 0 : 900);
	CHECK(fabs(pp_series_noise(value, 1000, room) - 6) < 1.2);
	CHECK(pp_series_noise(value, 1, room) == 0 && pp_series_noise(value, 0, room) == 0);
}

int main(void)
{
	a_series_without_a_fault_has_no_course_and_no_exceptions();
	what_a_job_does_is_found();
	values_are_those_of_usual_steps();
	bursts_and_waves_of_noise_are_no_course();
	odd_series_are_taken();
	a_long_series_takes_no_square_of_time();
	noise_is_that_of_neighbours();
	return test_end();
}
