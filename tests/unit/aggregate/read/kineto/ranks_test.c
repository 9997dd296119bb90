/* Files that were merged of several ranks, and files of one process with several devices. */
#include "aggregate/read/kineto/ranks.h"

#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/kineto/kineto_kit.h"

/* clang-format off */
#define X(cat, name, pid, tid, ts, dur, args) \
	"{'ph': 'X', 'cat': '" cat "', 'name': '" name "', 'pid': " pid ", 'tid': " tid ", 'ts': " ts \
	", 'dur': " dur ", 'args': {" args "}},\n"
#define NAME(what, pid, name) "{'ph': 'M', 'name': '" what "', 'pid': " pid ", 'tid': 0, 'args': {'name': '" name "'}},\n"
#define HEAD "{'schemaVersion': 1, 'traceEvents': ["
#define HEAD_INFOS \
	"{'distributedInfo': [{'rank': 6, 'world_size': 8}, {'rank': 4, 'world_size': 8}], 'schemaVersion': 1, 'traceEvents': ["
#define LAST "{'ph': 's', 'cat': 'ac2g', 'id': 1, 'name': 'ac2g', 'pid': 0, 'tid': 7, 'ts': 120}]}"

/* A step with an operator that launches one kernel and allocates. */
#define RANK(pid, gpu, device, stream, op, ts, correlation) \
	X("user_annotation", "ProfilerStep#3", pid, "41", ts "0", "50", "") \
	X("cpu_op", op, pid, "41", ts "1", "20", "'External id': 9") \
	X("cuda_runtime", "cudaLaunchKernel", pid, "41", ts "2", "3", "'External id': 9, 'correlation': " correlation) \
	"{'ph': 'i', 'name': '[memory]', 'pid': " pid ", 'tid': 41, 'ts': " ts "3, 'args': {'Bytes': 512, 'Addr': 1, " \
	"'Device Type': 1, 'Device Id': 0}},\n" \
	X("kernel", "k_" op, gpu, stream, ts "9", "20", "'External id': 9, 'device': " device ", 'stream': " stream \
	  ", 'correlation': " correlation)

#define CALL(pid, ts, rank) \
	X("cpu_op", "record_param_comms", pid, "41", ts "4", "2", \
	  "'Collective name': 'allreduce', 'Group size': 2, 'Rank': " rank ", " \
	  "'Process Group Name': '0', 'Process Group Ranks': '[0, 1]', 'In msg nelems': 1, 'Out msg nelems': 1, 'dtype': 'Int'")
/* clang-format on */

/* One rank of it, which stays part of it. */
static struct pp_capture view(const struct pp_capture *c, size_t i)
{
	struct pp_capture one = *c;

	one.rank = &c->rank[i];
	one.ranks = 1;
	kit_check(&one);
	return one;
}

static void check_rank(const struct pp_capture *c, size_t i, int32_t number, int device, const char *op)
{
	struct pp_capture one;
	char kernel[32];
	const struct pp_span *k;

	CHECK(i < c->ranks);
	if (i >= c->ranks)
		return;
	one = view(c, i);
	k = kit_span(&one, device, 7, 0);
	snprintf(kernel, sizeof(kernel), "k_%s", op);
	CHECK_INT(one.rank->rank, number);
	CHECK_INT(one.rank->step_marks, 1);
	CHECK_INT(one.rank->last_step, 3);
	CHECK_INT(one.rank->threads, 2);
	CHECK_STR(kit_text(&one, k->name), kernel);
	CHECK_STR(kit_text(&one, k->device.op), op);
	CHECK_INT(kit_thread(&one, device, 7)->spans, 1);
	CHECK_INT(one.rank->allocations, 1);
	CHECK_STR(kit_text(&one, one.rank->allocation[0].op), op);
	CHECK_INT(one.rank->devices, 1);
	CHECK_INT(one.rank->device[0].number, device);
	CHECK_INT(one.rank->trace.events, 5);
}

/* As SGLang merges: its label stands before each pid. */
TEST(labels_before_pids)
{
	struct pp_capture c = kit_read(HEAD RANK("'[TP01] 4711'", "'[TP01] 1'", "1", "7", "b", "10", "5")
	                                       RANK("'[TP00] 4711'", "'[TP00] 0'", "0", "7", "a", "11", "5") LAST);

	CHECK_INT(c.ranks, 2);
	CHECK_INT(c.ranks_asked, 5);
	check_rank(&c, 0, 3, 0, "a");
	check_rank(&c, 1, 4, 1, "b");
	CHECK_INT(c.rank[0].pid, 4711);
	CHECK_INT(c.rank[1].pid, 4711);
	pp_capture_release(&c);
}

/* Two hosts: the same pids, devices and streams, told apart by labels. */
TEST(the_same_pid_of_two_hosts)
{
	struct pp_capture c = kit_read(HEAD RANK("'rank 0: 40'", "'rank 0: 0'", "0", "7", "a", "10", "5")
	                                       RANK("'rank 8: 40'", "'rank 8: 0'", "0", "7", "b", "11", "5") LAST);

	CHECK_INT(c.ranks, 2);
	CHECK_INT(c.ranks_asked, 9);
	check_rank(&c, 0, 0, 0, "a");
	check_rank(&c, 1, 8, 0, "b");
	pp_capture_release(&c);
}

TEST(names_of_processes)
{
	struct pp_capture c =
	        kit_read(HEAD RANK("200040", "200000", "0", "7", "b", "10", "5") NAME("process_name", "200040", "Rank 5 python")
	                         NAME("process_name", "200000", "Rank 5 GPU") RANK("40", "0", "0", "7", "a", "11", "5")
	                                 NAME("process_name", "40", "rank_2") NAME("process_labels", "0", "rank 2") LAST);

	CHECK_INT(c.ranks, 2);
	check_rank(&c, 0, 2, 0, "a");
	check_rank(&c, 1, 5, 0, "b");
	pp_capture_release(&c);
}

/* Files put one behind the other: nothing but pids. All of a host see their device as number 0, or each has its own. */
TEST(processes_without_names)
{
	struct pp_capture c =
	        kit_read(HEAD RANK("40", "0", "0", "7", "a", "10", "5") RANK("50", "0", "0", "7", "b", "11", "5") LAST);

	CHECK_INT(c.ranks, 2);
	check_rank(&c, 0, 3, 0, "a");
	check_rank(&c, 1, 4, 0, "b");
	pp_capture_release(&c);
	c = kit_read(HEAD RANK("50", "0", "0", "7", "a", "10", "6") RANK("40", "1", "1", "7", "b", "11", "5") LAST);
	CHECK_INT(c.ranks, 2);
	check_rank(&c, 0, 3, 0, "a");
	check_rank(&c, 1, 4, 1, "b");
	pp_capture_release(&c);
}

/* A file may keep the distributedInfo of each of its ranks. */
TEST(several_infos)
{
	struct pp_capture c =
	        kit_read(HEAD_INFOS RANK("50", "0", "0", "7", "b", "10", "5") RANK("40", "1", "1", "7", "a", "11", "5") LAST);

	CHECK_INT(c.ranks, 2);
	CHECK_INT(c.ranks_asked, 8);
	check_rank(&c, 0, 4, 1, "a");
	check_rank(&c, 1, 6, 0, "b");
	CHECK_INT(c.rank[0].trace.damaged, 0);
	pp_capture_release(&c);
}

/* One process with two devices is one rank. */
TEST(one_process_with_two_devices)
{
	struct pp_capture c =
	        kit_read(HEAD RANK("40", "0", "0", "7", "a", "10", "5")
	                         X("cuda_runtime", "cudaLaunchKernel", "40", "41", "124", "1", "'correlation': 6")
	                                 X("kernel", "k", "1", "7", "130", "9", "'device': 1, 'stream': 7, 'correlation': 6") LAST);

	CHECK_INT(c.ranks, 1);
	kit_check(&c);
	CHECK_INT(c.rank->devices, 2);
	CHECK_INT(c.rank->threads, 3);
	CHECK_STR(kit_text(&c, kit_span(&c, 1, 7, 0)->name), "k");
	pp_capture_release(&c);
	/* nor is a helper with operators that launches nothing another rank */
	c = kit_read(HEAD RANK("40", "0", "0", "7", "a", "10", "5") X("cpu_op", "aten::stack", "99", "41", "124", "1", "") LAST);
	CHECK_INT(c.ranks, 1);
	kit_check(&c);
	pp_capture_release(&c);
}

/* Which rank a process is stands in its collectives of the group of all. */
TEST(numbers_of_collectives)
{
	struct pp_capture c = kit_read(HEAD RANK("40", "0", "0", "7", "b", "10", "5") CALL("40", "10", "1")
	                                       RANK("50", "0", "0", "7", "a", "11", "5") CALL("50", "11", "0") LAST);

	CHECK_INT(c.ranks, 2);
	CHECK_INT(c.rank[0].pid, 50);
	CHECK_INT(c.rank[0].rank, 0);
	CHECK_INT(c.rank[1].pid, 40);
	CHECK_INT(c.rank[1].rank, 1);
	CHECK_INT(c.rank[0].remarks, 0);
	pp_capture_release(&c);
}

/* Nothing tells them apart: one rank, and what contradicts that is counted: a step, a collective. */
TEST(one_pid_of_several_ranks)
{
	struct pp_capture c = kit_read(HEAD RANK("40", "0", "0", "7", "a", "10", "5") CALL("40", "10", "0")
	                                       RANK("40", "0", "0", "7", "b", "12", "6") CALL("40", "12", "1") LAST);

	CHECK_INT(c.ranks, 1);
	CHECK_INT(c.rank[0].trace.contradictions, 2);
	pp_capture_release(&c);
}

/* A kernel without a launch is of the rank that alone launches on its device; else it is counted. */
TEST(kernels_without_a_launch)
{
	struct pp_capture c;

	for (int common = 0; common < 2; common++) {
		c = common ? kit_read(HEAD RANK("40", "0", "0", "7", "a", "10", "5") RANK("50", "0", "0", "7", "b", "11", "5")
		                              X("kernel", "k", "0", "9", "130", "9", "'device': 0, 'stream': 9") LAST)
		           : kit_read(HEAD RANK("40", "0", "0", "7", "a", "10", "5") RANK("50", "1", "1", "7", "b", "11", "5")
		                              X("kernel", "k", "1", "9", "130", "9", "'device': 1, 'stream': 9") LAST);
		CHECK_INT(c.ranks, 2);
		CHECK_INT(c.rank[0].threads, 2 + common);
		CHECK_INT(c.rank[1].threads, 3 - common);
		CHECK_INT(c.rank[0].remarks, common);
		CHECK(!common || strstr(c.rank[0].remark[0], "1 events are of an unknown one of the file's ranks"));
		pp_capture_release(&c);
	}
}

/* In the order of time, with equal correlations: a kernel is of the rank that alone had launched it, a stream of the one that had
 * launched all of its kernels; what overlaps on one stream is of several. */
TEST(ranks_in_the_order_of_time)
{
#define TWO(pid, ts, first, second)                                                                                                \
	X("cpu_op", "op", pid, "41", ts "0", "9", "")                                                                              \
	X("cuda_runtime", "cudaLaunchKernel", pid, "41", ts "1", "1", "'correlation': " first)                                     \
	X("cuda_runtime", "cudaLaunchKernel", pid, "41", ts "3", "1", "'correlation': " second)
#define KERNEL(device, ts, correlation)                                                                                            \
	X("kernel", "k", device, "7", ts, "20", "'device': " device ", 'stream': 7, 'correlation': " correlation)
	struct pp_capture c = kit_read(HEAD TWO("40", "10", "5", "6") TWO("50", "10", "6", "5") KERNEL("0", "102", "5")
	                                       KERNEL("1", "102", "6") X("cpu_op", "op", "40", "41", "110", "9", "")
	                                               KERNEL("0", "130", "6") KERNEL("1", "130", "5") LAST);

	CHECK_INT(c.ranks, 2);
	CHECK_INT(c.rank[0].threads, 2);
	CHECK_INT(c.rank[0].thread[1].device, 1);
	CHECK_INT(c.rank[0].thread[1].spans, 2);
	CHECK_INT(c.rank[1].thread[1].device, 2);
	CHECK_INT(c.rank[1].thread[1].spans, 2);
	CHECK_INT(c.rank[0].remarks, 0);
	pp_capture_release(&c);
	c = kit_read(HEAD TWO("40", "10", "5", "6") TWO("50", "10", "5", "6") X("cpu_op", "op", "40", "41", "110", "9", "")
	                     KERNEL("0", "120", "5") KERNEL("0", "121", "5") LAST);
	CHECK_INT(c.ranks, 2);
	CHECK_INT(c.rank[0].remarks, 2);
	CHECK(strstr(c.rank[0].remark[0], "2 events are of an unknown one"));
	pp_capture_release(&c);
}

int main(void)
{
	labels_before_pids();
	the_same_pid_of_two_hosts();
	names_of_processes();
	processes_without_names();
	several_infos();
	one_process_with_two_devices();
	numbers_of_collectives();
	one_pid_of_several_ranks();
	kernels_without_a_launch();
	ranks_in_the_order_of_time();
	return test_end();
}
