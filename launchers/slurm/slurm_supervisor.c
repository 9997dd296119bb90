/* Runs a hook's work as the user, and ends it in time; see slurm_supervisor.h. */
#include "launchers/slurm/slurm_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/keeper/spawn.h"
#include "core/base/now.h"
#include "core/base/proc.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"

enum { STREAMS = 2, NAP_MS = 5, DEAD_MS = 500, OUTPUT_MOST = 65536, CHUNK = 4096, CHUNKS = 256, GROUP_ROOM = 16 << 20 };

struct streams {
	struct pollfd from[STREAMS]; /* to stdout and stderr */
	unsigned char last[STREAMS];
	size_t printed, left_out;
};

static int put(const char *group, const char *file, const char *text)
{
	char path[128];
	int fd, ok;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Hybrid hosts have version 2 beside version 1, in a tmpfs where mkdir() makes a directory only. Returns 1 if the kernel limits the
 * group's memory; ret_path is "" without a group. */
static int make_group(uint64_t memory, char *ret_path, size_t size)
{
	static const char *const mount[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct statfs fs;
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)memory + GROUP_ROOM);
	*ret_path = '\0';
	for (size_t i = 0; i < sizeof(mount) / sizeof(*mount) && !*ret_path; i++) {
		if (statfs(mount[i], &fs) || (unsigned long)fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		snprintf(ret_path, size, "%s/podprof-slurm-%d", mount[i], (int)getpid());
		rmdir(ret_path); /* a killed supervisor of this pid left it */
		if (mkdir(ret_path, 0755))
			*ret_path = '\0';
	}
	return *ret_path && put(ret_path, "memory.max", text) && put(ret_path, "memory.oom.group", "1");
}

/* Beyond what is mapped now, which the code itself needs. */
static void limit_memory(uint64_t memory)
{
	unsigned long long pages = 0;
	struct rlimit limit;
	char text[64];

	if (pp_proc_read("/proc/self/statm", text, sizeof(text)) > 0)
		pages = strtoull(text, NULL, 10);
	limit.rlim_cur = limit.rlim_max = (rlim_t)(pages * (unsigned long long)sysconf(_SC_PAGESIZE) + memory);
	setrlimit(RLIMIT_AS, &limit);
}

/* With root's rights until become(). Set later than the user's id, which clears it: to die with the supervisor. */
static void work_as_user(const struct pp_slurm_work *work, int out[STREAMS], const char *group, int is_limited)
{
	const struct rlimit none = {0, 0};
	const pid_t supervisor = getppid();
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (dup2(nothing, STDIN_FILENO) < 0 || dup2(out[0], STDOUT_FILENO) < 0 || dup2(out[1], STDERR_FILENO) < 0)
		_exit(PP_EXIT_FAILED);
	pp_close_from(STDERR_FILENO + 1);
	setsid();
	if ((*group && !put(group, "cgroup.procs", "0")) || !is_limited)
		limit_memory(work->memory);
	setrlimit(RLIMIT_CORE, &none);
	for (unsigned long capability = 0; !prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); capability++)
		;
	if (work->become(work->data) || chdir("/") || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != supervisor)
		_exit(PP_EXIT_FAILED);
	work->run(work->data);
	_exit(fflush(stdout) ? PP_EXIT_FAILED : PP_EXIT_OK);
}

/* A terminal, or a reader of the log, must not take orders from a user: C0, DEL, and C1 as UTF-8 has it. */
static void clean(unsigned char *text, size_t n, unsigned char *last)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = text[i];

		if ((c < ' ' && c != '\n') || c == 0x7f || (*last == 0xc2 && c >= 0x80 && c < 0xa0))
			text[i] = '?';
		*last = c;
	}
}

/* Reads on behind the limit, so that the work goes on. Returns whether there may be more. */
static int pass_on(struct streams *s, int which)
{
	unsigned char text[CHUNK];
	ssize_t n = read(s->from[which].fd, text, sizeof(text));
	size_t room = OUTPUT_MOST - s->printed, take;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close(s->from[which].fd);
		s->from[which].fd = -1;
		return 0;
	}
	take = (size_t)n < room ? (size_t)n : room;
	clean(text, take, &s->last[which]);
	if (take && write(STDOUT_FILENO + which, text, take) < 0)
		s->left_out += take;
	s->printed += take;
	s->left_out += (size_t)n - take;
	return 1;
}

/* The end is that of the child: somebody else may hold the pipes for ever. Its number stays its own until it is waited for.
 * 0: it is over. */
static int watch(pid_t child, struct streams *s, int seconds, siginfo_t *ret_end)
{
	int64_t until = pp_now_ms() + (int64_t)seconds * 1000;

	*ret_end = (siginfo_t){.si_pid = 0};
	while (!ret_end->si_pid) {
		if (pp_now_ms() > until)
			return -ETIMEDOUT;
		if (poll(s->from, STREAMS, NAP_MS) > 0)
			for (int i = 0; i < STREAMS; i++)
				if (s->from[i].revents)
					pass_on(s, i);
		if (waitid(P_PID, (id_t)child, ret_end, WEXITED | WNOHANG | WNOWAIT) && errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Those whose parents have died are children of the supervisor, in whichever session they are. */
static void kill_children(void)
{
	char path[64], text[8192], *end = text;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	pp_proc_read(path, text, sizeof(text));
	for (long pid = strtol(text, &end, 10); pid > 0 && *end == ' '; pid = strtol(end, &end, 10))
		kill((pid_t)pid, SIGKILL);
}

/* Returns 1 when no process is left that the work started. */
static int end_all(pid_t child, const char *group)
{
	int64_t until = pp_now_ms() + DEAD_MS;
	int ended = 0;

	kill(child, SIGKILL);
	do {
		if (*group)
			put(group, "cgroup.kill", "1");
		kill_children();
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		ended = waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD && (!*group || !rmdir(group));
		if (!ended)
			pp_nap_ms(NAP_MS);
	} while (!ended && pp_now_ms() < until);
	return ended;
}

static void say_end(const struct pp_slurm_work *work, int rc, const siginfo_t *end, size_t left_out, int is_over)
{
	if (rc)
		pp_say("%s: %s and was ended. Type 'podprof doctor' as the user to see what is left.", work->name,
		       rc == -ETIMEDOUT ? "it took too long" : pp_why(-rc));
	else if (end->si_code != CLD_EXITED)
		pp_say("%s: signal %d ended it, perhaps for want of memory. Type 'podprof doctor' as the user to see what is left.",
		       work->name, end->si_status);
	if (left_out)
		pp_say("%s: %zu bytes of its output are left out.", work->name, left_out);
	if (!is_over)
		pp_say("%s: processes that it started do not end.", work->name);
}

void pp_slurm_supervise(const struct pp_slurm_work *work)
{
	int out[STREAMS][2] = {{-1, -1}, {-1, -1}}, is_limited, rc = 0, is_over;
	struct streams s = {.printed = 0};
	char group[64];
	siginfo_t end;
	pid_t child;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (int i = 0; i < STREAMS; i++) {
		rc = pipe2(out[i], O_CLOEXEC) || fcntl(out[i][0], F_SETFL, O_NONBLOCK) ? -errno : rc;
		s.from[i] = (struct pollfd){.fd = out[i][0], .events = POLLIN};
	}
	is_limited = make_group(work->memory, group, sizeof(group));
	child = rc ? -1 : fork();
	if (!child)
		work_as_user(work, (int[]){out[0][1], out[1][1]}, group, is_limited);
	for (int i = 0; i < STREAMS; i++)
		close(out[i][1]);
	if (child < 0) {
		pp_say("%s: cannot start: %s. Nothing was done.", work->name, pp_why(rc ? -rc : errno));
		rmdir(group);
		return;
	}
	rc = watch(child, &s, work->seconds, &end);
	is_over = end_all(child, group);
	for (int i = 0; i < STREAMS; i++)
		for (int n = 0; s.from[i].fd >= 0 && n < CHUNKS && pass_on(&s, i); n++)
			;
	say_end(work, rc, &end, s.left_out, is_over);
}
