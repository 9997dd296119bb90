/* Samples a process and its children in /proc; see sample.h. Called by sample.c. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/host/sample.h"
#include "core/base/proc.h"

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
static void add_tree(const char *proc, int pid, const struct pp_rings *rings, struct pp_memory *m, const char **ret_note)
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
		m->children_rss += bytes_of(l.rss_pages);
		m->children_cpu_ns += ns_of(l.user + l.system + l.children_user + l.children_system);
	}
	if (t.unknown)
		*ret_note = "children are not seen: this kernel lists none in /proc/PID/task/TID/children";
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

int pp_sample_process(const char *proc, int pid, uint64_t start_time, const struct pp_rings *rings, int with_pss,
                      struct pp_memory *ret, const char **ret_note)
{
	struct pp_memory m = {0};
	struct stat_line l;
	int rc = read_stat(proc, pid, &l);

	*ret_note = NULL;
	if (rc)
		return rc;
	if (start_time && l.start_time != start_time)
		return -ESRCH;
	m.rss = bytes_of(l.rss_pages);
	m.user_ns = ns_of(l.user);
	m.system_ns = ns_of(l.system);
	m.minor_faults = l.minor;
	m.major_faults = l.major;
	m.run_queue_ns = read_run_queue(proc, pid);
	m.children_cpu_ns = ns_of(l.children_user + l.children_system);
	add_tree(proc, pid, rings, &m, ret_note);
	if (with_pss) {
		rc = read_pss(proc, pid, &m.pss);
		m.pss_present = !rc;
		if (rc)
			*ret_note = "PSS is not sampled: its smaps_rollup cannot be read";
	}
	*ret = m;
	return 0;
}
