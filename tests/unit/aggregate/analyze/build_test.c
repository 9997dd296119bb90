/* The dataset of hand-made captures: waiting of every class, lateness, channels, what is missing. */
#include "tests/unit/aggregate/made_kit.h"

#include "core/base/known.h"
#include "core/capture/side.h"

static int warned(const struct pp_dataset *d, const char *text)
{
	for (size_t i = 0; i < d->warnings; i++)
		if (strstr(d->warning[i].warning, text))
			return 1;
	return 0;
}

/* One step 0..1000; rank r calls at 100 + 100 r, all leave at 500. */
static void one_call(struct made *m, const char *call, size_t root)
{
	*m = (struct made){.capture = make_capture(RANKS)};
	for (size_t r = 0; r < RANKS; r++) {
		struct pp_span *span;

		add_step(&m->capture, r, 0, 0, 1000);
		span = add_mpi(&m->capture, r, call, 0, 100 + 100 * (int64_t)r, 500);
		if (r == root)
			span->flags |= PP_SPAN_IS_ROOT;
	}
	build(m, 0, 0);
}

static void check_waits(const struct made *m, int64_t a, int64_t b, int64_t c, int64_t e)
{
	const int64_t want[RANKS] = {a, b, c, e};
	int64_t sum = 0;

	for (size_t r = 0; r < RANKS; r++) {
		CHECK_INT(m->d.cell[r].wait_ns, want[r]);
		CHECK_INT(m->d.cell[r].transfer_ns, 400 - 100 * (int64_t)r - want[r]);
		sum += want[r];
	}
	CHECK_INT(m->d.collectives, 1);
	CHECK_INT(m->d.collective[0].wait_ns, sum);
}

TEST(classes)
{
	struct made m;

	one_call(&m, "MPI_Allreduce", 9);
	check_waits(&m, 300, 200, 100, 0);
	CHECK_INT(m.d.late[0].rank, 3);
	CHECK_INT(m.d.late[0].wait_ns, 600);
	CHECK_INT(m.d.late[0].steps, 1);
	CHECK_INT(m.d.collective[0].last_worker, 3);
	CHECK_INT(m.d.collective[0].step, 0);
	CHECK_INT(m.d.collective[0].bytes, 1000);
	CHECK_INT(m.d.arrivals, 4);
	CHECK(m.d.collective[0].algbw == 1000 * 1e9 / 100);
	CHECK(m.d.collective[0].busbw == m.d.collective[0].algbw * 1.5);
	CHECK_INT(m.d.violations, 0);
	drop(&m);
	one_call(&m, "MPI_Bcast", 2);
	check_waits(&m, 200, 100, 0, 0);
	CHECK_INT(m.d.late[0].rank, 2);
	CHECK_INT(m.d.collective[0].root, 2);
	drop(&m);
	one_call(&m, "MPI_Reduce", 1);
	check_waits(&m, 0, 200, 0, 0);
	drop(&m);
	one_call(&m, "MPI_Scan", 9); /* nobody waits: lower ranks came earlier */
	check_waits(&m, 0, 0, 0, 0);
	drop(&m);
}

TEST(prefix_waits_for_lower_ranks)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_mpi(&m.capture, r, "MPI_Exscan", 0, r == 1 ? 400 : 100, 500);
	}
	build(&m, 0, 0);
	CHECK_INT(m.d.cell[0].wait_ns, 0);
	CHECK_INT(m.d.cell[1].wait_ns, 0);
	CHECK_INT(m.d.cell[2].wait_ns, 300);
	CHECK_INT(m.d.cell[3].wait_ns, 300);
	CHECK_INT(m.d.late[0].rank, 1);
	drop(&m);
}

TEST(never_past_own_exit)
{
	struct made m = {.capture = make_capture(2)};

	for (size_t r = 0; r < 2; r++)
		add_step(&m.capture, r, 0, 0, 1000);
	add_mpi(&m.capture, 0, "MPI_Barrier", 0, 100, 200); /* leaves before the other comes */
	add_mpi(&m.capture, 1, "MPI_Barrier", 0, 600, 700);
	build(&m, 0, 0);
	CHECK_INT(m.d.cell[0].wait_ns, 100);
	CHECK_INT(m.d.cell[1].wait_ns, 0);
	CHECK_INT(m.d.violations, 1);
	CHECK(warned(&m.d, "ended on a rank before"));
	drop(&m);
}

/* Rank 0 starts its nonblocking collective before the barrier, the others behind it. */
TEST(another_order)
{
	struct made m = {.capture = make_capture(3)};

	for (size_t r = 0; r < 3; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_mpi(&m.capture, r, r ? "MPI_Barrier" : "MPI_Allreduce", 0, 100, 100 + 100 * (int64_t)r);
		add_mpi(&m.capture, r, r ? "MPI_Allreduce" : "MPI_Barrier", 1, 400, 450);
		add_mpi(&m.capture, r, "MPI_Barrier", 2, 500 + 100 * (int64_t)r, 800);
	}
	build(&m, 0, 0);
	CHECK_INT(m.d.violations, 0);
	CHECK_INT(m.d.mixed, 2);
	CHECK(warned(&m.d, "2 collectives have calls of different names"));
	CHECK_INT(pp_known_or(m.d.collective[0].wait_ns, 0) + pp_known_or(m.d.collective[1].wait_ns, 0), 0);
	CHECK_INT(m.d.collective[2].wait_ns, 300);
	CHECK_INT(m.d.cell[0].wait_ns, 200);
	drop(&m);
}

/* A fence with an assertion, a write that each does by itself, a graph of no nodes: nobody waits for who comes after he is out. */
TEST(left_before_the_last)
{
	static const char *const call[] = {"MPI_Win_fence",   "MPI_File_write_all", "MPI_Graph_create",
	                                   "MPI_Comm_create", "MPI_Win_allocate",   "MPI_Comm_connect"};

	for (size_t k = 0; k < sizeof(call) / sizeof(call[0]); k++) {
		struct made m = {.capture = make_capture(RANKS)};

		for (size_t r = 0; r < RANKS; r++) {
			add_step(&m.capture, r, 0, 0, 1000);
			add_mpi(&m.capture, r, call[k], 0, 100 * (int64_t)r, 100 * (int64_t)r + 250);
		}
		build(&m, 0, 0);
		/* 0..250 waits for the one at 200, 100..350 for the one at 300, 200..450 too */
		CHECK_INT(m.d.collective[0].wait_ns, 200 + 200 + 100);
		CHECK_INT(m.d.collective[0].transfer_ns, 4 * 250 - 500);
		CHECK_INT(m.d.violations, 0);
		if (k != 1) { /* a file's time is output */
			CHECK_INT(m.d.cell[0].wait_ns, 200);
			CHECK_INT(m.d.cell[2].late_ns, 200);
			CHECK_INT(m.d.cell[3].late_ns, 300);
		}
		drop(&m);
	}
}

static struct pp_span *moved(struct made *m, size_t r, const char *call, int64_t begin, int64_t end, uint64_t sent,
                             uint64_t received)
{
	struct pp_span *span = add_mpi(&m->capture, r, call, 0, begin, end);

	span->mpi.sent = sent;
	span->mpi.received = received;
	return span;
}

/* Each rank is out before the next one comes: nothing was to be moved. A barrier moves nothing either, but holds all. */
TEST(empty_collectives)
{
	static const char *const call[] = {"MPI_Allreduce",      "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallw",
	                                   "MPI_Reduce_scatter", "MPI_Bcast",      "MPI_Gather",   "MPI_Scan",
	                                   "MPI_Iallreduce",     "MPI_Barrier"};
	enum { CALLS = sizeof(call) / sizeof(call[0]) };

	for (size_t k = 0; k < CALLS; k++) {
		struct made m = {.capture = make_capture(RANKS)};

		for (size_t r = 0; r < RANKS; r++) {
			add_step(&m.capture, r, 0, 0, 1000);
			moved(&m, r, call[k], 200 * (int64_t)r, 200 * (int64_t)r + 100, 0, 0)->flags |=
			        r == 3 ? PP_SPAN_IS_ROOT : 0;
		}
		build(&m, 0, 0);
		CHECK_INT(m.d.violations, k == CALLS - 1);
		CHECK_INT(m.d.cell[0].wait_ns, k == CALLS - 1 ? 100 : 0);
		CHECK_INT(m.d.late[0].wait_ns, k == CALLS - 1 ? 300 : 0);
		drop(&m);
	}
}

/* Only ranks 0 and 1 give, only 0 and 2 get: 0 waits for 1, 2 for both, 1 and 3 for nobody. */
TEST(some_give_some_get)
{
	struct made m = {.capture = make_capture(RANKS)};
	static const int64_t begin[RANKS] = {100, 300, 200, 700}, end[RANKS] = {400, 350, 500, 800};

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		moved(&m, r, "MPI_Alltoallv", begin[r], end[r], r < 2 ? 8 : 0, r % 2 ? 0 : 8);
	}
	build(&m, 0, 0);
	CHECK_INT(m.d.violations, 0);
	CHECK_INT(m.d.cell[0].wait_ns, 200);
	CHECK_INT(m.d.cell[1].wait_ns, 0);
	CHECK_INT(m.d.cell[2].wait_ns, 100);
	CHECK_INT(m.d.cell[3].wait_ns, 0);
	CHECK_INT(m.d.late[0].rank, 1);
	drop(&m);
}

/* From whom rank 0 gets is not recorded: its time is neither waiting nor transfer. Rank 1 gets from nobody but itself. */
TEST(from_whom_is_not_recorded)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		struct pp_span *span;

		add_step(&m.capture, r, 0, 0, 1000);
		span = moved(&m, r, "MPI_Alltoallv", 200 * (int64_t)r, r > 1 ? 900 : 200 * (int64_t)r + 100, 8, 8);
		span->mpi.flags = r == 0 ? PP_MPI_FROM_SOME : r == 1 ? PP_MPI_FROM_NONE : 0;
	}
	build(&m, 0, 0);
	CHECK_INT(m.d.violations, 0);
	CHECK_INT(m.d.unsplit, 1);
	CHECK(warned(&m.d, "1 collective calls got data from unknown ranks only"));
	CHECK_INT(m.d.cell[0].wait_ns, 0);
	CHECK_INT(m.d.cell[0].transfer_ns, 0);
	CHECK_INT(m.d.cell[1].transfer_ns, 100);
	CHECK_INT(m.d.cell[2].wait_ns, 200); /* for rank 3 */
	drop(&m);
}

/* Ranks 0 and 1 in one group, 2 and 3 in the other: each waits for the last of the other group only. */
TEST(intercommunicator)
{
	static const int64_t begin[RANKS] = {100, 600, 300, 200}, end[RANKS] = {400, 700, 700, 700};
	static const char *const call[] = {"MPI_Allgather", "MPI_Barrier"};

	for (size_t k = 0; k < 2; k++) {
		struct made m = {.capture = make_capture(RANKS)};

		for (size_t r = 0; r < RANKS; r++) {
			add_step(&m.capture, r, 0, 0, 1000);
			moved(&m, r, call[k], begin[r], end[r], k ? 0 : 8, k ? 0 : 8)->mpi.flags =
			        r < 2 ? PP_MPI_SIDE_FIRST : PP_MPI_SIDE_SECOND;
		}
		build(&m, 0, 0);
		CHECK_INT(m.d.violations, 0); /* rank 0 left before rank 1 of its own group came */
		CHECK_INT(m.d.cell[0].wait_ns, 200);
		CHECK_INT(m.d.cell[1].wait_ns, 0);
		CHECK_INT(m.d.cell[2].wait_ns, 300);
		CHECK_INT(m.d.cell[3].wait_ns, 400);
		drop(&m);
		m = (struct made){.capture = make_capture(RANKS)};
		for (size_t r = 0; r < RANKS; r++) {
			add_step(&m.capture, r, 0, 0, 1000);
			moved(&m, r, call[k], begin[r], r == 2 ? 500 : 700, 8, 8)->mpi.flags =
			        r < 2 ? PP_MPI_SIDE_FIRST : PP_MPI_SIDE_SECOND;
		}
		build(&m, 0, 0);
		CHECK_INT(m.d.violations, 1); /* rank 2 left before rank 1 came */
		drop(&m);
	}
}

/* The root's own group only looks on. */
TEST(intercommunicator_with_a_root)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		struct pp_span *span;

		add_step(&m.capture, r, 0, 0, 1000);
		span = moved(&m, r, "MPI_Bcast", r == 1 ? 400 : 100, 500, r == 1 ? 8 : 0, r > 1 ? 8 : 0);
		span->flags |= r == 1 ? PP_SPAN_IS_ROOT : 0;
		span->mpi.flags = r < 2 ? PP_MPI_SIDE_FIRST : PP_MPI_SIDE_SECOND;
	}
	build(&m, 0, 0);
	CHECK_INT(m.d.cell[0].wait_ns, 0);
	CHECK_INT(m.d.cell[2].wait_ns, 300);
	CHECK_INT(m.d.cell[3].wait_ns, 300);
	drop(&m);
}

/* Two calls of one rank in one collective: took two communicators for one. No rank waits for itself. */
TEST(nobody_waits_for_himself)
{
	struct made m = {.capture = make_capture(2)};

	for (size_t r = 0; r < 2; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_mpi(&m.capture, r, "MPI_Allreduce", 0, 100, 400);
		if (r == 0)
			add_mpi(&m.capture, r, "MPI_Allreduce", 0, 500, 900);
	}
	build(&m, 0, 0);
	CHECK_INT(m.d.doubled, 1);
	CHECK_INT(m.d.violations, 0);
	CHECK_INT(m.d.cell[0].wait_ns + m.d.cell[1].wait_ns, 0);
	CHECK_INT(m.d.cell[0].late_ns + m.d.cell[1].late_ns, 0);
	CHECK(warned(&m.d, "took two communicators for one"));
	drop(&m);
}

/* The run queue of the samples inside the steps; a kernel without it has none. */
TEST(run_queue_of_the_straggler)
{
	struct made m;

	make_chain(&m, 1);
	m.capture.rank[1].memory = calloc(4, sizeof(struct pp_memory));
	m.capture.rank[1].memories = 4;
	for (int i = 0; i < 4; i++)
		m.capture.rank[1].memory[i] =
		        (struct pp_memory){.time = i * 100000000 - 1, .run_queue_ns = 1000000 + 5000000 * (uint64_t)i};
	build(&m, 0, 4);
	CHECK_INT(m.d.straggler.run_queue_ns, 10000000); /* the first sample was before the steps */
	for (size_t i = 0; i < m.d.process_samples; i++)
		m.d.process_sample[i].sample_run_queue_ns = 0;
	CHECK_INT(pp_dataset_straggler(&m.d), 0);
	CHECK_INT(m.d.straggler.run_queue_ns, PP_UNKNOWN);
	drop(&m);
}

/* Who is missing may have come last: how fast the data moved is not known. */
TEST(no_rate_without_all_ranks)
{
	struct made m = {.capture = make_capture(2)};

	for (size_t r = 0; r < 2; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_mpi(&m.capture, r, "MPI_Allreduce", 0, 100, 500);
		m.capture.rank[r].comm = calloc(1, sizeof(struct pp_comm));
		m.capture.rank[r].comm[m.capture.rank[r].comms++] = (struct pp_comm){.id = 77, .size = 3};
	}
	build(&m, 0, 0);
	CHECK(isnan(m.d.collective[0].algbw) && isnan(m.d.collective[0].busbw));
	drop(&m);
}

TEST(slow_rank)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		for (int64_t n = 0; n < 12; n++) {
			int64_t at = n * 1000;

			add_step(&m.capture, r, n, at, at + 1000);
			add_range(&m.capture, r, 0, "forward", at, at + 500);
			add_mpi(&m.capture, r, "MPI_Allreduce", (uint32_t)n, r == 2 ? at + 900 : at + 500, at + 1000);
		}
	}
	build(&m, 2, 10);
	CHECK_INT(m.d.steps, 8);
	CHECK_INT(m.d.collectives, 12);
	CHECK_INT(m.d.cell[0].wait_ns, 400);
	CHECK_INT(m.d.cell[0].transfer_ns, 100);
	CHECK_INT(m.d.cell[2].wait_ns, 0);
	CHECK_INT(m.d.cell[2].exclusive_ns[PP_CATEGORY_OTHER], 400);
	CHECK_INT(m.d.late[0].rank, 2);
	CHECK_INT(m.d.late[0].wait_ns, 8 * 3 * 400);
	CHECK_INT(m.d.late[0].steps, 8);
	CHECK(!strncmp(m.verdict, "rank 2, ", 8));
	CHECK_INT(m.d.window_begin_ns, 2000);
	CHECK_INT(m.d.window_end_ns, 10000);
	drop(&m);
}

TEST(nonblocking)
{
	struct made m = {.capture = make_capture(2)};

	for (size_t r = 0; r < 2; r++) {
		int64_t at = r ? 600 : 100;

		add_step(&m.capture, r, 0, 0, 1000);
		add_mpi(&m.capture, r, "MPI_Iallreduce", 0, at, at + 10)->mpi.request = 5;
		add_span(&m.capture, r, 0, PP_SPAN_REQUEST, "MPI_Iallreduce", at, 800)->mpi.request = 5;
		add_range(&m.capture, r, 0, "backward", at + 10, at + 100);
		add_mpi(&m.capture, r, "MPI_Wait", 0, at + 100, 800)->mpi.comm = 0;
	}
	build(&m, 0, 0);
	CHECK_INT(m.d.collectives, 1);
	CHECK_INT(m.d.collective[0].end_ns, 800);
	CHECK_INT(m.d.cell[0].wait_ns, 400);     /* the Wait from 200 to the other's arrival at 600 */
	CHECK_INT(m.d.cell[0].transfer_ns, 210); /* the rest of it, and the call that started it */
	CHECK_INT(m.d.cell[1].wait_ns, 0);
	CHECK_INT(m.d.cell[1].transfer_ns, 110);
	CHECK_INT(m.d.violations, 0);
	drop(&m);
}

TEST(point_to_point)
{
	struct made m = {.capture = make_capture(2)};
	struct pp_span *span;

	m.capture.ranks_asked = 3; /* rank 2 was not captured */
	for (size_t r = 0; r < 2; r++)
		add_step(&m.capture, r, 0, 0, 1000);
	add_mpi(&m.capture, 0, "MPI_Send", 0, 100, 150)->mpi.peer = 1;
	add_mpi(&m.capture, 0, "MPI_Send", 0, 160, 180)->mpi.peer = 2;
	add_mpi(&m.capture, 1, "MPI_Recv", 0, 90, 160)->mpi.peer = 0;
	span = add_mpi(&m.capture, 1, "MPI_Irecv", 0, 200, 210);
	span->mpi.peer = -2;
	span->mpi.request = 3;
	span = add_span(&m.capture, 1, 0, PP_SPAN_REQUEST, "MPI_Irecv", 200, 300);
	span->mpi.request = 3;
	span->mpi.peer = 0;
	span->mpi.received = 40;
	add_mpi(&m.capture, 1, "MPI_Wait", 0, 250, 310);
	span = add_mpi(&m.capture, 1, "MPI_Irecv", 0, 400, 410);
	span->mpi.peer = 0;
	span->mpi.request = 4;
	span = add_span(&m.capture, 1, 0, PP_SPAN_REQUEST, "MPI_Irecv", 400, 500); /* cancelled: no message */
	span->mpi.request = 4;
	span->mpi.peer = 0;
	span->flags = PP_SPAN_FAILED;
	build(&m, 0, 0);
	CHECK_INT(m.d.channels, 2);
	CHECK_INT(m.d.channel[0].source, 0);
	CHECK_INT(m.d.channel[0].destination, 1);
	CHECK_INT(m.d.channel[0].count, 2);
	CHECK_INT(m.d.channel[0].bytes, 1040);
	CHECK_INT(m.d.channel[0].time_ns, 70 + 100);
	CHECK_INT(m.d.channel[1].destination, 2);
	CHECK_INT(m.d.cell[1].wait_ns + m.d.cell[1].transfer_ns, 0); /* neither */
	CHECK_INT(m.d.workers, 3);
	CHECK_INT(m.d.ranks_delivered, 2);
	CHECK(strstr(m.d.worker[2].status, "missing") != NULL);
	CHECK(warned(&m.d, "1 of 3 ranks are missing"));
	drop(&m);
}

TEST(communicators)
{
	struct made m = {.capture = make_capture(2)};
	static int32_t members[] = {0, 1};

	for (size_t r = 0; r < 2; r++) {
		add_step(&m.capture, r, 0, 0, 10);
		m.capture.rank[r].comm = calloc(2, sizeof(struct pp_comm));
		m.capture.rank[r].comms = 2;
		m.capture.rank[r].comm[0] = (struct pp_comm){.id = 77, .size = 2, .member = r ? members : NULL};
		m.capture.rank[r].comm[1] = (struct pp_comm){.id = 100 + r, .size = 1};
	}
	build(&m, 0, 0);
	CHECK_INT(m.d.communicators, 3);
	CHECK_STR(m.d.communicator[0].role, "world");
	CHECK(m.d.communicator[0].member && m.d.communicator[0].member[1] == 1);
	CHECK_STR(m.d.communicator[1].role, "self");
	drop(&m);
}

/* Each rank has one that nobody saw made: nobody waits on it, and it is counted. */
TEST(unknown_communicator)
{
	struct made m = {.capture = make_capture(2)};

	for (size_t r = 0; r < 2; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_mpi(&m.capture, r, "MPI_Allreduce", 0, r ? 500 : 100, 600)->mpi.comm = 100 + r;
		m.capture.rank[r].comm = calloc(1, sizeof(struct pp_comm));
		m.capture.rank[r].comms = 1;
		m.capture.rank[r].comm[0] = (struct pp_comm){.id = 100 + r, .size = 2, .kind = PP_COMM_UNKNOWN};
	}
	build(&m, 0, 0);
	CHECK_STR(m.d.communicator[0].role, "unknown");
	CHECK_INT(m.d.collectives, 2);
	CHECK_INT(m.d.cell[0].wait_ns + m.d.cell[0].transfer_ns, 0);
	CHECK(warned(&m.d, "2 communicators were created by calls that podprof does not record"));
	drop(&m);
}

TEST(little_or_nothing)
{
	struct made m = {.capture = make_capture(0)};

	build(&m, 0, 0);
	CHECK_INT(m.d.workers, 0);
	CHECK(strstr(m.verdict, "no complete step") != NULL);
	drop(&m);
	m = (struct made){.capture = make_capture(1)};
	build(&m, 10, 20);
	CHECK_INT(m.d.steps, 0);
	CHECK(warned(&m.d, "10:20"));
	CHECK(warned(&m.d, "/kernel is absent"));
	CHECK(warned(&m.d, "/collective is absent"));
	drop(&m);
	m = (struct made){.capture = make_capture(1)};
	add_step(&m.capture, 0, 7, 0, 100);
	add_range(&m.capture, 0, 0, "wobble", 10, 90);
	m.capture.rank[0].lost[PP_LOSS_RING_FULL] = 12;
	build(&m, 0, 0);
	CHECK_INT(m.d.steps, 1);
	CHECK_INT(m.d.cell[0].bottleneck, PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(m.d.unclassifieds, 1);
	CHECK_INT(m.d.unclassified[0].unclassified_ns, 80);
	CHECK_INT(m.d.unclassified[0].unclassified_calls, 1);
	CHECK(warned(&m.d, "12 records"));
	CHECK(warned(&m.d, "80.0 % of step time"));
	CHECK(strstr(m.verdict, "Host compute, 80 %") != NULL);
	drop(&m);
}

TEST(domains_and_options)
{
	struct made m = {.capture = make_capture(2)};

	for (size_t r = 0; r < 2; r++)
		add_step(&m.capture, r, 0, 0, 10);
	m.capture.rank[1].domain = 1;
	snprintf(m.capture.rank[1].options, sizeof(m.capture.rank[1].options), "%s", "other");
	snprintf(m.capture.rank[1].status, sizeof(m.capture.rank[1].status), "%s", "killed: signal 9 (SIGKILL)");
	build(&m, 0, 0);
	CHECK(warned(&m.d, "2 clock domains whose clocks could not be compared (rank 0; rank 1)"));
	CHECK(warned(&m.d, "differ from those of rank 0"));
	CHECK(warned(&m.d, "rank 1 was killed: signal 9"));
	drop(&m);
}

int main(void)
{
	classes();
	prefix_waits_for_lower_ranks();
	never_past_own_exit();
	another_order();
	left_before_the_last();
	empty_collectives();
	some_give_some_get();
	from_whom_is_not_recorded();
	intercommunicator();
	intercommunicator_with_a_root();
	nobody_waits_for_himself();
	run_queue_of_the_straggler();
	no_rate_without_all_ranks();
	slow_rank();
	nonblocking();
	point_to_point();
	communicators();
	unknown_communicator();
	little_or_nothing();
	domains_and_options();
	return test_end();
}
