/* What limits made-up jobs whose cause is known: kinds over steps, sets of ranks, and jobs in which nobody may be named. */
#include "aggregate/tools/finding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"
#include "tests/unit/aggregate/finding_kit.h"
#include "tests/unit/aggregate/pod_made.h"

#define CHECK_NEAR(got, want, off) CHECK(llabs((long long)(got) - (long long)(want)) <= (off))

enum { US = 1000, MS = 1000 * US, FIRST = 100, WORK = 10 * MS, MOST = 8 };

static uint32_t state;

/* -1 to 1, triangular. */
static double noise(void)
{
	double sum = 0;

	for (int i = 0; i < 2; i++) {
		state = state * 1664525 + 1013904223;
		sum += (double)(state >> 8) / (1 << 24);
	}
	return sum - 1;
}

/* ns that a rank works longer in a step. */
typedef int64_t fault(size_t rank, size_t step);

struct job {
	size_t ranks, per_host, steps;
	int category;
	double noise; /* of the work */
	fault *fault;
	const char *window_by; /* NULL: no row of /window */
};

static struct pp_row_finding row[MOST];
static size_t rows;

static void take(struct pp_dataset d)
{
	rows = findings_of(&d, row, MOST);
	pp_intern_free((struct pp_intern *)d.names);
	pp_dataset_release(&d);
}

/* Each rank works 10 ms, then all join. */
static void run(const struct job *j)
{
	struct pp_made_job m;
	struct pp_dataset d;

	state = 1;
	pp_made_begin(&m, j->ranks, j->per_host, FIRST, j->steps);
	for (size_t s = 0; s < j->steps; s++) {
		pp_made_begin_all(&m, s);
		for (size_t r = 0; r < j->ranks; r++) {
			pp_made_work(&m, r, PP_CATEGORY_HOST_COMPUTE, (int64_t)(WORK * (1 + j->noise * noise())));
			pp_made_work(&m, r, (enum pp_category)j->category, j->fault(r, s));
		}
		pp_made_collective(&m, 1, "MPI_Allreduce", 1000, 100 * US);
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	if (j->window_by) {
		d.window = calloc(1, sizeof(*d.window));
		d.windows = 1;
		snprintf(d.window->by, sizeof(d.window->by), "%s", j->window_by);
	}
	take(d);
	CHECK(rows && rows <= MOST);
	for (size_t i = 0; i < rows; i++)
		CHECK(row[i].finding[0] && strlen(row[i].finding) < sizeof(row[i].finding) - 1);
}

static const struct pp_row_finding *find(enum pp_finding_kind kind)
{
	for (size_t i = 0; i < rows; i++)
		if (row[i].kind == (int)kind)
			return &row[i];
	return NULL;
}

static void check_first(enum pp_finding_kind kind, const char *who, int reason)
{
	if (row[0].kind != (int)kind || strcmp(row[0].who, who) != 0)
		fprintf(stderr, "kind %d: %s\n", row[0].kind, row[0].finding);
	CHECK_INT(row[0].kind, kind);
	CHECK_STR(row[0].who, who);
	CHECK_INT(row[0].finding_reason, reason);
}

static int64_t nobody(size_t rank, size_t step)
{
	(void)rank;
	(void)step;
	return 0;
}

static int64_t rank_1(size_t rank, size_t step)
{
	(void)step;
	return rank == 1 ? 5 * MS : 0;
}

TEST(persistent)
{
	static const size_t ranks[] = {2, 3, 8, 200};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		run(&(struct job){ranks[i], 1, 20, PP_CATEGORY_INPUT, 0.02, rank_1});
		check_first(PP_FINDING_PERSISTENT, "rank 1", PP_CATEGORY_INPUT);
		CHECK_NEAR(row[0].finding_gain_ns, 5 * MS, 500 * US);
		CHECK_NEAR(row[0].more_ns, 5 * MS, 500 * US);
		CHECK_INT(row[0].finding_steps, 20);
		CHECK_INT(row[0].waiters, ranks[i] - 1);
		CHECK_NEAR(row[0].finding_wait_ns, 5 * MS, 500 * US);
	}
}

static int64_t two_ranks(size_t rank, size_t step)
{
	(void)step;
	return rank == 1 || rank == 6 ? 5 * MS : 0;
}

/* Each of them hides the other: repairing one gains nothing. */
TEST(two_at_once)
{
	run(&(struct job){8, 1, 20, PP_CATEGORY_HOST_COMPUTE, 0.02, two_ranks});
	check_first(PP_FINDING_PERSISTENT, "ranks 1 and 6", PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(row[0].finding_ranks, 2);
	CHECK_NEAR(row[0].finding_gain_ns, 5 * MS, 500 * US);
}

static int64_t two_unlike(size_t rank, size_t step)
{
	(void)step;
	return rank == 1 ? 5 * MS : rank == 6 ? 3 * MS : 0;
}

static int64_t first_1_then_6(size_t rank, size_t step)
{
	return rank == (step < 10 ? 1 : 6) ? 5 * MS : 0;
}

/* "5 ms each" is true only where each of them is as late in most of the steps. */
TEST(late_alike)
{
	run(&(struct job){8, 1, 20, PP_CATEGORY_HOST_COMPUTE, 0.02, two_ranks});
	CHECK(strstr(row[0].finding, " ms each more than"));
	run(&(struct job){8, 1, 20, PP_CATEGORY_HOST_COMPUTE, 0.02, two_unlike});
	check_first(PP_FINDING_PERSISTENT, "ranks 1 and 6", PP_CATEGORY_HOST_COMPUTE);
	CHECK(strstr(row[0].finding, "the latest of them ") && !strstr(row[0].finding, " each "));
	run(&(struct job){8, 1, 20, PP_CATEGORY_HOST_COMPUTE, 0.02, first_1_then_6});
	check_first(PP_FINDING_PERSISTENT, "ranks 1 and 6", PP_CATEGORY_HOST_COMPUTE);
	CHECK(strstr(row[0].finding, "the latest of them ") && !strstr(row[0].finding, " each "));
}

static int64_t ranks_4_to_7(size_t rank, size_t step)
{
	(void)step;
	return rank / 4 == 1 ? 5 * MS : 0;
}

TEST(whole_host)
{
	run(&(struct job){16, 4, 20, PP_CATEGORY_HOST_COMPUTE, 0.02, ranks_4_to_7});
	check_first(PP_FINDING_PERSISTENT, "host h1 (ranks 4-7)", PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(row[0].finding_worker, 4);
	CHECK_INT(row[0].finding_hosts, 1);
	CHECK_STR(row[0].finding_host_list, "h1");
}

static int64_t every_other_rank(size_t rank, size_t step)
{
	(void)step;
	return rank % 4 < 2 && rank < 12 ? 5 * MS : 0;
}

/* Hosts of a set are listed once each, for who wants to leave them out. */
TEST(hosts_of_a_set)
{
	run(&(struct job){16, 4, 20, PP_CATEGORY_HOST_COMPUTE, 0.02, every_other_rank});
	CHECK_INT(row[0].finding_ranks, 6);
	CHECK_INT(row[0].finding_hosts, 3);
	CHECK_STR(row[0].finding_host_list, "h[0-2]");
}

static int64_t from_step_12(size_t rank, size_t step)
{
	return rank == 2 && step >= 12 ? 5 * MS : 0;
}

/* The usual step is the one after the change. */
TEST(sudden)
{
	run(&(struct job){4, 4, 24, PP_CATEGORY_HOST_COMPUTE, 0.02, from_step_12});
	check_first(PP_FINDING_SUDDEN, "rank 2", PP_CATEGORY_HOST_COMPUTE);
	CHECK_NEAR(row[0].finding_first, FIRST + 12, 1);
	CHECK_NEAR(row[0].usual_ns, WORK + 5 * MS, 500 * US);
	CHECK_NEAR(row[0].finding_gain_ns, 5 * MS, 500 * US);
}

static int64_t until_step_12(size_t rank, size_t step)
{
	return rank == 2 && step < 12 ? 5 * MS : 0;
}

/* Nothing limits the job any more, but half of it took longer. */
TEST(until_a_change)
{
	const struct pp_row_finding *f;

	run(&(struct job){4, 4, 24, PP_CATEGORY_INPUT, 0.02, until_step_12});
	CHECK_INT(row[0].kind, PP_FINDING_CATEGORY);
	CHECK_NEAR(row[0].usual_ns, WORK, 500 * US);
	f = find(PP_FINDING_ONE_OFF);
	CHECK(f && !strcmp(f->who, "rank 2") && f->finding_reason == PP_CATEGORY_INPUT);
	CHECK(f && f->finding_first == FIRST && f->finding_steps == 12);
	if (f)
		CHECK_NEAR(f->more_ns, 5 * MS, 500 * US);
	run(&(struct job){4, 4, 24, PP_CATEGORY_INPUT, 0.02, from_step_12});
	CHECK(!find(PP_FINDING_ONE_OFF));
}

static int64_t from_step_12_with_noise(size_t rank, size_t step)
{
	return from_step_12(rank, step) + (step < 12 && step % 4 == 1 ? 5 * MS : 0);
}

/* Three steps of before are as long as those after: the times alone show no change, the rank's work does. */
TEST(sudden_in_noise)
{
	run(&(struct job){4, 4, 24, PP_CATEGORY_HOST_COMPUTE, 0.02, from_step_12_with_noise});
	check_first(PP_FINDING_SUDDEN, "rank 2", PP_CATEGORY_HOST_COMPUTE);
	CHECK_NEAR(row[0].finding_first, FIRST + 12, 1);
	CHECK_INT(row[0].of_steps, 12);
	CHECK_NEAR(row[0].finding_gain_ns, 5 * MS, 500 * US);
}

static int64_t more_and_more(size_t rank, size_t step)
{
	return rank == 2 ? (int64_t)step * 300 * US : 0;
}

TEST(growing)
{
	run(&(struct job){4, 4, 30, PP_CATEGORY_HOST_COMPUTE, 0.02, more_and_more});
	check_first(PP_FINDING_GROWING, "rank 2", PP_CATEGORY_HOST_COMPUTE);
}

static int64_t in_turns(size_t rank, size_t step)
{
	return rank == step % 4 ? 5 * MS : 0;
}

TEST(rotating)
{
	run(&(struct job){4, 4, 24, PP_CATEGORY_HOST_COMPUTE, 0.02, in_turns});
	check_first(PP_FINDING_ROTATING, "ranks 0-3", PP_CATEGORY_HOST_COMPUTE);
	CHECK_NEAR(row[0].finding_gain_ns, 5 * MS, 500 * US);
	CHECK_NEAR(row[0].more_ns, 5 * MS, 500 * US);
}

static int64_t all_every_10(size_t rank, size_t step)
{
	(void)rank;
	return step % 10 == 9 ? 400 * MS : 0;
}

/* A checkpoint: the usual step is what it is, and the exceptional one is said apart. */
TEST(periodic)
{
	run(&(struct job){4, 4, 50, PP_CATEGORY_OUTPUT, 0.02, all_every_10});
	check_first(PP_FINDING_PERIODIC, "all ranks", PP_CATEGORY_OUTPUT);
	CHECK_INT(row[0].finding_period, 10);
	CHECK_INT(row[0].finding_steps, 5);
	CHECK_INT(row[0].finding_first, FIRST + 9);
	CHECK_NEAR(row[0].more_ns, 400 * MS, MS);
	CHECK_NEAR(row[0].finding_gain_ns, 40 * MS, MS);
	CHECK_NEAR(row[0].usual_ns, WORK, MS);
}

static int64_t once(size_t rank, size_t step)
{
	return rank == 3 && step == 17 ? 400 * MS : 0;
}

/* One step accuses nobody in the headline. */
TEST(one_off)
{
	const struct pp_row_finding *f;

	run(&(struct job){4, 4, 40, PP_CATEGORY_OUTPUT, 0.02, once});
	CHECK_INT(row[0].kind, PP_FINDING_CATEGORY);
	f = find(PP_FINDING_ONE_OFF);
	CHECK(f != NULL);
	CHECK_STR(f->who, "rank 3");
	CHECK_INT(f->finding_first, FIRST + 17);
	CHECK_INT(f->finding_reason, PP_CATEGORY_OUTPUT);
}

static int64_t sixth_step(size_t rank, size_t step)
{
	return (rank == 1 ? 5 * MS : 0) + (rank == 3 && step == 5 ? 60 * MS : 0);
}

/* Seven steps are too few to see that one of them is slow; a window of --trigger knows it from those in front of it. */
TEST(triggered)
{
	const struct pp_row_finding *f;

	run(&(struct job){4, 4, 7, PP_CATEGORY_INPUT, 0.4, sixth_step, "steps"});
	CHECK(!find(PP_FINDING_ONE_OFF));
	run(&(struct job){4, 4, 7, PP_CATEGORY_INPUT, 0.4, sixth_step, "trigger"});
	f = find(PP_FINDING_ONE_OFF);
	CHECK(f != NULL);
	CHECK_STR(f->who, "rank 3");
	CHECK_INT(f->finding_first, FIRST + 5);
	CHECK_INT(row[0].of_steps, 6);
}

static int64_t once_among_others(size_t rank, size_t step)
{
	return once(rank, step) + (step == 8 || step == 29 ? 40 * MS : 0);
}

/* What one step takes longer is not lost among pauses of the machine that are short beside it. */
TEST(one_off_among_others)
{
	const struct pp_row_finding *f;

	run(&(struct job){4, 4, 40, PP_CATEGORY_OUTPUT, 0.001, once_among_others});
	f = find(PP_FINDING_ONE_OFF);
	CHECK(f != NULL);
	CHECK_STR(f ? f->who : "", "rank 3");
	CHECK_INT(f ? f->finding_first : 0, FIRST + 17);
	f = find(PP_FINDING_IRREGULAR);
	CHECK(f != NULL);
	CHECK_STR(f ? f->who : "", "all ranks");
	CHECK_INT(f ? f->finding_steps : 0, 2);
	CHECK_INT(f ? f->finding_first : 0, FIRST + 8);
	CHECK_NEAR(f ? f->more_ns : 0, 40 * MS, MS);
}

static int64_t once_and_sudden(size_t rank, size_t step)
{
	return rank == 3 && step == 12 ? 60 * MS : rank == 2 && step >= 30 ? 20 * MS : 0;
}

/* An exceptional step before a change is measured by the steps there: it is no shorter than the usual one. */
TEST(one_off_before_a_change)
{
	const struct pp_row_finding *f;

	run(&(struct job){4, 4, 50, PP_CATEGORY_OUTPUT, 0.001, once_and_sudden});
	check_first(PP_FINDING_SUDDEN, "rank 2", PP_CATEGORY_OUTPUT);
	f = find(PP_FINDING_ONE_OFF);
	CHECK(f != NULL);
	CHECK_STR(f ? f->who : "", "rank 3");
	CHECK_NEAR(f ? f->more_ns : 0, 60 * MS, MS);
}

static int64_t first_step(size_t rank, size_t step)
{
	(void)rank;
	return step ? 0 : 100 * MS;
}

TEST(start_up)
{
	run(&(struct job){4, 4, 20, PP_CATEGORY_COMPILATION, 0.02, first_step});
	CHECK_INT(row[0].kind, PP_FINDING_CATEGORY);
	CHECK(find(PP_FINDING_START_UP) && find(PP_FINDING_START_UP)->finding_reason == PP_CATEGORY_COMPILATION);
}

/* What all ranks do, or the only one, is compared with no other rank. */
TEST(look_at)
{
	for (int reason = 0; reason < PP_REASONS; reason++)
		CHECK(!strstr(pp_finding_look_at(reason, 0), "another rank"));
	CHECK(strstr(pp_finding_look_at(PP_CATEGORY_DEVICE_COMPUTE, 1), "another rank"));
}

static int64_t first_steps_of_one(size_t rank, size_t step)
{
	return rank == 1 && step < 2 ? (100 - 60 * (int64_t)step) * MS : 0;
}

static int64_t first_steps_in_turn(size_t rank, size_t step)
{
	return step < 2 && rank == 1 + step ? (100 - 10 * (int64_t)step) * MS : 0;
}

/* A fact of one start: the rank that does most of it, but not the first of two that do as much. */
TEST(start_up_of_one)
{
	run(&(struct job){4, 4, 20, PP_CATEGORY_COMPILATION, 0.02, first_steps_of_one});
	CHECK_STR(find(PP_FINDING_START_UP) ? find(PP_FINDING_START_UP)->who : "none", "rank 1");
	run(&(struct job){4, 4, 20, PP_CATEGORY_COMPILATION, 0.02, first_steps_in_turn});
	CHECK_STR(find(PP_FINDING_START_UP) ? find(PP_FINDING_START_UP)->who : "none", "");
}

static int64_t input_of_all(size_t rank, size_t step)
{
	(void)step;
	return rank == 1 ? 21 * MS : 20 * MS;
}

/* Input that all ranks wait for is more than what one of them takes longer. */
TEST(input)
{
	run(&(struct job){4, 4, 20, PP_CATEGORY_INPUT, 0.02, input_of_all});
	check_first(PP_FINDING_INPUT, "all ranks", PP_CATEGORY_INPUT);
}

/* Noise names nobody, whatever the number of ranks and however large it is. */
TEST(clean)
{
	static const size_t ranks[] = {2, 3, 8, 100}, steps[] = {1, 2, 5, 10, 40};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
		for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++)
			for (int n = 0; n < 3; n++) {
				run(&(struct job){ranks[i], 4, steps[k], PP_CATEGORY_HOST_COMPUTE,
				                  n == 0   ? 0.01
				                  : n == 1 ? 0.1
				                           : 0.5,
				                  nobody});
				CHECK(row[0].kind == PP_FINDING_CATEGORY || row[0].kind == PP_FINDING_ROTATING ||
				      row[0].kind == PP_FINDING_IRREGULAR);
			}
}

static int64_t random_rank(size_t rank, size_t step)
{
	return rank == (step * 2654435761U >> 7) % 2 ? 5 * MS : 0;
}

/* With two ranks one of them is late in each step. */
TEST(random_of_two)
{
	run(&(struct job){2, 2, 30, PP_CATEGORY_HOST_COMPUTE, 0.02, random_rank});
	CHECK(row[0].kind == PP_FINDING_ROTATING || row[0].kind == PP_FINDING_CATEGORY);
}

static int64_t rank_1_every_5(size_t rank, size_t step)
{
	return rank == 1 && step % 5 == 2 ? 8 * MS : 0;
}

/* Noise of all ranks hides in the times of the steps what the rank's own work shows. */
TEST(rank_at_times)
{
	run(&(struct job){4, 4, 40, PP_CATEGORY_INPUT, 0.2, rank_1_every_5});
	check_first(PP_FINDING_PERIODIC, "rank 1", PP_CATEGORY_INPUT);
	CHECK_INT(row[0].finding_period, 5);
}

static int64_t rank_0_every_10(size_t rank, size_t step)
{
	return rank == 0 && step % 10 == 9 ? 400 * MS : 0;
}

static int64_t every_5_and_once(size_t rank, size_t step)
{
	return (rank == 0 && step % 5 == 3) || step == 1 ? 40 * MS : 0;
}

/* A step that is exceptional before the first one of a period is none of it. */
TEST(period_after_another_step)
{
	run(&(struct job){4, 4, 40, PP_CATEGORY_INPUT, 0.02, every_5_and_once});
	check_first(PP_FINDING_PERIODIC, "rank 0", PP_CATEGORY_INPUT);
	CHECK_INT(row[0].finding_period, 5);
	CHECK_INT(row[0].finding_first, FIRST + 3);
	CHECK_INT(row[0].finding_steps, 8);
}

/* One of two ranks is not all of them. */
TEST(half_of_the_ranks)
{
	run(&(struct job){2, 2, 60, PP_CATEGORY_OUTPUT, 0.02, rank_0_every_10});
	check_first(PP_FINDING_PERIODIC, "rank 0", PP_CATEGORY_OUTPUT);
}

/* Ranks of a spawned world, for example, may be what takes long in operations with them. */
TEST(missing_ranks)
{
	for (int is_missing = 0; is_missing < 2; is_missing++) {
		struct pp_made_job m;
		struct pp_dataset d;

		pp_made_begin(&m, 4, 4, FIRST, 20);
		for (size_t s = 0; s < 20; s++) {
			pp_made_begin_all(&m, s);
			pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, WORK);
			pp_made_collective(&m, 1, "MPI_Allreduce", 1000, 5 * MS);
			pp_made_end_all(&m);
		}
		d = pp_made_end(&m);
		for (size_t i = 0; i < d.collectives && is_missing; i++)
			d.collective[i].mismatch = PP_MISMATCH_MISSING;
		take(d);
		CHECK_INT(row[0].kind, PP_FINDING_CATEGORY);
		CHECK(strstr(row[0].finding, is_missing ? "were not recorded" : "No rank waits long"));
	}
}

/* Between steps rank 0 works now and then, and the others wait for it. */
TEST(late_between_steps)
{
	struct pp_made_job m;

	pp_made_begin(&m, 4, 4, FIRST, 40);
	for (size_t s = 0; s < 40; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, WORK);
		pp_made_collective(&m, 1, "MPI_Allreduce", 1000, 100 * US);
		pp_made_end_all(&m);
		if (s % 8 != 6)
			continue;
		pp_made_work(&m, 0, PP_CATEGORY_OTHER, 30 * MS);
		pp_made_collective(&m, 1, "MPI_Barrier", 0, 10 * US);
	}
	take(pp_made_end(&m));
	check_first(PP_FINDING_PERIODIC, "rank 0", PP_REASON_BETWEEN_STEPS);
}

/* Ranks that wait for a late one in a call that writes a file seem to write. */
TEST(waits_in_files)
{
	struct pp_made_job m;
	struct pp_dataset d;

	pp_made_begin(&m, 4, 4, FIRST, 20);
	for (size_t s = 0; s < 20; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, WORK);
		pp_made_work(&m, 1, PP_CATEGORY_HOST_COMPUTE, 5 * MS);
		pp_made_collective(&m, 1, "MPI_File_write_at_all", 1000, 1 * MS);
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	pp_made_files(&d, PP_CATEGORY_OUTPUT);
	rows = findings_of(&d, row, MOST);
	check_first(PP_FINDING_PERSISTENT, "rank 1", PP_CATEGORY_HOST_COMPUTE);
	CHECK(!find(PP_FINDING_OUTPUT));
	pp_intern_free((struct pp_intern *)d.names);
	pp_dataset_release(&d);
}

/* Rank 0 works before calls that no other rank makes. */
TEST(phase)
{
	struct pp_made_job m;
	const int32_t alone[] = {0};
	uint64_t own;

	pp_made_begin(&m, 4, 4, FIRST, 20);
	own = pp_made_communicator(&m, "leader", alone, 1);
	for (size_t s = 0; s < 20; s++) {
		pp_made_begin_all(&m, s);
		pp_made_work_all(&m, PP_CATEGORY_HOST_COMPUTE, WORK);
		pp_made_work(&m, 0, PP_CATEGORY_OUTPUT, 5 * MS);
		pp_made_collective(&m, own, "MPI_Allgather", 10, 10 * US);
		pp_made_collective(&m, 1, "MPI_Bcast", 1000, 100 * US);
		pp_made_end_all(&m);
	}
	take(pp_made_end(&m));
	check_first(PP_FINDING_PHASE, "rank 0", PP_CATEGORY_OUTPUT);
}

/* Ranks meet in every other step, so that a rank that is late in one step is waited for in the next. It is named with what it
 * did. */
TEST(period_before_a_meeting)
{
	const struct pp_row_finding *f;
	struct pp_made_job m;

	state = 1;
	pp_made_begin(&m, 12, 12, FIRST, 32);
	for (size_t s = 0; s < 32; s++) {
		pp_made_begin_all(&m, s);
		for (size_t r = 0; r < 12; r++) {
			pp_made_work(&m, r, PP_CATEGORY_HOST_COMPUTE, (int64_t)(WORK * (1 + 0.2 * noise())));
			if (!r && s >= 5 && s % 4 == 1)
				pp_made_work(&m, r, PP_CATEGORY_OUTPUT, 18 * MS);
		}
		if (s % 2 == 0)
			pp_made_collective(&m, 1, "MPI_Allreduce", 1000, 100 * US);
		pp_made_end_all(&m);
	}
	take(pp_made_end(&m));
	check_first(PP_FINDING_PERIODIC, "rank 0", PP_CATEGORY_OUTPUT);
	f = find(PP_FINDING_PERIODIC);
	CHECK(f && f->finding_period == 4 && f->finding_first == FIRST + 5 && f->finding_steps == 7);
}

int main(void)
{
	persistent();
	two_at_once();
	late_alike();
	whole_host();
	hosts_of_a_set();
	sudden();
	until_a_change();
	sudden_in_noise();
	growing();
	rotating();
	periodic();
	one_off();
	triggered();
	one_off_among_others();
	one_off_before_a_change();
	start_up();
	look_at();
	start_up_of_one();
	input();
	clean();
	random_of_two();
	rank_at_times();
	period_after_another_step();
	half_of_the_ranks();
	missing_ranks();
	late_between_steps();
	waits_in_files();
	phase();
	period_before_a_meeting();
	return test_end();
}
