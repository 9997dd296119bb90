/* The bottleneck line: for which rank the others wait, and why. */
#include "tests/unit/aggregate/made_kit.h"

/* Rank 0 works long and sends late; rank 1 waits in MPI_Recv and then comes last to the Allreduce: it is not to blame. */
TEST(verdict_behind_messages)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		for (int64_t n = 0; n < 4; n++) {
			int64_t at = n * 1000, work = r == 0 ? 500 : 50;

			add_step(&m.capture, r, n, at, at + 1000);
			add_range(&m.capture, r, 0, "forward", at, at + work);
			if (r == 0)
				add_mpi(&m.capture, r, "MPI_Send", 0, at + 500, at + 502)->mpi.comm = 0;
			else if (r == 1)
				add_mpi(&m.capture, r, "MPI_Recv", 0, at + 50, at + 700)->mpi.comm = 0;
			else
				add_mpi(&m.capture, r, "MPI_Recv", 0, at + 50, at + 510)->mpi.comm = 0;
			add_mpi(&m.capture, r, "MPI_Allreduce", (uint32_t)n, r == 1 ? at + 700 : at + 510, at + 720);
		}
	}
	build(&m, 0, 4);
	CHECK_INT(m.d.late[0].rank, 1);
	CHECK_INT(m.d.cell[0].point_to_point_ns, 2);
	CHECK_INT(m.d.cell[1].point_to_point_ns, 650);
	CHECK(strstr(m.verdict, "communication, ") != NULL);
	CHECK(strstr(m.verdict, "For most of it, point-to-point calls, wait and transfer are not separated") != NULL);
	CHECK(strstr(m.verdict, "rank ") == NULL);
	drop(&m);
}

/* Rank 1 alone waits for rank 0's message, and all others for rank 1: what it waited there is not known, so it is not to blame,
 * also where it works a little longer than they do. */
TEST(verdict_behind_one_message)
{
	for (int64_t more = 0; more < 300; more += 140) {
		struct made m = {.capture = make_capture(RANKS)};

		for (size_t r = 0; r < RANKS; r++) {
			for (int64_t n = 0; n < 4; n++) {
				int64_t at = n * 1000, late = r == 1 ? 500 + more : 50;

				add_step(&m.capture, r, n, at, at + 1000);
				add_range(&m.capture, r, 0, "forward", at, at + (r == 0 ? 450 : 50));
				if (r == 1) {
					add_mpi(&m.capture, r, "MPI_Recv", 0, at + 50, at + 450)->mpi.comm = 0;
					add_range(&m.capture, r, 0, "forward", at + 460, at + 460 + more);
				}
				add_mpi(&m.capture, r, "MPI_Allreduce", (uint32_t)n, at + (r == 0 ? 450 : late), at + 820);
			}
		}
		build(&m, 0, 4);
		CHECK_INT(m.d.late[0].rank, 1);
		CHECK(strstr(m.verdict,
		             "mostly for rank 1. Rank 1 spends 400 ns per step more than the median of the other ranks in "
		             "point-to-point calls, where wait and transfer are not separated") != NULL);
		drop(&m);
	}
}

TEST(verdict_in_a_chain)
{
	struct made m;

	make_chain(&m, 0);
	build(&m, 0, 4);
	CHECK_INT(m.d.late[0].rank, 1);
	CHECK_INT(m.d.straggler.waited_for, 0);
	CHECK_INT(m.d.straggler.waited_ns, INT64_C(4) * 50000000);
	CHECK(strstr(m.verdict, "mostly for rank 1. Rank 1 itself waits 50.0 ms per step for rank 0") != NULL);
	CHECK(strstr(m.verdict, "cores") == NULL);
	drop(&m);
}

/* In some steps all wait for rank 1, in others rank 1 waits for rank 0: it is not late by that. */
TEST(verdict_without_a_chain)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++)
		for (int64_t n = 0; n < 8; n++) {
			int64_t at = n * 100000000, begin = at + (n % 2 && r == 0      ? 55000000
			                                          : !(n % 2) && r == 1 ? 60000000
			                                                               : 10000000);

			add_step(&m.capture, r, n, at, at + 100000000);
			add_range(&m.capture, r, 0, "forward", at, at + 10000000);
			add_mpi(&m.capture, r, "MPI_Allreduce", (uint32_t)n, begin, at + 60001000);
		}
	build(&m, 0, 8);
	CHECK_INT(m.d.late[0].rank, 1);
	CHECK_INT(m.d.straggler.waited_for, -1);
	CHECK(strstr(m.verdict, "itself waits") == NULL);
	drop(&m);
}

/* Rank 1 works 50 ms longer per step, or as long as all: that cores are shared is said with its evidence only, and of run queues
 * only what is beyond its communication. A rank that sleeps is preempted for no other. */
TEST(verdict_with_shared_cores)
{
	static const struct {
		int64_t switches, queued_ns, slept; /* per step; run queue -1: not known */
		const char *said;
	} sample[] = {{0, -1, 0, NULL},
	              {12, -1, 0, "shares its cores: it had 12.0 involuntary context switches per step"},
	              {12, -1, 1, NULL},
	              {12, 1000000, 0, NULL},
	              {0, 40000000, 0, "shares its cores: it was ready to run, without a core, for 40.0 ms per step"}};

	for (size_t i = 0; i < 10; i++) {
		size_t k = i / 2, same = i % 2;
		struct made m;
		int kind;

		make_chain(&m, 1);
		build(&m, 0, 4);
		CHECK_INT(m.d.late[0].rank, 1);
		for (int64_t n = 0; n < 4; n++)
			for (size_t w = 0; w < RANKS && same; w++) /* all but rank 2 worked as long */
				if (w != 2)
					m.d.cell[n * RANKS + w] = m.d.cell[n * RANKS + 1];
		m.d.straggler.involuntary = 4 * sample[k].switches;
		m.d.straggler.voluntary = 4 * sample[k].slept;
		m.d.straggler.run_queue_ns = sample[k].queued_ns < 0 ? -1 : 4 * sample[k].queued_ns;
		kind = pp_verdict(&m.d, m.verdict, sizeof(m.verdict)).kind;
		CHECK_INT(kind, sample[k].said ? PP_VERDICT_SHARED : same ? PP_VERDICT_UNEXPLAINED : PP_VERDICT_RANK);
		CHECK((strstr(m.verdict, "cores") != NULL) == (sample[k].said != NULL));
		CHECK(!sample[k].said || strstr(m.verdict, sample[k].said) != NULL);
		drop(&m);
	}
}

/* More goes back to the rank than waits for it directly, which is what the straggler line has. */
TEST(verdict_through_others)
{
	struct made m = {.capture = make_capture(RANKS)};
	struct pp_row_blame row = {.worker = 2, .reason = PP_CATEGORY_OTHER, .blame_ns = 3 * 400};

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_range(&m.capture, r, 0, "forward", 0, 500);
		add_mpi(&m.capture, r, "MPI_Allreduce", 0, r == 2 ? 900 : 500, 1000);
	}
	build(&m, 0, 1);
	m.d.blame = &row;
	m.d.blames = 1;
	pp_verdict(&m.d, m.verdict, sizeof(m.verdict));
	CHECK(strstr(m.verdict, "wait 400 ns for it (") != NULL);
	row.blame_ns = 3 * 450;
	pp_verdict(&m.d, m.verdict, sizeof(m.verdict));
	CHECK(strstr(m.verdict, "wait 450 ns for it, directly or through other ranks (") != NULL);
	m.d.blame = NULL;
	m.d.blames = 0;
	drop(&m);
}

/* Times as of 5000 ranks over a day: a hundred times as much does not fit 64 bits. */
TEST(verdict_of_a_long_run)
{
	const int64_t longer = INT64_C(100000000000000);
	struct made m = {.capture = make_capture(RANKS)};
	struct pp_verdict_what what;

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_range(&m.capture, r, 0, "forward", 0, 500);
		add_mpi(&m.capture, r, "MPI_Allreduce", 0, r == 2 ? 900 : 500, 1000);
	}
	build(&m, 0, 1);
	for (size_t w = 0; w < RANKS; w++) {
		struct pp_row_cell *cell = &m.d.cell[w];

		for (int c = 1; c <= PP_CATEGORIES; c++)
			cell->exclusive_ns[c] *= longer;
		cell->step_ns *= longer;
		cell->wait_ns *= longer;
		cell->transfer_ns *= longer;
	}
	for (size_t w = 0; w < RANKS; w++)
		m.d.late[w].wait_ns *= longer;
	what = pp_verdict(&m.d, m.verdict, sizeof(m.verdict));
	CHECK(what.kind == PP_VERDICT_RANK && strstr(m.verdict, "rank 2, All others") != NULL);
	drop(&m);
}

int main(void)
{
	verdict_behind_messages();
	verdict_behind_one_message();
	verdict_in_a_chain();
	verdict_without_a_chain();
	verdict_with_shared_cores();
	verdict_through_others();
	verdict_of_a_long_run();
	return test_end();
}
