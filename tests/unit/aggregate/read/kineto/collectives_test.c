/* Collectives that a file describes, where ranks can and cannot be joined, and beside operators of c10d. */
#include "aggregate/read/kineto/collectives.h"

#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/kineto/kineto_kit.h"

/* clang-format off */
#define X(cat, name, pid, tid, ts, dur, args) \
	"{'ph': 'X', 'cat': '" cat "', 'name': '" name "', 'pid': " pid ", 'tid': " tid ", 'ts': " ts \
	", 'dur': " dur ", 'args': {" args "}},\n"
#define HEAD "{'schemaVersion': 1, 'traceEvents': ["
#define LAST "{'ph': 's', 'cat': 'ac2g', 'id': 1, 'name': 'ac2g', 'pid': 0, 'tid': 7, 'ts': 120}]}"
#define DESCRIBED(begin, type, more) \
	X("cpu_op", "record_param_comms", "1", "1", begin "1", "5", \
	  "'Collective name': 'allreduce', 'In msg nelems': 76675000, 'Out msg nelems': 76675000, 'Group size': 8, " \
	  "'dtype': '" type "'" more) \
	X("cuda_runtime", "cudaLaunchKernelExC", "1", "1", begin "2", "1", "'correlation': " begin) \
	X("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "0", "20", begin "9", "46800", \
	  "'device': 0, 'stream': 20, 'correlation': " begin)
#define CALL(begin) X("cpu_op", "c10d::allreduce_", "1", "1", begin "0", "8", "")
#define GROUP ", 'Process Group Name': '0', 'Process Group Ranks': '[0, 1, 2, 3, 4, 5, 6, 7]'"
#define INSIDE X("cpu_op", "c10d::barrier", "1", "1", "102", "3", "")
#define ENDS \
	"{'ph': 'M', 'name': 'thread_name', 'pid': 1, 'tid': 1, 'args': {'name': 'a'}}], " \
	"'distributedInfo': {'rank': 1, 'world_size': 2, "
/* clang-format on */

static const struct pp_span *call(const struct pp_capture *c, size_t n)
{
	static const struct pp_span none;
	const struct pp_thread *t = kit_thread(c, -1, 1);

	for (size_t i = 0; t && i < t->spans; i++)
		if (t->span[i].kind == PP_SPAN_MPI && !n--)
			return &t->span[i];
	CHECK(!"no such call");
	return &none;
}

/* Where the file describes none and the job has one group, operators are its collectives; a call inside of one is none. */
TEST(one_group)
{
	struct pp_capture one = kit_read(HEAD CALL("10") INSIDE ENDS "'pg_count': 1}}");
	struct pp_capture two = kit_read(HEAD CALL("10") INSIDE ENDS "'pg_count': 2}}");

	CHECK_INT(one.rank[0].annotations, 1);
	CHECK_INT(call(&one, 0)->mpi.comm, one.rank[0].comm[0].id);
	CHECK_INT(one.rank[0].comm[0].size, 2);
	CHECK_INT(one.rank[0].comm[0].member[1], 1);
	CHECK_INT(two.rank[0].annotations, 0);
	pp_capture_release(&one);
	pp_capture_release(&two);
}

/* Neither a number of the file nor a step says which it is on other ranks: it is known of this one. */
TEST(without_sequence)
{
	struct pp_capture c = kit_read(HEAD CALL("10") DESCRIBED("10", "Float", GROUP) CALL("90000")
	                                       DESCRIBED("90000", "Float8_e4m3fnuz", GROUP) LAST);
	const struct pp_rank *r = c.rank;

	CHECK_INT(r->comms, 1);
	CHECK_INT(r->comm[0].size, 8);
	CHECK_STR(kit_text(&c, r->comm[0].name), "0");
	CHECK_INT(r->comm[0].member[7], 7);
	CHECK_INT(r->annotations, 2);
	CHECK_INT(call(&c, 0)->mpi.sent, 306700000);
	CHECK_INT(call(&c, 0)->mpi.comm, r->comm[0].id);
	CHECK_INT(call(&c, 0)->mpi.sequence, 0);
	CHECK_INT(call(&c, 1)->mpi.sent, 76675000);
	CHECK_INT(call(&c, 1)->mpi.sequence, 1);
	CHECK_INT(r->operations, 2);
	CHECK_INT(r->operation[0].correlation, 10);
	pp_capture_release(&c);
}

static uint64_t group_of(const char *rest, int32_t rank, const char *more)
{
	char text[4096];
	struct pp_capture c;
	uint64_t id;

	snprintf(text, sizeof(text), "%s%s%s", rest, more, LAST);
	kit_quotes(text);
	kit_write(text, strlen(text), 0);
	CHECK_INT(kit_read_as(rank, &c), 0);
	CHECK_INT(c.rank->comms, 1);
	id = c.rank->comms ? c.rank->comm[0].id : 0;
	pp_capture_release(&c);
	return id;
}

/* The group of such a collective is this rank's alone: equal places mean nothing. With a number it is the same on all. */
TEST(groups)
{
	static const char without[] = HEAD CALL("10") DESCRIBED("10", "Float", GROUP);
	static const char with[] = HEAD CALL("10") DESCRIBED("10", "Float", GROUP ", 'Seq': 4");
	static const char unnamed[] = HEAD CALL("10") DESCRIBED("10", "Float", "");

	CHECK(group_of(without, 1, "") != group_of(without, 2, ""));
	CHECK_INT(group_of(with, 1, ""), group_of(with, 2, ""));
	CHECK(group_of(unnamed, 1, "") != 0);
}

/* A program that calls the backend itself has no operator around it. */
TEST(without_operator)
{
	struct pp_capture c = kit_read(HEAD DESCRIBED("10", "Half", GROUP ", 'Seq': 4") LAST);
	const struct pp_span *s = call(&c, 0);

	CHECK_STR(kit_text(&c, s->name), "c10d::allreduce_");
	CHECK_INT(s->mpi.sent, 153350000);
	CHECK_INT(s->mpi.sequence, 4);
	CHECK_INT(c.rank->operations, 1);
	pp_capture_release(&c);
}

/* A kernel that ended before its collective began has a wrong time, which ends nothing. */
TEST(kernel_before_its_call)
{
	struct pp_capture c = kit_read(
	        HEAD CALL("10") X("cpu_op", "record_param_comms", "1", "1", "101", "5",
	                          "'Collective name': 'allreduce', 'In msg nelems': 4, 'Group size': 8, 'dtype': 'Half'" GROUP)
	                X("cuda_runtime", "cudaLaunchKernelExC", "1", "1", "102", "1", "'correlation': 5")
	                        X("kernel", "ncclDevKernel_AllReduce_Sum_f16_RING_LL", "0", "20", "20", "30",
	                          "'device': 0, 'stream': 20, 'correlation': 5") LAST);

	kit_check(&c);
	CHECK_INT(c.rank->annotations, 1);
	CHECK_INT(c.rank->annotation[0].done, 0);
	CHECK_INT(c.rank->operations, 0);
	pp_capture_release(&c);
}

int main(void)
{
	without_sequence();
	one_group();
	groups();
	without_operator();
	kernel_before_its_call();
	return test_end();
}
