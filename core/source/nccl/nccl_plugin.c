/* The profiler plug-in that NCCL finds in libpodprof.so by NCCL_PROFILER_PLUGIN, in the versions 3 to 7 of its interface; see
 * nccl_abi.h. Its init and finalize, and the readers of each version's events. RCCL loads it in the same way. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/base/libc.h"
#include "core/source/emit.h"
#include "core/source/nccl/nccl_chain.h"
#include "core/source/nccl/nccl_event.h"
#include "core/source/source.h"

/* NCCL unloads its plug-in after the last communicator; our code must stay. */
static void pin(void)
{
	Dl_info own;

	if (dladdr((void *)&pin, &own))
		/* cppcheck-suppress leakReturnValNotUsed ; it stays loaded */
		(void)dlopen(own.dli_fname, RTLD_LAZY | RTLD_NODELETE | RTLD_NOLOAD);
}

static void child(void)
{
	pp_nccl_event_start(getpid());
}

static void first(void)
{
	pin();
	child();
	pp_at_fork(child);
}

static int begin(uint32_t version, void **context, int *mask, struct pp_nccl_comm **ret_comm)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, first);
	*context = NULL;
	pp_emit_wanted(); /* a process with a communicator is a rank */
	*ret_comm = pp_nccl_event_has_room() ? pp_nccl_comm_new(version, mask) : NULL;
	*context = *ret_comm;
	return *ret_comm != NULL;
}

static const struct pp_nccl_plugin *chained(uint32_t version)
{
	return pp_nccl_chain(version)->plugin;
}

/* The chained plug-in goes first: it sets the mask as it is without podprof. Its failure leaves it out of this communicator. */
static int init_named(uint32_t version, void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks, int rank,
                      pp_nccl_log log)
{
	const struct pp_nccl_plugin *next = chained(version);
	struct pp_nccl_comm *c;
	int saved = errno, rc = 1;
	void *theirs = NULL;

	if (next && version >= 5)
		rc = ((pp_nccl_init_v5)next->init)(&theirs, hash, mask, name, nodes, ranks, rank, log);
	else if (next)
		rc = ((pp_nccl_init_v4)next->init)(&theirs, mask, name, hash, nodes, ranks, rank, log);
	if (begin(version, context, mask, &c)) {
		pp_nccl_channels_check(ranks, nodes, rank);
		c->plugin = rc ? NULL : next;
		c->next = theirs;
		pp_nccl_comm_describe(c, hash, name, ranks, rank);
	} else if (!rc) {
		next->finalize(theirs);
	}
	errno = saved;
	return 0;
}

static int init_v3(void **context, int *mask)
{
	const struct pp_nccl_plugin *next = chained(3);
	struct pp_nccl_comm *c;
	int saved = errno, rc = 1;
	void *theirs = NULL;

	if (next)
		rc = ((pp_nccl_init_v3)next->init)(&theirs, mask);
	if (begin(3, context, mask, &c)) {
		pp_nccl_channels_check(0, 1, -1);
		c->plugin = rc ? NULL : next;
		c->next = theirs;
	} else if (!rc) {
		next->finalize(theirs);
	}
	errno = saved;
	return 0;
}

static int finalize(void *context)
{
	struct pp_nccl_comm *c = context;
	int saved = errno;

	if (!c)
		return 0;
	if (c->plugin)
		c->plugin->finalize(c->next);
	pp_nccl_comm_free(c);
	errno = saved;
	return 0;
}

/* Begins an event: without a communicator there is none. Keeps errno, as stop and state do: what changes it there, rings and the
 * chained plug-in, puts it back. */
static int start(void *context, void **handle, const struct pp_nccl_seen *e)
{
	if (!handle)
		return 0;
	*handle = NULL;
	if (context)
		pp_nccl_start(context, handle, e);
	else
		pp_nccl_comm_refused();
	return 0;
}

/* The member of both structs that a kind of event has, in the order of struct pp_nccl_seen. */
#define READ_COLL(x)                                                                                                               \
	e.function = (x).function, e.count = (x).count, e.peer = (x).root, e.datatype = (x).datatype, e.sequence = (x).sequence,   \
	e.channels = (x).channels, e.warps = (x).warps, e.algorithm = (x).algorithm, e.protocol = (x).protocol
#define READ_P2P(x) e.function = (x).function, e.count = (x).count, e.peer = (x).peer, e.datatype = (x).datatype
#define READ_CALL(x) e.function = (x).function, e.count = (x).count, e.datatype = (x).datatype, e.is_captured = (x).is_captured != 0

static int start_wanted(void *context, void **handle, struct pp_nccl_event *x)
{
	struct pp_nccl_seen e = {.type = (uint32_t)x->type, .parent = x->parent, .peer = -1, .event = x};

	e.handles[0] = &x->parent;
	switch (x->type) {
	case PP_NCCL_GROUP_API:
		e.is_single = x->group_api.depth == 1;
		break;
	case PP_NCCL_COLL_API:
		READ_CALL(x->coll_api);
		e.peer = x->coll_api.root;
		break;
	case PP_NCCL_P2P_API:
		READ_CALL(x->p2p_api);
		break;
	case PP_NCCL_COLL:
		READ_COLL(x->coll);
		e.handles[1] = &x->coll.group;
		break;
	case PP_NCCL_P2P:
		READ_P2P(x->p2p);
		e.channels = x->p2p.channels;
		e.handles[1] = &x->p2p.group;
		break;
	case PP_NCCL_CE_COLL:
		e.function = x->ce_coll.function;
		e.count = x->ce_coll.count;
		e.peer = x->ce_coll.root;
		e.datatype = x->ce_coll.datatype;
		e.sequence = x->ce_coll.sequence;
		e.algorithm = "CE";
		break;
	case PP_NCCL_PROXY_OP:
		e.pid = x->proxy_op.pid;
		break;
	case PP_NCCL_KERNEL_CHANNEL:
		e.timer = x->kernel_channel.timer;
		break;
	default:
		break;
	}
	return start(context, handle, &e);
}

/* The group of a call that is not recorded: NCCL reports it too. */
static int is_unwanted(const struct pp_nccl_comm *c, uint64_t type)
{
	return type == PP_NCCL_GROUP_API && c && !c->plugin && !atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed);
}

static int start_v5(void *context, void **handle, void *event)
{
	struct pp_nccl_event *x = event;

	if (is_unwanted(context, x->type) && handle) {
		*handle = NULL;
		return 0;
	}
	return start_wanted(context, handle, x);
}

static int start_v4(void *context, void **handle, void *event)
{
	struct pp_nccl_event_v4 *x = event;
	struct pp_nccl_seen e = {.type = x->type, .parent = x->parent, .peer = -1, .event = event};

	e.handles[0] = &x->parent;
	switch (x->type) {
	case PP_NCCL_COLL:
		READ_COLL(x->coll);
		break;
	case PP_NCCL_P2P:
		READ_P2P(x->p2p);
		e.channels = x->p2p.channels;
		break;
	case PP_NCCL_PROXY_OP:
		e.pid = x->proxy_op.pid;
		break;
	case PP_NCCL_KERNEL_CHANNEL:
		e.timer = x->kernel_channel.timer;
		break;
	default:
		break;
	}
	return start(context, handle, &e);
}

/* Version 3 names the communicator with each operation. */
static void describe_v3(struct pp_nccl_comm *c, uint64_t hash, const char *name, int rank)
{
	int saved = errno;

	if (c && !c->id)
		pp_nccl_comm_describe(c, hash, name, 0, rank);
	errno = saved;
}

static int start_v3(void *context, void **handle, void *event)
{
	struct pp_nccl_event_v3 *x = event;
	struct pp_nccl_seen e = {.type = x->type, .parent = x->parent, .peer = -1, .event = event};
	struct pp_nccl_comm *c = context;

	e.handles[0] = &x->parent;
	if (x->type == PP_NCCL_COLL) {
		READ_COLL(x->coll);
		describe_v3(c, x->coll.comm, x->coll.name, x->rank);
	} else if (x->type == PP_NCCL_P2P) {
		READ_P2P(x->p2p);
		describe_v3(c, x->p2p.comm, x->p2p.name, x->rank);
	} else if (x->type == PP_NCCL_PROXY_OP) {
		e.pid = x->proxy_op.pid;
	}
	return start(context, handle, &e);
}

/* The object of a version: NCCL looks for the newest that it knows. */
#define PLUGIN(version, starts)                                                                                                    \
	static int stop_v##version(void *handle)                                                                                   \
	{                                                                                                                          \
		pp_nccl_stop(version, handle);                                                                                     \
		return 0;                                                                                                          \
	}                                                                                                                          \
	static int state_v##version(void *handle, int state, void *arguments)                                                      \
	{                                                                                                                          \
		pp_nccl_state(version, handle, state, arguments);                                                                  \
		return 0;                                                                                                          \
	}                                                                                                                          \
	extern const struct pp_nccl_plugin ncclProfiler_v##version;                                                                \
	__attribute__((visibility("default"))) const struct pp_nccl_plugin ncclProfiler_v##version = {                             \
	        .name = "podprof",                                                                                                 \
	        .init = (void *)init_v##version,                                                                                   \
	        .start = starts,                                                                                                   \
	        .stop = stop_v##version,                                                                                           \
	        .state = state_v##version,                                                                                         \
	        .finalize = finalize,                                                                                              \
	};

static int init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks, int rank, pp_nccl_log log)
{
	return init_named(4, context, hash, mask, name, nodes, ranks, rank, log);
}

#define INIT(version)                                                                                                              \
	static int init_v##version(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks, int rank,     \
	                           pp_nccl_log log)                                                                                \
	{                                                                                                                          \
		return init_named(version, context, hash, mask, name, nodes, ranks, rank, log);                                    \
	}

INIT(5)
INIT(6)
INIT(7)
PLUGIN(3, start_v3)
PLUGIN(4, start_v4)
PLUGIN(5, start_v5)
PLUGIN(6, start_v5)
PLUGIN(7, start_v5)

static void flush(int64_t deadline_ms)
{
	(void)deadline_ms;
	pp_nccl_event_flush();
}

extern const struct pp_source_ops pp_source_nccl;

const struct pp_source_ops pp_source_nccl = {.name = "nccl", .window = pp_nccl_masks_set, .flush = flush};
