/* Slurm's plug-in: srun, sbatch and salloc --podprof[=OPTIONS] record a job step. Loaded by srun and the like, which ask podprof
 * whether the options are right, and by slurmstepd, where each task's process, as the user, runs `podprof task` just before it
 * becomes the program, and takes over the variables that it prints. If the step has several nodes, srun becomes their rendezvous
 * point before. It does nothing in a job without the option, and no failure of it ends a job: one line says so, and the task runs
 * unprofiled. docs/slurm.md is for those who install it. */
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

enum { START_S = 10, END_S = 10, FAILED_S = 3, KILL_S = 2, MOST = 1 << 18, USAGE = 64, REFUSED = -1 };
#define LAST_STEP UINT32_C(0xfffffff0) /* behind it: a batch script, a shell of salloc, the extern step */

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

/* Its exit code; -ETIMEDOUT: it did not end in time; -ECHILD: a signal ended it. It is left alone if it cannot be killed, for
 * example because a file system hangs. */
static int wait_for(pid_t child, int64_t until)
{
	int64_t killed = 0;
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(child, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
		if (now_ms() > until && !killed)
			killed = kill(child, SIGKILL) ? 0 : now_ms();
		if (killed && now_ms() > killed + 1000)
			break;
		usleep(500);
	}
	if (ended != child || killed)
		return -ETIMEDOUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/* Runs podprof. Returns its exit code, or -errno; *ret_length: of what it printed into `text`. */
static int run(char *const *words, char *const *environment, int limit_s, char *text, size_t size, size_t *ret_length)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	int64_t until = now_ms() + (int64_t)limit_s * 1000;
	struct sigaction before;
	int end[2], rc;
	pid_t child;

	if (pipe2(end, O_CLOEXEC))
		return -errno;
	sigaction(SIGCHLD, NULL, &before);
	if (before.sa_handler == SIG_IGN) /* as srun inherited it: no exit code would come */
		sigaction(SIGCHLD, &usual, NULL);
	child = fork();
	if (!child) {
		dup2(end[1], STDOUT_FILENO);
		execve(program, words, environment);
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(end[1]);
	*ret_length = child > 0 ? listen_to(end[0], until, text, size) : 0;
	close(end[0]);
	rc = child > 0 ? wait_for(child, until) : -EAGAIN;
	if (before.sa_handler == SIG_IGN)
		sigaction(SIGCHLD, &before, NULL);
	return rc;
}

/* Where the job is submitted: options that podprof run would refuse are refused here, by podprof's own sentence. */
static int check(void)
{
	char *words[] = {(char *)"podprof", (char *)"task", (char *)"check", (char *)"0", given, (char *)"--", (char *)"CMD", NULL};
	char none[64];
	size_t length;

	if (access(program, X_OK)) /* the nodes have one, or will say so */
		return 0;
	return run(words, environ, START_S, none, sizeof(none), &length) == USAGE ? REFUSED : 0;
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

typedef void set_variable(spank_t spank, const char *name, const char *value);

static void set_for_task(spank_t spank, const char *name, const char *value)
{
	spank_setenv(spank, name, value, 1);
}

#define PASSED "SLURM_" /* in front of a name: srun --export=NONE passes on variables that begin so, and no others */

/* For what srun passes on: the tasks add the others, such as LD_PRELOAD, when they begin. */
static void set_for_step(spank_t spank, const char *name, const char *value)
{
	char passed[80];

	(void)spank;
	if (strncmp(name, "PODPROF_", 8) != 0)
		return;
	snprintf(passed, sizeof(passed), PASSED "%s", name);
	setenv(name, value, 1);   /* NOLINT(concurrency-mt-unsafe): no other thread of srun looks at it yet */
	setenv(passed, value, 1); /* NOLINT(concurrency-mt-unsafe): the same */
}

/* The other end of set_for_step(): the task has each variable once, by its own name. */
static void take_passed(spank_t spank)
{
	char **variable = NULL, name[80];

	/* removing one moves those behind it */
	for (size_t i = 0; spank_get_item(spank, S_JOB_ENV, &variable) == ESPANK_SUCCESS && variable[i];) {
		size_t length = strcspn(variable[i], "=");

		if (strncmp(variable[i], PASSED "PODPROF_", sizeof(PASSED "PODPROF_") - 1) != 0 || length >= sizeof(name) ||
		    !variable[i][length]) {
			i++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)length, variable[i]);
		spank_setenv(spank, name + sizeof(PASSED) - 1, variable[i] + length + 1, 0);
		if (spank_unsetenv(spank, name) != ESPANK_SUCCESS)
			return;
	}
}

/* "NAME=VALUE" and a NUL, for each variable. */
static void take_variables(spank_t spank, set_variable *set, char *text, size_t length)
{
	for (char *end = text + length, *next; text < end; text = next) {
		char *equal = memchr(text, '=', (size_t)(end - text));

		next = memchr(text, '\0', (size_t)(end - text));
		if (!next++ || !equal || equal >= next)
			return;
		*equal = '\0';
		set(spank, text, equal + 1);
	}
}

/* podprof task MODE PID OPTIONS -- COMMAND; the caller frees the array. */
static char **words_of(const char *mode, char *pid, char *const *command, int argc)
{
	char **words = calloc((size_t)argc + 7, sizeof(*words)); /* NOLINT(bugprone-sizeof-expression): pointers */

	if (!words)
		return NULL;
	words[0] = (char *)"podprof";
	words[1] = (char *)"task";
	words[2] = (char *)mode;
	words[3] = pid;
	words[4] = given;
	words[5] = (char *)"--";
	memcpy(words + 6, command, (size_t)argc * sizeof(*words)); /* NOLINT(bugprone-sizeof-expression): pointers */
	return words;
}

/* Runs podprof task for this process and takes over what it prints. As run(). */
static int join(spank_t spank, const char *mode, char *const *command, int argc, char *const *environment, set_variable *set)
{
	char pid[32], **words, *text;
	size_t length = 0;
	int rc;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	words = argc > 0 ? words_of(mode, pid, command, argc) : NULL;
	text = words ? malloc(MOST) : NULL;
	rc = text ? run(words, environment, START_S, text, MOST, &length) : -ENOMEM;
	if (!rc)
		take_variables(spank, set, text, length);
	free(text);
	free(words); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
	return rc;
}

/* The words of srun's own command line, in `text`; the last ones are left out where they do not fit. */
static int own_words(char *text, size_t size, char **words, int most)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC), count = 0;
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (char *p = text; p < text + n && count < most; p += strlen(p) + 1)
		words[count++] = p;
	return count;
}

/* srun A : B starts two components, which may be on two nodes, and so does srun --het-group=0,1 in a heterogeneous job. Its
 * environment is copied for each of them before their nodes are known, so that this is the place for it. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	char text[8192], *words[256];
	int count, several = getenv("SLURM_HET_SIZE") != NULL;

	(void)argc;
	(void)argv;
	if (!given || spank_context() != S_CTX_LOCAL || access(program, X_OK))
		return 0;
	count = own_words(text, sizeof(text), words, sizeof(words) / sizeof(words[0]));
	for (int i = 1; i < count; i++)
		several |= !strcmp(words[i], ":");
	if (several)
		join(spank, "launcher", words, count, environ, set_for_step);
	return 0;
}

/* In srun, when the nodes are known and no task has started: on several nodes, keepers find each other here if they do not by MPI
 * or by a directory. Without it, for any reason, the tasks are recorded as well. */
int slurm_spank_local_user_init(spank_t spank, int argc, char **argv)
{
	char number[2][48], **environment, **command = NULL;
	uint32_t nodes = 0, job = 0, step = 0;
	size_t count = 0;

	(void)argv;
	if (!given || getenv("PODPROF_MEETING") || access(program, X_OK) ||
	    spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_NNODES, &nodes) != ESPANK_SUCCESS || nodes < 2 ||
	    spank_get_item(spank, S_JOB_ARGV, &argc, &command) != ESPANK_SUCCESS)
		return 0;
	while (environ[count])
		count++;
	environment = calloc(count + 3, sizeof(*environment)); /* NOLINT(bugprone-sizeof-expression): pointers */
	if (!environment)
		return 0;
	/* In front: the first of two with one name counts, and srun has the numbers of a batch script. */
	snprintf(number[0], sizeof(number[0]), "SLURM_JOB_ID=%u", (unsigned)job);
	snprintf(number[1], sizeof(number[1]), "SLURM_STEP_ID=%u", (unsigned)step);
	environment[0] = number[0];
	environment[1] = number[1];
	memcpy(environment + 2, environ, count * sizeof(*environ)); /* NOLINT(bugprone-sizeof-expression): pointers */
	join(spank, "launcher", command, argc, environment, set_for_step);
	free(environment); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
	return 0;
}

/* In the task's own process, as its user, before it becomes the program. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	char **environment = NULL, **command = NULL;
	uint32_t step = 0, task = 0;
	int rc;

	(void)argv;
	if (!given || spank_remote(spank) != 1 || spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step > LAST_STEP)
		return 0;
	take_passed(spank);
	if (spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_ARGV, &argc, &command) != ESPANK_SUCCESS)
		return 0;
	rc = join(spank, "rank", command, argc, environment, set_for_task);
	if ((rc < 0 || rc > USAGE) && spank_get_item(spank, S_TASK_GLOBAL_ID, &task) == ESPANK_SUCCESS && !task)
		slurm_spank_log(
		        "podprof: cannot start '%s' on this node%s. The step runs unprofiled; ask your administrator to install "
		        "podprof there.",
		        program,
		        rc == -ETIMEDOUT ? " within 10 s"
		        : rc == 127      ? ": no such file"
		                         : "");
	return 0;
}

/* Of itself, not by Slurm's signal to all: Slurm does not know yet, and lets the other nodes run on. */
static int has_failed(spank_t spank)
{
	int status = 0;

	return spank_get_item(spank, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS && status &&
	       !(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* Tasks of all components of a heterogeneous job have the number of its first one; Slurm gives each component one of its own. */
static uint32_t job_of_tasks(spank_t spank, uint32_t own)
{
	char text[16] = "";

	return spank_getenv(spank, "SLURM_JOB_ID", text, sizeof(text)) == ESPANK_SUCCESS && *text
	               ? (uint32_t)strtoul(text, NULL, 10)
	               : own;
}

/* As root, when each task of this node has ended. Behind the last one Slurm kills what is left of the step, also a keeper that
 * still writes: podprof waits for it, as the job's user, for 10 s at most, for 3 s if that keeps a failure from other nodes. */
int slurm_spank_task_exit(spank_t spank, int argc, char **argv)
{
	static const char *const name[] = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_JOB_UID"};
	char limit[16], *words[] = {(char *)"podprof", (char *)"slurm", (char *)"task-epilog", limit, NULL};
	char variable[3][48], none[64], *environment[] = {variable[0], variable[1], variable[2], NULL};
	static uint32_t ended;
	uint32_t number[3] = {0}, tasks = 0, nodes = 0;
	int limit_s;
	size_t length;
	uid_t user = 0;

	(void)argc;
	(void)argv;
	if (!given || spank_remote(spank) != 1 || spank_get_item(spank, S_JOB_ID, &number[0]) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_STEPID, &number[1]) != ESPANK_SUCCESS || number[1] > LAST_STEP ||
	    spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS || ++ended < tasks)
		return 0;
	number[0] = job_of_tasks(spank, number[0]);
	number[2] = (uint32_t)user;
	for (int i = 0; i < 3; i++)
		snprintf(variable[i], sizeof(variable[i]), "%s=%u", name[i], (unsigned)number[i]);
	spank_get_item(spank, S_JOB_NNODES, &nodes);
	limit_s = nodes > 1 && has_failed(spank) ? FAILED_S : END_S;
	snprintf(limit, sizeof(limit), "%d", limit_s);
	run(words, environment, limit_s + KILL_S, none, sizeof(none), &length);
	return 0;
}
