/* What a step mark costs outside of windows, by ratios to rdtsc: at rest, and while ranks agree on a window; what a request
 * costs the application's thread, and a window of its own. A page of the keeper's that nobody else has.
 * Skipped (77) unless PODPROF_BENCH=1. */
#include "core/podprof.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/source/services.h"
#include "tests/bench/bench.h"

enum { REQUESTS = 2000 };

static char spool[] = "/dev/shm/podprof-bench-XXXXXX";
static struct pp_control *page;
static const struct podprof_collector *collector;
static int64_t step;
static int answer_says;

static int fake_ask(uint32_t number, int64_t here)
{
	(void)number;
	(void)here;
	return 0;
}

static int fake_answer(uint32_t number, int64_t *ret_step)
{
	(void)number;
	*ret_step = step;
	return answer_says;
}

static const struct pp_coord_ops fake = {.name = "fake", .ask = fake_ask, .answer = fake_answer};

static int make_page(void)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*page)))
		return -1;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return -1;
	memcpy(page->magic, PP_CONTROL_MAGIC, sizeof(page->magic));
	page->version = PP_RING_VERSION;
	page->byte_order = PP_RING_BYTE_ORDER;
	return 0;
}

static void ask(enum pp_ask_kind kind, int64_t first, int64_t last)
{
	atomic_store(&page->request_kind, (uint32_t)kind);
	atomic_store(&page->request_first, first);
	atomic_store(&page->request_last, last);
	atomic_fetch_add(&page->bell, 1);
}

static void begins(int calls)
{
	for (int i = 0; i < calls; i++)
		podprof_step_begin(step++);
}

static void ends(int calls)
{
	for (int i = 0; i < calls; i++)
		podprof_step_end();
}

static void windows(int calls)
{
	for (int i = 0; i < calls; i++) {
		podprof_window_start("window");
		podprof_window_stop();
	}
}

/* Heard, agreed on, forgotten: all that the thread does for one request that comes to nothing else. */
static int request_row(void)
{
	struct bench_figure f = {"marks", "a request: acknowledged, agreed on, withdrawn", "us", 0, 0, 0, 2, 0, ""};
	static double us[REQUESTS];

	answer_says = 1;
	for (int i = 0; i < REQUESTS; i++) {
		double begin, took;

		ask(PP_ASK_AGREE, 1000000, 10);
		begin = bench_ns();
		collector->poll();
		took = bench_ns() - begin;
		ask(PP_ASK_NOTHING, 0, 0);
		begin = bench_ns();
		collector->poll();
		us[i] = (took + bench_ns() - begin) / 1000;
	}
	bench_take(&f, us, REQUESTS, 0.25, 0.5, 0.99);
	return bench_print(&f);
}

static int row(const char *what, struct bench_result r, double gate)
{
	char note[32];
	struct bench_figure f = {"marks", what, "R", r.ratio, r.low, r.high, gate, 0, note};

	snprintf(note, sizeof(note), "%.1f ns", r.ns);
	return bench_print(&f);
}

int main(void)
{
	int missed = 0;

	if (!bench_asked())
		return 77;
	if (!mkdtemp(spool) || make_page())
		return 1;
	setenv("PODPROF_SPOOL", spool, 1);
	setenv("PODPROF_WAIT", "0", 1);
	setenv("PODPROF_STEPS", "4000000000000:4000000000001", 1);
	pp_tick_init();
	podprof_step_begin(step++);
	collector = dlsym(RTLD_DEFAULT, "podprof_collector");
	if (!collector || podprof_recording())
		return 1;
	collector->coordinate(&fake);
	missed += row("step_begin outside of windows", bench_run(begins, NULL), 0.5);
	missed += row("step_end outside of windows", bench_run(ends, NULL), 0.5);
	ask(PP_ASK_AGREE, 1000, 10);
	missed += row("step_begin while ranks agree on a window", bench_run(begins, NULL), 3);
	missed += row("step_end while ranks agree on a window", bench_run(ends, NULL), 3);
	missed += request_row();
	if (podprof_recording())
		return 1;
	missed += row("window_start + window_stop", bench_run(windows, NULL), 30);
	bench_remove(spool);
	return missed != 0;
}
