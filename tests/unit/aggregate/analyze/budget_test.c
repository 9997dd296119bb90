/* The budget of communication, /budget: what of each operation is hidden, waits, moves data or is not split, and what work waits
 * for. Sums of captures thrown by dice: build_random_test.c; of several hosts: merge_test.c and message_ledger_test.c. */
#include "tests/unit/aggregate/analyze/budget_kit.h"
#include "tests/unit/aggregate/dataset/merge_kit.h"

static void has(const struct pp_dataset *d, const char *operation, uint64_t calls, const int64_t ns[4])
{
	const struct pp_row_budget *row = budget_of(d, operation);

	CHECK_INT(row->calls, calls);
	CHECK_INT(row->hidden_ns, ns[0]);
	CHECK_INT(row->wait_ns, ns[1]);
	CHECK_INT(row->transfer_ns, ns[2]);
	CHECK_INT(row->unsplit_ns, ns[3]);
}

/* Rank 1 arrives 500 after rank 0. Both have other work for 90 after their call, then wait. */
TEST(nonblocking)
{
	struct pp_capture c = make_capture(2);
	struct made m;

	for (size_t r = 0; r < 2; r++) {
		int64_t at = r ? 600 : 100;

		add_step(&c, r, 0, 0, 1000);
		add_mpi(&c, r, "MPI_Iallreduce", 0, at, at + 10)->mpi.request = 5;
		add_span(&c, r, 0, PP_SPAN_REQUEST, "MPI_Iallreduce", at, 800)->mpi.request = 5;
		add_range(&c, r, 0, "backward", at + 10, at + 100);
		add_mpi(&c, r, "MPI_Wait", 0, at + 100, 810)->mpi.comm = 0; /* returns after it saw the end */
	}
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.budgets, 1);
	has(&m.d, "MPI_Iallreduce", 2, (int64_t[]){180, 400, 340, 0});
	CHECK_INT(m.d.budget[0].time_ns, 710 + 210);
	CHECK_INT(m.d.budget[0].blocking_ns, 740);
	check_budget(&m.d);
	drop(&m, 2);
	free_capture(&c);
}

/* A thread that only communicates holds up no work; one that computes afterwards does, and so does the step thread. */
TEST(what_work_waits_for)
{
	struct pp_capture c = make_capture(1);
	const struct pp_row_budget *row;
	struct made m;
	const char *call[] = {"MPI_Allreduce", "MPI_Bcast", "MPI_Barrier"};

	add_step(&c, 0, 0, 0, 10000);
	add_mpi(&c, 0, call[0], 0, 100, 200);
	c.rank[0].threads = 3;
	for (uint32_t t = 1; t < 3; t++) {
		struct pp_span *s = add_span(&c, 0, t, PP_SPAN_MPI, call[t], 1000 * t, 1000 * t + 300);

		s->mpi.call = call_number(call[t]);
		s->mpi.comm = 70 + t;
		s->mpi.sent = s->mpi.received = 8;
	}
	add_span(&c, 0, 1, PP_SPAN_RANGE, "all reduce chunk", 1400, 1500)->category = PP_CATEGORY_HOST_COMMUNICATION;
	add_span(&c, 0, 1, PP_SPAN_RANGE, "compute", 1420, 1430); /* nested in communication: a part of it */
	add_span(&c, 0, 2, PP_SPAN_RANGE, "compute", 5000, 5100);
	build(&m, &c, 0, 0);
	check_budget(&m.d);
	CHECK_INT(budget_of(&m.d, call[0])->blocking_ns, 100);
	CHECK_INT(budget_of(&m.d, call[1])->blocking_ns, 0);
	CHECK_INT(budget_of(&m.d, call[1])->not_blocking_ns, 300);
	CHECK_INT(budget_of(&m.d, call[2])->blocking_ns, 300);
	row = budget_of(&m.d, "other");
	CHECK_INT(row->communicator, 0);
	CHECK_INT(row->calls, 0);
	CHECK_INT(row->time_ns, 90);
	CHECK_INT(row->not_blocking_ns, 90);
	drop(&m, 1);
	free_capture(&c);
}

/* Calls without a known other side have rows of their own name; a request that is open over two steps and the time between them
 * counts where steps are. */
TEST(not_split_and_over_steps)
{
	struct pp_capture c = make_capture(1);
	struct made m;

	add_step(&c, 0, 0, 0, 1000);
	add_mpi(&c, 0, "MPI_Probe", 0, 100, 150)->mpi.comm = 7;
	add_mpi(&c, 0, "MPI_Iallreduce", 0, 500, 520)->mpi.request = 5;
	add_span(&c, 0, 0, PP_SPAN_REQUEST, "MPI_Iallreduce", 500, 2400)->mpi.request = 5;
	add_step(&c, 0, 1, 2000, 3000);
	add_mpi(&c, 0, "MPI_Wait", 0, 2300, 2400)->mpi.comm = 0;
	build(&m, &c, 2, 0);
	CHECK_INT(m.d.steps, 1); /* step 1 was asked for: of step 0 nothing counts */
	has(&m.d, "MPI_Iallreduce", 1, (int64_t[]){300, 0, 100, 0});
	check_budget(&m.d);
	drop(&m, 1);
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.steps, 2);
	has(&m.d, "MPI_Iallreduce", 1, (int64_t[]){480 + 300, 0, 120, 0});
	has(&m.d, "MPI_Probe", 0, (int64_t[]){0, 0, 0, 50});
	CHECK_INT(budget_of(&m.d, "MPI_Probe")->communicator, 7);
	check_budget(&m.d);
	drop(&m, 1);
	free_capture(&c);
}

/* An Alltoallv from some ranks only is not split, and yet of its operation. */
TEST(operation_is_known)
{
	struct pp_capture c = make_capture(2);
	struct made m;

	for (size_t r = 0; r < 2; r++) {
		struct pp_span *s;

		add_step(&c, r, 0, 0, 1000);
		s = add_mpi(&c, r, "MPI_Alltoallv", 0, 100 + 100 * (int64_t)r, 400);
		s->mpi.sent = s->mpi.received = 8;
		s->mpi.flags |= PP_MPI_FROM_SOME;
	}
	build(&m, &c, 0, 0);
	CHECK_INT(m.d.unsplit, 2);
	has(&m.d, "MPI_Alltoallv", 2, (int64_t[]){0, 0, 0, 500});
	check_budget(&m.d);
	drop(&m, 2);
	free_capture(&c);
}

int main(void)
{
	nonblocking();
	what_work_waits_for();
	not_split_and_over_steps();
	operation_is_known();
	return test_end();
}
