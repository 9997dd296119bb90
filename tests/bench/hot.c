/* What a record costs the application, in units of rdtsc, through libpodprof.so: alone and while a keeper's drain empties the
 * rings. Skipped (77) unless PODPROF_BENCH=1. */
#include "core/podprof.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/ring/drain.h"
#include "tests/bench/bench.h"
#include "tests/bench/nvtx_dso.h"

static char spool[] = "/dev/shm/podprof-bench-XXXXXX";
static struct pp_drain *drain;
static pthread_mutex_t one_drain = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int stop;
static uint64_t drained;

static int (*nvtx_push)(const char *);
static int (*nvtx_pop)(void);

static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)context;
	(void)slot;
	for (uint32_t i = 0; i < count; i++)
		drained += r[i].kind != PP_RECORD_NONE;
}

static void empty(void)
{
	static const struct pp_drain_sink sink = {.records = on_records};

	pthread_mutex_lock(&one_drain);
	pp_drain_run(drain, &sink);
	pthread_mutex_unlock(&one_drain);
}

static void *keeper(void *arg)
{
	struct timespec ms = {0, 1000000};

	while (!atomic_load(&stop)) {
		empty();
		nanosleep(&ms, NULL);
	}
	return arg;
}

static void marks(int calls)
{
	for (int i = 0; i < calls; i++)
		podprof_mark("event");
}

static void pairs(int calls)
{
	for (int i = 0; i < calls; i++) {
		podprof_range_push("abcdefghijklmnopqrstuvwxyz");
		podprof_range_pop();
	}
}

static void nvtx_pairs(int calls)
{
	for (int i = 0; i < calls; i++) {
		nvtx_push("abcdefghijklmnopqrstuvwxyz");
		nvtx_pop();
	}
}

static int (*nvtx_push_ex)(const struct pp_nvtx_attributes *);

static void payload_pairs(int calls)
{
	const struct pp_nvtx_attributes a = {.version = 3,
	                                     .size = sizeof(a),
	                                     .payload_type = PP_PAYLOAD_UINT64,
	                                     .payload = 1,
	                                     .message_type = PP_NVTX_MESSAGE_ASCII,
	                                     .message = "abcdefghijklmnopqrstuvwxyz"};

	for (int i = 0; i < calls; i++) {
		nvtx_push_ex(&a);
		nvtx_pop();
	}
}

static int open_drain(void)
{
	struct dirent *e;
	struct pp_err err;
	char path[512] = "";
	DIR *d = opendir(spool);

	while (d && (e = readdir(d)))
		if (strstr(e->d_name, ".ring"))
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
	if (d)
		closedir(d);
	if (pp_drain_open(path, 0, &drain, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	return 0;
}

int main(void)
{
	const char *asked = getenv("PODPROF_BENCH");
	int (*inject)(pp_nvtx_get_export);
	pthread_t thread;
	int missed = 0;

	if (!asked || !*asked)
		return 77;
	if (!mkdtemp(spool))
		return 1;
	setenv("PODPROF_SPOOL", spool, 1);
	setenv("PODPROF_WAIT", "0", 1);
	setenv("PODPROF_STEPS", "1:2", 1);
	*(void **)&inject = dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2");
	pp_tick_init();
	podprof_mark("first");
	if (!inject || !inject(nvtx_get_export) || !podprof_recording() || open_drain())
		return 1;
	nvtx_push = (int (*)(const char *))nvtx_slots[PP_NVTX_PUSH_A];
	nvtx_pop = (int (*)(void))nvtx_slots[PP_NVTX_POP];
	nvtx_push_ex = (int (*)(const struct pp_nvtx_attributes *))nvtx_slots[PP_NVTX_PUSH_EX];
	marks(BENCH_CALLS);
	empty();
	missed += bench_row("event", bench_run(marks, empty), 1.6);
	missed += bench_row("range pair, 26-byte name", bench_run(pairs, empty), 3.2);
	missed += bench_row("NVTX push + pop, 26-byte name", bench_run(nvtx_pairs, empty), 3.6);
	missed += bench_row("NVTX push + pop, 26-byte name, payload", bench_run(payload_pairs, empty), 6);
	pthread_create(&thread, NULL, keeper, NULL);
	missed += bench_row("event, drained every ms", bench_run(marks, NULL), 1.9);
	missed += bench_row("NVTX push + pop, drained every ms", bench_run(nvtx_pairs, NULL), 4.2);
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	empty();
	/* Figures of records that were dropped would be no figures. */
	if (drained != 1 + BENCH_CALLS * (1 + BENCH_REPS * (1 + 2 + 2 + 3 + 1 + 2ull))) {
		printf("%llu records were read: some were dropped\n", (unsigned long long)drained);
		missed++;
	}
	podprof_step_begin(100); /* behind the window that was asked for: recording is off from here */
	if (podprof_recording())
		return 1;
	missed += bench_row("not recording: event", bench_run(marks, NULL), 0.3);
	pp_drain_close(drain);
	bench_remove(spool);
	return missed != 0;
}
