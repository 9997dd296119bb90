/* Communicators of the stand-in of libnccl, between processes of one host: the kernel of a collective ends on all ranks
 * when the last rank's has started, and its bytes have moved at REPLAY_NCCL_RATE bytes per ns of bus bandwidth (20). It
 * loads NCCL_PROFILER_PLUGIN, and reports to version 5 of it as NCCL does. The launches go to the driver's stand-in. The
 * first bytes of an id are a name: ranks meet in the file of that name in REPLAY_NCCL_DIR. No device runs. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/source/nccl/nccl_abi.h"
#include "tests/gpu/replay.h"
#include "tests/gpu/replay_nccl.h"

enum {
	OPERATIONS = 8192,
	RANKS = 64,
	PAIR_RANKS = 16,
	MESSAGES = 2048,
	PENDING = 256,
	LATENCY_NS = 10000,
	POLL_NS = 50000,
	PATIENCE_POLLS = 1200000,
	CHANNELS = 8,
	LAUNCH_NS = 4000
};
enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID = 4 };

/* When kernels started: of each operation on each rank, and of each message from a rank to another, on both. 0: not yet. */
struct shared {
	_Atomic uint64_t starts[OPERATIONS][RANKS];
	_Atomic uint64_t pairs[PAIR_RANKS][PAIR_RANKS][MESSAGES][2];
};

struct ncclComm {
	int rank, ranks;
	uint64_t calls;                       /* operations in all */
	uint64_t sequence[REPLAY_NCCL_KINDS]; /* of each kind, as NCCL counts them */
	struct shared *shared;
	uint64_t sent[PAIR_RANKS], received[PAIR_RANKS];
	const struct pp_nccl_plugin *plugin;
	void *context;
	int mask;
};

/* One call: kept until its kernel has run, or the process ends. */
struct operation {
	struct ncclComm *comm;
	enum replay_nccl_kind kind;
	size_t count;
	const char *datatype;
	int root;
	unsigned stream;
	uint64_t number, bytes, transfer;
	void *api;              /* the plug-in's handle */
	struct operation *next; /* of the same kernel: sends and receives of a group */
};

static const struct {
	const char *function, *kernel;
} kinds[REPLAY_NCCL_KINDS] = {
        {"AllReduce", "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"},
        {"AllGather", "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE"},
        {"ReduceScatter", "_Z43ncclDevKernel_ReduceScatter_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"},
        {"Broadcast", "_Z31ncclDevKernel_Broadcast_RING_LL24ncclDevKernelArgsStorageILm4096EE"},
        {"Send", "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE"},
        {"Recv", "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE"},
};

static _Thread_local int depth;
static _Thread_local int pending_count;
static _Thread_local struct operation *pending[PENDING];
static _Thread_local void *group_handle;

/* ---- the plug-in ---- */

/* NCCL reports the parents of a wanted event too. */
static int wanted(uint64_t type)
{
	switch (type) {
	case PP_NCCL_GROUP_API:
		return ~0;
	case PP_NCCL_COLL_API:
		return PP_NCCL_COLL_API | PP_NCCL_COLL | PP_NCCL_KERNEL_CHANNEL;
	case PP_NCCL_P2P_API:
		return PP_NCCL_P2P_API | PP_NCCL_P2P | PP_NCCL_KERNEL_CHANNEL;
	default:
		return (int)type;
	}
}

static void *plugin_start(struct ncclComm *c, struct pp_nccl_event *event)
{
	void *handle = NULL;

	if (c->plugin && c->mask & wanted(event->type)) {
		event->rank = c->rank;
		c->plugin->start(c->context, &handle, event);
	}
	return handle;
}

static void plugin_stop(struct ncclComm *c, void *handle)
{
	if (handle)
		c->plugin->stop(handle);
}

static void plugin_load(struct ncclComm *c, const char *name)
{
	const char *path = getenv("NCCL_PROFILER_PLUGIN");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	c->plugin = library ? dlsym(library, "ncclProfiler_v5") : NULL;
	if (c->plugin &&
	    ((pp_nccl_init_v5)c->plugin->init)(&c->context, 0x9e3779b9u + strlen(name), &c->mask, name, 1, c->ranks, c->rank, NULL))
		c->plugin = NULL;
}

/* ---- the device ---- */

/* How many times its bytes pass the bus. */
static uint64_t traffic(const struct operation *o)
{
	uint64_t n = (uint64_t)o->comm->ranks;

	switch (o->kind) {
	case REPLAY_NCCL_ALLREDUCE:
		return o->bytes * 2 * (n - 1) / n;
	case REPLAY_NCCL_BROADCAST:
	case REPLAY_NCCL_SEND:
	case REPLAY_NCCL_RECV:
		return o->bytes;
	default: /* bytes are one rank's part */
		return o->bytes * (n - 1);
	}
}

static uint64_t wait_for(_Atomic uint64_t *start)
{
	const struct timespec nap = {.tv_nsec = POLL_NS};

	for (int polls = 0; !atomic_load(start) && polls < PATIENCE_POLLS; polls++)
		nanosleep(&nap, NULL);
	return atomic_load(start);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int is_message(const struct operation *o)
{
	return o->kind == REPLAY_NCCL_SEND || o->kind == REPLAY_NCCL_RECV;
}

/* Both sides of a message; [0] is the sender's. */
static _Atomic uint64_t *pair_of(const struct operation *o)
{
	int own = o->comm->rank, is_send = o->kind == REPLAY_NCCL_SEND;

	return o->comm->shared->pairs[is_send ? own : o->root][is_send ? o->root : own][o->number % MESSAGES];
}

static uint64_t kernel_end(void *arg, uint64_t start)
{
	struct operation *first = arg;
	uint64_t end = start;

	for (struct operation *o = first; o && is_message(o); o = o->next)
		atomic_store(&pair_of(o)[o->kind == REPLAY_NCCL_RECV], start);
	for (struct operation *o = first; o && is_message(o); o = o->next)
		end = later(end, later(start, wait_for(&pair_of(o)[o->kind == REPLAY_NCCL_SEND])) + o->transfer);
	if (is_message(first))
		return end;
	atomic_store(&first->comm->shared->starts[first->number % OPERATIONS][first->comm->rank], start);
	for (int r = 0; r < first->comm->ranks; r++)
		end = later(end, wait_for(&first->comm->shared->starts[first->number % OPERATIONS][r]));
	return end + first->transfer;
}

static replay_launch_function find_launch(void)
{
	static _Atomic(replay_launch_function) found;
	replay_launch_function launch = atomic_load(&found);
	void *cuda;

	if (launch)
		return launch;
	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	if (cuda)
		*(void **)&launch = dlsym(cuda, "replay_launch");
	if (!launch) {
		fprintf(stderr, "replay: no stand-in of libcuda\n");
		exit(9);
	}
	atomic_store(&found, launch);
	return launch;
}

/* ---- calls ---- */

/* As a launch does: what it contains is told apart from what is beside it. */
static void take_time(void)
{
	struct timespec t;
	int64_t begin, now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	begin = now = t.tv_sec * 1000000000 + t.tv_nsec;
	while (now < begin + LAUNCH_NS) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = t.tv_sec * 1000000000 + t.tv_nsec;
	}
}

/* What the plug-in hears of an operation's work after its launch. */
static void report_work(struct operation *o)
{
	struct ncclComm *c = o->comm;
	struct pp_nccl_event work = {.type = is_message(o) ? PP_NCCL_P2P : PP_NCCL_COLL, .parent = o->api};

	if (is_message(o)) {
		work.p2p.function = kinds[o->kind].function;
		work.p2p.datatype = o->datatype;
		work.p2p.count = o->count;
		work.p2p.peer = o->root;
		work.p2p.channels = CHANNELS;
		work.p2p.group = group_handle;
	} else {
		work.coll.sequence = c->sequence[o->kind]++;
		work.coll.function = kinds[o->kind].function;
		work.coll.count = o->count;
		work.coll.root = o->root;
		work.coll.datatype = o->datatype;
		work.coll.channels = CHANNELS;
		work.coll.warps = 16;
		work.coll.algorithm = "RING";
		work.coll.protocol = "SIMPLE";
		work.coll.group = group_handle;
	}
	plugin_stop(c, plugin_start(c, &work));
}

/* An operation, or all messages of a group, as one kernel. */
static void launch(struct operation *o)
{
	struct pp_nccl_event before = {.type = PP_NCCL_KERNEL_LAUNCH, .parent = group_handle};
	struct replay_kernel kernel = {.name = kinds[o->kind].kernel, .stream = o->stream, .end = kernel_end, .arg = o};
	void *handle;

	before.kernel_launch.stream = (void *)(uintptr_t)o->stream;
	handle = plugin_start(o->comm, &before);
	take_time();
	find_launch()(&kernel);
	take_time();
	plugin_stop(o->comm, handle);
	for (; o; o = o->next)
		report_work(o);
}

static void begin_group(struct ncclComm *c)
{
	struct pp_nccl_event event = {.type = PP_NCCL_GROUP_API, .group_api.depth = depth};

	if (!group_handle)
		group_handle = plugin_start(c, &event);
}

static void *report_call(const struct operation *o)
{
	struct pp_nccl_event event = {.type = is_message(o) ? PP_NCCL_P2P_API : PP_NCCL_COLL_API, .parent = group_handle};

	if (is_message(o)) {
		event.p2p_api.function = kinds[o->kind].function;
		event.p2p_api.count = o->count;
		event.p2p_api.datatype = o->datatype;
		event.p2p_api.stream = (void *)(uintptr_t)o->stream;
	} else {
		event.coll_api.function = kinds[o->kind].function;
		event.coll_api.count = o->count;
		event.coll_api.datatype = o->datatype;
		event.coll_api.root = o->root;
		event.coll_api.stream = (void *)(uintptr_t)o->stream;
	}
	return plugin_start(o->comm, &event);
}

static uint64_t number_of(struct ncclComm *c, enum replay_nccl_kind kind, int peer)
{
	if (kind == REPLAY_NCCL_SEND)
		return c->sent[peer]++;
	return kind == REPLAY_NCCL_RECV ? c->received[peer]++ : c->calls++;
}

static int call(struct operation made)
{
	struct ncclComm *c = made.comm;
	const char *rate = getenv("REPLAY_NCCL_RATE");
	struct operation *o;

	if (is_message(&made) && (made.root < 0 || made.root >= c->ranks || c->ranks > PAIR_RANKS))
		return INVALID;
	o = malloc(sizeof(*o));
	if (!o || pending_count == PENDING) {
		free(o);
		return SYSTEM_ERROR;
	}
	ncclGroupStart();
	*o = made;
	o->number = number_of(c, o->kind, o->root);
	o->transfer = LATENCY_NS + traffic(o) / (rate ? strtoull(rate, NULL, 10) : 20);
	begin_group(c);
	o->api = report_call(o);
	plugin_stop(c, o->api);
	pending[pending_count++] = o;
	return ncclGroupEnd();
}

static struct operation made(struct ncclComm *c, enum replay_nccl_kind kind, size_t count, int datatype, int root, void *stream)
{
	int is_float = datatype == REPLAY_NCCL_FLOAT;

	return (struct operation){.comm = c,
	                          .kind = kind,
	                          .count = count,
	                          .datatype = is_float ? "ncclFloat32" : "ncclInt8",
	                          .root = root,
	                          .stream = (unsigned)(uintptr_t)stream,
	                          .bytes = count * (is_float ? 4 : 1)};
}

int ncclGroupStart(void)
{
	depth++;
	return SUCCESS;
}

int ncclGroupEnd(void)
{
	struct operation *messages = NULL, *last = NULL;

	if (--depth)
		return SUCCESS;
	for (int i = 0; i < pending_count; i++) {
		if (!is_message(pending[i])) {
			launch(pending[i]);
			continue;
		}
		*(last ? &last->next : &messages) = pending[i];
		last = pending[i];
	}
	if (messages)
		launch(messages);
	if (pending_count)
		plugin_stop(pending[0]->comm, group_handle);
	pending_count = 0;
	group_handle = NULL;
	return SUCCESS;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int datatype, int operation, struct ncclComm *comm, void *stream)
{
	(void)send;
	(void)receive;
	(void)operation;
	return call(made(comm, REPLAY_NCCL_ALLREDUCE, count, datatype, 0, stream));
}

int ncclAllGather(const void *send, void *receive, size_t count, int datatype, struct ncclComm *comm, void *stream)
{
	(void)send;
	(void)receive;
	return call(made(comm, REPLAY_NCCL_ALLGATHER, count, datatype, 0, stream));
}

int ncclReduceScatter(const void *send, void *receive, size_t count, int datatype, int operation, struct ncclComm *comm,
                      void *stream)
{
	(void)send;
	(void)receive;
	(void)operation;
	return call(made(comm, REPLAY_NCCL_REDUCE_SCATTER, count, datatype, 0, stream));
}

int ncclBroadcast(const void *send, void *receive, size_t count, int datatype, int root, struct ncclComm *comm, void *stream)
{
	(void)send;
	(void)receive;
	return call(made(comm, REPLAY_NCCL_BROADCAST, count, datatype, root, stream));
}

int ncclSend(const void *send, size_t count, int datatype, int peer, struct ncclComm *comm, void *stream)
{
	(void)send;
	return call(made(comm, REPLAY_NCCL_SEND, count, datatype, peer, stream));
}

int ncclRecv(void *receive, size_t count, int datatype, int peer, struct ncclComm *comm, void *stream)
{
	(void)receive;
	return call(made(comm, REPLAY_NCCL_RECV, count, datatype, peer, stream));
}

int ncclCommInitRank(struct ncclComm **ret_comm, int ranks, struct replay_nccl_id id, int rank)
{
	const char *dir = getenv("REPLAY_NCCL_DIR");
	struct ncclComm *c = calloc(1, sizeof(*c));
	size_t size = sizeof(*c->shared);
	char path[4096];
	int fd;

	id.name[sizeof(id.name) - 1] = '\0';
	if (!c || ranks > RANKS || ranks < 1 || rank < 0 || rank >= ranks) {
		free(c);
		return INVALID;
	}
	c->rank = rank;
	c->ranks = ranks;
	snprintf(path, sizeof(path), "%s/nccl.%s", dir ? dir : "/dev/shm", id.name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && !ftruncate(fd, (off_t)size))
		c->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (!c->shared || (void *)c->shared == MAP_FAILED) {
		free(c);
		return SYSTEM_ERROR;
	}
	plugin_load(c, id.name);
	*ret_comm = c;
	return SUCCESS;
}

int ncclCommDestroy(struct ncclComm *comm)
{
	if (comm->plugin)
		comm->plugin->finalize(comm->context);
	comm->plugin = NULL; /* its kernels may still run: the rest stays */
	return SUCCESS;
}
