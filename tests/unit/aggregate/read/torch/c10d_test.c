/* Collectives of torch.distributed out of ranges and what was told: groups, ends, requests, waits. */
#include "tests/unit/aggregate/read/torch/c10d_kit.h"

#include "core/capture/side.h"
#include "core/capture/thread.h"

/* Rank 1 computes 300 ns longer: two buckets, the second begun while the first is under way, both waited for at the end. */
TEST(buckets_of_a_backward_pass)
{
	struct made m = {.capture = make_capture(RANKS)};
	const struct pp_span *s;

	for (size_t r = 0; r < RANKS; r++) {
		int64_t late = 300 * (int64_t)r;

		add_step(&m.capture, r, 0, 0, 2000);
		add_range(&m.capture, r, 0, "backward", 100, 1500);
		add_itt(&m.capture, r, 0, "AddmmBackward0", 100, 200 + late);
		add_all_reduce(&m.capture, r, 0, 200 + late, 1, 220 + late, 900);
		add_itt(&m.capture, r, 0, "AddmmBackward0", 210 + late, 400 + late);
		add_all_reduce(&m.capture, r, 1, 400 + late, 2, 420 + late, 1000);
		add_itt(&m.capture, r, 0, "torch.distributed.ddp.reducer::copy_bucket_to_grad", 910, 950);
		add_itt(&m.capture, r, 0, "torch.distributed.ddp.reducer::copy_bucket_to_grad", 1010, 1050);
	}
	build(&m);
	s = nth(&m.capture, 0, 0, PP_SPAN_REQUEST, 0);
	CHECK(is_span(s, 200, 900));
	CHECK(s && s->mpi.comm == GROUP_A && s->mpi.sequence == 0 && s->mpi.sent == 100 && s->mpi.request &&
	      !(s->flags & PP_SPAN_CUT_END));
	CHECK(is_span(nth(&m.capture, 0, 0, PP_SPAN_REQUEST, 1), 400, 1000));
	CHECK(is_span(nth_wait(&m.capture, 0, 0), 410, 910));
	CHECK(is_span(nth_wait(&m.capture, 0, 1), 950, 1000));
	CHECK(!nth_wait(&m.capture, 0, 2));
	CHECK(is_span(nth_wait(&m.capture, 1, 0), 710, 910));
	CHECK_INT(m.d.collectives, 2);
	CHECK_INT(m.d.collective[0].bytes, 100);
	CHECK_INT(m.d.collective[0].last_worker, 1);
	CHECK_INT(m.d.collective[0].wait_ns, 300);
	CHECK_INT(m.d.collective[1].bytes, 200);
	CHECK(m.d.collective[1].busbw == m.d.collective[1].algbw); /* 2 (n - 1) / n of two ranks */
	/* the first wait ends with the first collective, which rank 1 came to at 500; the second was begun by all at 700 */
	CHECK_INT(m.d.cell[0].wait_ns, 90);
	CHECK_INT(m.d.late[0].rank, 1);
	CHECK_INT(m.d.late[0].wait_ns, 90);
	CHECK_INT(m.capture.rank[0].c10d.calls, 2);
	CHECK_INT(m.d.c10d.unannotated + m.d.c10d.unended + m.d.c10d.rootless, 0);
	drop(&m);
}

TEST(two_groups_at_once)
{
	struct pp_capture c = make_capture(1);

	/* alone first, so that each thread's group is known; then both are queued before either thread begins */
	add_itt(&c, 0, 0, "c10d::allreduce_", 100, 110);
	add_annotations(&c, 0, GROUP_A, 0, "gloo:all_reduce", 105, 10);
	add_itt(&c, 0, 0, "c10d::allreduce_", 200, 210);
	add_annotations(&c, 0, GROUP_B, 0, "gloo:all_reduce", 205, 10);
	add_itt(&c, 0, 0, "c10d::allreduce_", 300, 310);
	add_annotations(&c, 0, GROUP_A, 1, "gloo:all_reduce", 305, 10);
	add_itt(&c, 0, 0, "c10d::allreduce_", 320, 330);
	add_annotations(&c, 0, GROUP_B, 1, "gloo:all_reduce", 325, 10);
	add_itt(&c, 0, 1, "gloo:all_reduce", 120, 150);
	add_itt(&c, 0, 2, "gloo:all_reduce", 220, 250);
	add_itt(&c, 0, 2, "gloo:all_reduce", 340, 400); /* of B, though A was queued first */
	add_itt(&c, 0, 1, "gloo:all_reduce", 350, 380);
	convert(&c);
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 0), 100, 150));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 1), 200, 250));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 2), 300, 380));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 3), 320, 400));
	free_capture(&c);
}

TEST(out_of_order)
{
	struct pp_capture c = make_capture(1);

	add_all_reduce(&c, 0, 0, 100, 1, 120, 900);
	add_all_reduce(&c, 0, 1, 200, 2, 220, 300);
	add_all_reduce(&c, 0, 2, 250, 2, 310, 400);
	convert(&c);
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 0), 100, 900));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 1), 200, 300));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 2), 250, 400));
	free_capture(&c);
}

/* gloo runs a reduce_scatter as all_reduce, and says so; of a range that was told twice the first counts. */
TEST(words_and_numbers)
{
	struct pp_capture c = make_capture(1);
	const struct pp_span *s;

	add_itt(&c, 0, 0, "c10d::_reduce_scatter_base_", 100, 150);
	add_annotations(&c, 0, GROUP_A, 7, "gloo:all_reduce", 110, 500);
	add_annotations(&c, 0, GROUP_A, 8, "gloo:all_reduce", 130, 480);
	add_itt(&c, 0, 0, "c10d::broadcast_", 200, 210);
	add_annotations(&c, 0, GROUP_A, 9, "gloo:broadcast", 205, 400)->root = 0;
	add_annotations(&c, 0, GROUP_A, 10, "gloo:broadcast", 50000, 400); /* of no range here */
	add_itt(&c, 0, 1, "gloo:all_reduce", 160, 190);
	add_itt(&c, 0, 1, "gloo:broadcast", 220, 260);
	convert(&c);
	s = nth(&c, 0, 0, PP_SPAN_MPI, 0);
	CHECK(s && s->mpi.sequence == 7 && s->mpi.sent == 800 && s->mpi.peer == -1 && !(s->flags & PP_SPAN_IS_ROOT));
	CHECK_STR(pp_mpi_call_info(s->mpi.call)->name, "c10d::_reduce_scatter_base_");
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 0), 100, 190));
	s = nth(&c, 0, 0, PP_SPAN_REQUEST, 1);
	CHECK(is_span(s, 200, 260));
	CHECK(s && s->mpi.sequence == 9 && s->mpi.peer == 0 && (s->flags & PP_SPAN_IS_ROOT));
	CHECK_INT(c.rank[0].c10d.unannotated + c.rank[0].c10d.rootless + c.rank[0].c10d.unended, 0);
	free_capture(&c);
}

/* The range of a send's work ends when it was waited for, behind that of the call: the ends were taken for each other. */
TEST(send_and_recv)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_itt(&m.capture, r, 0, r ? "c10d::recv_" : "c10d::send", 100, 200);
		add_itt(&m.capture, r, 0, r ? "gloo:recv" : "gloo:send", 105, 120);
		add_range(&m.capture, r, 0, "c10d::wait", 130, 210);
	}
	build(&m);
	for (size_t r = 0; r < RANKS; r++) {
		CHECK(is_span(nth(&m.capture, r, 0, PP_SPAN_MPI, 0), 100, 120));
		CHECK(is_span(nth(&m.capture, r, 0, PP_SPAN_REQUEST, 0), 105, 200));
		CHECK(is_span(nth_wait(&m.capture, r, 0), 130, 210));
		CHECK(!nth(&m.capture, r, 0, PP_SPAN_RANGE, 0));
	}
	CHECK_INT(m.d.crossed, 0);
	CHECK_INT(m.d.c10d.unannotated + m.d.c10d.unended, 0);
	CHECK_INT(m.d.cell[0].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION], 20 + 80);
	drop(&m);
}

/* Numbers of requests go on behind those of MPI. */
TEST(beside_mpi)
{
	struct pp_capture c = make_capture(1);
	struct pp_span *span = add_mpi(&c, 0, "MPI_Iallreduce", 0, 10, 20);

	span->mpi.request = 41;
	add_all_reduce(&c, 0, 0, 100, 1, 120, 200);
	convert(&c);
	CHECK(nth(&c, 0, 0, PP_SPAN_REQUEST, 0) && nth(&c, 0, 0, PP_SPAN_REQUEST, 0)->mpi.request == 42);
	CHECK_INT(nth(&c, 0, 0, PP_SPAN_MPI, 1)->mpi.request, 42);
	CHECK_INT(nth(&c, 0, 0, PP_SPAN_MPI, 0)->mpi.request, 41);
	free_capture(&c);
	c = make_capture(1);
	add_mpi(&c, 0, "MPI_Iallreduce", 0, 10, 20)->mpi.request = UINT32_MAX - 1;
	add_all_reduce(&c, 0, 0, 100, 1, 120, 200);
	convert(&c);
	CHECK(!nth(&c, 0, 0, PP_SPAN_REQUEST, 0)); /* there is no number left */
	free_capture(&c);
}

TEST(no_annotations)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_itt(&m.capture, r, 0, "c10d::allreduce_", 100, 110);
		add_itt(&m.capture, r, 1, "gloo:all_reduce", 120, 300);
		add_itt(&m.capture, r, 0, "c10d::broadcast_", 400, 410);
		add_itt(&m.capture, r, 0, "c10d::send", 500, 510);
	}
	add_annotations(&m.capture, 1, GROUP_A, 4, "gloo:broadcast", 405, 100);
	build(&m);
	CHECK(is_span(nth(&m.capture, 0, 0, PP_SPAN_REQUEST, 0), 100, 300)); /* its end is known all the same */
	CHECK_INT(m.d.collectives, 1);                                       /* of rank 1 alone */
	CHECK_INT(m.d.c10d.calls, 6);
	CHECK_INT(m.d.c10d.unannotated, 3);
	CHECK_INT(m.d.c10d.recorder_off, 2);
	CHECK_INT(m.d.c10d.unended, 2);
	CHECK_INT(m.d.c10d.rootless, 1);
	CHECK(warned(&m.d, "2 of 6 torch.distributed calls") && warned(&m.d, "1 of 6 torch.distributed calls") &&
	      warned(&m.d, "was not recorded"));
	CHECK(warned(&m.d, "the root of 1 torch.distributed calls"));
	CHECK_INT(m.d.cell[0].wait_ns, 0);
	drop(&m);
}

/* Calls of the set-up before the window are in no step, and nobody misses their partners. */
TEST(before_the_window)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		add_itt(&m.capture, r, 0, "c10d::broadcast_", 100, 110);
		add_step(&m.capture, r, 0, 1000, 2000);
		add_itt(&m.capture, r, 0, "c10d::allreduce_", 1100, 1110);
		m.capture.rank[r].recorded_from = 1000;
	}
	build(&m);
	CHECK_INT(m.d.c10d.calls, RANKS);
	CHECK_INT(m.d.c10d.unannotated, RANKS);
	drop(&m);
}

/* NCCL's end is on the device; and a wait for it is a wait for nobody that is known. */
TEST(only_enqueued)
{
	struct made m = {.capture = make_capture(RANKS)};
	const struct pp_span *s;

	for (size_t r = 0; r < RANKS; r++) {
		add_step(&m.capture, r, 0, 0, 1000);
		add_itt(&m.capture, r, 0, "c10d::allreduce_", 100, 150);
		add_itt(&m.capture, r, 0, "nccl:all_reduce", 110, 140);
		add_annotations(&m.capture, r, GROUP_A, 0, "nccl:all_reduce", 120, 100);
		add_range(&m.capture, r, 0, "c10d::wait", 160, 170);
	}
	build(&m);
	s = nth(&m.capture, 0, 0, PP_SPAN_REQUEST, 0);
	CHECK(is_span(s, 100, 150));
	CHECK(s && (s->flags & PP_SPAN_CUT_END));
	CHECK_INT(m.d.collectives, 1);
	CHECK_INT(m.d.arrival[0].exit_open, 1);
	CHECK_INT(m.d.c10d.enqueued, 2);
	CHECK_INT(m.d.c10d.unended, 0);
	CHECK_INT(m.d.cell[0].wait_ns, 0);
	CHECK(warned(&m.d, "run on a device"));
	drop(&m);
}

TEST(edges_of_the_window)
{
	struct pp_capture c = make_capture(1);
	const struct pp_span *s;

	add_itt(&c, 0, 0, "c10d::allreduce_", 0, 5)->flags = PP_SPAN_CUT_BEGIN; /* no arrival: stays a range */
	add_itt(&c, 0, 1, "gloo:all_reduce", 0, 50)->flags = PP_SPAN_CUT_BEGIN;
	add_all_reduce(&c, 0, 0, 100, 1, 120, 200);
	add_all_reduce(&c, 0, 1, 300, 1, 320, 400);
	c.rank[0].thread[1].span[2].flags = PP_SPAN_CUT_END;
	convert(&c);
	CHECK_INT(nth(&c, 0, 0, PP_SPAN_RANGE, 0)->begin, 0);
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 0), 100, 200));
	s = nth(&c, 0, 0, PP_SPAN_REQUEST, 1);
	CHECK(is_span(s, 300, 310));
	CHECK(s && (s->flags & PP_SPAN_CUT_END));
	CHECK_INT(c.rank[0].c10d.unended, 1);
	free_capture(&c);
}

/* Ranges of a program that has nothing to do with PyTorch stay what they are. */
TEST(others_are_left_alone)
{
	struct pp_capture c = make_capture(1);
	const struct pp_span *before = c.rank[0].thread[0].span;

	add_range(&c, 0, 0, "backward", 0, 100);
	add_range(&c, 0, 0, "c10d::allreduce_", 10, 20); /* by podprof.h */
	convert(&c);
	CHECK(c.rank[0].thread[0].span == before && c.rank[0].thread[0].spans == 2);
	CHECK(!nth(&c, 0, 0, PP_SPAN_MPI, 0));
	free_capture(&c);
}

/* Destroyed and made again under the same name, numbers begin again: that is not one collective of four ranks. */
TEST(group_made_again)
{
	struct made m = {.capture = make_capture(RANKS)};

	for (size_t r = 0; r < RANKS; r++) {
		struct pp_comm *comm = calloc(1, sizeof(*comm));

		*comm = (struct pp_comm){GROUP_A, pp_intern_put(m.capture.names, "world", 5), RANKS, calloc(RANKS, sizeof(int32_t)),
		                         0};
		comm->member[1] = 1;
		m.capture.rank[r].comm = comm;
		m.capture.rank[r].comms = 1;
		add_step(&m.capture, r, 0, 0, 1000);
		for (uint32_t i = 0; i < 4; i++)
			add_all_reduce(&m.capture, r, i % 2, 100 + 200 * i, 1, 120 + 200 * i, 150 + 200 * i);
	}
	build(&m);
	CHECK_INT(m.d.collectives, 4);
	for (size_t i = 0; i < m.d.collectives; i++) {
		CHECK_INT(m.d.collective[i].row_count, RANKS);
		CHECK_INT(m.d.collective[i].sequence, i % 2);
	}
	CHECK(m.d.collectives == 4 && m.d.collective[0].communicator == GROUP_A && m.d.collective[3].communicator != GROUP_A);
	CHECK_INT(m.d.communicators, 2);
	CHECK_INT(m.d.violations, 0);
	for (size_t r = 0; r < RANKS; r++)
		for (size_t i = 0; i < m.capture.rank[r].comms; i++)
			free(m.capture.rank[r].comm[i].member);
	drop(&m);
}

int main(void)
{
	buckets_of_a_backward_pass();
	two_groups_at_once();
	out_of_order();
	words_and_numbers();
	send_and_recv();
	beside_mpi();
	no_annotations();
	before_the_window();
	only_enqueued();
	edges_of_the_window();
	others_are_left_alone();
	group_made_again();
	return test_end();
}
