/* The order of operations of mpi/coord_agree.c: ranks that hear of requests, look and finalise in any order issue the same
 * operations, agree on the same step, and none waits for ever. Ranks and the nonblocking maximum are made here. */
#include <errno.h>
#include <stdlib.h>

#include "mpi/coord_agree.h"
#include "tests/test.h"

enum { RANKS = 6, OPERATIONS = 4096, RUNS = 400 };

static struct {
	struct pp_agree agree;
	uint32_t received; /* newest request that its keeper has told it */
	int wants;         /* it is to be agreed on */
	uint32_t answered; /* the last one it had an answer for */
	int64_t step, received_step;
	int issued, refused;
} rank[RANKS];

static struct { /* the n-th operation of every rank */
	int joined;
	int64_t max[PP_AGREE_VALUES];
} operation[OPERATIONS];

static struct {
	uint32_t bell;
	int wants;
} word;

static int64_t answers[65536]; /* by request; INT64_MIN: none yet */
static uint64_t seed;

static int chance(int of)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int)((seed >> 33) % (uint64_t)of);
}

static void issue(int r, const int64_t *values)
{
	int n = rank[r].issued++;

	if (n >= OPERATIONS)
		abort();
	for (int i = 0; i < PP_AGREE_VALUES; i++)
		if (!operation[n].joined || values[i] > operation[n].max[i])
			operation[n].max[i] = values[i];
	operation[n].joined++;
}

static void test_pending(int r)
{
	int n = rank[r].issued - 1;

	if (rank[r].agree.pending && operation[n].joined == RANKS)
		pp_agree_end(&rank[r].agree, operation[n].max);
}

/* As the guest: at a step mark or in an MPI call. */
static void look(int r)
{
	int64_t values[PP_AGREE_VALUES], step = -1;
	int rc;

	if (word.bell != rank[r].received && !chance(3)) {
		rank[r].received = word.bell;
		rank[r].received_step = rank[r].step;
		rank[r].wants = word.wants;
	}
	test_pending(r);
	if (!rank[r].wants)
		return;
	if (pp_agree_begin(&rank[r].agree, rank[r].received, rank[r].step, values))
		issue(r, values);
	rc = pp_agree_answer(&rank[r].agree, rank[r].received, &step);
	if (rc == 0 || rc == -EAGAIN)
		return;
	rank[r].wants = 0;
	if (rc < 0) {
		rank[r].refused++;
		return;
	}
	if (answers[rank[r].received] == INT64_MIN)
		answers[rank[r].received] = step;
	CHECK_INT(step, answers[rank[r].received]);
	CHECK(step >= rank[r].received_step); /* what it said for an older request does not count */
	rank[r].answered = rank[r].received;
}

static void begin(uint64_t n)
{
	memset(rank, 0, sizeof rank);
	memset(operation, 0, sizeof operation);
	memset(&word, 0, sizeof word);
	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
		answers[i] = INT64_MIN;
	seed = n * 0x9e3779b97f4a7c15u + 1;
}

static void ring(int wants)
{
	word.bell++;
	word.wants = wants;
}

static int all_have(uint32_t number)
{
	for (int r = 0; r < RANKS; r++)
		if (rank[r].answered != number)
			return 0;
	return 1;
}

/* All finalise: 1 if every rank's channel is over after so many turns. */
static int finalise(int turns)
{
	int64_t values[PP_AGREE_VALUES];
	int open = RANKS, in[RANKS] = {0};

	for (int i = 0; i < turns && open; i++) {
		int r = chance(RANKS);

		if (!in[r] && chance(4)) {
			look(r);
			continue;
		}
		in[r] = 1;
		test_pending(r);
		if (pp_agree_close(&rank[r].agree, values))
			issue(r, values);
		open = 0;
		for (int j = 0; j < RANKS; j++)
			open += !rank[j].agree.over;
	}
	for (int r = 0; r < RANKS; r++) {
		CHECK(!rank[r].agree.pending);
		CHECK_INT(rank[r].issued, rank[0].issued);
	}
	return !open;
}

/* Bells at any moment, also withdrawn and rung again; the last one gets its answer from everybody. */
TEST(test_any_order)
{
	for (uint64_t run = 0; run < RUNS; run++) {
		int next_edge = 0, i;

		begin(run);
		for (i = 0; i < 20000 && next_edge < 3000; i++) {
			int r = chance(RANKS);

			if (i < 4000 && !chance(100))
				ring(chance(4) > 0);
			if (i == 4000)
				ring(1);
			if (r || chance(20)) { /* the slowest of all is rank 0 */
				rank[r].step++;
				look(r);
			}
			next_edge = i > 4000 && all_have(word.bell) ? next_edge + 1 : 0;
		}
		CHECK(all_have(word.bell));
		for (int r = 0; r < RANKS; r++)
			CHECK_INT(rank[r].issued, rank[0].issued);
		CHECK(finalise(100000));
		for (int r = 0; r < RANKS; r++)
			CHECK_INT(rank[r].refused, 0);
	}
}

/* Some ranks finalise while others ask: these are told, and all channels end after the same operation. */
TEST(test_closing)
{
	int reported = 0;

	for (uint64_t run = 0; run < RUNS; run++) {
		begin(run + RUNS);
		for (int i = 0; i < 200; i++) {
			if (!chance(60))
				ring(chance(4) > 0);
			look(1 + chance(RANKS - 1)); /* rank 0 never looks */
		}
		ring(1);
		CHECK(finalise(100000));
		for (int r = 0; r < RANKS; r++) {
			for (int i = 0; i < 10; i++)
				look(r);
			CHECK(!rank[r].wants || rank[r].received != word.bell);
			reported += rank[r].refused;
		}
	}
	CHECK(reported > 0);
}

/* A rank that hears of the newer request long after the others keeps still meanwhile: two operations, not one a look. */
TEST(test_deaf)
{
	int64_t values[PP_AGREE_VALUES], step;

	begin(3);
	for (int r = 0; r < RANKS; r++) {
		rank[r].received = r ? 2 : 1;
		CHECK(pp_agree_begin(&rank[r].agree, rank[r].received, 10 + r, values));
		issue(r, values);
	}
	for (int r = 0; r < RANKS; r++) {
		test_pending(r);
		CHECK_INT(pp_agree_answer(&rank[r].agree, rank[r].received, &step), r ? -EAGAIN : 0);
		CHECK_INT(pp_agree_begin(&rank[r].agree, rank[r].received, 20 + r, values), r != 0);
		if (r)
			issue(r, values);
	}
	CHECK(pp_agree_begin(&rank[0].agree, 2, 30, values));
	issue(0, values);
	for (int r = 0; r < RANKS; r++) {
		test_pending(r);
		CHECK_INT(pp_agree_answer(&rank[r].agree, 2, &step), 1);
		CHECK_INT(step, 30);
		CHECK_INT(rank[r].issued, 2);
	}
}

/* One after the other: the highest step of the moment each time, and one operation a request. */
TEST(test_one_each)
{
	begin(7);
	for (int n = 1; n <= 50; n++) {
		int64_t highest = 0;

		ring(1);
		for (int r = 0; r < RANKS; r++) {
			rank[r].step += 1 + chance(5);
			highest = rank[r].step > highest ? rank[r].step : highest;
			for (int i = 0; i < 50; i++)
				look(r);
		}
		for (int r = 0; r < RANKS; r++)
			for (int i = 0; i < 5; i++)
				look(r);
		CHECK(all_have(word.bell));
		CHECK_INT(answers[word.bell], highest);
		CHECK_INT(rank[0].issued, n);
	}
	CHECK(finalise(100000));
	CHECK_INT(rank[0].issued, 51);
}

int main(void)
{
	test_deaf();
	test_one_each();
	test_any_order();
	test_closing();
	return test_end();
}
