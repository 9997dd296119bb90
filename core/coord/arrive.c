/* Has podprof make a spool on a host that has none yet; see arrive.h. Called by collector.c. */
#include "core/coord/arrive.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/now.h"
#include "core/ring/ring_file.h"

enum {
	STACK_BYTES = 64 * 1024,
	OTHERS_MS = 200,  /* other ranks wait this long for the first rank of the host to make it */
	LEAVING_MS = 500, /* a keeper that has ended gets this long to remove its spool */
	HELPER_MS = 8000, /* the helper gives itself less */
	REAP_MS = 200,
};

/* Is it a directory of ours and no link? Others may write where /tmp replaces /dev/shm. */
static int is_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* How often an elastic launcher has restarted the ranks since podprof run: each restart is a job of its own. */
static int restarts(void)
{
	const char *now = getenv("TORCHELASTIC_RESTART_COUNT"), *then = pp_env("PODPROF_RESTART");
	long times = now ? strtol(now, NULL, 10) - (then ? strtol(then, NULL, 10) : 0) : 0;

	return times > 0 && times < 1 << 20 ? (int)times : 0;
}

static int with_restarts(const char *text, int times, char *ret_text, size_t size)
{
	int n = times ? snprintf(ret_text, size, "%s-r%d", text, times) : snprintf(ret_text, size, "%s", text);

	return n < (int)size;
}

static int is_under(const char *base, const char *name, char *ret_path, size_t size)
{
	int n = snprintf(ret_path, size, "%s/podprof-%u", base, (unsigned)geteuid());

	if (n >= (int)size || !is_there(ret_path))
		return 0;
	return snprintf(ret_path + n, size - (size_t)n, "/%s", name) < (int)size - n && is_there(ret_path);
}

/* Where podprof puts the spool if the directory that the outer process chose is not available on this host; as
 * aggregate/spool/join.c does. */
static int other_place(int times, char *ret_path, size_t size)
{
	const char *tmp = pp_env("TMPDIR"), *job = pp_env("PODPROF_JOB");
	char name[160];

	if (!job || !*job || strchr(job, '/') || !with_restarts(job, times, name, sizeof(name)))
		return 0;
	return is_under("/var/tmp", name, ret_path, size) || is_under(tmp && *tmp == '/' ? tmp : "/tmp", name, ret_path, size);
}

static int find(const char *wanted, int times, char *ret_spool, size_t size)
{
	if (is_there(wanted))
		return snprintf(ret_spool, size, "%s", wanted) < (int)size;
	return other_place(times, ret_spool, size);
}

/* The keeper has written everything and is about to remove the spool. */
static int is_done(const char *spool)
{
	_Atomic uint32_t state = PP_KEEPER_NONE;
	char path[512];
	ssize_t n = 0;
	int fd;

	if (snprintf(path, sizeof(path), "%s/control", spool) >= (int)sizeof(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = pread(fd, (void *)&state, sizeof(state), offsetof(struct pp_control, keeper_state));
	close(fd);
	return n == (ssize_t)sizeof(state) && atomic_load(&state) == PP_KEEPER_DONE;
}

struct helper {
	const char *program;
	char pid[16]; /* of the rank */
	char *stack;  /* end of the second one */
	_Atomic int child;
	char *environment[]; /* the job's, without the variables that would preload us */
};

/* Runs in the application's memory until it execs, as posix_spawn's child does: own stack and descriptors, all signals blocked. */
static int become_helper(void *data)
{
	struct helper *h = data;
	char *argv[] = {(char *)h->program, (char *)"arrive", h->pid, NULL};
	int nothing = open("/dev/null", O_RDWR);

	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 || (fcntl(2, F_GETFD) < 0 && dup2(nothing, 2) < 0))
		return 127;
	execve(h->program, argv, h->environment);
	return 127;
}

/* exec resets a child's exit signal to SIGCHLD: this process, which never execs, stands between it and the application. */
static int become_parent(void *data)
{
	struct helper *h = data;
	int status, child = clone(become_helper, h->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, h);

	atomic_store(&h->child, child);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int is_ours(const char *variable)
{
	return !strncmp(variable, "LD_PRELOAD=", 11) || !strncmp(variable, "NVTX_INJECTION64_PATH=", 22) ||
	       !strncmp(variable, "INTEL_LIBITTNOTIFY64=", 21);
}

/* Variables that launchers of functions set in the child itself. */
static const char *const own[] = {
        "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"};
enum { OWN = sizeof(own) / sizeof(own[0]), OWN_BYTES = 128 };

static int is_own(const char *variable)
{
	for (size_t i = 0; i < OWN; i++)
		if (!strncmp(variable, own[i], strlen(own[i])) && variable[strlen(own[i])] == '=')
			return 1;
	return 0;
}

/* The helper's environment: that of the process's start, and the rank's current numbers. */
static struct helper *make_helper(const char *program, size_t *ret_bytes)
{
	struct helper *h;
	size_t count, used = 0;
	char *const *all = pp_env_all(&count), *text;

	*ret_bytes = (sizeof(*h) + (count + OWN + 1) * sizeof(h->environment[0]) + OWN * OWN_BYTES + 2 * STACK_BYTES) & ~(size_t)15;
	h = mmap(NULL, *ret_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (h == MAP_FAILED)
		return NULL;
	h->program = program;
	snprintf(h->pid, sizeof(h->pid), "%d", (int)getpid());
	h->stack = (char *)h + *ret_bytes - STACK_BYTES;
	for (size_t i = 0; i < count; i++)
		if (!is_ours(all[i]) && !is_own(all[i]))
			h->environment[used++] = all[i];
	text = (char *)&h->environment[count + OWN + 1];
	for (size_t i = 0; i < OWN; i++) {
		const char *value = getenv(own[i]);

		if (!value || snprintf(text, OWN_BYTES, "%s=%s", own[i], value) >= OWN_BYTES)
			continue;
		h->environment[used++] = text;
		text += OWN_BYTES;
	}
	return h;
}

/* Waits for the helper, which ends in good time; one that does not is reaped later. 0: it still runs in our memory. */
static int wait_for(struct helper *h, pid_t parent)
{
	int status;

	for (int i = 0; i < HELPER_MS + REAP_MS; i++) {
		pid_t done = waitpid(parent, &status, WNOHANG | (int)__WCLONE);

		if (done == parent || (done < 0 && errno != EINTR))
			return 1;
		if (i == HELPER_MS && atomic_load(&h->child) > 0)
			kill(atomic_load(&h->child), SIGKILL);
		if (i >= HELPER_MS)
			kill(parent, SIGKILL);
		pp_nap_ms(1);
	}
	return 0;
}

/* Clones without an exit signal, so that the application's handlers and wait() do not see the child; fork() would run the
 * application's fork handlers. The helper writes its errors on stderr. */
static void run_helper(const char *program)
{
	int cancel = PTHREAD_CANCEL_ENABLE;
	sigset_t all, had;
	size_t bytes;
	struct helper *h = make_helper(program, &bytes);
	pid_t parent;

	if (!h)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &had);
	parent = clone(become_parent, (char *)h + bytes, CLONE_VM, h);
	if (parent < 0 || wait_for(h, parent))
		munmap(h, bytes);
	pthread_sigmask(SIG_SETMASK, &had, NULL);
	pthread_setcancelstate(cancel, NULL);
}

int pp_arrive(int local_rank, char *ret_spool, size_t size)
{
	const char *outer = pp_env("PODPROF_SPOOL"), *program = pp_env("PODPROF_PROGRAM");
	int times = restarts(), there;
	char wanted[384];

	if (!outer || !*outer || !with_restarts(outer, times, wanted, sizeof(wanted)))
		return 0;
	there = find(wanted, times, ret_spool, size);
	for (int i = 0; i < LEAVING_MS && there && is_done(ret_spool); i++) {
		pp_nap_ms(1);
		there = find(wanted, times, ret_spool, size);
	}
	/* A world that MPI spawned does not belong to the session of the world that spawned it. */
	if (!there && program && *program && !pp_env("OMPI_PARENT_PORT")) {
		for (int i = 0; i < OTHERS_MS && local_rank > 0 && !there; i++) {
			pp_nap_ms(1);
			there = find(wanted, times, ret_spool, size);
		}
		if (!there) {
			run_helper(program);
			there = find(wanted, times, ret_spool, size);
		}
	}
	return there || snprintf(ret_spool, size, "%s", wanted) < (int)size;
}
