/* The keeper's sampler: a child that holds memory, processes that vanish, are another's or refuse, its pace, its store. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "aggregate/keeper/host/sample.h"
#include "aggregate/read/ring/finish.h"
#include "core/base/proc.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/coord/claim.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/ring/ring_maker.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"

enum { MIB = 1 << 20, ALL = PP_SAMPLE_PSS | PP_SAMPLE_CHILDREN };

/* A child that holds `bytes`, and a child of its own if `nested`; it has them when this returns. */
static pid_t holder(size_t bytes, int nested)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			_exit(1);
		memset(p, 1, bytes);
		if (nested)
			holder(10 * MIB, 0);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(pid > 0 && read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

TEST(sees_children)
{
	struct pp_memory before, with, after;
	const char *note;
	pid_t child, inner;

	CHECK_INT(pp_sample_process("/proc", getpid(), pp_proc_start_time(getpid()), NULL, ALL, &before, &note), 0);
	if (note && strstr(note, "children")) {
		fprintf(stderr, "%s\n", note);
		return;
	}
	child = holder(50 * MIB, 1);
	CHECK_INT(pp_sample_process("/proc", getpid(), 0, NULL, PP_SAMPLE_CHILDREN, &with, &note), 0);
	CHECK(with.children == before.children + 2);
	CHECK(with.children_rss_bytes >= before.children_rss_bytes + 60 * MIB &&
	      with.children_rss_bytes < before.children_rss_bytes + 120 * MIB);
	CHECK(with.rss_bytes < before.rss_bytes + 20 * MIB && !with.pss_present);
	/* The inner one first: it would be an orphan, and nobody's child here. */
	for (int i = 0; i < 2; i++) {
		char path[96], text[64];

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)child, (int)child);
		inner = pp_proc_read(path, text, sizeof(text)) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
		if (inner > 0)
			kill(inner, SIGKILL);
	}
	kill(child, SIGKILL);
	CHECK(waitpid(child, NULL, 0) == child);
	CHECK_INT(pp_sample_process("/proc", getpid(), 0, NULL, PP_SAMPLE_CHILDREN, &after, &note), 0);
	CHECK_INT(after.children, before.children);
	CHECK_INT(after.children_rss_bytes, before.children_rss_bytes);
	CHECK(after.children_cpu_ns >= before.children_cpu_ns); /* waited for: counted on */
}

TEST(own_numbers)
{
	struct pp_memory a, b;
	const char *note;
	char *p;

	CHECK_INT(pp_sample_process("/proc", getpid(), 0, NULL, ALL, &a, &note), 0);
	p = mmap(NULL, 30 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	madvise(p, 30 * MIB, MADV_NOHUGEPAGE);
	memset(p, 1, 30 * MIB);
	CHECK_INT(pp_sample_process("/proc", getpid(), 0, NULL, ALL, &b, &note), 0);
	CHECK(b.rss_bytes >= a.rss_bytes + 28 * MIB && b.rss_bytes < a.rss_bytes + 34 * MIB);
	CHECK(b.minor_faults >= a.minor_faults + 30 * MIB / (uint64_t)sysconf(_SC_PAGESIZE));
	CHECK(b.user_ns >= a.user_ns && b.system_ns >= a.system_ns);
	if (b.pss_present)
		CHECK(b.pss_bytes >= a.pss_bytes + 28 * MIB && b.pss_bytes <= b.rss_bytes + MIB);
	munmap(p, 30 * MIB);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0);
	if (f)
		fclose(f);
}

TEST(refuses_and_vanishes)
{
	static const char line[] = "7 (a ) b) S 1 7 7 0 -1 0 10 0 2 0 3 4 0 0 20 0 1 0 99 1000 5 0 0\n";
	char proc[] = "/tmp/podprof-proc-XXXXXX", path[256];
	struct pp_memory m = {.rss_bytes = 1};
	const char *note;
	pid_t child;
	int status;

	CHECK(mkdtemp(proc) != NULL);
	snprintf(path, sizeof(path), "%s/7", proc);
	CHECK_INT(mkdir(path, 0700), 0);
	CHECK_INT(pp_sample_process(proc, 7, 0, NULL, PP_SAMPLE_CHILDREN, &m, &note), -ESRCH);
	write_file(path, "stat", "7 (half");
	CHECK_INT(pp_sample_process(proc, 7, 0, NULL, PP_SAMPLE_CHILDREN, &m, &note), -ESRCH);
	CHECK_INT(m.rss_bytes, 1);
	write_file(path, "stat", line);
	CHECK_INT(pp_sample_process(proc, 7, 98, NULL, PP_SAMPLE_CHILDREN, &m, &note),
	          -ESRCH); /* the pid is another process's now */
	CHECK_INT(pp_sample_process(proc, 7, 99, NULL, ALL, &m, &note), 0);
	CHECK(note && strstr(note, "PSS") && !m.pss_present);
	CHECK_INT(m.rss_bytes, 5 * sysconf(_SC_PAGESIZE));
	CHECK_INT(m.minor_faults, 10);
	CHECK_INT(m.major_faults, 2);
	CHECK_INT(m.run_queue_ns, 0);
	write_file(path, "schedstat", "1234 5678 9\n");
	write_file(path, "smaps_rollup", "55e0-7ffd ---p\nRss:  12 kB\nPss:  8 kB\n");
	CHECK_INT(pp_sample_process(proc, 7, 99, NULL, ALL, &m, &note), 0);
	CHECK(m.pss_present && m.pss_bytes == 8192);
	CHECK_INT(m.run_queue_ns, 5678);
	/* Not permitted: as nobody, for root reads everything. */
	CHECK_INT(chmod(proc, 0755), 0);
	CHECK_INT(chmod(path, 0), 0);
	child = fork();
	if (!child) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(77);
		_exit(pp_sample_process(proc, 7, 99, NULL, PP_SAMPLE_CHILDREN, &m, &note) == -EACCES ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
	snprintf(path, sizeof(path), "chmod 700 '%s/7'; rm -rf '%s'", proc, proc);
	CHECK_INT(system(path), 0);
}

struct rig { /* two rings: this process, and one that is not there */
	struct maker made[2];
	struct pp_rings *rings;
	struct pp_sampler sampler;
};

static void rig_open(struct rig *r, const char *proc)
{
	struct pp_err err = {""};
	char path[64];

	memset(r, 0, sizeof(*r));
	r->rings = pp_rings_new(16 << 20);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/tmp/podprof-sampler-%d-%d.ring", (int)getpid(), i);
		maker_open(&r->made[i], path, i, 2, i ? 0x3fffffff : (int)getpid(), 4);
		maker_thread(&r->made[i], 0, 1);
		CHECK_INT(pp_rings_open(r->rings, path, &err), 0);
		unlink(path);
	}
	r->made[0].header->start_time = pp_proc_start_time(getpid());
	pp_sampler_init(&r->sampler, proc, PP_GPU_NEVER);
}

static void rig_close(struct rig *r)
{
	pp_sampler_release(&r->sampler);
	pp_rings_free(r->rings);
	for (int i = 0; i < 2; i++)
		maker_close(&r->made[i]);
}

TEST(only_while_recording_and_at_its_pace)
{
	cpu_set_t cores;
	struct pp_capture c = {0};
	struct timespec some = {.tv_nsec = 20000000};
	struct pp_err err = {""};
	struct rig r;

	rig_open(&r, "/proc");
	pp_sampler_run(&r.sampler, r.rings);
	CHECK_INT(r.sampler.ring[0].store[PP_SIDE_ID_memory].used, 0);
	r.made[0].header->recording = r.made[1].header->recording = 1;
	for (int i = 0; i < 12; i++) {
		pp_sampler_run(&r.sampler, r.rings);
		nanosleep(&some, NULL);
	}
	CHECK(r.sampler.ring[0].store[PP_SIDE_ID_memory].used >= 1);
	CHECK_INT(pp_rings_finish(r.rings, &c, &err), 0);
	pp_sampler_give(&r.sampler, r.rings, &c);
	CHECK_INT(c.ranks, 2);
	CHECK_INT(c.rank[0].memories, r.sampler.ring[0].store[PP_SIDE_ID_memory].used);
	for (size_t i = 0; i < c.rank[0].memories; i++) {
		CHECK(c.rank[0].memory[i].rss_bytes > 0);
		CHECK(!i || c.rank[0].memory[i].time - c.rank[0].memory[i - 1].time >= 99000000);
	}
	CHECK_STR(c.rank[0].memory_note, c.rank[0].memory[0].pss_present ? "" : c.rank[0].memory_note);
	CHECK_INT(sched_getaffinity(0, sizeof(cores), &cores), 0);
	CHECK_INT(c.rank[0].cores, CPU_COUNT(&cores));
	CHECK_INT(c.rank[0].host_cores, CPU_COUNT(&cores));
	CHECK_INT(c.rank[1].memories, 0);
	CHECK_INT(c.rank[1].cores, 0);
	CHECK(strstr(c.rank[1].memory_note, "cannot be read") != NULL);
	CHECK(c.memory_period_ns >= 100000000);
	pp_capture_release(&c);
	rig_close(&r);
}

/* A child that is a rank has a row of its own: neither it nor its children count as the parent's. One that has started ranks and is
 * none has no row. */
TEST(leaves_ranks_out)
{
	struct pp_memory before, with;
	struct pp_capture c = {0};
	struct pp_err err = {""};
	const char *note;
	struct rig r;
	pid_t child;
	char kill_all[96];

	CHECK_INT(pp_sample_process("/proc", getpid(), 0, NULL, PP_SAMPLE_CHILDREN, &before, &note), 0);
	child = holder(30 * MIB, 1);
	rig_open(&r, "/proc");
	r.made[1].header->pid = child;
	r.made[1].header->start_time = pp_proc_start_time(child) + 1; /* another process that had this pid */
	CHECK_INT(pp_sample_process("/proc", getpid(), 0, r.rings, PP_SAMPLE_CHILDREN, &with, &note), 0);
	CHECK(with.children == before.children + 2 || note);
	r.made[1].header->start_time--;
	CHECK_INT(pp_sample_process("/proc", getpid(), 0, r.rings, PP_SAMPLE_CHILDREN, &with, &note), 0);
	CHECK(with.children == before.children && with.children_rss_bytes <= before.children_rss_bytes + MIB);
	CHECK_INT(pp_sample_process("/proc", child, 0, r.rings, PP_SAMPLE_CHILDREN, &with, &note), 0);
	CHECK(with.children == 1 || note);
	/* The parent, which took itself for rank 0 of 1, is none of the two. */
	r.made[0].header->size = 1;
	r.made[0].header->recording = r.made[1].header->recording = 1;
	r.made[1].header->rank = 0;
	r.made[1].header->claim_by = PP_CLAIM_MEMBER;
	pp_sampler_run(&r.sampler, r.rings);
	CHECK(r.sampler.ring[0].store[PP_SIDE_ID_memory].used == 1 && r.sampler.ring[1].store[PP_SIDE_ID_memory].used == 1);
	CHECK_INT(pp_rings_finish(r.rings, &c, &err), 0);
	pp_sampler_give(&r.sampler, r.rings, &c);
	CHECK(c.ranks == 1 && c.rank[0].memories == 1);
	pp_capture_release(&c);
	rig_close(&r);
	snprintf(kill_all, sizeof(kill_all), "kill -9 $(cat /proc/%d/task/%d/children) %d", (int)child, (int)child, (int)child);
	CHECK(system(kill_all) != -1);
	CHECK(waitpid(child, NULL, 0) == child);
}

/* Samples both rings once more, whatever the time is. */
static const struct pp_memory *sample_again(struct rig *r)
{
	const struct pp_sample_store *store;

	r->sampler.next_ns = r->sampler.ring ? r->sampler.ring[0].checked_ns = 0 : 0;
	pp_sampler_run(&r->sampler, r->rings);
	store = &r->sampler.ring[0].store[PP_SIDE_ID_memory];
	CHECK(store->used > 0);
	return (struct pp_memory *)store->row + store->used - 1;
}

/* A process without children gets some only by a new process: the newest pid of /proc/loadavg. Where that is not reported children
 * are looked for in each sample. */
TEST(children_are_new_processes)
{
	static const char line[] = "7 (one) S 1 7 7 0 -1 0 10 0 2 0 3 4 0 0 20 0 1 0 99 1000 5 0 0\n";
	char proc[] = "/tmp/podprof-proc-XXXXXX", path[256], words[128];
	struct rig r;

	CHECK(mkdtemp(proc) != NULL);
	snprintf(words, sizeof(words), "mkdir -p '%s/%d/task/1' '%s/8/task/8'", proc, (int)getpid(), proc);
	CHECK_INT(system(words), 0);
	snprintf(path, sizeof(path), "%s/8", proc);
	write_file(path, "stat", line);
	snprintf(path, sizeof(path), "%s/%d", proc, (int)getpid());
	write_file(path, "stat", line);
	write_file(path, "task/1/children", "");
	write_file(proc, "loadavg", "0.10 0.20 0.30 1/100 700\n");
	rig_open(&r, proc);
	r.made[0].header->start_time = 99;
	r.made[0].header->recording = 1;
	CHECK_INT(sample_again(&r)->children, 0);
	write_file(path, "task/1/children", "8 ");
	CHECK_INT(sample_again(&r)->children, 0);
	write_file(proc, "loadavg", "0.10 0.20 0.30 1/100 701\n");
	CHECK_INT(sample_again(&r)->children, 1);
	write_file(path, "task/1/children", ""); /* it has ended */
	CHECK_INT(sample_again(&r)->children, 0);
	write_file(proc, "loadavg", "0.00 0.00 0.00 0/0 0\n");
	CHECK_INT(sample_again(&r)->children, 0);
	write_file(path, "task/1/children", "8 ");
	CHECK_INT(sample_again(&r)->children, 1);
	rig_close(&r);
	snprintf(words, sizeof(words), "rm -rf '%s'", proc);
	CHECK_INT(system(words), 0);
}

/* The next sample of the host, by a made /proc whose pressure has these totals. */
static const struct pp_state *state_again(struct rig *r, const char *proc, int cpu, int io)
{
	const struct pp_sample_store *store;
	struct timespec some = {.tv_nsec = 60000000};
	char text[256];

	nanosleep(&some, NULL);
	snprintf(text, sizeof(text),
	         "some avg10=1.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", cpu);
	write_file(proc, "pressure/cpu", text);
	snprintf(text, sizeof(text), "some avg10=1.00 avg60=0.00 avg300=0.00 total=%d\n", io);
	write_file(proc, "pressure/io", text);
	r->sampler.next_ns = 0;
	for (size_t i = 0; i < r->sampler.rings; i++)
		r->sampler.ring[i].checked_ns = 0;
	pp_sampler_run(&r->sampler, r->rings);
	CHECK(r->sampler.rings == 2 && !r->sampler.ring[1].store[PP_SIDE_ID_state].used); /* rank 0 has it */
	store = &r->sampler.ring[0].store[PP_SIDE_ID_state];
	return store->used ? (struct pp_state *)store->row + store->used - 1 : NULL;
}

/* Unknown is -1; nothing known: no row. */
TEST(state_of_the_host)
{
	char top[] = "/tmp/podprof-proc-XXXXXX", proc[64], words[512];
	const struct pp_state *state;
	struct rig r;

	CHECK(mkdtemp(top) != NULL);
	snprintf(proc, sizeof(proc), "%s/proc", top);
	snprintf(words, sizeof(words), "mkdir -p '%s/pressure' '%s/sys/devices/system/cpu/cpu0/cpufreq'", proc, top);
	CHECK_INT(system(words), 0);
	rig_open(&r, proc);
	r.made[0].header->recording = r.made[1].header->recording = 1;
	CHECK(state_again(&r, proc, 1000, 2000) == NULL); /* no clock, and no sample before it */
	state = state_again(&r, proc, 31000, 2000);
	CHECK(state && state->pressure_cpu > 1 && state->pressure_cpu <= 51 && state->pressure_io == 0);
	CHECK(state && state->pressure_memory == -1 && state->clock_hz == -1 && state->power_mw == -1 && state->reason == -1);
	CHECK(state && state->device == 0 && state->time > 0);
	write_file(proc, "cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2000.5\nprocessor\t: 1\ncpu MHz\t\t: 3000.5\ncpu MHz\t\t: 1");
	state = state_again(&r, proc, 1000000000, 1);
	CHECK(state && state->pressure_cpu == 100 && state->pressure_io == -1 && state->clock_hz == 2500500000);
	write_file(top, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1800000\n");
	r.made[0].header->recording = r.made[1].header->recording = 0;
	CHECK(state_again(&r, proc, 1, 1) != NULL);
	r.made[0].header->recording = r.made[1].header->recording = 1;
	state = state_again(&r, proc, 2, 2); /* another window: what was before it does not count */
	CHECK(state && state->pressure_cpu == -1 && state->pressure_io == -1 && state->clock_hz == 1800000000);
	rig_close(&r);
	snprintf(words, sizeof(words), "rm -rf '%s'", top);
	CHECK_INT(system(words), 0);
}

TEST(store_is_thinned_out)
{
	enum { MOST = 65536 };
	struct pp_sample_store *s;
	struct pp_memory *memory = calloc(MOST, sizeof(*memory));
	struct rig r;

	rig_open(&r, "/proc");
	pp_sampler_run(&r.sampler, r.rings);
	s = &r.sampler.ring[0].store[PP_SIDE_ID_memory];
	CHECK(memory != NULL);
	s->row = (char *)memory;
	s->room = s->used = MOST;
	for (int i = 0; i < MOST; i++)
		memory[i].time = i;
	r.made[0].header->recording = 1;
	r.sampler.next_ns = 0;
	pp_sampler_run(&r.sampler, r.rings);
	CHECK_INT(s->used, MOST / 2 + 1);
	CHECK_INT(memory[1].time, 2);
	CHECK_INT(memory[MOST / 2 - 1].time, MOST - 2);
	CHECK_INT(r.sampler.least_ns, 200000000);
	rig_close(&r);
}

int main(void)
{
	sees_children();
	own_numbers();
	refuses_and_vanishes();
	only_while_recording_and_at_its_pace();
	leaves_ranks_out();
	children_are_new_processes();
	state_of_the_host();
	store_is_thinned_out();
	return test_end();
}
