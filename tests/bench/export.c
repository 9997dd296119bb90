/* CPU time of exports: MB of output a second before compression, ns an event. Beside it, in the same run: protobuf-c that packs the
 * same packets, and memcpy of the same bytes with write, which no writer can beat. Made-up timelines of 64 ranks, into a file. */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "aggregate/write/chrome/chrome.h"
#include "aggregate/write/export/out.h"
#include "aggregate/write/perfetto/perfetto.h"
#include "proto/perfetto.pb-c.h"
#include "tests/bench/bench.h"
#include "tests/bench/timeline_make.h"

enum { REPS = 9, LEAST_MB = 100 };

static const struct pp_timeline *timeline;
static int fd;
static char *bytes; /* of the last export that was not compressed */
static size_t size;
static PerfettoTrace__Trace *trace;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int perfetto(void)
{
	return pp_perfetto_write(timeline, fd, NULL);
}

static int chrome(void)
{
	return pp_chrome_write(timeline, fd, 0, NULL);
}

static int chrome_gzip(void)
{
	return pp_chrome_write(timeline, fd, 1, NULL);
}

static int packing(void)
{
	uint8_t *to = malloc(size);
	int bad = !to || perfetto_trace__trace__pack(trace, to) != size || write(fd, to, size) != (ssize_t)size;

	free(to);
	return bad;
}

static int copying(void)
{
	struct pp_out o;
	int bad = pp_out_init(&o, fd, 0, NULL) < 0;

	for (size_t at = 0, n; !bad && at < size; at += n) {
		uint8_t *p = pp_out_more(&o, 1 << 16);

		n = size - at < 1 << 16 ? size - at : 1 << 16;
		if (!p)
			break;
		memcpy(p, bytes + at, n);
		pp_out_take(&o, p + n);
	}
	return bad || pp_out_finish(&o, NULL) < 0;
}

static int run(const char *what, int (*write)(void), double gate)
{
	double mb[REPS];
	char note[80];
	struct bench_figure f = {.bench = "export", .what = what, .unit = "MB/s", .gate = gate, .at_least = 1, .note = note};

	for (int r = 0; r < REPS; r++) {
		double begin;

		lseek(fd, 0, SEEK_SET);
		begin = cpu_ns();
		if (write() != 0) {
			fprintf(stderr, "%s: not written\n", what);
			return 1;
		}
		mb[r] = (double)size * 1e3 / (cpu_ns() - begin);
	}
	bench_take(&f, mb, REPS, 0.25, 0.5, 0.75);
	snprintf(note, sizeof(note), "%.0f ns an event, %zu events, %.0f MB",
	         (double)size * 1e3 / f.value / (double)timeline->events, timeline->events, (double)size / 1e6);
	return bench_print(&f);
}

/* The bytes of an export, which its peers copy and which say how many MB it is. */
static void take(int (*write)(void))
{
	free(bytes);
	if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0 || write() != 0)
		abort();
	size = (size_t)lseek(fd, 0, SEEK_CUR);
	bytes = malloc(size);
	if (!bytes || pread(fd, bytes, size, 0) != (ssize_t)size)
		abort();
}

static int measure(const char *of, int ranges)
{
	const struct timeline_job job = {.ranks = 64, .steps = 20, .ranges = ranges, .late = 3, .devices = 1};
	struct pp_timeline t;
	char what[100];
	int missed;

	timeline_make(&t, &job);
	timeline = &t;
	take(perfetto);
	trace = perfetto_trace__trace__unpack(NULL, size, (const uint8_t *)bytes);
	if (!trace)
		abort();
	snprintf(what, sizeof(what), "Perfetto, %s", of);
	missed = run(what, perfetto, LEAST_MB);
	snprintf(what, sizeof(what), "its packets by protobuf-c, %s", of);
	missed |= run(what, packing, 0);
	perfetto_trace__trace__free_unpacked(trace, NULL);
	snprintf(what, sizeof(what), "its bytes by memcpy, %s", of);
	missed |= run(what, copying, 0);
	take(chrome);
	snprintf(what, sizeof(what), "Chrome, not compressed, %s", of);
	missed |= run(what, chrome, LEAST_MB);
	snprintf(what, sizeof(what), "Chrome, gzip, %s", of);
	missed |= run(what, chrome_gzip, LEAST_MB);
	snprintf(what, sizeof(what), "its bytes by memcpy, not compressed, %s", of);
	missed |= run(what, copying, 0);
	pp_timeline_release(&t);
	return missed;
}

int main(void)
{
	FILE *file;
	int missed;

	if (!bench_asked())
		return 77;
	file = tmpfile();
	if (!file)
		abort();
	fd = fileno(file);
	missed = measure("20 steps", 150);
	missed |= measure("1e6 events", 516);
	free(bytes);
	fclose(file);
	return missed;
}
