/* Rank and job from the variables that launchers set; see job.h. */
#include "aggregate/spool/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/proc.h"

static int number(const char *name, int fallback)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text || !*text)
		return fallback;
	value = strtol(text, &end, 10);
	/* SLURM_TASKS_PER_NODE says "4(x2)" or "4,3": the first number is close enough for a share of memory. */
	return end == text || value < 0 || value > 1 << 24 ? fallback : (int)value;
}

/* Open MPI lists the first rank of every program of the job: each of them may fail to start for its own reason. */
static int first_of_program(int rank)
{
	const char *p = getenv("OMPI_FIRST_RANKS");
	char *end;

	for (; p && *p; p = end) {
		long first = strtol(p, &end, 10);

		if (end == p)
			break;
		if (first == rank)
			return 1;
	}
	return 0;
}

/* Where no launcher names the job: ranks that one process started are one job, anything else is a job by itself. */
static int naming_process(int rank)
{
	int parent = getppid();

	return rank >= 0 && parent > 1 ? parent : getpid();
}

/* How often an elastic launcher has started the ranks again. */
static int restarts(void)
{
	return number("TORCHELASTIC_RESTART_COUNT", 0);
}

static void plain(char *name)
{
	for (char *p = name; *p; p++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", *p) || (p == name && *p == '.'))
			*p = '_';
}

static void again(char *name, size_t size, const char *first, int times)
{
	if (times > 0)
		snprintf(name, size, "%.100s-r%d", first, times);
	else
		snprintf(name, size, "%s", first);
}

/* A batch script has a rank of Slurm's, and the shell of salloc may be a step with a number that no srun has: neither is a rank of
 * a step, and what they start one after the other are several jobs. */
static int is_outside_steps(void)
{
	return getenv("SLURM_JOB_ID") && number("SLURM_STEP_ID", -1) < 0;
}

static const char *slurm_step(char *name, size_t size, const char *job)
{
	snprintf(name, size, "%.64s.%d", job, number("SLURM_STEP_ID", 0));
	return name;
}

/* A job that Slurm requeues has the numbers of job and step that it had; the keeper of its run before may still write. */
static void job_name(struct pp_job *job)
{
	const char *pmix = getenv("PMIX_NAMESPACE"), *slurm = getenv("SLURM_JOB_ID");
	const char *torch = getenv("TORCHELASTIC_RUN_ID"), *outer = getenv("PODPROF_SPOOL") ? getenv("PODPROF_JOB") : NULL;
	char host[64] = "host", first[128], step[80];
	const char *port = getenv("MASTER_PORT");
	int pid = naming_process(job->rank), times = restarts();

	gethostname(host, sizeof(host) - 1);
	if (outer && *outer)
		snprintf(first, sizeof(first), "%s", outer), times = job->again = restarts() - number("PODPROF_RESTART", 0);
	else if (pmix && *pmix)
		again(first, sizeof(first), pmix, number("SLURM_RESTART_COUNT", 0));
	else if (slurm && *slurm && !is_outside_steps())
		again(first, sizeof(first), slurm_step(step, sizeof(step), slurm), number("SLURM_RESTART_COUNT", 0));
	else if (torch && *torch && strcmp(torch, "none")) /* torchrun's own default, the same for every job */
		/* A name that users choose, and may use for two jobs at a time: those have two ports. */
		snprintf(first, sizeof(first), "%.100s%s%.8s", torch, port && *port ? "-" : "", port ? port : "");
	else
		snprintf(first, sizeof(first), "%s-%d-%llu", host, pid, (unsigned long long)pp_proc_start_time(pid));
	plain(first);
	again(job->name, sizeof(job->name), first, times);
}

/* What a launcher calls the rank, and what it says beside it; torchrun, where it says that it is there, before those that may have
 * started it. Of Slurm the step's: a batch script has a rank and the whole allocation's numbers too. */
static const struct {
	const char *rank, *size, *local_rank, *hosts;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_NUM_NODES"},
                 {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", NULL},
                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_NUM_NODES"},
                 {"RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_WORLD_SIZE"}};

enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

/* All processes of the job have the variable, in a container all that are seen; a launcher has it not, or may not be looked at. */
static int has_variable(int pid, const char *name)
{
	enum { MOST = 1 << 20 };
	char path[32], *text = malloc(MOST);
	size_t length = strlen(name);
	int found = 0;
	long size;

	if (!text)
		return 1;
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	size = pp_proc_read(path, text, MOST);
	for (const char *p = text; p < text + size && !found; p += strlen(p) + 1)
		found = !strncmp(p, name, length) && p[length] == '=';
	free(text);
	return found;
}

static int sees_launcher(const char *rank_variable)
{
	for (int pid = getppid(), n = 0; pid > 0 && n < 64; pid = pp_proc_parent(pid), n++)
		if (!has_variable(pid, rank_variable))
			return 1;
	return 0;
}

static void read_row(struct pp_job *job, size_t i)
{
	job->rank = !strcmp(launchers[i].rank, "SLURM_PROCID") && is_outside_steps() ? -1 : number(launchers[i].rank, -1);
	if (job->rank < 0)
		return;
	job->sees_launcher = sees_launcher(launchers[i].rank);
	job->size = number(launchers[i].size, 0);
	job->local_rank = number(launchers[i].local_rank, -1);
	job->hosts = launchers[i].hosts ? number(launchers[i].hosts, 0) : 0;
}

void pp_job_read(struct pp_job *ret_job)
{
	static const char *const local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE",
	                                          "SLURM_TASKS_PER_NODE"};

	*ret_job = (struct pp_job){.rank = -1, .local_rank = -1};
	if (getenv("TORCHELASTIC_RUN_ID")) {
		read_row(ret_job, LAUNCHERS - 1);
		ret_job->local_size = ret_job->rank < 0 ? 0 : number("LOCAL_WORLD_SIZE", 0);
	}
	for (size_t i = 0; i < LAUNCHERS && ret_job->rank < 0; i++)
		read_row(ret_job, i);
	for (size_t i = 0; i < sizeof(local_sizes) / sizeof(local_sizes[0]) && !ret_job->local_size; i++)
		ret_job->local_size = number(local_sizes[i], 0);
	ret_job->speaks = ret_job->rank <= 0 || first_of_program(ret_job->rank);
	ret_job->pid = getpid();
	job_name(ret_job);
}
