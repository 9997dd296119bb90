/* Comparison of made-up sessions: equal jobs, a slow rank, a slow role, other ranks, other surroundings, trends, damaged values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/diff/compare.h"
#include "core/base/known.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { RANKS = 8, STEPS = 40, RUNS_MOST = 4, MS = 1000000 };

struct job { /* how a session differs from the others */
	size_t ranks, steps;
	int32_t slow_from, slow_to; /* these ranks compute longer */
	int64_t slow_ns, transfer_ns;
	uint64_t seed;
	int roles;                    /* 2: even and odd ranks */
	size_t slow_first, slow_each; /* they are slow from this step on, in each so many; 0: all */
	int32_t shift;                /* of the ranks' numbers */
};

static const struct job usual = {.ranks = RANKS, .steps = STEPS, .slow_from = -1, .slow_to = -1, .transfer_ns = MS / 2};

static int64_t noise(uint64_t *seed, int64_t most)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)((*seed >> 33) % (uint64_t)most);
}

static struct pp_dataset make(struct job j)
{
	struct pp_made_job m;
	struct pp_dataset d;
	uint64_t seed = j.seed + 1;

	pp_made_begin(&m, j.ranks, 4, 10, j.steps);
	for (size_t s = 0; s < j.steps; s++) {
		for (size_t r = 0; r < j.ranks; r++) {
			int is_slow = (int32_t)r >= j.slow_from && (int32_t)r <= j.slow_to && s >= j.slow_first &&
			              (!j.slow_each || (s - j.slow_first) % j.slow_each == 0);

			pp_made_step_begin(&m, r, s);
			pp_made_work(&m, r, PP_CATEGORY_INPUT, MS + noise(&seed, MS / 20));
			pp_made_work(&m, r, PP_CATEGORY_HOST_COMPUTE, 10 * MS + noise(&seed, MS / 10) + (is_slow ? j.slow_ns : 0));
		}
		pp_made_collective(&m, 1, "MPI_Allreduce", 1 << 20, j.transfer_ns + noise(&seed, MS / 20));
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	d.role = calloc(2, sizeof(*d.role));
	d.roles = j.roles ? 2 : 0;
	for (size_t r = 0; r < j.ranks; r++) {
		d.worker[r].role = j.roles ? (int32_t)(r % 2) : -1;
		d.worker[r].rank += j.shift;
	}
	d.ranks_asked = (int32_t)j.ranks;
	return d;
}

static struct pp_diff_map map; /* of the comparisons to come */

struct result {
	struct pp_diff_shared shared;
	struct pp_diff_run run[RUNS_MOST];
	struct pp_diff diff;
};

/* Takes the datasets. */
static void compare(struct result *r, struct pp_dataset *d, size_t runs)
{
	const struct pp_dataset *each[RUNS_MOST];

	for (size_t i = 0; i < runs; i++)
		each[i] = &d[i];
	CHECK_INT(pp_diff_share(each, runs, &map, &r->shared), 0);
	for (size_t i = 0; i < runs; i++)
		CHECK_INT(pp_diff_run_init(&r->run[i], "given", &d[i], &r->shared, !i), 0);
	CHECK_INT(pp_diff_compare(r->run, runs, &r->shared, 10, &r->diff), 0);
}

static void release(struct result *r)
{
	size_t runs = r->diff.runs;

	pp_diff_release(&r->diff);
	for (size_t i = 0; i < runs; i++) {
		struct pp_intern *names = (struct pp_intern *)r->run[i].d.names;

		pp_diff_run_release(&r->run[i]);
		pp_intern_free(names);
	}
	pp_diff_shared_release(&r->shared);
}

static void compare_two(struct result *r, struct job a, struct job b)
{
	struct pp_dataset d[2];

	b.seed += 1000;
	d[0] = make(a);
	d[1] = make(b);
	compare(r, d, 2);
}

static enum pp_noise_word word_of(const struct result *r, size_t group, int quantity)
{
	return pp_diff_last(&r->diff)->group[group][quantity].word;
}

TEST(equal_jobs_have_no_difference)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct job j = usual;
		struct result r;

		j.seed = seed;
		compare_two(&r, j, j);
		CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_SAME);
		for (int q = 0; q < PP_DIFF_QUANTITIES; q++)
			CHECK_INT(word_of(&r, 0, q), PP_NOISE_SAME);
		CHECK_INT(r.diff.ranks, 0);
		CHECK_INT(r.diff.operations, 1);
		CHECK(!pp_diff_operation_changed(&r.diff.operation[0]));
		CHECK_INT(r.diff.environments, 0);
		release(&r);
	}
}

TEST(a_slow_rank_is_named)
{
	struct job b = usual;
	struct result r;

	b.slow_from = b.slow_to = 3;
	b.slow_ns = 4 * MS;
	compare_two(&r, usual, b);
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_LONGER);
	CHECK(fabs(pp_diff_last(&r.diff)->step.b - pp_diff_last(&r.diff)->step.a - 4 * MS) < MS / 5);
	CHECK_INT(r.diff.ranks_changed, 1);
	CHECK_INT(r.diff.ranks, 2);
	for (size_t i = 0; i < r.diff.ranks; i++) {
		CHECK_INT(r.diff.rank[i].rank, 3);
		CHECK(fabs(r.diff.rank[i].b - r.diff.rank[i].a - 4 * MS) < MS / 5);
	}
	CHECK(r.diff.ranks == 2 && r.diff.rank[0].quantity + r.diff.rank[1].quantity == PP_CATEGORY_HOST_COMPUTE + PP_DIFF_LATE);
	CHECK_INT(word_of(&r, 0, PP_DIFF_WAIT), PP_NOISE_LONGER);
	CHECK_INT(word_of(&r, 0, PP_DIFF_TRANSFER), PP_NOISE_SAME);
	CHECK_INT(r.diff.operation[0].wait.word, PP_NOISE_LONGER);
	CHECK_INT(r.diff.operation[0].transfer.word, PP_NOISE_SAME);
	release(&r);
	compare_two(&r, b, usual); /* and back */
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_SHORTER);
	CHECK_INT(r.diff.ranks_changed, 1);
	release(&r);
}

/* What all ranks do is no rank's own; half of them is. */
TEST(ranks_are_held_against_the_others)
{
	struct job b = usual;
	struct result r;

	b.slow_from = 0;
	b.slow_to = RANKS - 1;
	b.slow_ns = 4 * MS;
	compare_two(&r, usual, b);
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_LONGER);
	CHECK_INT(word_of(&r, 0, PP_CATEGORY_HOST_COMPUTE), PP_NOISE_LONGER);
	CHECK_INT(word_of(&r, 0, PP_CATEGORY_INPUT), PP_NOISE_SAME);
	CHECK_INT(r.diff.ranks, 0);
	release(&r);
	b.slow_from = 4;
	compare_two(&r, usual, b);
	CHECK_INT(r.diff.ranks_changed, 4);
	for (size_t i = 0; i < r.diff.ranks; i++)
		CHECK(r.diff.rank[i].rank >= 4);
	release(&r);
}

TEST(roles_have_results_of_their_own)
{
	struct job a = usual, b = usual;
	struct result r;

	a.roles = b.roles = 2;
	b.transfer_ns = 3 * MS;
	b.slow_from = b.slow_to = 5;
	b.slow_ns = 8 * MS;
	compare_two(&r, a, b);
	CHECK_INT(r.shared.groups, 3);
	CHECK_STR(r.shared.group[0].ranks_text, "0-7");
	CHECK_STR(r.shared.group[1].ranks_text, "0, 2, 4, 6");
	CHECK_STR(r.shared.group[2].ranks_text, "1, 3, 5, 7");
	CHECK_INT(word_of(&r, 0, PP_CATEGORY_HOST_COMPUTE), PP_NOISE_LONGER);
	CHECK_INT(word_of(&r, 1, PP_CATEGORY_HOST_COMPUTE), PP_NOISE_SAME);
	CHECK_INT(word_of(&r, 2, PP_CATEGORY_HOST_COMPUTE), PP_NOISE_LONGER);
	CHECK(fabs(pp_diff_last(&r.diff)->group[2][PP_CATEGORY_HOST_COMPUTE].b - 12.05 * MS) < MS / 10);
	CHECK_INT(word_of(&r, 0, PP_DIFF_TRANSFER), PP_NOISE_LONGER);
	CHECK_INT(r.diff.operation[0].busbw.word, PP_NOISE_SHORTER);
	CHECK_INT(r.diff.ranks_changed, 1);
	CHECK_INT(r.diff.rank[0].rank, 5);
	release(&r);
}

TEST(only_shared_ranks_are_compared)
{
	struct job b = usual;
	struct pp_dataset d[2];
	struct result r;

	b.ranks = 5;
	b.slow_from = b.slow_to = 4;
	b.slow_ns = 3 * MS;
	compare_two(&r, usual, b);
	CHECK_INT(r.shared.ranks, 5);
	CHECK_INT(r.diff.ranks_changed, 1);
	CHECK_INT(r.diff.rank[0].rank, 4);
	CHECK(r.diff.environments > 0);
	CHECK_STR(r.diff.environment[0].what, "ranks");
	CHECK_STR(r.shared.left[0], "5-7");
	CHECK_STR(r.shared.left[1], "");
	CHECK_INT(r.diff.operations, 1); /* of all ranks in both */
	CHECK(r.diff.operation[0].size_a == RANKS && r.diff.operation[0].size_b == 5);
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_LONGER);
	release(&r);
	d[0] = make(usual);
	d[1] = make(usual);
	snprintf(d[1].worker[2].status, sizeof(d[1].worker[2].status), "missing: killed");
	compare(&r, d, 2);
	CHECK_INT(r.shared.ranks, RANKS - 1);
	release(&r);
}

/* Steps and means of all ranks are compared in any case; one by one those that the map says. */
TEST(ranks_of_other_numbers)
{
	struct job b = usual;
	struct result r;

	b.shift = 100;
	b.ranks = 4;
	b.slow_from = b.slow_to = 2;
	b.slow_ns = 3 * MS;
	compare_two(&r, usual, b);
	CHECK_INT(r.shared.ranks, 0);
	CHECK_STR(r.shared.left[0], "0-7");
	CHECK_STR(r.shared.left[1], "100-103");
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_LONGER);
	CHECK_INT(word_of(&r, 0, PP_CATEGORY_HOST_COMPUTE), PP_NOISE_LONGER);
	CHECK_INT(r.diff.ranks, 0);
	release(&r);
	map = (struct pp_diff_map){.range = {{4, 100, 4}}, .ranges = 1};
	compare_two(&r, usual, b);
	CHECK_INT(r.shared.ranks, 4);
	CHECK_STR(r.shared.left[0], "0-3");
	CHECK_STR(r.shared.left[1], "");
	CHECK_INT(r.diff.ranks_changed, 1);
	CHECK(r.diff.rank[0].rank == 6 && r.diff.rank[0].other == 102);
	release(&r);
	map = (struct pp_diff_map){.range = {{6, INT32_MAX - 1, INT32_MAX}}, .ranges = 1}; /* beyond what ranks can be */
	compare_two(&r, usual, b);
	CHECK_INT(r.shared.ranks, 0);
	release(&r);
	map.ranges = 0;
}

TEST(operators_and_collectives_of_other_names)
{
	struct pp_dataset d[2] = {make(usual), make(usual)};
	struct pp_err err;
	struct result r;

	for (int i = 0; i < 2; i++) {
		d[i].op = calloc(1, sizeof(*d[i].op));
		d[i].ops = 1;
		d[i].op[0] = (struct pp_row_op){.calls = STEPS, .self_ns = (int64_t)(i ? 40 : 8) * MS * STEPS};
		d[i].op[0].name = pp_intern_put((struct pp_intern *)d[i].names, i ? "new" : "old", 3);
	}
	CHECK_INT(pp_diff_map_parse("old=new,MPI_Bcast=MPI_Allreduce", &map, &err), 0);
	compare(&r, d, 2);
	CHECK(r.diff.ops == 1 && fabs(r.diff.op[0].a - MS) < 1 && fabs(r.diff.op[0].b - 5 * MS) < 1);
	CHECK_STR(r.diff.op[0].name, "old");
	CHECK_INT(r.diff.operations, 2); /* A has no MPI_Bcast */
	CHECK(!strcmp(r.diff.operation[0].name, "MPI_Bcast") || !strcmp(r.diff.operation[1].name, "MPI_Bcast"));
	release(&r);
	map = (struct pp_diff_map){.ranges = 0};
}

/* They are no part of the usual step. */
TEST(exceptional_steps_are_left_out)
{
	struct job b = usual;
	struct result r;

	b.slow_from = 0;
	b.slow_to = RANKS - 1;
	b.slow_ns = 80 * MS;
	b.slow_each = 8;
	b.slow_first = 5;
	b.steps = 200;
	compare_two(&r, usual, b);
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_SAME);
	CHECK_INT(word_of(&r, 0, PP_CATEGORY_HOST_COMPUTE), PP_NOISE_SAME);
	CHECK(r.run[1].course.rare == PP_RARE_PERIODIC && r.run[1].course.period == 8 && r.run[1].course.rares == 25);
	CHECK(fabs(r.run[1].course.rare_each - 80 * MS) < MS && fabs(r.run[1].course.rare_cost - 10 * MS) < MS);
	CHECK(r.diff.chance[1] < 0.1 && r.diff.chance[0] == 1);
	CHECK_INT(r.diff.ranks, 0);
	release(&r);
}

/* What is compared is the step after the last change; one in the last steps decides nothing. */
TEST(a_step_that_doubles_is_never_the_same)
{
	for (size_t steps = 10; steps <= 160; steps *= 2)
		for (size_t tenths = 0; tenths < 10; tenths++) {
			struct job a = usual, b = usual;
			struct result r;

			a.steps = b.steps = steps;
			b.slow_from = b.slow_to = 3;
			b.slow_ns = 11 * MS;
			b.slow_first = steps * tenths / 10;
			b.seed = steps + tenths;
			compare_two(&r, a, b);
			if (steps - b.slow_first > 1) /* one step is an exceptional one */
				CHECK(pp_diff_last(&r.diff)->step.word != PP_NOISE_SAME);
			if (steps >= 40 && tenths <= 7)
				CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_LONGER);
			release(&r);
		}
}

/* Each second step is longer in both: their usual steps are the short ones. In one only, all are compared. */
TEST(steps_with_a_short_period)
{
	struct job a = usual, b = usual;
	struct result r;

	a.slow_from = b.slow_from = 0;
	a.slow_to = b.slow_to = RANKS - 1;
	a.slow_ns = b.slow_ns = 20 * MS;
	a.slow_each = b.slow_each = 2;
	compare_two(&r, a, b);
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_SAME);
	CHECK(fabs(pp_diff_last(&r.diff)->step.a - 11.7 * MS) < MS / 2);
	release(&r);
	a.slow_ns = 0;
	compare_two(&r, a, b);
	CHECK(pp_diff_last(&r.diff)->step.word != PP_NOISE_SAME);
	release(&r);
}

TEST(surroundings_that_differ)
{
	struct pp_dataset d[2] = {make(usual), make(usual)};
	struct result r;

	snprintf(d[0].command, sizeof(d[0].command), "train --lr 1");
	snprintf(d[1].command, sizeof(d[1].command), "train --lr 2");
	snprintf(d[0].options, sizeof(d[0].options), "--output=a --steps=10:50");
	snprintf(d[1].options, sizeof(d[1].options), "--output=b --steps=10:50");
	snprintf(d[1].worker[1].host, sizeof(d[1].worker[1].host), "other");
	compare(&r, d, 2);
	CHECK_INT(r.diff.environments, 2);
	CHECK_STR(r.diff.environment[0].what, "command");
	CHECK_STR(r.diff.environment[0].value[1], "train --lr 2");
	CHECK_STR(r.diff.environment[1].what, "hosts");
	CHECK_STR(r.diff.environment[1].value[0], "h0 x4, h1 x4");
	CHECK_STR(r.diff.environment[1].value[1], "h0 x3, other, h1 x4");
	release(&r);
}

/* Ranks that lacked a core in one session explain its longer steps; docs/diff.md. */
static void add_queue(struct pp_dataset *d, double part)
{
	int64_t end = d->window_end_ns + MS;

	d->process_sample = calloc(2, sizeof(*d->process_sample));
	d->process_samples = 2;
	d->process_sample[1].sample_time_ns = end;
	d->process_sample[0].sample_run_queue_ns = 1;
	d->process_sample[1].sample_run_queue_ns = (uint64_t)(1 + part * (double)end);
}

TEST(time_without_a_core_decides_nothing)
{
	struct job b = usual;
	struct pp_dataset d[2];
	struct result r;

	b.slow_from = 0;
	b.slow_to = RANKS - 1;
	b.slow_ns = 4 * MS;
	d[0] = make(usual);
	d[1] = make(b);
	add_queue(&d[0], 0.01);
	add_queue(&d[1], 0.25);
	compare(&r, d, 2);
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_CORES);
	CHECK_INT(word_of(&r, 0, PP_CATEGORY_HOST_COMPUTE), PP_NOISE_CORES);
	release(&r);
	d[0] = make(usual);
	d[1] = make(b);
	add_queue(&d[0], 0.01);
	add_queue(&d[1], 0.05);
	compare(&r, d, 2);
	CHECK_INT(pp_diff_last(&r.diff)->step.word, PP_NOISE_LONGER);
	CHECK_INT(word_of(&r, 0, PP_CATEGORY_HOST_COMPUTE), PP_NOISE_LONGER);
	release(&r);
}

TEST(operators_that_changed)
{
	struct pp_dataset d[2] = {make(usual), make(usual)};
	struct result r;

	for (int i = 0; i < 2; i++) {
		struct pp_intern *names = (struct pp_intern *)d[i].names;

		d[i].op = calloc(3, sizeof(*d[i].op));
		d[i].ops = 3;
		for (int k = 0; k < 3; k++)
			d[i].op[k] = (struct pp_row_op){
			        .worker = k == 2 ? 77 : 0, .calls = STEPS, .self_ns = MS * STEPS}; /* 77: no rank */
		if (i)
			(void)pp_intern_put(names, "first", 5); /* ids differ between files */
		d[i].op[0].name = pp_intern_put(names, "steady", 6);
		d[i].op[1].name = d[i].op[2].name = pp_intern_put(names, "grows", 5);
	}
	d[1].op[1].self_ns += (int64_t)16 * MS * STEPS;
	compare(&r, d, 2);
	CHECK_INT(r.diff.ops, 1);
	CHECK_STR(r.diff.op[0].name, "grows");
	CHECK(fabs(r.diff.op[0].b - r.diff.op[0].a - 16.0 * MS / RANKS) < 1);
	CHECK_INT(r.diff.ops_below, 1);
	release(&r);
}

/* Per step and other rank, above the floor, and only where both runs know it. */
TEST(causes_of_waiting)
{
	for (int both = 0; both < 2; both++) {
		struct pp_dataset d[2] = {make(usual), make(usual)};
		struct result r;

		for (int i = !both; i < 2; i++) {
			d[i].blame = calloc(2, sizeof(*d[i].blame));
			d[i].blames = 2;
			d[i].blame[0] = (struct pp_row_blame){.worker = 2, .reason = PP_CATEGORY_INPUT};
			d[i].blame[1] = (struct pp_row_blame){.worker = 5, .reason = 11, .blame_ns = MS};
			d[i].blame[0].blame_ns = i ? (int64_t)3 * MS * STEPS * (RANKS - 1) : 0;
		}
		compare(&r, d, 2);
		CHECK_INT(r.diff.causes, both);
		if (r.diff.causes) {
			CHECK_INT(r.diff.cause[0].rank, 2);
			CHECK_STR(r.diff.cause[0].reason, "Input");
			CHECK(fabs(r.diff.cause[0].b - 3 * MS) < 1);
			CHECK_INT(r.diff.causes_below, 1);
		}
		release(&r);
	}
}

/* All wait for the root of a bcast, which waits for the slow rank: only that one has changed. */
TEST(a_rank_that_passes_a_delay_on_is_not_named)
{
	for (int both = 0; both < 2; both++) {
		struct job slow = usual;
		struct pp_dataset d[2];
		struct result r;

		slow.slow_from = slow.slow_to = 3;
		slow.slow_ns = 4 * MS;
		d[0] = make(usual);
		d[1] = make(slow);
		for (size_t s = 0; s < STEPS; s++)
			d[1].cell[s * RANKS].late_ns += (int64_t)4 * MS * (RANKS - 1);
		for (int i = !both; i < 2; i++) {
			d[i].blame = calloc(1, sizeof(*d[i].blame));
			d[i].blames = 1;
			d[i].blame[0] = (struct pp_row_blame){.worker = 3, .reason = PP_CATEGORY_HOST_COMPUTE};
			d[i].blame[0].blame_ns = i ? (int64_t)4 * MS * STEPS * (RANKS - 1) : 0;
		}
		compare(&r, d, 2);
		CHECK_INT(r.diff.ranks_changed, both ? 1 : 2);
		CHECK(!both || (r.diff.ranks && r.diff.rank[0].rank == 3));
		release(&r);
	}
}

/* Waiting that one run does not know is not 0: it is compared where both know it, of the steps and ranks that do. */
TEST(unknown_waiting_is_not_zero)
{
	struct pp_dataset d[2];
	struct result r;
	const struct pp_noise *n;

	for (int part = 0; part < 2; part++) {
		struct job j = usual;

		d[0] = make(j);
		j.seed += 1000;
		d[1] = make(j);
		for (size_t i = 0; i < d[1].steps * d[1].workers; i++) /* all of it, or that of rank 7 */
			if (!part || i % d[1].workers == RANKS - 1)
				d[1].cell[i].wait_ns = d[1].cell[i].late_ns = PP_UNKNOWN;
		for (size_t i = 0; i < d[1].collectives; i++)
			if (!part || i % 2)
				d[1].collective[i].wait_ns = PP_UNKNOWN;
		compare(&r, d, 2);
		n = &pp_diff_last(&r.diff)->group[0][PP_DIFF_WAIT];
		CHECK_INT(n->word, part ? PP_NOISE_SAME : PP_NOISE_UNKNOWN);
		CHECK(n->a > 0 && (part ? n->b > n->a / 2 && n->b < 2 * n->a : isnan(n->b)));
		CHECK_INT(word_of(&r, 0, PP_DIFF_TRANSFER), PP_NOISE_SAME);
		CHECK_INT(word_of(&r, 0, PP_CATEGORY_HOST_COMMUNICATION), PP_NOISE_SAME);
		CHECK(r.diff.operations == 1 &&
		      (part ? r.diff.operation[0].wait.word == PP_NOISE_SAME : isnan(r.diff.operation[0].wait.b)));
		CHECK(r.diff.operations == 1 && !pp_diff_operation_changed(&r.diff.operation[0]) &&
		      isfinite(r.diff.operation[0].weight));
		CHECK_INT(r.diff.ranks, 0); /* no rank's own communication became longer by waiting that is unknown */
		release(&r);
	}
}

TEST(trends)
{
	struct pp_dataset d[RUNS_MOST];
	struct result r;

	for (int i = 0; i < RUNS_MOST; i++) {
		struct job j = usual;

		j.seed = (uint64_t)i;
		j.slow_from = j.slow_to = i < 2 ? -1 : 1;
		j.slow_ns = 5 * MS;
		d[i] = make(j);
	}
	compare(&r, d, RUNS_MOST);
	CHECK_INT(r.diff.before[0].step.word, PP_NOISE_SAME);
	CHECK_INT(r.diff.before[1].step.word, PP_NOISE_LONGER);
	CHECK_INT(r.diff.before[2].step.word, PP_NOISE_SAME);
	CHECK_INT(r.diff.first[2].step.word, PP_NOISE_LONGER);
	CHECK(r.diff.half[0] > 0 && r.diff.half[0] < MS);
	CHECK_INT(r.diff.rank[0].rank, 1);
	release(&r);
}

/* Values of a damaged file that its reader lets through. */
TEST(absurd_values)
{
	for (int round = 0; round < 30; round++) {
		struct pp_dataset d[2] = {make(usual), make(usual)};
		uint64_t seed = (uint64_t)round;
		struct result r;

		for (size_t i = 0; i < RANKS * STEPS; i++) {
			struct pp_row_cell *c = &d[1].cell[i];

			for (int k = 0; k <= PP_CATEGORIES; k++)
				c->exclusive_ns[k] = noise(&seed, 3) ? INT64_MAX : INT64_MIN;
			c->step_ns = noise(&seed, 2) ? INT64_MAX : INT64_MIN;
			c->wait_ns = c->late_ns = c->transfer_ns = noise(&seed, 2) ? INT64_MAX : INT64_MIN;
		}
		for (size_t i = 0; i < d[1].collectives; i++) {
			struct pp_row_collective *c = &d[1].collective[i];

			c->ranks = (int32_t)noise(&seed, 5) - 2;
			c->operation = (uint16_t)noise(&seed, 65536);
			c->communicator = noise(&seed, 2) ? UINT64_MAX : 1;
			c->wait_ns = c->transfer_ns = INT64_MIN;
			c->busbw = noise(&seed, 2) ? (double)NAN : (double)INFINITY;
		}
		for (size_t w = 0; w < d[0].workers; w++)
			d[0].worker[w].role = noise(&seed, 2) ? INT32_MAX : INT32_MIN;
		d[1].worker[0].rank = INT32_MIN;
		d[1].communicator[0].size = UINT32_MAX;
		compare(&r, d, 2);
		release(&r);
	}
}

int main(void)
{
	equal_jobs_have_no_difference();
	a_slow_rank_is_named();
	ranks_are_held_against_the_others();
	roles_have_results_of_their_own();
	only_shared_ranks_are_compared();
	ranks_of_other_numbers();
	operators_and_collectives_of_other_names();
	exceptional_steps_are_left_out();
	a_step_that_doubles_is_never_the_same();
	steps_with_a_short_period();
	surroundings_that_differ();
	time_without_a_core_decides_nothing();
	operators_that_changed();
	causes_of_waiting();
	a_rank_that_passes_a_delay_on_is_not_named();
	unknown_waiting_is_not_zero();
	trends();
	absurd_values();
	return test_end();
}
