/* Reports once that a job recorded nothing, where no process of the job can; see unrecorded.h. Called by keeper.c. */
#include "aggregate/keeper/unrecorded.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/net/rendezvous_point.h"
#include "core/base/now.h"
#include "core/base/plain.h"
#include "core/base/proc.h"

enum { FIRST_MS = 100, SELDOM_MS = 30000, PATIENCE_MS = 200, ENVIRON = 1 << 17, MAPS = 1 << 20 };

static int held = -1;
static int64_t next_ms, pause_ms;
static int suspect; /* pid seen without podprof once: its loader may not have run yet */

void pp_unrecorded_hold(int fd)
{
	held = fd;
}

static void let_go(void)
{
	close(held);
	held = -1;
}

/* The value of NAME= in a block of terminated strings. */
static const char *value_in(const char *block, size_t length, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = block; p < block + length; p += strlen(p) + 1)
		if (!strncmp(p, name, n))
			return p + n;
	return NULL;
}

/* The program that this keeper is, too, such as the one that prepares a task: it has the job's variables. */
static int is_podprof(int pid)
{
	char path[48], its[4096], ours[4096];
	ssize_t n, length = readlink("/proc/self/exe", ours, sizeof(ours));

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, its, sizeof(its));
	return n > 0 && n == length && !memcmp(its, ours, (size_t)n);
}

/* 1: this process of the job runs without podprof; `ret_replaced`: LD_PRELOAD was replaced. */
static int is_without(int pid, const char *spool, char *block, int *ret_replaced)
{
	const char *value;
	char path[48];
	long n;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	n = pp_proc_read(path, block, ENVIRON);
	value = n > 0 ? value_in(block, (size_t)n, "PODPROF_SPOOL=") : NULL;
	if (!value || strcmp(value, spool) != 0 || is_podprof(pid))
		return 0;
	value = value_in(block, (size_t)n, "LD_PRELOAD=");
	*ret_replaced = !value || !strstr(value, "libpodprof.so");
	if (*ret_replaced)
		return 1;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return pp_proc_read(path, block, MAPS) > 0 && !strstr(block, "libpodprof.so");
}

static void report_why(struct pp_control *c, int pid, int is_replaced)
{
	char path[48], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	pp_proc_read(path, name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	pp_plain(name, "");
	if (is_replaced)
		snprintf(c->unrecorded, sizeof(c->unrecorded),
		         "LD_PRELOAD was replaced before '%s' started, so podprof is not in it. Extend it "
		         "(LD_PRELOAD=LIBRARY:$LD_PRELOAD), or write 'podprof run --' right before that program",
		         name);
	else
		snprintf(c->unrecorded, sizeof(c->unrecorded),
		         "podprof is not in '%s': it is statically linked or setuid. Link it dynamically and run it without setuid",
		         name);
	pp_control_set_unrecorded_known(c, 1);
}

/* A short-lived helper may be found too; it is named only if nothing is recorded. */
static void find_programs(const struct pp_spool_view *v, struct pp_control *c)
{
	int first = 0, is_replaced = 0;
	DIR *proc = opendir("/proc");
	char *block = malloc(MAPS);

	for (struct dirent *e; proc && block && (e = readdir(proc)) != NULL;) {
		int pid = (int)strtol(e->d_name, NULL, 10);
		struct stat st;

		if (pid <= 0 || pid == getpid() || fstatat(dirfd(proc), e->d_name, &st, 0) || st.st_uid != geteuid() ||
		    !is_without(pid, v->path, block, &is_replaced))
			continue;
		if (is_replaced || pid == suspect) {
			report_why(c, pid, is_replaced);
			break;
		}
		if (!first)
			first = pid;
	}
	suspect = first;
	free(block);
	if (proc)
		closedir(proc);
}

static void say(const struct pp_control *c, int several)
{
	struct pollfd out = {.fd = held, .events = POLLOUT};
	char line[512];
	int n = snprintf(line, sizeof(line), "podprof: %s: %s\n", PP_UNRECORDED(several),
	                 pp_control_unrecorded_known(c) ? c->unrecorded : PP_UNRECORDED_PLAIN(several));

	if (poll(&out, 1, PATIENCE_MS) == 1 && out.revents == POLLOUT && write(held, line, (size_t)n) < 0)
		return; /* the job's stderr has no reader any more */
}

/* Do keepers of other hosts use this spool's rendezvous point, or this one another's? */
static int is_of_several(const struct pp_spool_view *v)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/" PP_RENDEZVOUS_POINT_FILE, v->path);
	return !access(path, F_OK);
}

/* Was one of the run processes here to report for the job? On several hosts a launcher is not. */
static int speaks(const struct pp_spool_view *v, int several)
{
	int found = 0;

	for (size_t i = 0; i < v->runs; i++)
		found |= v->run[i].file.rank == 0 || (!several && v->run[i].file.rank < 0);
	return found;
}

static int is_over(const struct pp_spool_view *v)
{
	for (size_t i = 0; i < v->runs; i++)
		if (!v->run[i].watch.gone && !pp_watch_gone(&v->run[i].watch))
			return 0;
	return v->runs > 0;
}

void pp_unrecorded_check(const struct pp_spool_view *v, struct pp_control *c, int alone)
{
	char path[4200];
	int fd, several, over;

	if (held < 0)
		return;
	if (pp_spool_count(v) || v->refused || !alone) {
		let_go();
		return;
	}
	over = is_over(v);
	if (!over && (pp_now_ms() < next_ms || pp_control_unrecorded_known(c)))
		return;
	several = is_of_several(v);
	if (!over) {
		pause_ms = pause_ms ? pause_ms * 2 : FIRST_MS;
		next_ms = pp_now_ms() + (pause_ms < SELDOM_MS ? pause_ms : SELDOM_MS);
		if (speaks(v, several))
			find_programs(v, c);
		return;
	}
	if (!speaks(v, several))
		return;
	snprintf(path, sizeof(path), "%s/%s", v->path, PP_REPORTED_FILE);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		close(fd);
		say(c, several);
	}
	let_go();
}
