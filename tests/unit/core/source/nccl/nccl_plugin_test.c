/* The NCCL plug-in, called as NCCL calls it: the program runs itself with podprof, plays sequences of callbacks of versions 4 to 7,
 * and reads its own ring as the keeper does. No library of NCCL, and no device. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/read/ring/finish.h"
#include "aggregate/read/ring/rings.h"
#include "core/base/comm_id.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/source/nccl/nccl_abi.h"
#include "core/source/services.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"

/* Offsets of the debug information of NCCL 2.32.3, which has all versions. */
#define AT(type, member, offset) _Static_assert(offsetof(struct type, member) == (offset), #member)
AT(pp_nccl_event, type, 0);
AT(pp_nccl_event, parent, 8);
AT(pp_nccl_event, rank, 16);
AT(pp_nccl_event, group_api.depth, 28);
AT(pp_nccl_event, coll_api.function, 24);
AT(pp_nccl_event, coll_api.count, 32);
AT(pp_nccl_event, coll_api.datatype, 40);
AT(pp_nccl_event, coll_api.root, 48);
AT(pp_nccl_event, coll_api.is_captured, 64);
AT(pp_nccl_event, p2p_api.function, 24);
AT(pp_nccl_event, p2p_api.count, 32);
AT(pp_nccl_event, p2p_api.datatype, 40);
AT(pp_nccl_event, p2p_api.is_captured, 56);
AT(pp_nccl_event, coll.sequence, 24);
AT(pp_nccl_event, coll.function, 32);
AT(pp_nccl_event, coll.count, 56);
AT(pp_nccl_event, coll.root, 64);
AT(pp_nccl_event, coll.datatype, 72);
AT(pp_nccl_event, coll.channels, 80);
AT(pp_nccl_event, coll.algorithm, 88);
AT(pp_nccl_event, coll.protocol, 96);
AT(pp_nccl_event, coll.group, 104);
AT(pp_nccl_event, p2p.function, 24);
AT(pp_nccl_event, p2p.datatype, 40);
AT(pp_nccl_event, p2p.count, 48);
AT(pp_nccl_event, p2p.peer, 56);
AT(pp_nccl_event, p2p.channels, 60);
AT(pp_nccl_event, p2p.group, 64);
AT(pp_nccl_event, proxy_op.pid, 24);
AT(pp_nccl_event, kernel_channel.timer, 32);
AT(pp_nccl_event, ce_coll.function, 32);
AT(pp_nccl_event, ce_coll.count, 56);
AT(pp_nccl_event, ce_coll.datatype, 72);
AT(pp_nccl_event, ce_coll.strategy, 80);
AT(pp_nccl_event_v4, coll.sequence, 24);
AT(pp_nccl_event_v4, coll.count, 56);
AT(pp_nccl_event_v4, coll.root, 64);
AT(pp_nccl_event_v4, coll.datatype, 72);
AT(pp_nccl_event_v4, coll.channels, 80);
AT(pp_nccl_event_v4, coll.algorithm, 88);
AT(pp_nccl_event_v4, p2p.datatype, 40);
AT(pp_nccl_event_v4, p2p.count, 48);
AT(pp_nccl_event_v4, p2p.peer, 56);
AT(pp_nccl_event_v4, p2p.channels, 60);
AT(pp_nccl_event_v4, kernel_channel.timer, 32);
AT(pp_nccl_event_v3, coll.comm, 32);
AT(pp_nccl_event_v3, coll.sequence, 40);
AT(pp_nccl_event_v3, coll.function, 48);
AT(pp_nccl_event_v3, coll.count, 72);
AT(pp_nccl_event_v3, coll.root, 80);
AT(pp_nccl_event_v3, coll.datatype, 88);
AT(pp_nccl_event_v3, coll.channels, 96);
AT(pp_nccl_event_v3, coll.algorithm, 104);
AT(pp_nccl_event_v3, coll.protocol, 112);
AT(pp_nccl_event_v3, p2p.count, 64);
AT(pp_nccl_event_v3, p2p.peer, 72);

enum { RANKS = 4, ROOT = 1, PEER = 3, COUNT = 1000, HASH = 77 };

static void *library; /* podprof */
static int own = 2;   /* rank in all communicators */

static const struct pp_nccl_plugin *plugin(int version)
{
	char name[32];
	const struct pp_nccl_plugin *p;

	snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
	p = dlsym(library, name);
	CHECK(p != NULL);
	return p;
}

static void *comm_new(const struct pp_nccl_plugin *p, int version, int *mask)
{
	void *context = NULL;

	if (version >= 5)
		CHECK_INT(((pp_nccl_init_v5)p->init)(&context, HASH + (unsigned)version, mask, NULL, 1, RANKS, own, NULL), 0);
	else
		CHECK_INT(((pp_nccl_init_v4)p->init)(&context, mask, "pipeline", HASH + (unsigned)version, 1, RANKS, own, NULL), 0);
	CHECK(context != NULL);
	return context;
}

static void *begin(const struct pp_nccl_plugin *p, void *context, struct pp_nccl_event *e)
{
	void *handle = NULL;

	CHECK_INT(p->start(context, &handle, e), 0);
	return handle;
}

/* A collective as a blocking communicator of 2.28 runs it; returns the handle of its call, which NCCL may stop again later. */
static void *collective(const struct pp_nccl_plugin *p, void *context, const char *function, const char *type, uint64_t number,
                        int root)
{
	struct pp_nccl_event group = {.type = PP_NCCL_GROUP_API, .group_api = {.depth = 1}},
	                     call = {.type = PP_NCCL_COLL_API,
	                             .coll_api = {.function = function, .count = COUNT, .datatype = type, .root = root}},
	                     launch = {.type = PP_NCCL_KERNEL_LAUNCH}, plan = {.type = PP_NCCL_GROUP},
	                     coll = {.type = PP_NCCL_COLL,
	                             .rank = own,
	                             .coll = {.function = function,
	                                      .count = COUNT,
	                                      .datatype = type,
	                                      .root = root,
	                                      .sequence = number,
	                                      .channels = 2,
	                                      .algorithm = "RING",
	                                      .protocol = "SIMPLE"}};
	void *h_group = begin(p, context, &group), *h_call, *h_launch, *h_plan, *h_coll;

	p->state(h_group, 23, NULL);
	call.parent = h_group;
	h_call = begin(p, context, &call);
	p->stop(h_call);
	p->state(h_group, 24, NULL);
	h_launch = begin(p, context, &launch);
	p->stop(h_launch);
	h_plan = begin(p, context, &plan);
	coll.parent = h_call;
	coll.coll.group = h_plan;
	h_coll = begin(p, context, &coll);
	p->stop(h_coll);
	p->stop(h_plan);
	p->stop(h_group);
	return h_call;
}

/* By the copy engine, as 2.29 and newer run it: a call, and copies without a kernel. */
static void copied(const struct pp_nccl_plugin *p)
{
	struct pp_nccl_event group = {.type = PP_NCCL_GROUP_API, .group_api = {.depth = 1}},
	                     call = {.type = PP_NCCL_COLL_API,
	                             .coll_api = {.function = "AllGather", .count = COUNT, .datatype = "ncclInt64", .root = -1}},
	                     ce = {.type = PP_NCCL_CE_COLL,
	                           .rank = own,
	                           .ce_coll = {.sequence = 3,
	                                       .function = "AllGather",
	                                       .count = COUNT,
	                                       .root = -1,
	                                       .datatype = "ncclInt64",
	                                       .strategy = "MC"}};
	int mask = 0;
	void *context = comm_new(p, 6, &mask), *h_group = begin(p, context, &group), *h_ce;

	CHECK(mask & PP_NCCL_CE_COLL);
	call.parent = h_group;
	ce.parent = begin(p, context, &call);
	p->stop(ce.parent);
	h_ce = begin(p, context, &ce);
	CHECK(h_ce != NULL);
	p->stop(h_ce);
	p->stop(h_group);
	p->finalize(context);
}

static void send_in_group(const struct pp_nccl_plugin *p, void *context)
{
	struct pp_nccl_event
	        group = {.type = PP_NCCL_GROUP_API, .group_api = {.depth = 2}},
	        call = {.type = PP_NCCL_P2P_API, .p2p_api = {.function = "Send", .count = COUNT, .datatype = "ncclInt8"}},
	        task = {.type = PP_NCCL_P2P,
	                .rank = own,
	                .p2p = {.function = "Send", .count = COUNT, .datatype = "ncclInt8", .peer = PEER, .channels = 1}};
	void *h_group = begin(p, context, &group), *h_call, *h_task;

	call.parent = h_group;
	h_call = begin(p, context, &call);
	p->stop(h_call);
	task.parent = h_call;
	h_task = begin(p, context, &task);
	p->stop(h_group); /* before its children */
	p->stop(h_task);
}

/* What NCCL does wrong, or does not do, must be harmless. */
static void oddities(const struct pp_nccl_plugin *p, void *context, void *stale)
{
	struct pp_nccl_event proxy = {.type = PP_NCCL_PROXY_OP, .parent = (void *)0x10, .proxy_op = {.pid = 1}},
	                     unknown = {.type = UINT64_C(1) << 40}, open = {.type = PP_NCCL_GROUP_API, .group_api = {.depth = 1}},
	                     coll = {.type = PP_NCCL_COLL, .parent = stale, .coll = {.channels = 1}};

	p->stop(stale);
	p->stop(stale);
	p->stop(NULL);
	p->state(NULL, 8, NULL);
	p->state(stale, PP_NCCL_KERNEL_CHANNEL_STOP, NULL);
	CHECK(begin(p, context, &proxy) == NULL);
	CHECK(begin(p, context, &unknown) == NULL);
	begin(p, context, &open);          /* never stopped: the group failed */
	p->stop(begin(p, context, &coll)); /* without texts */
	CHECK_INT(p->start(NULL, &context, &open), 0);
	CHECK_INT(p->start(context, NULL, &open), 0);
}

/* ---- a plug-in of the user's, which podprof calls as the next one ---- */

static int chained_stops;

static int chained_init(void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks, int rank, pp_nccl_log log)
{
	(void)comm, (void)name, (void)nodes, (void)ranks, (void)rank, (void)log;
	*context = &chained_stops;
	*mask = PP_NCCL_COLL;
	return 0;
}

static int chained_start(void *context, void **handle, void *event)
{
	(void)event;
	*handle = context;
	return 0;
}

static int chained_stop(void *handle)
{
	chained_stops += handle == &chained_stops;
	return 0;
}

static int chained_state(void *handle, int state, void *arguments)
{
	(void)handle, (void)state, (void)arguments;
	return 0;
}

static int chained_finalize(void *context)
{
	return context != &chained_stops;
}

extern const struct pp_nccl_plugin ncclProfiler_v7;
const struct pp_nccl_plugin ncclProfiler_v7 = {.name = "chained",
                                               .init = (void *)chained_init,
                                               .start = chained_start,
                                               .stop = chained_stop,
                                               .state = chained_state,
                                               .finalize = chained_finalize};

/* The work of a call that a CUDA graph captures does not run: podprof has no record of it, also where the next plug-in has one. */
static void captured_for_chained(void)
{
	const struct pp_nccl_plugin *p = plugin(7);
	struct pp_nccl_event group = {.type = PP_NCCL_GROUP_API, .group_api = {.depth = 1}},
	                     call = {.type = PP_NCCL_COLL_API,
	                             .coll_api = {.function = "ReduceScatter",
	                                          .count = COUNT,
	                                          .datatype = "ncclFloat32",
	                                          .is_captured = 1}},
	                     coll = {.type = PP_NCCL_COLL, .rank = own, .coll = {.function = "ReduceScatter", .count = COUNT}};
	int mask = 0;
	void *context = comm_new(p, 7, &mask), *h_group = begin(p, context, &group), *h_call;

	call.parent = h_group;
	h_call = begin(p, context, &call);
	p->stop(h_call);
	coll.parent = h_call;
	p->stop(begin(p, context, &coll));
	p->stop(h_group);
	CHECK_INT(chained_stops, 3);
	p->finalize(context);
}

static void *other_comm(void *arg)
{
	const struct pp_nccl_plugin *p = plugin(6);
	int mask = 0;
	void *context = comm_new(p, 6, &mask);

	for (uint64_t i = 0; i < 1000; i++)
		collective(p, context, "AllReduce", "ncclFloat16", i, -1);
	p->finalize(context);
	return arg;
}

static atomic_int is_over;

static void *comes_and_goes(void *arg)
{
	const struct pp_nccl_plugin *p = plugin(6);
	int mask = 0;

	while (!is_over)
		p->finalize(comm_new(p, 6, &mask));
	return arg;
}

/* A process is forked while another thread stores masks: that thread is not in the child, where a communicator ends too. */
static void forked_meanwhile(void)
{
	enum { FORKS = 300 };
	const struct pp_nccl_plugin *p = plugin(6);
	int mask = 0, status = -1;
	void *context = comm_new(p, 6, &mask);
	pthread_t t;

	pthread_create(&t, NULL, comes_and_goes, NULL);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(20); /* waits for nobody */
			p->finalize(context);
			_exit(mask);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_INT(status, 0);
		if (status)
			break;
	}
	is_over = 1;
	pthread_join(t, NULL);
	p->finalize(context);
}

/* ---- lines of communicators, in windows and outside ---- */

static const struct pp_ring_header *header;

static void map_header(const char *spool)
{
	char path[512] = "";
	struct dirent *e;
	DIR *dir = opendir(spool);
	void *at;
	int fd;

	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, ".ring"))
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
	if (dir)
		closedir(dir);
	fd = open(path, O_RDONLY);
	at = mmap(NULL, PP_RING_HEADER_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	CHECK(at != MAP_FAILED);
	if (at == MAP_FAILED)
		exit(1);
	header = at;
}

/* The n-th row with that hash; NULL: there are fewer. */
static const struct pp_ring_comm *row_of(uint64_t hash, int n)
{
	for (uint32_t i = 0; i < pp_ring_comms(header); i++)
		if (header->comm[i].id == pp_comm_id_nccl(hash) && !n--)
			return &header->comm[i];
	return NULL;
}

static void *comm_of(const struct pp_nccl_plugin *p, uint64_t hash, int rank, int *mask)
{
	void *context = NULL;

	CHECK_INT(((pp_nccl_init_v5)p->init)(&context, hash, mask, "split", 1, RANKS, rank, NULL), 0);
	return context;
}

/* What NCCL reports outside windows. */
static void *call_only(const struct pp_nccl_plugin *p, void *context, const char *function, uint64_t count, int root)
{
	struct pp_nccl_event group = {.type = PP_NCCL_GROUP_API, .group_api = {.depth = 1}},
	                     call = {.type = PP_NCCL_COLL_API,
	                             .coll_api = {.function = function, .count = count, .datatype = "ncclFloat32", .root = root}};

	call.parent = begin(p, context, &group);
	return begin(p, context, &call);
}

static void message_only(const struct pp_nccl_plugin *p, void *context)
{
	struct pp_nccl_event call = {.type = PP_NCCL_P2P_API, .p2p_api = {.function = "Recv", .count = 1, .datatype = "ncclInt8"}};

	p->stop(begin(p, context, &call));
}

/* Two communicators of one process with one hash, as of two devices, and one that was split off. */
static void lines_of_several(const struct pp_nccl_plugin *p)
{
	int mask = 0;
	void *a = comm_of(p, 500, 0, &mask), *b = comm_of(p, 500, 1, &mask), *split = comm_of(p, 501, 3, &mask), *stale;
	const struct pp_ring_comm *row;

	CHECK_INT(mask, PP_NCCL_COLL_API | PP_NCCL_P2P_API);
	p->stop(call_only(p, a, "AllReduce", COUNT, -1));
	p->stop(call_only(p, b, "AllReduce", COUNT, -1));
	p->stop(call_only(p, b, "AllGather", COUNT, -1));
	stale = call_only(p, split, "Broadcast", COUNT, ROOT);
	message_only(p, split);
	row = row_of(500, 0);
	CHECK(row && row->nccl.rank == 0 && row->nccl.begun == 1 && row->nccl.ended == 1 && row->size == RANKS && !row->runs);
	CHECK(row && row->nccl.bytes == COUNT * 4 && row->nccl.turn && row->flags == PP_RING_COMM_NCCL);
	row = row_of(500, 1);
	CHECK(row && row->nccl.rank == 1 && row->nccl.begun == 2 && row->nccl.ended == 2);
	CHECK(row && row->nccl.turn > row_of(500, 0)->nccl.turn);
	row = row_of(501, 0);
	CHECK(row && row->nccl.rank == 3 && row->nccl.begun == 1 && row->nccl.ended == 0 && row->nccl.root == ROOT);
	CHECK(row && row->nccl.messages == 1 && !strcmp(pp_mpi_call_info(row->nccl.call - 1u)->name, "ncclBroadcast"));
	CHECK(row && !strcmp(pp_mpi_call_info(row->nccl.message - 1u)->name, "ncclRecv") && !strcmp(row->name, "split"));
	p->stop(stale);
	CHECK(row && row->nccl.ended == 1);
	p->finalize(a);
	CHECK(row_of(500, 0) && row_of(500, 0)->nccl.rank == 1 && !row_of(500, 1));
	p->finalize(b);
	p->finalize(split);
	p->stop(stale);
	CHECK(!row_of(500, 0) && !row_of(501, 0));
	CHECK_INT(mask, 0);
}

/* A child's calls are not its parent's, however the child was made. */
static void lines_in_children(const struct pp_nccl_plugin *p)
{
	int mask = 0, status = -1;
	void *context = comm_of(p, 502, 0, &mask);

	for (int i = 0; i < 2; i++) {
		pid_t pid = i ? _Fork() : fork();

		if (!pid) {
			p->stop(call_only(p, context, "AllReduce", COUNT, -1));
			p->finalize(context);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_INT(status, 0);
		CHECK(row_of(502, 0) && row_of(502, 0)->nccl.begun == 0);
	}
	p->stop(call_only(p, context, "AllReduce", COUNT, -1));
	CHECK(row_of(502, 0) && row_of(502, 0)->nccl.ended == 1);
	p->finalize(context);
}

/* Of more communicators than rows the last have none, which is counted; a freed row serves again. */
static void lines_of_many(const struct pp_nccl_plugin *p)
{
	enum { MORE = 3 };
	void *context[PP_RING_COMMS + MORE];
	uint32_t lost = header->comms_lost;
	int mask = 0;

	for (unsigned i = 0; i < PP_RING_COMMS + MORE; i++)
		context[i] = comm_of(p, 600 + i, 0, &mask);
	CHECK_INT(header->comms_lost - lost, MORE);
	p->stop(call_only(p, context[PP_RING_COMMS], "AllReduce", COUNT, -1));
	CHECK(row_of(600 + PP_RING_COMMS - 1, 0) && !row_of(600 + PP_RING_COMMS, 0));
	p->finalize(context[0]);
	context[0] = comm_of(p, 599, 0, &mask);
	CHECK(row_of(599, 0) && row_of(599, 0)->nccl.begun == 0);
	for (unsigned i = 0; i < PP_RING_COMMS + MORE; i++)
		p->finalize(context[i]);
}

/* The plug-in of the user's wants calls too: it has its own handle, so the end of a call counts with its begin. Version 4 reports
 * work only, and nothing of a group without a handle. */
static void lines_of_others(void)
{
	const struct pp_nccl_plugin *seven = plugin(7), *four = plugin(4);
	struct pp_nccl_event_v4 group = {.type = PP_NCCL_GROUP, .rank = own},
	                        work = {.type = PP_NCCL_COLL,
	                                .rank = own,
	                                .coll = {.function = "Reduce", .count = COUNT, .datatype = "ncclInt8", .root = 0}};
	int mask = 0, mask4 = 0, stops = chained_stops;
	void *context = comm_new(seven, 7, &mask), *handle = call_only(seven, context, "AllReduce", COUNT, -1);

	CHECK_INT(mask, PP_NCCL_COLL | PP_NCCL_COLL_API | PP_NCCL_P2P_API);
	CHECK(row_of(HASH + 7, 0) && row_of(HASH + 7, 0)->nccl.begun == 1 && row_of(HASH + 7, 0)->nccl.ended == 1);
	seven->stop(handle);
	message_only(seven, context); /* not asked for by that plug-in */
	CHECK_INT(chained_stops, stops + 1);
	seven->finalize(context);
	context = comm_new(four, 4, &mask4);
	CHECK_INT(mask4, PP_NCCL_COLL | PP_NCCL_P2P);
	CHECK_INT(four->start(context, &handle, &group), 0);
	CHECK(handle != NULL);
	work.parent = handle;
	four->stop(handle);
	CHECK_INT(four->start(context, &handle, &work), 0);
	four->stop(handle);
	CHECK(row_of(HASH + 4, 0) && row_of(HASH + 4, 0)->nccl.begun == 1 && row_of(HASH + 4, 0)->nccl.ended == 1);
	four->finalize(context);
}

static void lines(void)
{
	struct podprof_collector *collector = dlsym(library, "podprof_collector");

	CHECK(collector && collector->size == sizeof(*collector));
	if (!collector)
		return;
	collector->pause(1);
	lines_of_several(plugin(5));
	lines_in_children(plugin(6));
	lines_of_many(plugin(5));
	lines_of_others();
	collector->pause(0);
}

static void use_nccl(void)
{
	const struct pp_nccl_plugin *five = plugin(5), *four = plugin(4);
	struct pp_nccl_event_v4
	        e = {.type = PP_NCCL_COLL,
	             .rank = own,
	             .coll = {.function = "Reduce", .count = COUNT, .datatype = "ncclFloat64", .root = own, .sequence = 5}},
	        group = {.type = PP_NCCL_GROUP, .rank = own};
	void *context, *stale, *handle = NULL;
	int mask = 0, mask4 = 0;
	pthread_t t;

	CHECK(plugin(7)->init && plugin(3)->init);
	context = comm_new(five, 5, &mask);
	CHECK_INT(mask, PP_NCCL_COLL_API | PP_NCCL_P2P_API | PP_NCCL_COLL | PP_NCCL_P2P | PP_NCCL_KERNEL_LAUNCH | PP_NCCL_CE_COLL);
	map_header(getenv("PODPROF_SPOOL"));
	errno = ENOTTY; /* the application's */
	pthread_create(&t, NULL, other_comm, NULL);
	stale = collective(five, context, "AllReduce", "ncclFloat32", 0, -1);
	collective(five, context, "AllReduce", "ncclInt64", 1, -1);
	collective(five, context, "Broadcast", "ncclInt8", 0, ROOT);
	send_in_group(five, context);
	CHECK(row_of(HASH + 5, 0) && row_of(HASH + 5, 0)->nccl.begun == 3 && row_of(HASH + 5, 0)->nccl.ended == 3);
	CHECK(row_of(HASH + 5, 0) && row_of(HASH + 5, 0)->nccl.messages == 1);
	oddities(five, context, stale);
	CHECK_INT(errno, ENOTTY);
	pthread_join(t, NULL);
	five->finalize(context);
	CHECK_INT(mask, 0); /* NCCL may unload its library now */
	five->stop(stale);

	copied(plugin(6));

	context = comm_new(four, 4, &mask4);
	CHECK_INT(four->start(context, &handle, &group), 0);
	CHECK(handle != NULL); /* else NCCL reports nothing of the group */
	e.parent = handle;
	four->stop(handle);
	CHECK_INT(four->start(context, &handle, &e), 0);
	four->stop(handle);
	four->finalize(context);
	captured_for_chained();
	forked_meanwhile();
	lines();
}

struct sums {
	int all_reduce, other_comm, broadcast, send, reduce, captured, copied, rest;
	uint32_t sequence[2];
};

static void look_at(const struct pp_capture *c, const struct pp_span *s, struct sums *n)
{
	const char *name = pp_intern_text(c->names, s->name, NULL);

	if (s->kind != PP_SPAN_MPI)
		return;
	CHECK_INT(s->source, PP_SOURCE_NCCL);
	if (!strcmp(name, "ncclAllReduce") && s->mpi.sent == COUNT * 2) {
		n->other_comm++;
	} else if (!strcmp(name, "ncclAllReduce")) {
		CHECK_INT(s->mpi.sent, n->all_reduce ? COUNT * 8 : COUNT * 4);
		CHECK_INT(s->mpi.received, s->mpi.sent);
		CHECK(s->mpi.comm != 0);
		n->sequence[n->all_reduce++ & 1] = s->mpi.sequence;
	} else if (!strcmp(name, "ncclBroadcast")) {
		CHECK_INT(s->mpi.sent, 0);
		CHECK_INT(s->mpi.received, COUNT);
		CHECK_INT(s->mpi.peer, ROOT);
		n->broadcast++;
	} else if (!strcmp(name, "ncclSend")) {
		CHECK_INT(s->mpi.sent, COUNT);
		CHECK_INT(s->mpi.peer, PEER);
		n->send++;
	} else if (!strcmp(name, "ncclAllGather")) {
		CHECK_INT(s->mpi.received, COUNT * 8 * RANKS);
		CHECK(s->mpi.comm && s->mpi.sequence >> 31); /* numbers of the copy engine are its own */
		n->copied++;
	} else if (!strcmp(name, "ncclReduce")) {
		CHECK_INT(s->mpi.received, COUNT * 8);
		CHECK(s->flags & PP_SPAN_IS_ROOT);
		n->reduce++;
	} else if (!strcmp(name, "ncclReduceScatter")) {
		CHECK_INT(s->mpi.sent, 0);
		n->captured++;
	} else {
		n->rest++;
	}
}

static void read_ring(const char *spool)
{
	struct pp_rings *r = pp_rings_new(64 << 20);
	struct pp_capture c;
	struct sums n = {0};
	int named = 0;
	char path[512] = "";
	struct dirent *e;
	DIR *dir = opendir(spool);
	struct pp_err err = {""};

	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, ".ring"))
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
	closedir(dir);
	pp_rings_private(r);
	CHECK_INT(pp_rings_open(r, path, &err), 0);
	pp_rings_drain_all(r);
	CHECK_INT(pp_rings_finish(r, &c, &err), 0);
	CHECK_STR(err.text, "");
	CHECK_INT(c.ranks, 1);
	CHECK_INT(c.rank[0].comms, 4);
	for (size_t i = 0; i < c.rank[0].comms; i++) {
		CHECK_INT(c.rank[0].comm[i].size, RANKS);
		CHECK_INT(c.rank[0].comm[i].own, own);
		named += !strcmp(pp_intern_text(c.names, c.rank[0].comm[i].name, NULL), "pipeline");
	}
	CHECK_INT(named, 1);
	for (size_t t = 0; t < c.rank[0].threads; t++)
		for (size_t i = 0; i < c.rank[0].thread[t].spans; i++)
			look_at(&c, &c.rank[0].thread[t].span[i], &n);
	CHECK_INT(n.all_reduce, 2);
	CHECK(n.sequence[0] != n.sequence[1]);
	CHECK_INT(n.other_comm, 1000);
	CHECK_INT(n.broadcast, 1);
	CHECK_INT(n.send, 1);
	CHECK_INT(n.reduce, 1);
	CHECK_INT(n.copied, 1);
	CHECK_INT(n.captured, 1);
	CHECK_INT(n.rest, 0);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], 0);
	pp_capture_release(&c);
	pp_rings_free(r);
	unlink(path);
}

int main(int argc, char **argv)
{
	char spool[] = "/tmp/podprof-nccl-XXXXXX", path[512];

	if (argc > 1 && strcmp(argv[1], "run") != 0) {
		if (!mkdtemp(spool))
			return 1;
		setenv("PODPROF_SPOOL", spool, 1);
		setenv("PODPROF_WAIT", "0", 1);
		setenv("PODPROF_NCCL_CHAIN", "STATIC_PLUGIN", 1); /* this program's */
		setenv("LD_PRELOAD", argv[1], 1);
		execl("/proc/self/exe", argv[0], "run", argv[1], (char *)NULL);
		return 1;
	}
	if (argc < 3)
		return 1;
	if (getenv("OMPI_COMM_WORLD_RANK")) /* by hand: one of four ranks of a job under podprof run */
		own = (int)strtol(getenv("OMPI_COMM_WORLD_RANK"), NULL, 10);
	library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return 1;
	use_nccl();
	dlclose(library);
	if (getenv("OMPI_COMM_WORLD_RANK"))
		return test_end();
	read_ring(getenv("PODPROF_SPOOL"));
	snprintf(path, sizeof(path), "%s/rank-0.claim", getenv("PODPROF_SPOOL"));
	unlink(path);
	rmdir(getenv("PODPROF_SPOOL"));
	return test_end();
}
