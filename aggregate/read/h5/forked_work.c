/* Runs work in a forked child: a crash or hang there becomes an error here. See forked_work.h. */
#include "aggregate/read/h5/forked_work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/forked.h"
#include "core/base/proc.h"
#include "core/base/why.h"

/* A reader's seconds, and those per MiB of its file. A library that hangs on damage runs at full speed: the limit of CPU time
 * ends it, also on a busy machine. The limit of wall time is for storage that does not answer. */
enum { CPU_S = 5, CPU_S_PER_MIB = 1, WALL_S = 60, WALL_S_PER_MIB = 5 };

/* Memory beyond the process's own: a cyclic list must not exhaust the machine. */
enum { DATA_MIB = 1024, DATA_MIB_PER_MIB = 64 };

struct answer { /* shared with the child */
	int done, code;
	struct pp_err err;
};

struct job {
	int (*work)(void *context, struct pp_err *err);
	void *context;
	long mib; /* of the file that it reads; -1: it reads none */
	pid_t parent;
};

static void limit_memory(long mib)
{
	char text[128];
	unsigned long pages = 0;
	struct rlimit most;

	if (pp_proc_read("/proc/self/statm", text, sizeof(text)) < 0 || sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		return;
	most.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)(DATA_MIB + DATA_MIB_PER_MIB * mib) << 20);
	most.rlim_max = most.rlim_cur;
	setrlimit(RLIMIT_DATA, &most);
}

/* The kernel enforces all limits, also on a child in a loop. A lower hard limit stays. */
static void limit_reader(long mib)
{
	rlim_t cpu = (rlim_t)(CPU_S + CPU_S_PER_MIB * mib);
	struct rlimit cpu_limit = {.rlim_cur = cpu, .rlim_max = cpu + 1}, none = {0};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct sigaction start = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
	sigset_t limits;

	if (null >= 0) { /* hides what libc and libraries print when they fail: the caller prints its own error */
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	limit_memory(mib);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_CPU, &cpu_limit);
	sigaction(SIGXCPU, &start, NULL);
	sigaction(SIGALRM, &start, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* a write past the limit fails with its error */
	sigemptyset(&limits);              /* others stay blocked where the caller waits for this child */
	sigaddset(&limits, SIGXCPU);
	sigaddset(&limits, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &limits, NULL);
	alarm((unsigned)(WALL_S + WALL_S_PER_MIB * mib));
}

static void be_child(const struct job *job, struct answer *answer)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != job->parent)
		_exit(1);
	if (job->mib >= 0)
		limit_reader(job->mib);
	answer->code = job->work(job->context, &answer->err);
	answer->done = 1;
	_exit(0); /* no exit handler: the library's would retry what just failed */
}

/* The child's answer, or 1: there is none, and *ret_status is its wait status. */
static int run(const struct job *job, int *ret_status, struct pp_err *err)
{
	struct answer *answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = answer == MAP_FAILED ? -1 : pp_forked();
	int code;

	if (!child)
		be_child(job, answer);
	if (child < 0) {
		code = -errno;
		if (answer != MAP_FAILED)
			munmap(answer, sizeof(*answer));
		return job->mib < 0 ? job->work(job->context, err)
		                    : pp_err_set(err, code, "cannot start a process to read it: %s", pp_why(-code));
	}
	while (waitpid(child, ret_status, 0) < 0)
		if (errno != EINTR) { /* ECHILD, where SIGCHLD is ignored: it has ended, and its answer is the result */
			if (!answer->done)
				kill(child, SIGKILL);
			break;
		}
	code = 1;
	if (answer->done && WIFEXITED(*ret_status))
		code = answer->code ? pp_err_set(err, answer->code, "%s", answer->err.text) : 0;
	munmap(answer, sizeof(*answer));
	return code;
}

int pp_forked_work(int (*work)(void *context, struct pp_err *err), void *context, struct pp_err *err)
{
	struct job job = {work, context, -1, getpid()};
	int status = 0, code = run(&job, &status, err);

	if (code <= 0)
		return code;
	if (WIFSIGNALED(status))
		return pp_err_set(err, -EIO, "its writer process was killed by signal %d (%s)", WTERMSIG(status),
		                  strsignal(WTERMSIG(status)));
	return pp_err_set(err, -EIO, "its writer process ended too early");
}

int pp_forked_read(const char *path, int (*work)(void *context, struct pp_err *err), void *context, struct pp_err *err)
{
	return pp_forked_read_more(path, 0, work, context, err);
}

int pp_forked_read_more(const char *path, uint64_t bytes, int (*work)(void *context, struct pp_err *err), void *context,
                        struct pp_err *err)
{
	struct stat st;
	struct job job = {work, context, (long)(((stat(path, &st) ? 0 : (uint64_t)st.st_size) + bytes) >> 20), getpid()};
	int status = 0, code = run(&job, &status, err);

	if (code <= 0)
		return code;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return pp_err_set(err, -ETIMEDOUT,
		                  "cannot read '%s': HDF5 was not done after %ld s of CPU time, so the file is damaged. Copy it "
		                  "again, or record the job again",
		                  path, CPU_S + CPU_S_PER_MIB * job.mib);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return pp_err_set(err, -ETIMEDOUT,
		                  "cannot read '%s': it was not read after %ld s. Copy it to a faster file system, then try again",
		                  path, WALL_S + WALL_S_PER_MIB * job.mib);
	return pp_err_set(err, -EINVAL,
	                  "cannot read '%s': HDF5 crashed while reading it, so the file is damaged. Copy it again, or record the "
	                  "job again",
	                  path);
}

void pp_forked_print(int fd, FILE *to)
{
	char bytes[4096];
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		fwrite(bytes, 1, (size_t)n, to);
}
