/* Slurm's plug-in: srun, sbatch and salloc --podprof[=OPTIONS] record a job step. Loaded by srun and the like, which ask podprof
 * whether the options are right, and by slurmstepd, where each task's process, as the user, runs `podprof task` just before it
 * becomes the program, and takes over the variables that it prints. It does nothing in a job without the option, and no failure of
 * it ends a job: one line says so, and the task runs unprofiled. docs/slurm.md is for those who install it. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Slurm finds these by their names. */
extern const char plugin_name[], plugin_type[];
extern const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(podprof, 1)

enum { DEADLINE_S = 5, MOST = 1 << 18, USAGE = 64, REFUSED = -1 };
#define BATCH_SCRIPT UINT32_C(0xfffffffb) /* number of the step that runs a batch script (slurm.h) */

static char *given; /* value of --podprof, "" without one; NULL: it was not given */
static char program[PATH_MAX];

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* bin/podprof of the installation that this file is in, or podprof=PATH of plugstack.conf. */
static void find_program(int argc, char **argv)
{
	Dl_info self;
	const char *slash;

	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "podprof=", 8)) {
			snprintf(program, sizeof(program), "%s", argv[i] + 8);
			return;
		}
	if (!dladdr(&given, &self) || !self.dli_fname || !(slash = strrchr(self.dli_fname, '/')))
		return;
	snprintf(program, sizeof(program), "%.*s/" PODPROF_PROGRAM_PATH, (int)(slash - self.dli_fname), self.dli_fname);
	if (access(program, X_OK)) /* the build tree */
		snprintf(program, sizeof(program), "%.*s/../bin/podprof", (int)(slash - self.dli_fname), self.dli_fname);
}

/* What the child prints, until it closes its end or the time is up. */
static size_t listen_to(int fd, int64_t until, char *text, size_t size)
{
	size_t length = 0;

	while (length < size) {
		struct pollfd one = {fd, POLLIN, 0};
		int64_t left = until - now_ms();
		int ready = left > 0 ? poll(&one, 1, (int)left) : 0;
		ssize_t n = ready > 0 ? read(fd, text + length, size - length) : ready;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	return length;
}

/* Its exit code; -ETIMEDOUT: it did not end in time, or was killed. */
static int wait_for(pid_t child, int64_t until)
{
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(child, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
		if (now_ms() > until)
			kill(child, SIGKILL);
		usleep(500);
	}
	return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -ETIMEDOUT;
}

/* Runs podprof. Returns its exit code, or -errno; *ret_length: of what it printed into `text`. */
static int run(char *const *words, char *const *environment, char *text, size_t size, size_t *ret_length)
{
	int64_t until = now_ms() + (int64_t)DEADLINE_S * 1000;
	int end[2];
	pid_t child;

	if (pipe2(end, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child) {
		dup2(end[1], STDOUT_FILENO);
		execve(program, words, environment);
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(end[1]);
	*ret_length = child > 0 ? listen_to(end[0], until, text, size) : 0;
	close(end[0]);
	return child > 0 ? wait_for(child, until) : -EAGAIN;
}

/* Where the job is submitted: options that podprof run would refuse are refused here, by podprof's own sentence. */
static int check(void)
{
	char *words[] = {(char *)"podprof", (char *)"task", (char *)"0", given, (char *)"--", (char *)"CMD", NULL}, none[64];
	size_t length;

	if (access(program, X_OK)) /* the nodes have one, or will say so */
		return 0;
	return run(words, environ, none, sizeof(none), &length) == USAGE ? REFUSED : 0;
}

static int take_option(int value, const char *text, int remote)
{
	(void)value;
	free(given);
	given = strdup(text ? text : "");
	return given && !remote ? check() : 0;
}

static struct spank_option option = {(char *)"podprof",
                                     (char *)"OPTIONS",
                                     (char *)"record the steps of the job with podprof; OPTIONS of podprof run, for example "
                                             "steps=10:20,output=logs",
                                     2, /* the value may be left out */
                                     0,
                                     take_option};

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	if (spank_context() == S_CTX_SLURMD)
		return 0;
	find_program(argc, argv);
	return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

/* "NAME=VALUE" and a NUL, for each variable. */
static void take_variables(spank_t spank, char *text, size_t length)
{
	for (char *end = text + length, *next; text < end; text = next) {
		char *equal = memchr(text, '=', (size_t)(end - text));

		next = memchr(text, '\0', (size_t)(end - text));
		if (!next++ || !equal || equal >= next)
			return;
		*equal = '\0';
		spank_setenv(spank, text, equal + 1, 1);
	}
}

static char **words_of(spank_t spank, char *pid)
{
	char **command = NULL, **words;
	int argc = 0;

	if (spank_get_item(spank, S_JOB_ARGV, &argc, &command) != ESPANK_SUCCESS || argc < 1)
		return NULL;
	words = calloc((size_t)argc + 6, sizeof(*words)); /* NOLINT(bugprone-sizeof-expression): pointers */
	if (!words)
		return NULL;
	words[0] = (char *)"podprof";
	words[1] = (char *)"task";
	words[2] = pid;
	words[3] = given;
	words[4] = (char *)"--";
	memcpy(words + 5, command, (size_t)argc * sizeof(*words)); /* NOLINT(bugprone-sizeof-expression): pointers */
	return words;
}

/* In the task's own process, as its user, before it becomes the program. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	char pid[32], **environment = NULL, **words, *text;
	uint32_t step = 0, task = 0;
	size_t length = 0;
	int rc;

	(void)argc;
	(void)argv;
	if (!given || spank_remote(spank) != 1 || spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
	    step == BATCH_SCRIPT || spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS)
		return 0;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	words = words_of(spank, pid);
	text = words ? malloc(MOST) : NULL;
	rc = text ? run(words, environment, text, MOST, &length) : -ENOMEM;
	if (!rc)
		take_variables(spank, text, length);
	else if ((rc < 0 || rc > USAGE) && spank_get_item(spank, S_TASK_GLOBAL_ID, &task) == ESPANK_SUCCESS && !task)
		slurm_spank_log(
		        "podprof: cannot start '%s' on this node%s. The step runs unprofiled; ask your administrator to install "
		        "podprof there.",
		        program,
		        rc == -ETIMEDOUT ? " within 5 s"
		        : rc == 127      ? ": no such file"
		                         : "");
	free(text);
	free(words); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
	return 0;
}
