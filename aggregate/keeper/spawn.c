/* Starts the keeper, detached and with a clean environment. pp_keeper_start() is called by `podprof run`, the rest by keeper.c. */
#include "aggregate/keeper/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/spool/control.h"
#include "aggregate/spool/view.h"
#include "core/base/lock.h"
#include "core/base/now.h"
#include "core/base/proc.h"

enum { IOPRIO_WHO_PROCESS = 1, CLOSE_RANGE = 436 /* the call of Linux 5.9, on every processor; headers may be older */ };
enum { NICE = 10, OOM_SCORE = 500, START_MS = 2000, ENVIRONMENT = 64, DESCRIPTORS = 65536, JOB_STDERR = 3, STACK_BYTES = 1 << 20 };

static int nice_before; /* of the command that started the keeper */

/* Other variables belong to the job, its launcher or its libraries. */
static int is_passed_on(const char *variable)
{
	static const char *const name[] = {"PATH=",
	                                   "HOME=",
	                                   "USER=",
	                                   "LANG=",
	                                   "LC_",
	                                   "TZ=",
	                                   "TMPDIR=",
	                                   "LD_LIBRARY_PATH=",
	                                   "HDF5_USE_FILE_LOCKING=",
	                                   "ASAN_OPTIONS=",
	                                   "UBSAN_OPTIONS=",
	                                   "LSAN_OPTIONS=",
	                                   "TSAN_OPTIONS=",
	                                   "PODPROF_SILENCE_MS=",
	                                   "PODPROF_CLOCK_STAR=",
	                                   "PODPROF_PATIENCE_MS="};

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (!strncmp(variable, name[i], strlen(name[i])))
			return 1;
	return 0;
}

void pp_close_from(int first)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (!syscall(CLOSE_RANGE, (unsigned)first, ~0u, 0))
		return;
	for (int fd = first; fd < (most > 0 && most < DESCRIPTORS ? most : DESCRIPTORS); fd++) /* a kernel before 5.9 */
		close(fd);
}

static void reset_signals(void)
{
	struct sigaction start = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &start, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the grandchild: drops the job's descriptors and environment, except PATH and the like. */
static void become_keeper(const char *spool, const char *exe)
{
	char *environment[ENVIRONMENT + 1];
	char path[4096];
	char *argv[] = {(char *)exe, "keeper", "--spool", (char *)spool, NULL, NULL};
	int count = 0, in, log, job = fcntl(STDERR_FILENO, F_DUPFD, 100);

	for (char **v = environ; *v && count < ENVIRONMENT; v++)
		if (is_passed_on(*v))
			environment[count++] = *v;
	environment[count] = NULL;
	umask(077);
	snprintf(path, sizeof(path), "%s/keeper.log", spool);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	in = open("/dev/null", O_RDWR);
	if (in < 0 || log < 0 || dup2(in, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		_exit(1);
	pp_keeper_log_start();
	/* To report that the job recorded nothing (unrecorded.c); closed with the first ring. */
	if (job >= 0 && dup2(job, JOB_STDERR) == JOB_STDERR)
		argv[4] = "--stderr";
	pp_close_from(argv[4] ? JOB_STDERR + 1 : JOB_STDERR);
	reset_signals();
	if (chdir("/"))
		pp_keeper_log("cannot go to '/': %s", strerror(errno));
	execve(exe, argv, environment);
	pp_keeper_log("cannot run '%s': %s", exe, strerror(errno));
	_exit(1);
}

/* *ret_keeper: its pid; 0: unknown. */
static int spawn(const char *spool, const char *exe, pid_t *ret_keeper, struct pp_err *err)
{
	pid_t child, keeper = 0;
	int back[2], status;

	if (pipe2(back, O_CLOEXEC))
		return pp_err_set(err, -errno, "cannot start the keeper: %s", strerror(errno));
	child = fork();
	if (!child) {
		setsid();
		/* The middle process ends at once: the keeper is then no child, and never a zombie, of the application. */
		keeper = fork();
		if (!keeper)
			become_keeper(spool, exe);
		_exit(keeper < 0 || write(back[1], &keeper, sizeof(keeper)) < 0 ? 1 : 0);
	}
	if (child < 0)
		pp_err_set(err, -errno, "cannot start the keeper: %s", strerror(errno));
	close(back[1]);
	if (child > 0 && read(back[0], &keeper, sizeof(keeper)) != (ssize_t)sizeof(keeper))
		keeper = 0;
	close(back[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	*ret_keeper = keeper;
	return child > 0 ? 0 : -EAGAIN;
}

/* The last line of the log, less "podprof: " and its full stop; "" where there is none. */
static void read_log(const char *spool, char *line, size_t size)
{
	char path[4096];
	FILE *f;

	*line = '\0';
	snprintf(path, sizeof(path), "%s/keeper.log", spool);
	f = fopen(path, "re");
	while (f && fgets(line, (int)size, f))
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	if (*line && line[strlen(line) - 1] == '.')
		line[strlen(line) - 1] = '\0';
	if (!strncmp(line, "podprof: ", 9))
		memmove(line, line + 9, strlen(line + 9) + 1);
}

static int say_ended(const char *spool, struct pp_err *err)
{
	struct rlimit stack;
	char why[400];

	if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur < STACK_BYTES)
		return pp_err_set(err, -ECHILD, "the keeper ended at once: its stack may have %llu KiB. Raise it with 'ulimit -s'",
		                  (unsigned long long)stack.rlim_cur >> 10);
	read_log(spool, why, sizeof(why));
	if (*why)
		return pp_err_set(err, -ECHILD, "the keeper ended at once: %s", why);
	return pp_err_set(err, -ECHILD, "the keeper ended at once, and could not write '%s/keeper.log'", spool);
}

static int has_ended(pid_t pid)
{
	return (kill(pid, 0) && errno == ESRCH) || pp_proc_is_zombie(pid);
}

/* -1: unknown. */
static int is_locked(const char *spool)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/keeper.lock", spool);
	return pp_lock_is_held(path);
}

static int is_held(const char *spool)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/control", spool);
	if (access(path, F_OK))
		return 0;
	return is_locked(spool) == 1;
}

/* Removes the control page of an earlier keeper: ranks would take it for the new one's. */
static void remove_old_control(const char *spool)
{
	char path[4096];

	if (is_locked(spool))
		return;
	snprintf(path, sizeof(path), "%s/control", spool);
	unlink(path);
}

int pp_keeper_start(const char *spool, const char *podprof_exe, struct pp_err *err)
{
	char path[4096];
	int fd, rc = 0, started = 0;
	pid_t keeper = 0;

	snprintf(path, sizeof(path), "%s/keeper.start", spool);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return pp_err_set(err, -errno, "cannot start the keeper: '%s': %s", path, strerror(errno));
	if (fchmod(fd, 0600)) { /* the other ranks open it too, whatever the umask */
		rc = pp_err_set(err, -errno, "cannot start the keeper: '%s': %s", path, strerror(errno));
		close(fd);
		return rc;
	}
	/* Of ranks that start together, the one with this lock starts the keeper; the others wait for it. */
	for (int i = 0; i < START_MS / 2 && !rc && !is_held(spool); i++) {
		if (!started && !flock(fd, LOCK_EX | LOCK_NB)) {
			started = 1;
			if (!is_held(spool)) {
				remove_old_control(spool);
				rc = spawn(spool, podprof_exe, &keeper, err);
			}
		}
		/* It also ends where another one, whose starter has given up, has the lock and no page yet. */
		if (!rc && keeper > 0 && has_ended(keeper) && !is_locked(spool))
			rc = say_ended(spool, err);
		pp_nap_ms(2);
	}
	close(fd);
	if (rc || is_held(spool))
		return rc;
	return pp_err_set(err, -ETIMEDOUT, "the keeper did not start within %d s: see '%s/keeper.log'", START_MS / 1000, spool);
}

/* The ranks may have a real-time policy, which no nice value lowers. SCHED_BATCH counts as ordinary too, SCHED_IDLE as still
 * lower. */
static void be_ordinary(void)
{
	const struct sched_param none = {.sched_priority = 0};
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE && sched_setscheduler(0, SCHED_OTHER, &none))
		pp_keeper_log("cannot leave the real-time policy %d: %s", policy, strerror(errno));
	/* No I/O priority of its own: it follows from the nice value. */
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0))
		pp_keeper_log("cannot leave the disk's priority: %s", strerror(errno));
}

/* Makes the OOM killer choose the keeper before the ranks. */
static void be_first_to_go(void)
{
	char text[16] = "";
	int fd;

	if (pp_proc_read("/proc/self/oom_score_adj", text, sizeof(text)) > 0 && strtol(text, NULL, 10) >= OOM_SCORE)
		return;
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || dprintf(fd, "%d", OOM_SCORE) < 0)
		pp_keeper_log("cannot write oom_score_adj: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

void pp_keeper_lower_priority(void)
{
	cpu_set_t all;

	be_ordinary();
	errno = 0;
	nice_before = getpriority(PRIO_PROCESS, 0);
	if (nice_before < NICE && setpriority(PRIO_PROCESS, 0, NICE))
		pp_keeper_log("cannot lower the priority: %s", strerror(errno));
	be_first_to_go();
	/* The parent may be bound to one core; the kernel cuts this to the cpuset. */
	memset(&all, 0xff, sizeof(all));
	if (sched_setaffinity(0, sizeof(all), &all))
		pp_keeper_log("cannot use every CPU: %s", strerror(errno));
}

void pp_keeper_make_room(const struct pp_spool_view *v)
{
	cpu_set_t all, ranks, left;

	CPU_ZERO(&ranks);
	memset(&all, 0xff, sizeof(all)); /* the kernel cuts this to the cpuset */
	if (sched_setaffinity(0, sizeof(all), &all) || sched_getaffinity(0, sizeof(all), &all))
		return;
	for (size_t i = 0; i < pp_spool_count(v); i++) {
		cpu_set_t one;

		if (!v->rank[i].is_foreign && !sched_getaffinity(pp_spool_header(v, i)->pid, sizeof(one), &one))
			CPU_OR(&ranks, &ranks, &one);
	}
	CPU_AND(&ranks, &ranks, &all);
	CPU_XOR(&left, &all, &ranks);
	/* Unbound ranks may run on any CPU: then none is free of ranks. */
	if (CPU_COUNT(&left) && CPU_COUNT(&ranks) && !sched_setaffinity(0, sizeof(left), &left))
		pp_keeper_log("on the %d CPUs that no rank is bound to", CPU_COUNT(&left));
}

void pp_keeper_hurry(void)
{
	static int done;

	if (done)
		return;
	done = 1;
	if (setpriority(PRIO_PROCESS, 0, nice_before > 0 ? nice_before : 0))
		pp_keeper_log("a ring is more than half full, but the priority may not rise: %s", strerror(errno));
	else
		pp_keeper_log("a ring is more than half full: priority raised");
}
