/* XLA's collectives of a file become operations: which events, on which devices, with which numbers. */
#include "aggregate/read/xspace/collectives.h"

#include "core/call/mpi_call.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"

enum { RUN = 1, PROGRAM, CATEGORY };

#define REDUCE "f32[8] all-reduce(f32[8] %p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true"
#define REDUCE_TWO "f32[8] all-reduce(f32[8] %p), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true"
#define REDUCE_START "%all-reduce-start.1 = f32[8] all-reduce-start(f32[8] %p), replica_groups={{0,1}}"
#define REDUCE_DONE "%all-reduce-done.1 = f32[8] all-reduce-done(f32[8] %all-reduce-start.1)"

static struct bytes file, plane, line, event;
static struct pp_capture c;

static void add(int64_t id, int64_t begin, int64_t ns, int64_t run)
{
	begin_event(&event, id, begin, ns);
	if (run)
		put_stat(&event, 4, RUN, run);
	put_message(&line, 4, &event);
}

static void end_line(void)
{
	put_message(&plane, 3, &line);
}

static void end_plane(void)
{
	put_name(&plane, 4, 1, "jit_f(7)");
	put_name(&plane, 4, 2, "%all-reduce.1 = " REDUCE);
	put_name(&plane, 4, 3, REDUCE_START);
	put_name(&plane, 4, 4, REDUCE_DONE);
	put_name(&plane, 4, 5, "%all-reduce.2 = " REDUCE_TWO);
	put_name(&plane, 5, RUN, "run_id");
	put_message(&file, 1, &plane);
}

static const struct pp_rank *read_file(void)
{
	struct pp_err err = {""};

	pp_capture_release(&c);
	c = (struct pp_capture){0};
	CHECK_INT(read_bytes(file.b, file.n, &c, &err), 0);
	file.n = 0;
	return &c.rank[0];
}

/* The n-th call; requests are not calls. */
static const struct pp_span *call_of(const struct pp_rank *r, size_t n)
{
	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; i < r->thread[t].spans; i++)
			if (r->thread[t].span[i].kind == PP_SPAN_MPI && !n--)
				return &r->thread[t].span[i];
	CHECK(0);
	return NULL;
}

/* Of two devices of a rank the one that begins last makes its row; runs have their numbers. */
TEST(devices_of_a_rank)
{
	const struct pp_rank *r;

	for (int d = 0; d < 2; d++) {
		begin_plane(&plane, d ? "/device:TPU:1" : "/device:TPU:0");
		begin_line(&line, 1, "XLA Modules");
		add(1, 100, 400, 5);
		add(1, 600, 400, 6);
		end_line();
		begin_line(&line, 2, "XLA Ops");
		add(2, 200 + 50 * d, 200 - 50 * d, 0);
		add(2, 700, 200 - 10 * d, 0);
		add(2, 950, 10, 0);
		end_line();
		end_plane();
	}
	r = read_file();
	CHECK_INT(r->comms, 1);
	CHECK_INT(r->comm[0].size, 2);
	CHECK_INT(r->comm[0].devices, 4);
	CHECK_INT(r->operations, 3);
	CHECK_INT(r->operation[0].device_ns, 150);
	CHECK_INT(call_of(r, 0)->mpi.sequence, 5 << 16);
	CHECK_INT(call_of(r, 1)->mpi.sequence, 6 << 16);
	CHECK_INT(call_of(r, 2)->mpi.sequence, (6 << 16) + 1);
	CHECK_INT(call_of(r, 0)->mpi.sent, 32);
	CHECK_STR(pp_mpi_call_info(call_of(r, 0)->mpi.call)->name, "xla::all-reduce");
}

/* Without the execution's number nothing ties it to that of another rank. */
TEST(no_execution)
{
	const struct pp_rank *r;

	begin_plane(&plane, "/device:TPU:0");
	begin_line(&line, 2, "XLA Ops");
	add(2, 200, 100, 0);
	add(2, 400, 100, 0);
	end_line();
	end_plane();
	r = read_file();
	CHECK_INT(r->operations, 2);
	CHECK_INT(call_of(r, 1)->mpi.sequence, 1);
	CHECK_INT(r->comm[0].size, 4);
	CHECK_INT(r->comm[0].devices, 0);
	CHECK_STR(r->remark[0],
	          "2 collectives of XLA are joined with no other device's: the file does not say of which execution they are");
}

/* Two devices, each in a group that the file does not say: nothing is joined, and that is counted. */
TEST(group_unknown)
{
	const struct pp_rank *r;

	for (int d = 0; d < 2; d++) {
		begin_plane(&plane, d ? "/device:TPU:1" : "/device:TPU:0");
		begin_line(&line, 1, "XLA Modules");
		add(1, 100, 400, 5);
		end_line();
		begin_line(&line, 2, "XLA Ops");
		add(5, 200 + 50 * d, 100, 0);
		add(2, 400, 50, 0);
		end_line();
		end_plane();
	}
	r = read_file();
	CHECK_INT(r->comms, 3);
	CHECK_INT(r->operations, 3);
	CHECK_INT(r->operation[0].device, 1);
	CHECK_INT(r->operation[1].device, 2);
	CHECK_INT(r->remarks, 1);
	CHECK_STR(r->remark[0],
	          "2 collectives of XLA are joined with no other device's: the file does not say which of several groups "
	          "their device is in");
}

/* From a start to its done, or as the line of what runs beside the core has it. */
TEST(start_and_done)
{
	const struct pp_rank *r;

	for (int beside = 0; beside < 2; beside++) {
		begin_plane(&plane, "/device:TPU:0");
		begin_line(&line, 2, "XLA Ops");
		add(3, 200, 10, 0);
		add(4, 280, 40, 0);
		end_line();
		begin_line(&line, 3, "Async XLA Ops");
		if (beside) {
			add(3, 205, 110, 0);
			end_line();
		}
		end_plane();
		r = read_file();
		CHECK_INT(r->operations, 1);
		CHECK_INT(r->operation[0].device_ns, beside ? 110 : 120);
		CHECK_INT(r->operation[0].correlation > 0, beside);
		CHECK_INT(r->thread[0].span[1].device.activity, beside ? PP_DEVICE_WAIT : PP_DEVICE_COLLECTIVE);
	}
}

int main(void)
{
	devices_of_a_rank();
	no_execution();
	start_and_done();
	group_unknown();
	pp_capture_release(&c);
	return test_end();
}
