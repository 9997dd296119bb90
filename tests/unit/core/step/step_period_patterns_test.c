/* Which steps are found from collectives, and how sure: jobs of many shapes with their true steps. docs/steps.md has the rules;
 * `test_step_patterns --print` prints a table of the jobs. */
#include <stdlib.h>

#include "core/capture/side.h"
#include "core/step/mark_list.h"
#include "core/step/step_mark.h"
#include "core/step/step_period.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

enum { RANKS = 2, US = 1000, BIG = 4000000, SMALL = 8 };

static struct pp_capture job;
static int64_t now[RANKS];
static uint32_t sequence, jitter;
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* Each rank computes for about so long. */
static void work(int64_t us)
{
	for (size_t r = 0; r < RANKS; r++)
		now[r] += us * US * (100 - jitter + draw(2 * jitter + 1)) / 100;
}

static void collective(const char *name, uint64_t bytes)
{
	int64_t last = now[0] > now[1] ? now[0] : now[1];

	for (size_t r = 0; r < RANKS; r++) {
		struct pp_span *span = add_mpi(&job, r, name, sequence, now[r], last + 10 * US);

		span->mpi.sent = span->mpi.received = bytes;
		now[r] = last + 10 * US + draw(500);
	}
	sequence++;
}

static void sum(uint64_t bytes)
{
	collective("MPI_Allreduce", bytes);
}

static void train(int steps)
{
	while (steps--) {
		work(2000);
		sum(BIG);
		sum(SMALL);
	}
}

static void plain(void)
{
	collective("MPI_Bcast", BIG);
	train(100);
}

static void inner_2(void)
{
	for (int i = 0; i < 60; i++) {
		work(2000);
		for (int k = 0; k < 2; k++) {
			sum(SMALL);
			sum(2 * SMALL);
		}
		sum(BIG);
	}
}

static void solver(int rounds, int64_t outside, int64_t inside, uint64_t bytes)
{
	work(outside);
	for (int k = 0; k < rounds; k++) {
		work(inside);
		sum(SMALL);
		sum(2 * SMALL);
	}
	sum(bytes);
}

static void inner_20(void)
{
	for (int i = 0; i < 40; i++)
		solver(20, 2000, 5, 4 * SMALL);
}

static void inner_20_busy(void)
{
	for (int i = 0; i < 40; i++)
		solver(20, 50, 200, BIG);
}

static void inner_20_alike(void)
{
	for (int i = 0; i < 40; i++)
		solver(20, 0, 200, 4 * SMALL);
}

static void inner_varies(void)
{
	for (int i = 0; i < 40; i++)
		solver(15 + (int)draw(10), 2000, 5, BIG);
}

static void inner_one_call(void)
{
	for (int i = 0; i < 60; i++) {
		work(2000);
		for (int k = 0; k < 20; k++)
			sum(SMALL);
		sum(BIG);
	}
}

static void buckets(void)
{
	for (int i = 0; i < 60; i++) {
		work(1000);
		for (int k = 0; k < 20; k++) {
			work(100);
			sum(BIG);
		}
		sum(SMALL);
	}
}

static void nested(void)
{
	for (int i = 0; i < 40; i++) {
		work(4000);
		for (int k = 0; k < 4; k++)
			solver(6, 100, 5, 4 * SMALL);
		sum(BIG);
	}
}

static void evaluate(int batches)
{
	for (int k = 0; k < batches; k++) {
		work(1000);
		sum(3 * SMALL);
	}
	collective("MPI_Barrier", 0);
}

static void evaluation_10(void)
{
	for (int i = 0; i < 10; i++) {
		train(10);
		evaluate(4);
	}
}

static void evaluation_5(void)
{
	for (int i = 0; i < 20; i++) {
		train(5);
		evaluate(2);
	}
}

static void evaluation_large(void)
{
	for (int i = 0; i < 12; i++) {
		train(6);
		for (int k = 0; k < 30; k++) {
			work(100);
			sum(3 * SMALL);
		}
	}
}

/* A step of its own with a short loop in it. */
static void small_loop(void)
{
	for (int i = 0; i < 40; i++) {
		work(1000);
		for (uint64_t k = 0; k < 20; k++)
			sum(BIG + k);
		for (int k = 0; k < 5; k++) {
			sum(SMALL);
			sum(2 * SMALL);
		}
	}
}

static void evaluation_alternates(void)
{
	for (int i = 0; i < 8; i++) {
		train(25);
		if (i % 2)
			evaluate(10);
		else
			collective("MPI_Barrier", 0);
	}
}

static void evaluation_one_call(void)
{
	for (int i = 0; i < 100; i++) {
		work(2000);
		sum(BIG);
		if (i % 10 == 9)
			evaluate(0);
	}
}

static void evaluation_alike(void)
{
	for (int i = 0; i < 100; i++) {
		work(2000);
		sum(SMALL);
		sum(2 * SMALL);
		if (i % 10 == 9)
			sum(3 * SMALL);
	}
}

static void checkpoint(void)
{
	for (int i = 0; i < 10; i++) {
		train(25);
		work(5000);
		collective("MPI_Barrier", 0);
	}
}

static void alternating(void)
{
	for (int i = 0; i < 50; i++) {
		train(1);
		work(1000);
		sum(BIG / 2);
	}
}

static void growing(void)
{
	for (int i = 0; i < 100; i++) {
		work(2000);
		sum((uint64_t)BIG + 8 * (uint64_t)i);
		sum(SMALL);
	}
}

static void growing_slowly(void)
{
	for (int i = 0; i < 200; i++) {
		work(2000);
		sum((uint64_t)BIG + 8 * (uint64_t)(i / 10));
		sum(SMALL);
	}
}

static void histograms(int times)
{
	while (times--) {
		work(20);
		for (uint64_t k = 1; k < 5; k++)
			sum(SMALL * k);
	}
}

static void tail(void)
{
	collective("MPI_Bcast", BIG);
	work(2000000);
	sum(SMALL);
	histograms(3);
}

static void tail_behind_work(void)
{
	collective("MPI_Bcast", BIG);
	work(2000000);
	histograms(30);
}

static void head(void)
{
	histograms(30);
	work(500000);
	sum(SMALL);
}

static void two_phases(void)
{
	train(100);
	for (int i = 0; i < 100; i++) {
		work(1500);
		histograms(1);
	}
}

static void short_phase(void)
{
	train(10);
	for (int i = 0; i < 100; i++) {
		work(1500);
		histograms(1);
	}
}

static void noise(void)
{
	for (int i = 0; i < 150; i++) {
		train(1);
		if (draw(10) == 0)
			collective("MPI_Barrier", 0);
	}
}

static void jittered(void)
{
	jitter = 90;
	train(100);
}

static void warm_up(void)
{
	for (int i = 0; i < 30; i++) {
		work(500);
		sum(SMALL * (1 + draw(9)));
	}
	train(100);
}

static void long_start(void)
{
	collective("MPI_Bcast", BIG);
	work(400000);
	sum(SMALL);
	train(100);
}

static void random_2(void)
{
	for (int i = 0; i < 1500; i++) {
		work(500);
		sum(draw(2) ? SMALL : BIG);
	}
}

static void random_6(void)
{
	for (int i = 0; i < 1500; i++) {
		work(500);
		sum(SMALL << draw(6));
	}
}

static void alike(void)
{
	for (int i = 0; i < 500; i++) {
		work(500);
		sum(BIG);
	}
}

static void bursts(void)
{
	for (int i = 0; i < 60; i++) {
		work(2000);
		for (int k = 0; k < 12; k++)
			sum(BIG);
	}
}

static void one_call_random(void)
{
	for (int i = 0; i < 300; i++) {
		int64_t us = 20 << draw(9);

		work(us);
		sum(BIG);
	}
}

static void three_times(void)
{
	for (int i = 0; i < 3; i++) {
		work(1000);
		histograms(1);
	}
}

static void five_times(void)
{
	for (int i = 0; i < 5; i++) {
		work(1000);
		histograms(1);
	}
}

static const struct shape {
	const char *what;
	void (*make)(void);
	int steps; /* the truth; 0: there are none to be found */
	int must;  /* they must be found: the window would be true, but says less */
} shape[] = {
        {"a loop of 2 collectives, 100 times", plain, 100, 1},
        {"an inner loop of 2", inner_2, 60, 1},
        {"an inner loop of 20, the step computes outside of it", inner_20, 40, 1},
        {"an inner loop of 20 that computes, much data outside", inner_20_busy, 40, 1},
        {"a loop of 20 that computes, an equal call behind it: the loop's rounds are the steps", inner_20_alike, 800, 1},
        {"an inner loop of 15 to 24", inner_varies, 40, 1},
        {"an inner loop of 20 equal calls", inner_one_call, 60, 1},
        {"20 equal buckets and the loss", buckets, 60, 1},
        {"an inner loop in an inner loop", nested, 40, 1},
        {"an evaluation every 10 steps", evaluation_10, 100, 1},
        {"an evaluation every 5 steps", evaluation_5, 100, 1},
        {"an evaluation of many calls every 6 steps", evaluation_large, 72, 1},
        {"a step of 30 collectives with a loop of 5 in it", small_loop, 40, 1},
        {"two kinds of evaluation in turn, every 25 steps", evaluation_alternates, 200, 1},
        {"a barrier every 10 steps of one collective", evaluation_one_call, 100, 0},
        {"an equal call every 10 steps", evaluation_alike, 100, 1},
        {"a checkpoint every 25 steps", checkpoint, 250, 1},
        {"two kinds of step in turn: a pair is the step", alternating, 50, 1},
        {"sizes that grow with each step", growing, 100, 0},
        {"sizes that grow every 10 steps", growing_slowly, 200, 1},
        {"3 histograms behind a long run", tail, 0, 0},
        {"30 histograms behind a long run, no collective between", tail_behind_work, 0, 0},
        {"30 histograms before a long run", head, 0, 0},
        {"two phases of 100 steps", two_phases, 200, 1},
        {"10 steps of one kind, 100 of another", short_phase, 110, 1},
        {"a barrier in one of 10 steps, at random", noise, 150, 1},
        {"steps of 0.1 to 1.9 times the usual time", jittered, 100, 1},
        {"30 calls without order, then 100 steps", warm_up, 100, 1},
        {"a start that takes most of the time", long_start, 0, 0},
        {"2 kinds of calls at random", random_2, 0, 0},
        {"6 kinds of calls at random", random_6, 0, 0},
        {"one call over and over", alike, 500, 1},
        {"one call over and over, in bursts of 12", bursts, 60, 1},
        {"one call over and over, at random times", one_call_random, 0, 0},
        {"a step of 4 collectives, 3 times", three_times, 3, 0},
        {"a step of 4 collectives, 5 times", five_times, 5, 1},
};

static void make(const struct shape *which, uint64_t first)
{
	job = make_capture(RANKS);
	for (size_t r = 0; r < RANKS; r++) {
		job.rank[r].comm = calloc(1, sizeof(struct pp_comm));
		job.rank[r].comm[0] = (struct pp_comm){.id = 77, .size = RANKS};
		job.rank[r].comms = 1;
		now[r] = 0;
	}
	sequence = 0;
	jitter = 10;
	seed = first;
	which->make();
}

/* Confidence and share of the time of the best guess, used or not. */
static void ask_rule(struct pp_period_rule *rule)
{
	struct pp_marks *list = calloc(RANKS + 1, sizeof(*list));

	*rule = (struct pp_period_rule){0};
	CHECK(pp_period_rule_find(&job, list, rule) >= 0);
	for (size_t r = 0; r < RANKS; r++)
		free(list[r].mark);
	free(list);
}

static void check(const struct shape *which, uint64_t first, int print)
{
	struct pp_period_rule rule;
	struct pp_steps s = {0};
	struct pp_err err;
	int used, right;

	make(which, first);
	ask_rule(&rule);
	CHECK_INT(pp_steps_find(&job, 0, 0, &s, &err), 0);
	used = s.rule == PP_STEP_RULE_PERIOD;
	/* The first step's begin is not known where nothing is before it: it is the edge step. A pattern that is disturbed is
	 * found late, and steps before it are none. */
	right = used && (int)rule.steps <= which->steps && 10 * (int)rule.steps >= 9 * which->steps && s.steps + 1 >= rule.steps;
	if (print)
		printf("| %s | %d | %zu | %.2f | %.0f %% | %s |\n", which->what, which->steps, rule.steps, rule.confidence,
		       100 * rule.time, used ? "steps" : "window");
	CHECK(used == (rule.confidence >= 0.5));
	if (used ? !right : which->must) {
		fprintf(stderr, "'%s' with seed %d: %zu steps for %d, confidence %.2f, %.0f %% of the time: %s\n", which->what,
		        (int)first, rule.steps, which->steps, rule.confidence, 100 * rule.time, s.remark);
		CHECK(!"wrong steps");
	}
	if (used)
		CHECK(strstr(s.remark, "of the recorded time") != NULL);
	pp_steps_release(&s);
	free_capture(&job);
}

int main(int argc, char **argv)
{
	int print = argc > 1 && !strcmp(argv[1], "--print");

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		for (uint64_t first = 1; first <= (print ? 1 : 20); first++)
			check(&shape[i], first, print);
	return test_end();
}
