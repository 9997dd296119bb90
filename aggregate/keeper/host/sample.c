/* Schedules the samples of the ranks' processes, and stores them; see sample.h. Called by keeper.c and close.c. */
#include "aggregate/keeper/host/sample.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/base/proc.h"
#include "core/base/tick.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

enum {
	LEAST_NS = 100000000,      /* ten a second */
	LEAST_PSS_NS = 2000000000, /* per rank: the kernel walks every page of the process for it */
	COST = 200,                /* samples, and samples of PSS, may take 1/200 of a core each */
	MOST_SAMPLES = 65536,      /* per rank */
	CLOCKS = 4,                /* cores whose clock is read */
};

enum { MOST_CHILDREN = 4096, MOST_THREADS = 1024 };

struct stat_line { /* of /proc/PID/stat */
	uint64_t minor, children_minor, major, children_major, user, system, children_user, children_system, start_time, rss_pages;
};

static int read_stat(const char *proc, int pid, struct stat_line *l)
{
	char path[128], text[1024];
	uint64_t field[25] = {0};
	char *p, *end;
	long n;

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	n = pp_proc_read(path, text, sizeof(text));
	if (n <= 0)
		return n == -EACCES || n == -EPERM ? -EACCES : -ESRCH;
	p = strrchr(text, ')'); /* the name may hold blanks and brackets */
	if (!p || !p[1] || !p[2])
		return -ESRCH;
	p += 3; /* after the state, field 3 */
	for (int i = 4; i <= 24; i++, p = end) {
		field[i] = strtoull(p, &end, 10);
		if (end == p)
			return -ESRCH;
	}
	*l = (struct stat_line){.minor = field[10],
	                        .children_minor = field[11],
	                        .major = field[12],
	                        .children_major = field[13],
	                        .user = field[14],
	                        .system = field[15],
	                        .children_user = field[16],
	                        .children_system = field[17],
	                        .start_time = field[22],
	                        .rss_pages = field[24]};
	return 0;
}

struct tree {
	const char *proc;
	int *pid;
	size_t count;
	int unknown; /* the kernel does not list children */
};

/* Appends the children of one thread. */
static void add_children(struct tree *t, int pid, const char *thread)
{
	char path[192], text[16384];
	char *p, *end;
	long n;

	snprintf(path, sizeof(path), "%s/%d/task/%.16s/children", t->proc, pid, thread);
	n = pp_proc_read(path, text, sizeof(text));
	if (n == -ENOENT && !strcmp(thread, "self"))
		return;
	if (n == -ENOENT) {
		snprintf(path, sizeof(path), "%s/%d/task/%.16s/stat", t->proc, pid, thread);
		t->unknown |= !access(path, F_OK); /* else the thread has ended in between */
	}
	for (p = text; n > 0 && t->count < MOST_CHILDREN; p = end) {
		long child = strtol(p, &end, 10);

		if (end == p || child <= 0)
			break;
		t->pid[t->count++] = (int)child;
	}
}

static void add_children_of(struct tree *t, int pid)
{
	char path[128];
	struct dirent *e;
	int threads = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/task", t->proc, pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)) && threads < MOST_THREADS)
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9') {
			add_children(t, pid, e->d_name);
			threads++;
		}
	if (dir)
		closedir(dir);
}

static uint64_t ns_of(uint64_t ticks)
{
	static long hz;

	if (!hz)
		hz = sysconf(_SC_CLK_TCK);
	return ticks * (1000000000 / (uint64_t)(hz > 0 ? hz : 100));
}

static uint64_t bytes_of(uint64_t pages)
{
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int is_rank(const struct pp_rings *rings, int pid, uint64_t start_time)
{
	for (size_t i = 0; rings && i < pp_rings_count(rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(rings, i);

		if (h->pid == pid && h->start_time == start_time && !pp_rings_is_excluded(rings, i))
			return 1;
	}
	return 0;
}

/* Adds live children and theirs; children that vanish meanwhile are counted by the parents that waited for them. A child that is
 * a rank has samples of its own, with its children. */
static void add_tree(const char *proc, int pid, const struct pp_rings *rings, struct pp_memory *m, const char **ret_reason)
{
	struct tree t = {.proc = proc, .pid = malloc(MOST_CHILDREN * sizeof(*t.pid))};

	if (!t.pid)
		return;
	add_children_of(&t, pid);
	for (size_t i = 0; i < t.count; i++) {
		struct stat_line l;

		int rc = read_stat(proc, t.pid[i], &l);

		if (!rc && is_rank(rings, t.pid[i], l.start_time))
			continue;
		add_children_of(&t, t.pid[i]);
		if (rc)
			continue;
		m->children++;
		m->children_rss_bytes += bytes_of(l.rss_pages);
		m->children_cpu_ns += ns_of(l.user + l.system + l.children_user + l.children_system);
	}
	if (t.unknown)
		*ret_reason = "child processes are not sampled: this kernel lists none in /proc/PID/task/TID/children";
	free(t.pid);
}

/* A process of the same user may refuse too: not dumpable, another user namespace. */
static int read_pss(const char *proc, int pid, uint64_t *ret_bytes)
{
	char path[128], text[4096];
	const char *line;
	long n;

	snprintf(path, sizeof(path), "%s/%d/smaps_rollup", proc, pid);
	n = pp_proc_read(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	line = strstr(text, "\nPss:");
	if (!line)
		return -ENODATA;
	*ret_bytes = strtoull(line + 5, NULL, 10) * 1024;
	return 0;
}

/* The second number, of the main thread, which is the one that calls MPI. 0: a kernel without it. */
static uint64_t read_run_queue(const char *proc, int pid)
{
	char path[128], text[128], *end;
	unsigned long long waited;

	snprintf(path, sizeof(path), "%s/%d/schedstat", proc, pid);
	if (pp_proc_read(path, text, sizeof(text)) <= 0)
		return 0;
	strtoull(text, &end, 10);
	waited = strtoull(end, NULL, 10);
	return waited;
}

int pp_sample_process(const char *proc, int pid, uint64_t start_time, const struct pp_rings *rings, unsigned parts,
                      struct pp_memory *ret, const char **ret_reason)
{
	struct pp_memory m = {0};
	struct stat_line l;
	int rc = read_stat(proc, pid, &l);

	*ret_reason = NULL;
	if (rc)
		return rc;
	if (start_time && l.start_time != start_time)
		return -ESRCH;
	m.rss_bytes = bytes_of(l.rss_pages);
	m.user_ns = ns_of(l.user);
	m.system_ns = ns_of(l.system);
	m.minor_faults = l.minor;
	m.major_faults = l.major;
	m.run_queue_ns = read_run_queue(proc, pid);
	m.children_cpu_ns = ns_of(l.children_user + l.children_system);
	if (parts & PP_SAMPLE_CHILDREN)
		add_tree(proc, pid, rings, &m, ret_reason);
	if (parts & PP_SAMPLE_PSS) {
		rc = read_pss(proc, pid, &m.pss_bytes);
		m.pss_present = !rc;
		if (rc)
			*ret_reason = "PSS is not sampled: smaps_rollup cannot be read";
	}
	*ret = m;
	return 0;
}

void pp_sampler_init(struct pp_sampler *s, const char *proc, enum pp_gpu_when gpus)
{
	*s = (struct pp_sampler){.proc = proc, .least_ns = LEAST_NS, .period_ns = LEAST_NS};
	pp_gpu_state_init(&s->gpu, gpus, "/proc/self/exe");
	snprintf(s->sys_root, sizeof(s->sys_root), "%s/..", proc);
	pp_ports_init(&s->ports, s->sys_root);
}

void pp_sampler_release(struct pp_sampler *s)
{
	for (size_t i = 0; i < s->rings; i++)
		for (int id = 0; id < PP_SIDE_IDS; id++)
			free(s->ring[i].store[id].row);
	free(s->ring);
	free(s->round);
	pp_gpu_state_release(&s->gpu);
	pp_ports_release(&s->ports);
	*s = (struct pp_sampler){0};
}

struct pp_sample_round { /* at all ranks; what the next one needs of it stays */
	int64_t now;
	int newest_pid;   /* read before them */
	size_t pss_index; /* ring whose PSS is due; SIZE_MAX: none */
	int64_t state_ns; /* when the host's state was last read; 0: not since a rank records */
	int64_t waited_us[3];
};

static int know_rings(struct pp_sampler *s, size_t rings)
{
	struct pp_sampled *ring;

	if (rings <= s->rings)
		return 0;
	s->round = s->round ? s->round : calloc(1, sizeof(*s->round));
	ring = s->round ? realloc(s->ring, rings * sizeof(*ring)) : NULL;
	if (!ring)
		return -ENOMEM;
	memset(ring + s->rings, 0, (rings - s->rings) * sizeof(*ring));
	s->ring = ring;
	s->rings = rings;
	s->next_ns = 0; /* a new rank is sampled at once */
	return 0;
}

/* Of a row of a store. */
static int64_t *time_of(int id, char *row)
{
	return (int64_t *)(row + pp_side_time(&pp_side_arrays[id])->offset);
}

/* Keeps every `step`-th row whose time is after `cut`. */
static void keep_rows(struct pp_sampled *r, size_t step, int64_t cut)
{
	for (int id = 0; id < PP_SIDE_IDS; id++) {
		const size_t size = pp_side_arrays[id].size;
		struct pp_sample_store *store = &r->store[id];
		size_t remaining = 0;

		for (size_t i = 0; i < store->used; i += step)
			if (*time_of(id, store->row + i * size) > cut)
				memmove(store->row + remaining++ * size, store->row + i * size, size);
		store->used = remaining;
	}
}

/* Drops every second sample of all ranks, and doubles the period. */
static void thin_out(struct pp_sampler *s)
{
	for (size_t i = 0; i < s->rings; i++)
		keep_rows(&s->ring[i], 2, INT64_MIN);
	s->least_ns *= 2;
}

/* The place of a new row of zeros; NULL: no memory. */
static char *make_room(struct pp_sampler *s, struct pp_sample_store *store, size_t size)
{
	size_t room = store->room ? store->room * 2 : 256;
	char *row;

	if (store->used >= MOST_SAMPLES)
		thin_out(s);
	if (store->used == store->room) {
		row = realloc(store->row, room * size);
		if (!row)
			return NULL;
		store->row = row;
		store->room = room;
	}
	return memset(store->row + store->used * size, 0, size);
}

/* A window may be shorter than the period: a rank that begins to record is sampled at once. */
static int any_begins(struct pp_sampler *s, const struct pp_rings *rings, int *ret_recording)
{
	int any = 0;

	*ret_recording = 0;

	for (size_t i = 0; i < s->rings; i++) {
		int recording = pp_ring_recording(pp_rings_header(rings, i)) != 0;

		any |= recording && !s->ring[i].recording;
		*ret_recording |= recording;
		s->ring[i].recording = recording;
	}
	return any;
}

/* The last number of /proc/loadavg: the pid that was given last in this namespace, or in one below it. 0: not reported. */
static int newest_pid(const char *proc)
{
	char path[128], text[128];
	const char *last;

	snprintf(path, sizeof(path), "%s/loadavg", proc);
	last = pp_proc_read(path, text, sizeof(text)) > 0 ? strrchr(text, ' ') : NULL;
	return last ? (int)strtol(last, NULL, 10) : 0;
}

/* What a rank's process has; also the cores that it may run on. */
static int fill_memory(struct pp_sampler *s, const struct pp_rings *rings, size_t index, void *row)
{
	const struct pp_sample_round *round = s->round;
	const struct pp_ring_header *h = pp_rings_header(rings, index);
	struct pp_sampled *r = &s->ring[index];
	const unsigned children = r->childless_at && r->childless_at == round->newest_pid ? 0 : PP_SAMPLE_CHILDREN;
	const unsigned pss = index == round->pss_index ? PP_SAMPLE_PSS : 0;
	const char *reason = NULL;
	struct pp_memory *m = row;
	int rc = pp_sample_process(s->proc, h->pid, h->start_time, rings, children | pss, m, &reason);

	if (rc == -ESRCH && r->store[PP_SIDE_ID_memory].used) /* it has just ended */
		return 0;
	if (rc)
		snprintf(r->reason, sizeof(r->reason), "memory is not sampled: %s/%d cannot be read (%s)", s->proc, h->pid,
		         rc == -EACCES ? "not permitted" : "it has ended, or it is hidden from this user");
	else if (reason)
		snprintf(r->reason, sizeof(r->reason), "%s", reason);
	if (rc)
		return 0;
	r->childless_at = m->children ? 0 : round->newest_pid;
	if (sched_getaffinity(h->pid, sizeof(r->cores), &r->cores)) /* more CPUs than a set holds */
		CPU_ZERO(&r->cores);
	return 1;
}

/* Time in which some task of the host waited since it started; -1: unknown. */
static int64_t waited_us(const char *proc, const char *what)
{
	char path[128], text[256];
	const char *total;

	snprintf(path, sizeof(path), "%s/pressure/%s", proc, what);
	if (pp_proc_read(path, text, sizeof(text)) <= 0 || strncmp(text, "some ", 5) != 0)
		return -1;
	total = strstr(text, " total=");
	return total && total < strchrnul(text, '\n') ? strtoll(total + 7, NULL, 10) : -1;
}

/* Mean of the cores that the first part of cpuinfo has; -1: unknown. */
static int64_t nominal_hz(const char *proc)
{
	char path[128], text[4096];
	double sum = 0;
	int cores = 0;

	snprintf(path, sizeof(path), "%s/cpuinfo", proc);
	if (pp_proc_read(path, text, sizeof(text)) <= 0)
		return -1;
	for (char *p = text; (p = strstr(p, "cpu MHz")) && strchr(p, '\n'); p = strchr(p, '\n')) {
		sum += strtod(p + strcspn(p, ":\n") + 1, NULL);
		cores++;
	}
	return sum > 0 ? (int64_t)(sum / cores * 1e6) : -1;
}

/* Mean of a few cores, spread over the host: each has a file. */
static int64_t host_hz(const char *proc)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF), gap = cpus > CLOCKS ? cpus / CLOCKS : 1;
	int64_t sum = 0, cores = 0;
	char path[192], text[64];

	for (long i = 0; i < CLOCKS && i * gap < cpus; i++) {
		snprintf(path, sizeof(path), "%s/../sys/devices/system/cpu/cpu%ld/cpufreq/scaling_cur_freq", proc, i * gap);
		if (pp_proc_read(path, text, sizeof(text)) <= 0)
			continue;
		sum += strtoll(text, NULL, 10) * 1000;
		cores++;
	}
	return sum > 0 ? sum / cores : nominal_hz(proc);
}

/* One rank of a host carries its state. */
static int is_lowest(const struct pp_sampler *s, const struct pp_rings *rings, size_t index)
{
	for (size_t i = 0; i < s->rings; i++)
		if (s->ring[i].recording && !pp_rings_is_excluded(rings, i) &&
		    pp_rings_header(rings, i)->rank < pp_rings_header(rings, index)->rank)
			return 0;
	return !pp_rings_is_excluded(rings, index);
}

static int fill_state(struct pp_sampler *s, const struct pp_rings *rings, size_t index, void *row)
{
	static const char *const what[] = {"cpu", "memory", "io"};
	struct pp_sample_round *round = s->round;
	const int64_t now = pp_clock_ns(CLOCK_MONOTONIC), elapsed = now - round->state_ns;
	struct pp_state *state = row;
	double percent[3];
	int known;

	if (!is_lowest(s, rings, index) || (round->state_ns && elapsed < s->least_ns / 2))
		return 0;
	*state = pp_gpu_state_unknown;
	state->clock_hz = host_hz(s->proc);
	known = state->clock_hz >= 0;
	for (int i = 0; i < 3; i++) {
		const int64_t before = round->waited_us[i];

		round->waited_us[i] = waited_us(s->proc, what[i]);
		percent[i] = -1;
		if (round->state_ns && before >= 0 && round->waited_us[i] >= before)
			percent[i] = fmin(100, (double)(round->waited_us[i] - before) * 1e5 / (double)elapsed);
		known |= percent[i] >= 0;
	}
	round->state_ns = now;
	state->pressure_cpu = percent[0];
	state->pressure_memory = percent[1];
	state->pressure_io = percent[2];
	return known;
}

/* The side arrays that are sampled. fill: makes a row of zeros a sample of the ring's rank, all but its time; 0: there is none. */
static const struct {
	enum pp_side_id id;
	int (*fill)(struct pp_sampler *s, const struct pp_rings *rings, size_t index, void *row);
} sampled[] = {
        {PP_SIDE_ID_memory, fill_memory},
        {PP_SIDE_ID_state, fill_state},
};

static void sample_rank(struct pp_sampler *s, const struct pp_rings *rings, size_t index)
{
	struct pp_sampled *r = &s->ring[index];

	if (!r->recording || (r->checked_ns && s->round->now - r->checked_ns < s->least_ns))
		return;
	r->checked_ns = s->round->now;
	pp_tick_kind = (int)pp_rings_header(rings, index)->tick_kind;
	for (size_t i = 0; i < sizeof(sampled) / sizeof(*sampled); i++) {
		struct pp_sample_store *store = &r->store[sampled[i].id];
		char *row = make_room(s, store, pp_side_arrays[sampled[i].id].size);

		if (!row || !sampled[i].fill(s, rings, index, row))
			continue;
		*time_of(sampled[i].id, row) = (int64_t)pp_tick_now();
		store->used++;
	}
}

static int64_t period_of(int64_t cost_ns, int64_t least_ns)
{
	return cost_ns * COST > least_ns ? cost_ns * COST : least_ns;
}

void pp_sampler_run(struct pp_sampler *s, const struct pp_rings *rings)
{
	size_t count = pp_rings_count(rings);
	int64_t now, cost;
	int begins, with_pss, recording;

	if (!count || know_rings(s, count))
		return;
	begins = any_begins(s, rings, &recording);
	pp_gpu_state_run(&s->gpu, recording);
	pp_ports_run(&s->ports, recording);
	if (!recording) {
		s->round->state_ns = 0;
		return;
	}
	now = pp_clock_ns(CLOCK_MONOTONIC);
	if (now < s->next_ns && !begins)
		return;
	with_pss = now >= s->next_pss_ns;
	if (with_pss)
		s->pss_turn = (s->pss_turn + 1) % count;
	cost = -pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	s->round->now = now;
	s->round->newest_pid = newest_pid(s->proc);
	s->round->pss_index = with_pss ? s->pss_turn : SIZE_MAX;
	for (size_t i = 0; i < count; i++)
		sample_rank(s, rings, i);
	cost += pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (with_pss)
		s->next_pss_ns = now + period_of(cost, LEAST_PSS_NS / (int64_t)count);
	else
		s->period_ns = period_of(cost, s->least_ns);
	s->next_ns = now + (s->period_ns > s->least_ns ? s->period_ns : s->least_ns);
}

void pp_sampler_drop(struct pp_sampler *s, size_t ring, int64_t cut)
{
	if (ring < s->rings)
		keep_rows(&s->ring[ring], 1, cut);
}

static int by_time(const void *a, const void *b, void *offset)
{
	const int64_t *x = (const void *)((const char *)a + *(size_t *)offset);
	const int64_t *y = (const void *)((const char *)b + *(size_t *)offset);

	return (*x > *y) - (*x < *y);
}

static void give_rows(struct pp_rank *rank, enum pp_side_id id, const struct pp_sample_store *store)
{
	const struct pp_side_array *side = &pp_side_arrays[id];
	size_t offset;

	if (store->used && pp_side_append(rank, id, store->row, store->used))
		return;
	if (!pp_side_count(side, rank) || !pp_side_time(side))
		return;
	offset = pp_side_time(side)->offset;
	qsort_r(pp_side_rows(side, rank), pp_side_count(side, rank), side->size, by_time, &offset);
}

/* Counts the cores of each rank and of all ranks of this host. */
static void give_cores(struct pp_sampler *s, const struct pp_rings *rings, struct pp_capture *c)
{
	cpu_set_t all;

	CPU_ZERO(&all);
	for (size_t i = 0; i < s->rings && i < pp_rings_count(rings); i++)
		if (!pp_rings_is_excluded(rings, i))
			CPU_OR(&all, &all, &s->ring[i].cores);
	for (size_t i = 0; i < s->rings && i < pp_rings_count(rings); i++) {
		struct pp_rank *rank = pp_capture_rank(c, pp_rings_header(rings, i)->rank);

		if (!rank || pp_rings_is_excluded(rings, i) || !CPU_COUNT(&s->ring[i].cores))
			continue;
		rank->cores = CPU_COUNT(&s->ring[i].cores);
		rank->host_cores = CPU_COUNT(&all);
	}
}

/* The ring of the lowest rank, which carries what is the host's; SIZE_MAX: there is none. */
static size_t lowest_ring(const struct pp_rings *rings)
{
	size_t lowest = SIZE_MAX;

	for (size_t i = 0; i < pp_rings_count(rings); i++)
		if (!pp_rings_is_excluded(rings, i) &&
		    (lowest == SIZE_MAX || pp_rings_header(rings, i)->rank < pp_rings_header(rings, lowest)->rank))
			lowest = i;
	return lowest;
}

void pp_sampler_give(struct pp_sampler *s, const struct pp_rings *rings, struct pp_capture *c)
{
	const size_t lowest = lowest_ring(rings);

	for (size_t i = 0; i < s->rings && i < pp_rings_count(rings); i++) {
		struct pp_rank *rank = pp_capture_rank(c, pp_rings_header(rings, i)->rank);
		struct pp_sampled *r = &s->ring[i];

		if (!rank || pp_rings_is_excluded(rings, i))
			continue;
		memcpy(rank->memory_note, r->reason, sizeof(r->reason));
		pp_gpu_state_give(&s->gpu, (int)pp_rings_header(rings, i)->tick_kind, rank);
		if (i == lowest)
			pp_ports_give(&s->ports, (int)pp_rings_header(rings, i)->tick_kind, rank);
		for (int id = 0; id < PP_SIDE_IDS; id++)
			give_rows(rank, id, &r->store[id]);
	}
	give_cores(s, rings, c);
	c->memory_period_ns = s->period_ns;
}
