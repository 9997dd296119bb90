/* What an ITT range costs the application as PyTorch makes them, a handle asked for at every range, in units of rdtsc and beside
 * NVTX's push and pop in the same run, through libpodprof.so. Skipped (77) unless PODPROF_BENCH=1. */
#include <dlfcn.h>
#include <string.h>

#include "core/podprof.h"
#include "core/ring/drain.h"
#include "tests/bench/bench.h"
#include "tests/bench/nvtx_dso.h"
#include "tests/unit/core/source/itt/itt_copy.h"

#define NAME "aten::_foreach_add__" /* 20 bytes */

static char spool[] = "/dev/shm/podprof-bench-XXXXXX";
static struct pp_drain *drain;
static struct itt_copy itt;
static struct pp_itt_domain *domain;
static struct pp_itt_string *handle;
static const struct pp_itt_id null;
static uint64_t drained;
static int (*nvtx_push)(const char *);
static int (*nvtx_pop)(void);

static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)context, (void)slot;
	for (uint32_t i = 0; i < count; i++)
		drained += r[i].kind == PP_RECORD_PUSH || r[i].kind == PP_RECORD_POP;
}

static void empty(void)
{
	static const struct pp_drain_sink sink = {.records = on_records};

	pp_drain_run(drain, &sink);
}

static void torch_ranges(int calls)
{
	for (int i = 0; i < calls; i++) {
		itt.task_begin(domain, null, null, itt.string_handle_create(NAME));
		itt.task_end(domain);
	}
}

static void long_ranges(int calls)
{
	for (int i = 0; i < calls; i++) {
		itt.task_begin(domain, null, null, itt.string_handle_create("autograd::engine::evaluate_function: AddmmBackward0"));
		itt.task_end(domain);
	}
}

static void ranges(int calls)
{
	for (int i = 0; i < calls; i++) {
		itt.task_begin(domain, null, null, handle);
		itt.task_end(domain);
	}
}

static void handles(int calls)
{
	for (int i = 0; i < calls; i++)
		handle = itt.string_handle_create(NAME);
}

/* Of the many names that a model has, no two the same in a row. */
static void many_handles(int calls)
{
	static char name[256][32];

	for (int i = 0; i < 256 && !name[0][0]; i++)
		for (int k = 0; k < 256; k++)
			snprintf(name[k], sizeof(name[k]), "aten::operator_%05d", k * 7);
	for (int i = 0; i < calls; i++)
		itt.string_handle_create(name[i * 37 & 255]);
}

static void nvtx_pairs(int calls)
{
	for (int i = 0; i < calls; i++) {
		nvtx_push(NAME);
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
	return pp_drain_open(path, 0, &drain, &err);
}

int main(void)
{
	void (*init)(struct pp_itt_global *, int);
	int (*inject)(pp_nvtx_get_export);
	struct bench_result whole, nvtx;
	char note[64];
	int missed = 0;

	if (!bench_asked())
		return 77;
	if (!mkdtemp(spool))
		return 1;
	setenv("PODPROF_SPOOL", spool, 1);
	setenv("PODPROF_WAIT", "0", 1);
	setenv("PODPROF_STEPS", "1:2", 1);
	*(void **)&init = dlsym(RTLD_DEFAULT, "__itt_api_init");
	*(void **)&inject = dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2");
	pp_tick_init();
	podprof_mark("first");
	itt_copy_make(&itt);
	if (!init || !inject || !inject(nvtx_get_export) || !podprof_recording() || open_drain())
		return 1;
	init(&itt.global, -1);
	nvtx_push = (int (*)(const char *))nvtx_slots[PP_NVTX_PUSH_A];
	nvtx_pop = (int (*)(void))nvtx_slots[PP_NVTX_POP];
	domain = itt.domain_create("PyTorch");
	handles(1);
	torch_ranges(BENCH_CALLS);
	whole = bench_run(torch_ranges, empty);
	missed += bench_row("ITT handle + begin + end, 20-byte name", whole, 3.4);
	missed += bench_row("ITT handle + begin + end, 51-byte name", bench_run(long_ranges, empty), 6);
	missed += bench_row("ITT begin + end, handle kept", bench_run(ranges, empty), 3.2);
	missed += bench_row("ITT handle, 20-byte name", bench_run(handles, NULL), 1.1);
	missed += bench_row("ITT handle, 256 names in turn", bench_run(many_handles, NULL), 1.5);
	nvtx = bench_run(nvtx_pairs, empty);
	missed += bench_row("NVTX push + pop, 20-byte name", nvtx, 3.6);
	snprintf(note, sizeof(note), "%.1f against %.1f ns", whole.ns, nvtx.ns);
	missed +=
	        bench_print(&(struct bench_figure){"hot", "ITT handle + begin + end / NVTX push + pop", "ratio", whole.ns / nvtx.ns,
	                                           whole.low / nvtx.high, whole.high / nvtx.low, 1.5, 0, note});
	empty();
	/* Figures of records that were dropped would be no figures. */
	if (drained != BENCH_CALLS * (2 + BENCH_REPS * 8ull)) {
		printf("%llu records were read: some were dropped\n", (unsigned long long)drained);
		missed++;
	}
	podprof_step_begin(100); /* behind the window that was asked for: recording is off from here */
	if (podprof_recording())
		return 1;
	missed += bench_row("not recording: ITT handle + begin + end", bench_run(torch_ranges, NULL), 1.6);
	pp_drain_close(drain);
	bench_remove(spool);
	return missed != 0;
}
