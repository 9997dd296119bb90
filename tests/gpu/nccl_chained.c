/* A profiler plug-in of NCCL that a user has already, versions 4 to 6: it counts its events and checks that handles,
 * parents and contexts are its own. At the end of each communicator it prints what it saw. CHAINED_FAIL=1: its init fails.
 * For gpu_nccl_real. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/source/nccl/nccl_abi.h"

enum { MARK = 0x7e57, EVENTS = 4096, TYPES = 16 };

struct event {
	int mark, is_stopped;
};

struct context {
	int mark, rank, ranks;
	char name[64];
};

static struct event events[EVENTS];
static _Atomic int used, stops, states, wrong;
static int starts[TYPES]; /* one thread calls */

static int is_own(const void *at)
{
	const struct event *e = at;

	return e >= events && e < events + EVENTS && e->mark == MARK;
}

static int init(void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks, int rank, pp_nccl_log log)
{
	static struct context contexts[16];
	static _Atomic int comms;
	struct context *c = &contexts[comms++ % 16];

	(void)comm, (void)nodes, (void)log;
	if (getenv("CHAINED_FAIL"))
		return 3;
	*c = (struct context){.mark = MARK, .rank = rank, .ranks = ranks};
	snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	*context = c;
	*mask = PP_NCCL_COLL | PP_NCCL_COLL_API | PP_NCCL_P2P;
	return 0;
}

static int init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks, int rank, pp_nccl_log log)
{
	return init(context, comm, mask, name, nodes, ranks, rank, log);
}

static int begin(const struct context *c, void **handle, uint64_t bits, const void *parent, const void *group)
{
	int type = 0;

	while (type < TYPES - 1 && !(bits >> type & 1))
		type++;
	starts[type]++;
	wrong += !c || c->mark != MARK || (parent && !is_own(parent)) || (group && !is_own(group));
	*handle = &events[used++ % EVENTS];
	*(struct event *)*handle = (struct event){.mark = MARK};
	return 0;
}

static int start(void *context, void **handle, void *event)
{
	const struct pp_nccl_event *e = event;

	return begin(context, handle, e->type, e->parent, e->type == PP_NCCL_COLL ? e->coll.group : NULL);
}

static int start_v4(void *context, void **handle, void *event)
{
	const struct pp_nccl_event_v4 *e = event;

	return begin(context, handle, e->type, e->parent, NULL);
}

static int stop(void *handle)
{
	stops++;
	wrong += !is_own(handle);
	return 0;
}

static int state(void *handle, int value, void *arguments)
{
	(void)value, (void)arguments;
	states++;
	wrong += !is_own(handle);
	return 0;
}

static int finalize(void *context)
{
	const struct context *c = context;

	printf("chained: %s rank %d of %d: %d groups, %d calls, %d collectives, %d sends, %d launches, %d wrong\n", c->name,
	       c->rank, c->ranks, starts[8], starts[9], starts[1], starts[2], starts[11], wrong);
	fflush(stdout);
	memset(starts, 0, sizeof(starts)); /* NCCL without podprof unloads this library now */
	wrong = 0;
	return 0;
}

#define PLUGIN(version, of_init, of_start)                                                                                         \
	extern const struct pp_nccl_plugin ncclProfiler_v##version;                                                                \
	__attribute__((visibility("default"))) const struct pp_nccl_plugin ncclProfiler_v##version = {.name = "chained",           \
	                                                                                              .init = (void *)(of_init),   \
	                                                                                              .start = of_start,           \
	                                                                                              .stop = stop,                \
	                                                                                              .state = state,              \
	                                                                                              .finalize = finalize}

PLUGIN(4, init_v4, start_v4);
PLUGIN(5, init, start);
PLUGIN(6, init, start);
