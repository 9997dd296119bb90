/* podprof slurm task-prolog and task-epilog; see slurm_task.h. Called by cmd_slurm.c. */
#include "launchers/slurm/slurm_task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/spool/list.h"
#include "aggregate/spool/options.h"
#include "aggregate/spool/processes.h"
#include "core/base/now.h"
#include "core/base/parse.h"
#include "core/base/proc.h"
#include "launchers/cmd.h"
#include "launchers/slurm/slurm_child.h"

enum { TASK_MS = 5000, NOTIFY_MS = 2000, NAP_MS = 20, PARENTS = 64, MOST = 1 << 18, LINES_PRINTED = 4 };

static int number(const char *text)
{
	int64_t value = 0;

	return pp_parse_int(text, &value, NULL) || value < 0 || value > INT32_MAX ? 0 : (int)value;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* Slurm gives a task prolog no stderr that the user sees. Rank 0's lines go to srun, or into the output of the batch script. */
static void notify(char *lines)
{
	char text[1024], *rest = NULL;
	char *words[] = {(char *)"scontrol", (char *)"notify", (char *)variable("SLURM_JOB_ID"), text, NULL};
	int printed = 0;

	if (strcmp(variable("SLURM_PROCID"), "0") != 0)
		return;
	for (char *line = strtok_r(lines, "\n", &rest); line && printed < LINES_PRINTED;
	     line = strtok_r(NULL, "\n", &rest), printed++) {
		snprintf(text, sizeof(text), "%s", line);
		pp_slurm_call(words, NOTIFY_MS);
	}
}

/* Slurm says "slurmstepd: [JOB.batch]" of the process that becomes a batch script, which is no step that users mean. */
static int is_step(int pid)
{
	char path[48], title[256] = "";
	int64_t step = 0;

	if (pp_parse_int(variable("SLURM_STEP_ID"), &step, NULL) || step >= 0xfffffff0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	pp_proc_read(path, title, sizeof(title));
	return !strstr(title, ".batch]");
}

/* The prolog is a child of the process that becomes the program: SLURM_TASK_PID, unless somebody set it in between. */
static int task_pid(void)
{
	int wanted = number(variable("SLURM_TASK_PID")), pid = getppid();

	for (int i = 0; i < PARENTS && pid > 1 && pid != wanted; i++)
		pid = pp_proc_parent(pid);
	return pid == wanted ? pid : 0;
}

/* What podprof task prints into `out`, and says into `said`: files without a name, as its keeper keeps them open. */
static int run_task(int pid, int out, int printed)
{
	char number[16];
	char *words[] = {(char *)"podprof task", (char *)"rank", number, (char *)variable(PP_SLURM_VARIABLE),
	                 (char *)"--",           (char *)"",     NULL};
	pid_t child;

	snprintf(number, sizeof(number), "%d", pid);
	fflush(stdout);
	child = fork();
	if (!child) {
		setpgid(0, 0);
		if (dup2(out, STDOUT_FILENO) < 0 || dup2(printed, STDERR_FILENO) < 0)
			_exit(PP_EXIT_FAILED);
		_exit(pp_cmd_task(6, words) | fflush(stdout));
	}
	return child > 0 ? pp_slurm_wait(child, TASK_MS) : -errno;
}

/* Ends with a NUL behind the text. */
static char *text_of(int fd, size_t *ret_length)
{
	char *text = calloc(1, MOST);
	ssize_t n = text ? pread(fd, text, MOST - 1, 0) : 0;

	*ret_length = n > 0 ? (size_t)n : 0;
	return text;
}

/* A line of Slurm's carries every character but a line break. Without ours nothing is recorded; others' may stay as they are. */
static int cannot_carry(char *text, size_t length, char *printed, size_t size)
{
	size_t n = 0;

	for (char *p = text; p < text + length; p += strlen(p) + 1) {
		int ours = !strncmp(p, "PODPROF_", 8) || !strncmp(p, "LD_PRELOAD=", 11);

		if (!strchr(p, '\n'))
			continue;
		snprintf(printed + n, size - n,
		         "podprof: the value for %.*s has a line break, which a task prolog cannot pass on%s\n",
		         (int)strcspn(p, "="), p, ours ? ". The step runs unprofiled." : ": it is left out.");
		n = strlen(printed);
		if (ours)
			return 1;
		*p = '\0';
	}
	return 0;
}

static void print_all(const char *text, size_t length)
{
	for (const char *p = text; p < text + length; p += strlen(p) + 1)
		if (*p && strchr(p, '='))
			printf("export %s\n", p);
	fflush(stdout);
}

static void prepare(int pid)
{
	int out = memfd_create("podprof-out", MFD_CLOEXEC), printed = memfd_create("podprof-said", MFD_CLOEXEC), rc = -errno;
	char more[1024] = "", *text = NULL, *lines = NULL;
	size_t length = 0, n;

	if (out >= 0 && printed >= 0) {
		rc = run_task(pid, out, printed);
		text = text_of(out, &length);
		lines = text_of(printed, &n);
	}
	if (rc < 0)
		snprintf(more, sizeof(more), "podprof: the task prolog %s. The step runs unprofiled.\n",
		         rc == -ETIMEDOUT ? "did not end within 5 s" : "failed");
	else if (!rc && text && !cannot_carry(text, length, more, sizeof(more)))
		print_all(text, length);
	if (lines && *lines)
		notify(lines);
	if (*more)
		notify(more);
	free(text);
	free(lines);
	if (out >= 0)
		close(out);
	if (printed >= 0)
		close(printed);
}

void pp_slurm_task_prolog(void)
{
	char message[] = "podprof: the task prolog found no task: SLURM_TASK_PID is not its parent. The step runs unprofiled.\n";
	int pid;

	if (!getenv(PP_SLURM_VARIABLE))
		return;
	pid = task_pid();
	if (!pid)
		notify(message);
	else if (is_step(pid) && number(variable("PODPROF_PID")) != pid) /* the plug-in has not prepared it */
		prepare(pid);
}

struct step {
	const char *job, *number;
	int busy;
};

/* The ranks have ended, and their keeper has not. */
static int match(const struct pp_spool_state *state, void *data)
{
	struct step *step = data;
	char job[64], number[64];

	if (pp_spool_read_option(state->path, "SLURM_JOB", job, sizeof(job)) || strcmp(job, step->job) != 0 ||
	    pp_spool_read_option(state->path, "SLURM_STEP", number, sizeof(number)) || strcmp(number, step->number) != 0)
		return 0;
	step->busy |= state->keeper_lives &&
	              (state->life != PP_SPOOL_RECORDING || !(pp_spool_processes(state->path) == PP_PROCESSES_LIVE));
	return step->busy;
}

void pp_slurm_task_epilog(int seconds)
{
	int64_t until = pp_clock_ns(CLOCK_MONOTONIC) + (int64_t)seconds * 1000000000;
	struct step step = {.job = getenv("SLURM_JOB_ID"), .number = getenv("SLURM_STEP_ID"), .busy = 1};

	while (step.job && step.number && step.busy && pp_clock_ns(CLOCK_MONOTONIC) < until) {
		step.busy = 0;
		pp_spool_each(match, &step);
		if (step.busy)
			pp_nap_ms(NAP_MS);
	}
}
