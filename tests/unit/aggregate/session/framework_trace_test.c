/* Files of frameworks' profilers in a spool: their times become the rank's ticks, what the rank has itself is not there twice,
 * files of other windows and of nobody are left alone, and what is missing is said. */
#include "aggregate/session/framework_trace.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/ring/ring_maker.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"

#include <sys/wait.h>

#include "aggregate/read/ring/finish.h"

enum { RANK = 3, MAIN = 700, POOL = 900, DATE = 1796122356 };

#define EPOCH (DATE * INT64_C(1000000000))

struct place {
	char spool[64];
	struct maker ring;
	struct pp_rings *rings;
	struct pp_capture capture;
	struct pp_warnings warnings;
	int pid;
};

/* One rank, whose main thread has a range of the program from tick 5000 to 9000. */
static void set_up(struct place *p, int pid)
{
	char path[128];
	struct pp_err err = {""};

	memset(p, 0, sizeof(*p));
	p->pid = pid;
	snprintf(p->spool, sizeof(p->spool), "/tmp/podprof-framework-XXXXXX");
	CHECK(mkdtemp(p->spool) != NULL);
	snprintf(path, sizeof(path), "%s/rank-%d-%d.ring", p->spool, RANK, pid);
	maker_open(&p->ring, path, RANK, 4, pid, 8);
	maker_thread(&p->ring, 0, MAIN);
	maker_push(&p->ring, 0, 5000, "my range");
	maker_pop(&p->ring, 0, 9000);
	maker_mpi(&p->ring, 0, 12000, 13000, 1, 0, -1);
	p->rings = pp_rings_new(1 << 20);
	CHECK_INT(pp_rings_open(p->rings, path, &err), 0);
	while (pp_rings_drain(p->rings, 0, NULL))
		;
	CHECK_INT(pp_rings_finish(p->rings, &p->capture, &err), 0);
}

static void tear_down(struct place *p)
{
	char command[128];

	pp_capture_release(&p->capture);
	pp_rings_free(p->rings);
	maker_close(&p->ring);
	snprintf(command, sizeof(command), "rm -r %s", p->spool);
	CHECK_INT(system(command), 0);
}

static void put_file(const struct place *p, const char *name, const void *data, size_t n)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/rank-%d-%d-%s", p->spool, RANK, p->pid, name);
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, n, f) != n || fclose(f))
		abort();
}

/* The profiler ran from EPOCH - 1000 on. The range of the program 500 ns later, an operator 100 ns after that on each thread. */
static void put_trace(const struct place *p, const char *name)
{
	static struct bytes space, plane, line, event;

	space.n = 0;
	for (int thread = 0; thread < 2; thread++) {
		if (!thread)
			begin_plane(&plane, "/host:CPU");
		begin_line(&line, thread ? POOL : 5, thread ? "tf_pool" : "python");
		if (!thread) {
			begin_event(&event, 3, 400, 1);
			put_message(&line, 4, &event);
		}
		for (int i = thread; i < 2; i++) {
			begin_event(&event, 1 + i, 500 + 100 * i, 2000 - 1000 * i);
			put_message(&line, 4, &event);
		}
		if (!thread) { /* a part of the rank's own call */
			begin_event(&event, 4, 2200, 100);
			put_message(&line, 4, &event);
		}
		put_message(&plane, 3, &line);
	}
	put_name(&plane, 4, 4, "wait inside");
	put_name(&plane, 4, 1, "my range");
	put_name(&plane, 4, 2, "dot.1");
	put_name(&plane, 4, 3, PP_FRAMEWORK_THREAD "700");
	put_message(&space, 1, &plane);
	begin_plane(&plane, "Task Environment");
	put_name(&plane, 5, 1, "profile_start_time");
	put_stat(&plane, 6, 1, EPOCH - 1000);
	put_message(&space, 1, &plane);
	put_file(p, name, space.b, space.n);
}

static void join(struct place *p, const struct pp_close_range *range)
{
	const struct pp_framework_traces c = {
	        .rings = p->rings, .warnings = &p->warnings, .kind = PP_TICK_RAW, .range = range, .ranges = range != NULL};

	pp_framework_traces_join(&c, &p->capture);
}

static size_t spans(const struct place *p)
{
	size_t n = 0;

	for (size_t t = 0; t < p->capture.rank[0].threads; t++)
		n += p->capture.rank[0].thread[t].spans;
	return n;
}

TEST(times_become_ticks)
{
	struct place p;
	const struct pp_rank *r;

	set_up(&p, getpid());
	put_trace(&p, "10000-1796122356000000000-30000-1796122356000010000-4.xspace"); /* two ticks a ns; the error is 4 ticks */
	join(&p, NULL);
	r = &p.capture.rank[0];
	CHECK_INT(p.capture.ranks, 1);
	CHECK_INT(r->threads, 2);
	CHECK_INT(r->thread[0].tid, MAIN);
	CHECK_INT(r->thread[1].tid, POOL);
	CHECK_INT(r->thread[0].spans, 3); /* "my range" of the file is the rank's own */
	CHECK_STR(name_of(&p.capture, r->thread[0].span[0].name), "my range");
	CHECK_INT(r->thread[0].span[0].begin, 5000);
	CHECK_STR(name_of(&p.capture, r->thread[0].span[1].name), "dot.1");
	CHECK_INT(r->thread[0].span[1].begin, 10000 + 2 * (600 - 1000));
	CHECK_INT(r->thread[0].span[1].end, 10000 + 2 * (1600 - 1000));
	CHECK_INT(r->thread[0].span[2].kind, PP_SPAN_MPI);
	CHECK_INT(r->thread[1].span[0].begin, 9200);
	CHECK_INT(r->thread[0].is_main + 2 * r->thread[1].is_main, 1);
	CHECK_STR(r->trace.file, "");
	CHECK_INT(p.warnings.count, 1);
	CHECK_STR(p.warnings.text[0], "--framework-trace: 5 events of 1 file, whose times are within 0.0 us of the rank's own");
	tear_down(&p);
}

TEST(only_files_of_the_window_and_its_ranks)
{
	const struct pp_close_range range = {.rank = RANK, .from = 40000, .to = 50000};
	struct place p;

	set_up(&p, getpid());
	put_trace(&p, "10000-1796122356000000000-30000-1796122356000010000-4.xspace");
	put_trace(&p, "50000-1796122356000000000-70000-1796122356000010000-4.xspace");
	put_trace(&p, "41000-1796122356000000000-30000-1796122356000010000-4.xspace"); /* ends before it begins */
	put_trace(&p, "x-1.xspace");
	p.pid++;
	put_trace(&p, "41000-1796122356000000000-43000-1796122356000010000-4.xspace");
	put_file(&p, "41000.part", "", 0);
	p.pid--;
	join(&p, &range);
	CHECK_INT(spans(&p), 2);
	CHECK_INT(p.warnings.count, 0);
	tear_down(&p);
}

TEST(what_is_missing_is_said)
{
	struct place p;
	int pid = fork();

	if (!pid)
		_exit(0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	set_up(&p, pid);
	put_file(&p, "10000.part", "", 0); /* of a process that has ended: it does not come */
	put_file(&p, "20000.failed", "MemoryError: why", 16);
	join(&p, NULL);
	CHECK_INT(spans(&p), 2);
	CHECK_INT(p.warnings.count, 2);
	CHECK_STR(p.warnings.text[0], "--framework-trace: 1 file is missing: MemoryError: why");
	CHECK_STR(p.warnings.text[1],
	          "--framework-trace: 1 file did not come in 20 s: the rank ended, or another window holds its profiler");
	tear_down(&p);
}

TEST(damaged_files_and_clocks_that_were_set)
{
	struct place p;
	struct pp_clock_pair first;
	struct pp_framework_traces c = {.first = &first, .kind = PP_TICK_RAW};

	set_up(&p, getpid());
	pp_clock_read_pair(PP_TICK_RAW, &first);
	first.tick -= 1000000000;
	first.raw_ns -= 1000000000;
	put_trace(&p, "10000-1796122356000000000-2000010000-1796122358100000000-4.xspace"); /* 5 % more than the ticks */
	c.rings = p.rings;
	c.warnings = &p.warnings;
	pp_framework_traces_join(&c, &p.capture);
	CHECK_INT(spans(&p), 2);
	CHECK_STR(p.warnings.text[0], "--framework-trace: 1 file is missing: the wall clock was set in the window");
	c.first = NULL;
	put_file(&p, "10000-1796122356000000000-30000-1796122356000010000-4.xspace", "\x0a\x7f", 2);
	p.warnings.count = 0;
	pp_framework_traces_join(&c, &p.capture);
	CHECK(strstr(p.warnings.text[p.warnings.count - 1], "is missing: cannot read") != NULL);
	tear_down(&p);
}

int main(void)
{
	times_become_ticks();
	only_files_of_the_window_and_its_ranks();
	what_is_missing_is_said();
	damaged_files_and_clocks_that_were_set();
	return test_end();
}
