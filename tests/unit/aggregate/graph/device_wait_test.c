/* Waiting inside kernels: each rule by a table of kernels, then kernels thrown by dice against the schedule that made them. */
#include "aggregate/graph/device_wait.h"

#include "tests/test.h"

enum {
	RANKS_MOST = 4,
	UNKNOWN = PP_DEVICE_WAIT_UNKNOWN,
	CLOCKS = PP_DEVICE_WAIT_CLOCKS,
	DURATIONS = PP_DEVICE_WAIT_DURATIONS,
	BOTH = PP_DEVICE_WAIT_BOTH,
	DISAGREE = PP_DEVICE_WAIT_DISAGREE,
	ALL = PP_DEVICE_WAIT_ALL,
	EXCHANGE = PP_DEVICE_WAIT_EXCHANGE,
	FROM_ROOT = PP_DEVICE_WAIT_FROM_ROOT,
	TO_ROOT = PP_DEVICE_WAIT_TO_ROOT,
	MESSAGE = PP_DEVICE_WAIT_MESSAGE,
};

struct kernel {
	int64_t ready, end, error;
	int is_root;
	/* wanted */
	int how;
	int64_t wait;
	int32_t late;
};

struct operation {
	const char *name;
	int kind, is_part, no_clock;
	int64_t transfer; /* wanted, as `last` and `is_sure` */
	int32_t last;
	int is_sure;
	size_t ranks;
	struct kernel rank[RANKS_MOST];
};

static const struct operation operations[] = {
        {"the last kernel is the shortest",
         ALL,
         0,
         0,
         1000,
         2,
         1,
         3,
         {{0, 5000, 10, 0, BOTH, 4000, 2}, {1000, 5000, 10, 0, BOTH, 3000, 2}, {4000, 5000, 10, 0, BOTH, 0, -1}}},
        {"ends differ by less than a tenth",
         ALL,
         0,
         0,
         1000,
         2,
         1,
         3,
         {{0, 5050, 10, 0, BOTH, 4050, 2}, {1000, 4990, 10, 0, BOTH, 2990, 2}, {4000, 5000, 10, 0, BOTH, 0, -1}}},
        {"clocks that are wrong by less than their error",
         ALL,
         0,
         0,
         1000,
         1,
         1,
         2,
         {{0, 5000, 500, 0, BOTH, 4000, 1}, {3400, 4400, 500, 0, BOTH, 0, -1}}},
        {"clocks that are wrong by more",
         ALL,
         0,
         0,
         0,
         1,
         1,
         2,
         {{0, 5000, 100, 0, DISAGREE, 0, -1}, {2400, 3400, 100, 0, BOTH, 0, -1}}},
        {"a slow link at one rank: it ends late",
         ALL,
         0,
         0,
         0,
         2,
         1,
         3,
         {{0, 5000, 10, 0, BOTH, 4000, 2}, {0, 7000, 10, 0, DISAGREE, 0, -1}, {4000, 5000, 10, 0, BOTH, 0, -1}}},
        {"the shortest kernel began first",
         ALL,
         0,
         0,
         0,
         -1,
         0,
         2,
         {{0, 1000, 10, 0, DISAGREE, 0, -1}, {500, 4000, 10, 0, DISAGREE, 0, -1}}},
        {"no clock",
         ALL,
         0,
         1,
         1000,
         2,
         1,
         3,
         {{900000, 905000, 0, 0, DURATIONS, 4000, 2}, {20, 3520, 0, 0, DURATIONS, 2500, 2}, {0, 1000, 0, 0, DURATIONS, 0, -1}}},
        {"no clock, and two of nearly one length",
         ALL,
         0,
         1,
         1000,
         1,
         0,
         3,
         {{0, 1050, 0, 0, DURATIONS, 50, 1}, {0, 1000, 0, 0, DURATIONS, 0, -1}, {0, 4000, 0, 0, DURATIONS, 3000, 1}}},
        {"two of nearly one length, which clocks tell apart",
         ALL,
         0,
         0,
         1000,
         1,
         1,
         3,
         {{4000, 5010, 5, 0, BOTH, 10, 1}, {4030, 5030, 5, 0, BOTH, 0, -1}, {0, 5000, 5, 0, BOTH, 4000, 1}}},
        {"the last by its clock is not the shortest, by little",
         ALL,
         0,
         0,
         1000,
         1,
         1,
         3,
         {{4000, 5000, 5, 0, BOTH, 0, -1}, {4030, 5080, 5, 0, BOTH, 0, -1}, {0, 5000, 5, 0, BOTH, 4000, 1}}},
        {"nobody is late", ALL, 0, 0, 1000, 0, 0, 2, {{0, 1000, 10, 0, BOTH, 0, -1}, {5, 1010, 10, 0, BOTH, 5, 0}}},
        {"one rank", ALL, 0, 0, 700, 0, 1, 1, {{0, 700, 10, 0, BOTH, 0, -1}}},
        {"a kernel that was not recorded",
         ALL,
         0,
         0,
         0,
         -1,
         0,
         3,
         {{0, 5000, 10, 0, UNKNOWN, 0, -1}, {0, 0, 0, 0, UNKNOWN, 0, -1}, {4000, 5000, 10, 0, UNKNOWN, 0, -1}}},
        {"a part of the ranks", ALL, 1, 0, 0, -1, 0, 2, {{0, 5000, 10, 0, UNKNOWN, 0, -1}, {4000, 5000, 10, 0, UNKNOWN, 0, -1}}},
        {"all-to-all: lengths say nothing",
         EXCHANGE,
         0,
         0,
         3500,
         2,
         1,
         3,
         {{0, 7500, 10, 0, CLOCKS, 4000, 2}, {1000, 5000, 10, 0, CLOCKS, 3000, 2}, {4000, 5000, 10, 0, CLOCKS, 0, -1}}},
        {"all-to-all that a rank leaves early",
         EXCHANGE,
         0,
         0,
         1000,
         1,
         1,
         2,
         {{0, 3000, 10, 0, CLOCKS, 3000, 1}, {4000, 5000, 10, 0, CLOCKS, 0, -1}}},
        {"all-to-all without a clock",
         EXCHANGE,
         0,
         1,
         0,
         -1,
         0,
         2,
         {{0, 5000, 0, 0, UNKNOWN, 0, -1}, {4000, 5000, 0, 0, UNKNOWN, 0, -1}}},
        {"broadcast: all wait for the root",
         FROM_ROOT,
         0,
         0,
         1000,
         2,
         1,
         3,
         {{0, 4000, 10, 0, CLOCKS, 3000, 1}, {3000, 5000, 10, 1, CLOCKS, 0, -1}, {4000, 5000, 10, 0, CLOCKS, 0, -1}}},
        {"broadcast of a root that was not recorded",
         FROM_ROOT,
         0,
         0,
         0,
         -1,
         0,
         2,
         {{0, 5000, 10, 0, UNKNOWN, 0, -1}, {0, 0, 0, 1, UNKNOWN, 0, -1}}},
        {"broadcast without a root",
         FROM_ROOT,
         0,
         0,
         0,
         -1,
         0,
         2,
         {{0, 5000, 10, 0, UNKNOWN, 0, -1}, {0, 900, 0, 0, UNKNOWN, 0, -1}}},
        {"broadcast to a part of the ranks",
         FROM_ROOT,
         1,
         0,
         0,
         -1,
         0,
         2,
         {{0, 5000, 10, 0, CLOCKS, 3000, 1}, {3000, 5000, 10, 1, CLOCKS, 0, -1}}},
        {"reduce: the root waits for the last",
         TO_ROOT,
         0,
         0,
         1000,
         2,
         1,
         3,
         {{0, 5000, 10, 1, CLOCKS, 4000, 2}, {1000, 2000, 10, 0, CLOCKS, 0, -1}, {4000, 5000, 10, 0, CLOCKS, 0, -1}}},
        {"reduce from a part of the ranks",
         TO_ROOT,
         1,
         0,
         0,
         -1,
         0,
         2,
         {{0, 5000, 10, 1, UNKNOWN, 0, -1}, {1000, 2000, 10, 0, CLOCKS, 0, -1}}},
        {"a receiver waits", MESSAGE, 0, 0, 1000, 0, 1, 2, {{4000, 4500, 10, 1, CLOCKS, 0, -1}, {0, 5000, 10, 0, CLOCKS, 4000, 0}}},
        {"the sender has room in a buffer: it is through before the receiver begins",
         MESSAGE,
         0,
         0,
         1000,
         1,
         1,
         2,
         {{0, 500, 10, 1, CLOCKS, 0, -1}, {4000, 5000, 10, 0, CLOCKS, 0, -1}}},
        {"the sender has no room: it is still there",
         MESSAGE,
         0,
         0,
         1000,
         1,
         1,
         2,
         {{0, 5000, 10, 1, CLOCKS, 4000, 1}, {4000, 5000, 10, 0, CLOCKS, 0, -1}}},
        {"no receiver is through before the sender begins",
         MESSAGE,
         0,
         0,
         0,
         -1,
         0,
         2,
         {{4000, 5000, 10, 1, DISAGREE, 0, -1}, {0, 3900, 10, 0, DISAGREE, 0, -1}}},
        {"but for the error of clocks",
         MESSAGE,
         0,
         0,
         1000,
         0,
         1,
         2,
         {{4000, 5000, 100, 1, CLOCKS, 0, -1}, {0, 3900, 100, 0, CLOCKS, 3900, 0}}},
        {"two senders", MESSAGE, 0, 0, 0, -1, 0, 2, {{0, 5000, 10, 1, UNKNOWN, 0, -1}, {4000, 5000, 10, 1, UNKNOWN, 0, -1}}},
        {"no ranks", ALL, 0, 0, 0, -1, 0, 0, {{0}}},
};

TEST(by_table)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		const struct operation *want = &operations[i];
		struct pp_device_rank rank[RANKS_MOST] = {{0}};
		struct pp_device_operation o = {.kind = (enum pp_device_wait_kind)want->kind,
		                                .is_whole = !want->is_part,
		                                .has_clock = !want->no_clock,
		                                .rank = rank,
		                                .ranks = want->ranks};
		int before = test_failures;

		for (size_t r = 0; r < want->ranks; r++)
			rank[r] = (struct pp_device_rank){.ready_ns = want->rank[r].ready,
			                                  .end_ns = want->rank[r].end,
			                                  .error_ns = want->rank[r].error,
			                                  .is_root = want->rank[r].is_root};
		pp_device_wait(&o);
		CHECK_INT(o.transfer_ns, want->transfer);
		CHECK_INT(o.last, want->last);
		CHECK_INT(o.is_sure, want->is_sure);
		for (size_t r = 0; r < want->ranks; r++) {
			CHECK_INT((int)rank[r].how, want->rank[r].how);
			CHECK_INT(rank[r].wait_ns, want->rank[r].wait);
			CHECK_INT(rank[r].late, want->rank[r].late);
			if (want->rank[r].how != UNKNOWN && want->rank[r].how != DISAGREE)
				CHECK_INT(rank[r].wait_ns + rank[r].transfer_ns, want->rank[r].end - want->rank[r].ready);
		}
		if (test_failures != before)
			fprintf(stderr, "  in: %s\n", want->name);
	}
}

static uint64_t seed = 1;

static int64_t dice(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((seed >> 33) % (uint64_t)n);
}

/* Ranks are ready at random times, and all end together after the last. What each clock shows is off by its error at most, so no
 * wait differs from the true one by more than its bound, and who is surely last is. */
TEST(within_the_bound)
{
	enum { RANKS = 6, ROUNDS = 2000 };

	for (int round = 0; round < ROUNDS && !test_failures; round++) {
		struct pp_device_rank rank[RANKS] = {{0}};
		struct pp_device_operation o = {.is_whole = 1, .has_clock = 1, .rank = rank, .ranks = RANKS};
		int64_t ready[RANKS], last = 0, transfer = 100 + dice(5000), error = dice(300);

		for (int r = 0; r < RANKS; r++) {
			ready[r] = dice(20000);
			last = ready[r] > last ? ready[r] : last;
		}
		for (int r = 0; r < RANKS; r++) {
			int64_t off = dice(2 * error + 1) - error;

			rank[r].ready_ns = ready[r] + off;
			rank[r].end_ns = last + transfer + off;
			rank[r].error_ns = error;
		}
		pp_device_wait(&o);
		CHECK_INT(o.transfer_ns, transfer);
		for (int r = 0; r < RANKS; r++) {
			int64_t wait = last - ready[r], off = rank[r].wait_ns - wait;

			CHECK_INT((int)rank[r].how, BOTH);
			CHECK((off < 0 ? -off : off) <= rank[r].bound_ns);
			CHECK(rank[r].late != r);
		}
		CHECK(!o.is_sure || ready[o.last] == last);
	}
}

int main(void)
{
	by_table();
	within_the_bound();
	return test_end();
}
