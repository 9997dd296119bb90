/* ns per record of CUPTI that becomes a record of the ring, by the source's own decoding, as podprof's thread does it beside the
 * application. The stand-in of CUPTI (tests/gpu) makes the buffers: no device runs. With NVIDIA's libcupti as second argument its
 * iterator, which podprof calls for each record, is measured too. Skipped (77) unless PODPROF_BENCH=1. */
#include <dlfcn.h>

#include "core/source/cupti/cupti_decode.h"
#include "tests/bench/bench.h"
#include "tests/gpu/replay.h"
#include "tests/unit/core/ring/ring_kit.h"

enum { BUFFER_BYTES = 1 << 20, BUFFERS = 8, ROWS = 20000, LIMIT_NS = 60 };

#define BIT(kind) (UINT64_C(1) << (kind))

static struct stand_in {
	void (*run)(int row);
	const struct replay_fixture *(*rows)(void);
	int (*registers)(pp_cupti_request, pp_cupti_complete);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*calls)(uint32_t number, uint8_t on);
	int (*flush)(uint32_t flag);
	int (*time)(uint64_t *ret_ns);
} stand_in;

static struct {
	uint8_t *data;
	size_t valid;
} buffer[BUFFERS];
static int buffers;
static struct pp_cupti_decode decode;
static uint64_t drained;

static void request(uint8_t **data, size_t *size, size_t *most)
{
	*data = buffers < BUFFERS ? aligned_alloc(64, BUFFER_BYTES) : NULL;
	*size = *data ? BUFFER_BYTES : 0;
	*most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *data, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)size;
	buffer[buffers].data = data;
	buffer[buffers++].valid = valid;
}

/* Sizes of the stand-in's records, which are CUPTI 13.0's. NVIDIA's iterator does the same and checks more. */
static int next_record(uint8_t *data, size_t valid, void **record)
{
	static const uint8_t size[PP_CUPTI_KINDS] = {
	        [PP_CUPTI_KERNEL] = 216, [PP_CUPTI_MEMCPY] = 96, [PP_CUPTI_MEMCPY2] = 96,  [PP_CUPTI_MEMSET] = 88,
	        [PP_CUPTI_RUNTIME] = 40, [PP_CUPTI_SYNC] = 56,   [PP_CUPTI_MEMORY2] = 128,
	};
	uint8_t *at = *record;
	uint32_t kind;

	if (at) {
		memcpy(&kind, at, sizeof(kind));
		at += size[kind];
	} else {
		at = data;
	}
	*record = at;
	return (size_t)(at - data) >= valid;
}

static void read_clock(void)
{
	struct pp_cupti_pair p = {.tick = pp_tick_now(), .raw = (int64_t)pp_tick_raw()};
	uint64_t ns = 0;

	stand_in.time(&ns);
	p.ns = (int64_t)ns;
	pp_cupti_clock_add(&decode.clock, &p);
}

/* Fills the buffers with records of these kinds, by steps of the fixture. */
static void record(uint64_t kinds, int with_calls)
{
	const struct replay_fixture *f = stand_in.rows();
	const struct timespec ms = {0, 1000000};

	for (int i = 0; i < buffers; i++)
		free(buffer[i].data);
	buffers = 0;
	pp_cupti_clock_reset(&decode.clock);
	read_clock();
	stand_in.registers(request, complete);
	for (int kind = 0; kind < PP_CUPTI_KINDS; kind++)
		if (kinds & BIT(kind))
			stand_in.enable(kind);
		else
			stand_in.disable(kind);
	for (uint32_t i = 0; i < PP_CUPTI_NUMBERS; i++)
		stand_in.calls(i, (uint8_t)with_calls);
	for (int n = 0; n < ROWS;)
		for (int row = 0; row < f->rows; row++, n++)
			if (f->row[row].kind != REPLAY_SYNC)
				stand_in.run(row);
	nanosleep(&ms, NULL); /* the last kernel has ended */
	read_clock();
	stand_in.flush(0);
}

static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)context, (void)slot;
	for (uint32_t i = 0; i < count; i++)
		drained +=
		        r[i].kind == PP_RECORD_DEVICE || r[i].kind == PP_RECORD_DEVICE_CALL || r[i].kind == PP_RECORD_DEVICE_MEMORY;
}

static uint64_t convert(void)
{
	static const struct pp_drain_sink sink = {.records = on_records};
	uint64_t before = decode.records;

	pp_drain_run(kit_drain, &sink);
	for (int i = 0; i < buffers; i++)
		pp_cupti_decode(&decode, buffer[i].data, buffer[i].valid);
	return decode.records - before;
}

static uint64_t iterate(void)
{
	uint64_t n = 0;

	for (int i = 0; i < buffers; i++)
		for (void *at = NULL; !decode.api->next_record(buffer[i].data, buffer[i].valid, &at);)
			n++;
	return n;
}

static int measure(const char *what, uint64_t (*run)(void), double limit, const char *note)
{
	struct bench_figure f = {"cupti", what, "ns", .gate = limit, .note = note};
	double ns[BENCH_REPS];

	run();
	for (int i = 0; i < BENCH_REPS; i++) {
		double begin = bench_ns();
		uint64_t n = run();

		ns[i] = (bench_ns() - begin) / (double)n;
	}
	bench_take(&f, ns, BENCH_REPS, 0.25, 0.5, 0.75);
	return bench_print(&f);
}

/* Figures of records that were dropped would be no figures. */
static int check(void)
{
	uint64_t records, lost;

	convert();
	drained = 0;
	records = convert();
	lost = decode.untimed + decode.unknown + kit_lost(PP_LOSS_RING_FULL);
	if (drained == records && records > ROWS / 4 && !lost)
		return 0;
	printf("%llu of %llu records were read, %llu have no time or were dropped\n", (unsigned long long)drained,
	       (unsigned long long)records, (unsigned long long)lost);
	return 1;
}

static int all(void)
{
	static const struct {
		const char *what;
		uint64_t kinds;
		int with_calls;
	} rows[] = {
	        {"a step of training, a record of CUPTI",
	         BIT(PP_CUPTI_KERNEL) | BIT(PP_CUPTI_MEMCPY) | BIT(PP_CUPTI_MEMCPY2) | BIT(PP_CUPTI_MEMSET) | BIT(PP_CUPTI_MEMORY2),
	         1},
	        {"kernels alone", BIT(PP_CUPTI_KERNEL), 0},
	        {"calls of the runtime alone", 0, 1},
	        {"copies and memory alone", BIT(PP_CUPTI_MEMCPY) | BIT(PP_CUPTI_MEMSET) | BIT(PP_CUPTI_MEMORY2), 0},
	};
	int missed = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		record(rows[i].kinds, rows[i].with_calls);
		missed += measure(rows[i].what, convert, LIMIT_NS, i ? "" : "records of a stand-in: no device runs");
		missed += check();
	}
	return missed;
}

static int find(const char *folder, const char *fixture)
{
	char path[512];
	void *cuda, *cupti;
	int (*init)(unsigned) = NULL;

	setenv("REPLAY_FIXTURE", fixture, 1);
	unsetenv("CUDA_INJECTION64_PATH");
	snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	cuda = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	snprintf(path, sizeof(path), "%s/libcupti.so.13", folder);
	cupti = dlopen(path, RTLD_NOW);
	if (!cuda || !cupti) {
		fprintf(stderr, "bench_cupti: %s\n", dlerror());
		return -1;
	}
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&stand_in.run = dlsym(cuda, "replay_row_run");
	*(void **)&stand_in.rows = dlsym(cuda, "replay_rows");
	*(void **)&stand_in.registers = dlsym(cupti, "cuptiActivityRegisterCallbacks");
	*(void **)&stand_in.enable = dlsym(cupti, "cuptiActivityEnable");
	*(void **)&stand_in.disable = dlsym(cupti, "cuptiActivityDisable");
	*(void **)&stand_in.calls = dlsym(cupti, "cuptiActivityEnableRuntimeApi");
	*(void **)&stand_in.flush = dlsym(cupti, "cuptiActivityFlushAll");
	*(void **)&stand_in.time = dlsym(cupti, "cuptiGetTimestamp");
	return init && stand_in.run && stand_in.rows && stand_in.time ? init(0) : -1;
}

int main(int argc, char **argv)
{
	static struct pp_cupti_api api = {.version = 130001, .is_replay = 1, .next_record = next_record};
	void *real = argc > 3 ? dlopen(argv[3], RTLD_NOW) : NULL;
	int missed;

	if (!bench_asked())
		return 77;
	if (argc < 3 || find(argv[1], argv[2]) || !kit_open(64 << 20) || !pp_thread_enter())
		return 1;
	pp_cupti_decode_init(&decode, &api);
	missed = all();
	record(~UINT64_C(0), 1);
	if (real)
		*(void **)&api.next_record = dlsym(real, "cuptiActivityGetNextRecord");
	if (!real || !api.next_record)
		printf("skipped: the iterator of NVIDIA's libcupti: it was not found at build time\n");
	else
		missed += measure("NVIDIA's iterator, in addition", iterate, 0, "cuptiActivityGetNextRecord");
	kit_close();
	return missed != 0;
}
