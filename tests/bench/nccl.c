/* What a profiler plug-in of NCCL costs the host per collective, called as NCCL 2.28 calls it: podprof's in libpodprof.so,
 * recording and idle, and NCCL's own Inspector in the same run where get-peers has built it (first argument; the second is a
 * stand-in of CUDA for it). No library of NCCL and no device: the times of channels are made up. Skipped (77) unless
 * PODPROF_BENCH=1. */
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include "core/podprof.h"
#include "core/ring/drain.h"
#include "core/source/nccl/nccl_abi.h"
#include "tests/bench/bench.h"

/* Turns are short: few of them are interrupted on a machine that is not quiet. */
enum { COUNT = 1 << 20, FEW = 2, MANY = 16, RANKS = 8, TURNS = 301, CALLS = 500 };

/* ns per collective of an earlier run of the Inspector, dumping off, for where there is none to measure. */
static const double known_ns[] = {831, 3585};
static const int channels_of[] = {FEW, MANY};

static const struct pp_nccl_plugin *plugin; /* NULL: none is loaded */
static void *context;
static int mask;
static uint8_t channels;
static uint64_t collectives;

static char spool[] = "/dev/shm/podprof-bench-XXXXXX";
static struct pp_drain *drain;
static uint64_t drained;

static void *begin(struct pp_nccl_event *e)
{
	void *handle = NULL;

	plugin->start(context, &handle, e);
	return handle;
}

static void end(void *handle)
{
	if (handle)
		plugin->stop(handle);
}

/* On NCCL's proxy thread. */
static void run_channels(void *coll)
{
	for (uint8_t i = 0; i < channels; i++) {
		struct pp_nccl_event e = {.type = PP_NCCL_KERNEL_CHANNEL,
		                          .parent = coll,
		                          .kernel_channel = {.channel = i, .timer = 1000000 + collectives * 50000 + i}};
		union pp_nccl_state stop = {.kernel_channel = {.timer = e.kernel_channel.timer + 20000}};
		void *handle = begin(&e);

		if (!handle)
			continue;
		plugin->state(handle, PP_NCCL_KERNEL_CHANNEL_STOP, &stop);
		plugin->stop(handle);
	}
}

/* NCCL asks the mask first and reports the parents of what is wanted too. */
static void collective(void)
{
	const int wanted = __atomic_load_n(&mask, __ATOMIC_RELAXED);
	struct pp_nccl_event group = {.type = PP_NCCL_GROUP_API, .group_api = {.depth = 1}},
	                     call = {.type = PP_NCCL_COLL_API,
	                             .coll_api = {.function = "AllReduce", .count = COUNT, .datatype = "ncclFloat32"}},
	                     launch = {.type = PP_NCCL_KERNEL_LAUNCH}, plan = {.type = PP_NCCL_GROUP},
	                     coll = {.type = PP_NCCL_COLL,
	                             .rank = 1,
	                             .coll = {.function = "AllReduce",
	                                      .count = COUNT,
	                                      .datatype = "ncclFloat32",
	                                      .sequence = ++collectives,
	                                      .channels = channels,
	                                      .warps = 16,
	                                      .algorithm = "RING",
	                                      .protocol = "SIMPLE"}};
	void *h_launch = NULL;

	if (!plugin || !wanted)
		return;
	call.parent = begin(&group);
	if (call.parent)
		plugin->state(call.parent, 23, NULL);
	coll.parent = begin(&call);
	end(coll.parent);
	if (call.parent)
		plugin->state(call.parent, 24, NULL);
	if (wanted & PP_NCCL_KERNEL_LAUNCH)
		h_launch = begin(&launch);
	end(h_launch);
	if (wanted & (PP_NCCL_COLL | PP_NCCL_KERNEL_CHANNEL)) {
		coll.coll.group = begin(&plan);
		coll.parent = begin(&coll);
		end(coll.parent);
		end(coll.coll.group);
	}
	end(call.parent);
	if (wanted & PP_NCCL_KERNEL_CHANNEL)
		run_channels(coll.parent);
}

static void run(int calls)
{
	for (int i = 0; i < calls; i++)
		collective();
}

/* ---- a plug-in that does nothing: what NCCL's own part of it takes ---- */

static int no_start(void *at, void **handle, void *event)
{
	(void)event;
	*handle = at;
	return 0;
}

static int no_stop(void *handle)
{
	(void)handle;
	return 0;
}

static int no_state(void *handle, int state, void *arguments)
{
	(void)handle, (void)state, (void)arguments;
	return 0;
}

static const struct pp_nccl_plugin no_plugin = {.start = no_start, .stop = no_stop, .state = no_state};

static double time_of(const struct pp_nccl_plugin *p)
{
	const struct pp_nccl_plugin *had = plugin;
	double begin;

	plugin = p;
	begin = bench_ns();
	run(CALLS);
	begin = bench_ns() - begin;
	plugin = had;
	return begin / CALLS;
}

/* What the plug-in adds to `without`, in R, per collective; `between` runs outside of the measured times. */
static struct bench_result added(const struct pp_nccl_plugin *without, void (*between)(void))
{
	static double ratio[TURNS], ns[TURNS];

	run(CALLS);
	for (int i = 0; i < TURNS; i++) {
		double tick, bare, with;

		if (between)
			between();
		tick = bench_rdtsc(CALLS);
		bare = time_of(without);
		with = time_of(plugin);
		tick = (tick + bench_rdtsc(CALLS)) / 2;
		ns[i] = with - bare;
		ratio[i] = ns[i] / tick;
	}
	qsort(ratio, TURNS, sizeof(double), bench_order);
	qsort(ns, TURNS, sizeof(double), bench_order);
	return (struct bench_result){ns[TURNS / 2], ratio[TURNS / 2], ratio[TURNS / 4], ratio[TURNS * 3 / 4]};
}

static void on_records(void *at, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)at, (void)slot;
	for (uint32_t i = 0; i < count; i++)
		drained += r[i].kind == PP_RECORD_NCCL;
}

static void empty(void)
{
	static const struct pp_drain_sink sink = {.records = on_records};

	pp_drain_run(drain, &sink);
}

static void no_log(int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)format;
}

static int open_comm(const struct pp_nccl_plugin *p)
{
	plugin = p;
	context = NULL;
	mask = 0;
	return ((pp_nccl_init_v5)p->init)(&context, 77, &mask, "bench", 1, RANKS, 1, no_log) || !context;
}

/* ---- NCCL's Inspector: ns per collective at each number of channels ---- */

static int inspector(const char *path, const char *cuda, struct bench_result *ret)
{
	void *library;
	const struct pp_nccl_plugin *p = NULL;

	setenv("NCCL_INSPECTOR_ENABLE", "1", 1);
	setenv("NCCL_INSPECTOR_DUMP_THREAD_ENABLE", "0", 1);
	library = dlopen(cuda, RTLD_NOW | RTLD_GLOBAL) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (library)
		*(const void **)&p = dlsym(library, "ncclProfiler_v5");
	if (!p || open_comm(p)) {
		printf("skipped: NCCL's Inspector: it does not start: %s\n", p ? "it has no context" : dlerror());
		return -1;
	}
	for (int i = 0; i < 2; i++) {
		channels = (uint8_t)channels_of[i];
		ret[i] = added(&no_plugin, NULL);
	}
	p->finalize(context);
	plugin = NULL;
	return 0;
}

/* ---- podprof ---- */

static int start(const char *times)
{
	struct dirent *e;
	struct pp_err err;
	char path[512] = "";
	const struct pp_nccl_plugin *p = NULL;
	DIR *d;

	if (!mkdtemp(spool))
		return -1;
	setenv("PODPROF_SPOOL", spool, 1);
	setenv("PODPROF_WAIT", "0", 1);
	setenv("PODPROF_STEPS", "1:2", 1);
	setenv("PODPROF_NCCL_TIMES", times, 1);
	podprof_mark("first");
	*(const void **)&p = dlsym(RTLD_DEFAULT, "ncclProfiler_v5");
	if (!p || open_comm(p) || !podprof_recording())
		return -1;
	d = opendir(spool);
	while (d && (e = readdir(d)))
		if (strstr(e->d_name, ".ring"))
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
	if (d)
		closedir(d);
	if (!pp_drain_open(path, 0, &drain, &err))
		return 0;
	fprintf(stderr, "%s\n", err.text);
	return -1;
}

static int against(const char *times, int i, struct bench_result own, const struct bench_result *peer)
{
	char what[96], note[96];
	struct bench_figure f = {"nccl", what, peer ? "R" : "ns", own.ratio, own.low, own.high, 0, 0, note};
	int missed;

	snprintf(what, sizeof(what), "recording%s, %d channels", times, channels_of[i]);
	snprintf(note, sizeof(note), "%.1f ns", own.ns);
	f.unit = "R";
	missed = bench_print(&f);
	snprintf(what, sizeof(what), "recording%s, %d channels / Inspector", times, channels_of[i]);
	f.unit = "ratio";
	f.gate = *times ? 0 : 0.125; /* of what is on without an option */
	if (peer) {
		f.value = own.ratio / peer->ratio;
		f.low = own.low / peer->high;
		f.high = own.high / peer->low;
		snprintf(note, sizeof(note), "Inspector %.0f ns in this run, dumping off", peer->ns);
	} else {
		f.value = f.low = f.high = own.ns / known_ns[i];
		snprintf(note, sizeof(note), "Inspector's %.0f ns are of an earlier run on another machine", known_ns[i]);
	}
	return missed + bench_print(&f);
}

/* Outside windows NCCL reports the group and the call: podprof writes the communicator's line. */
static int idle(void)
{
	char note[96];
	struct bench_figure f = {"nccl", "outside windows, line of the communicator", "R", .gate = 2, .note = note};
	struct bench_result line, all;

	podprof_step_begin(100); /* behind the window that was asked for */
	if (podprof_recording() || __atomic_load_n(&mask, __ATOMIC_RELAXED) != (PP_NCCL_COLL_API | PP_NCCL_P2P_API)) {
		printf("podprof does not ask NCCL for calls only\n");
		return 1;
	}
	line = added(&no_plugin, NULL);
	all = added(NULL, NULL);
	f.value = line.ratio;
	f.low = line.low;
	f.high = line.high;
	snprintf(note, sizeof(note), "%.1f ns more than an empty plug-in, %.1f ns more than none", line.ns, all.ns);
	return bench_print(&f);
}

/* In a process of its own: the option is read once. */
static int podprof(const char *times, const char *say, const struct bench_result *peer)
{
	int missed = 0;

	if (start(times))
		return 1;
	for (int i = 0; i < 2; i++) {
		channels = (uint8_t)channels_of[i];
		missed += against(say, i, added(&no_plugin, empty), peer ? &peer[i] : NULL);
	}
	empty();
	/* Figures of records that were dropped would be no figures. */
	if (drained != 2 * CALLS * (1 + TURNS)) {
		printf("%llu records were read: some were dropped\n", (unsigned long long)drained);
		missed++;
	}
	if (!*say)
		missed += idle();
	bench_remove(spool);
	return missed;
}

int main(int argc, char **argv)
{
	struct bench_result result[2], *peer = NULL;
	int missed = 0;

	if (!bench_asked())
		return 77;
	pp_tick_init();
	if (argc < 3)
		printf("skipped: NCCL's Inspector in this run: it was not found at build time: tests/bench/peers/get-peers DIR "
		       "builds it, then cmake -DPODPROF_PEERS=DIR\n");
	else if (!inspector(argv[1], argv[2], result))
		peer = result;
	for (int i = 0; i < 2; i++) {
		int status = 1;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			missed = podprof(i ? "yes" : "no", i ? " with --nccl-times yes" : "", peer);
			fflush(stdout);
			_exit(missed ? 1 : 0);
		}
		waitpid(pid, &status, 0);
		missed += status != 0;
	}
	return missed != 0;
}
