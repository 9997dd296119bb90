/* Job names, spool directories and what is written there before a job starts. */
#include "aggregate/spool/join.h"
#include "aggregate/spool/options.h"
#include "aggregate/spool/processes.h"
#include "aggregate/spool/run_file.h"
#include "aggregate/spool/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/spool/control.h"
#include "aggregate/spool/view.h"
#include "core/base/proc.h"
#include "core/ring/ring_file.h"
#include "launchers/options/options.h"
#include "launchers/run/logdir.h"
#include "tests/test.h"

static char scratch[] = "/tmp/podprof-test-XXXXXX";

static void read_all(const char *directory, const char *name, char *text, size_t size)
{
	char path[PP_SPOOL_PATH + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "r");
	text[f ? fread(text, 1, size - 1, f) : 0] = '\0';
	if (f)
		fclose(f);
}

TEST(names_become_directories)
{
	struct pp_job job;
	char own[32];

	setenv("PMIX_NAMESPACE", "../a b/c", 1);
	setenv("PMIX_RANK", "3", 1);
	pp_job_read(&job);
	CHECK_STR(job.name, "_._a_b_c");
	CHECK_INT(job.rank, 3);
	CHECK_INT(job.speaks, 0);
	setenv("OMPI_FIRST_RANKS", "0 3", 1);
	pp_job_read(&job);
	CHECK_INT(job.speaks, 1);
	unsetenv("OMPI_FIRST_RANKS");
	unsetenv("PMIX_NAMESPACE");
	unsetenv("PMIX_RANK");
	unsetenv("SLURM_JOB_ID");
	pp_job_read(&job);
	CHECK_INT(job.rank, -1);
	CHECK_INT(job.speaks, 1);
	snprintf(own, sizeof(own), "-%d-", (int)getpid());
	CHECK(strstr(job.name, own) != NULL);
	setenv("PMI_RANK", "1", 1); /* MPICH names no job: its proxy is the parent of all ranks of the host */
	setenv("TORCHELASTIC_RUN_ID", "none", 1);
	pp_job_read(&job);
	snprintf(own, sizeof(own), "-%d-", (int)getppid());
	CHECK(getppid() <= 1 || strstr(job.name, own) != NULL);
	unsetenv("PMI_RANK");
	unsetenv("TORCHELASTIC_RUN_ID");
}

static void set_all(const char *const (*variable)[2], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (variable[i][1])
			setenv(variable[i][0], variable[i][1], 1);
		else
			unsetenv(variable[i][0]);
}

TEST(a_requeued_job_is_another_run)
{
	static const char *const slurm[][2] = {
	        {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "3"}, {"SLURM_PROCID", "0"}, {"SLURM_RESTART_COUNT", "1"}};
	static const char *const none[][2] = {
	        {"SLURM_JOB_ID", NULL}, {"SLURM_STEP_ID", NULL}, {"SLURM_PROCID", NULL}, {"SLURM_RESTART_COUNT", NULL}};
	struct pp_job job;

	set_all(slurm, 4);
	pp_job_read(&job);
	CHECK_STR(job.name, "7.3-r1");
	setenv("PMIX_NAMESPACE", "slurm.pmix.7.3", 1);
	pp_job_read(&job);
	CHECK_STR(job.name, "slurm.pmix.7.3-r1");
	unsetenv("PMIX_NAMESPACE");
	set_all(none, 4);
}

TEST(launchers_count_ranks_and_hosts)
{
	static const char *const slurm[][2] = {{"SLURM_PROCID", "5"},
	                                       {"SLURM_NTASKS", "64"}, /* of the allocation */
	                                       {"SLURM_STEP_NUM_TASKS", "8"},
	                                       {"SLURM_STEP_NUM_NODES", "2"},
	                                       {"SLURM_LOCALID", "1"}};
	static const char *const batch[][2] = {
	        {"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", NULL}, {"SLURM_STEP_NUM_NODES", NULL}};
	static const char *const torch[][2] = {{"SLURM_PROCID", NULL},    {"RANK", "3"},       {"WORLD_SIZE", "6"},
	                                       {"GROUP_WORLD_SIZE", "3"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}};
	static const char *const none[][2] = {{"SLURM_NTASKS", NULL},    {"SLURM_LOCALID", NULL},    {"RANK", NULL},
	                                      {"WORLD_SIZE", NULL},      {"GROUP_WORLD_SIZE", NULL}, {"LOCAL_RANK", NULL},
	                                      {"LOCAL_WORLD_SIZE", NULL}};
	struct pp_job job;
	char own[32];

	snprintf(own, sizeof(own), "-%d-", (int)getpid());
	set_all(slurm, 5);
	pp_job_read(&job);
	CHECK(job.rank == 5 && job.size == 8 && job.hosts == 2 && job.local_rank == 1);
	set_all(batch, 4); /* a batch script is no rank of a step, and what it starts is no job with what it started before */
	pp_job_read(&job);
	CHECK(job.rank == -1 && job.size == 0 && job.hosts == 0 && strstr(job.name, own));
	setenv("SLURM_STEP_ID", "4294967290", 1); /* the shell of salloc */
	pp_job_read(&job);
	CHECK(job.rank == -1 && strstr(job.name, own));
	setenv("SLURM_STEP_ID", "3", 1);
	pp_job_read(&job);
	CHECK_INT(job.rank, 0);
	CHECK_STR(job.name, "7.3");
	unsetenv("SLURM_STEP_ID");
	unsetenv("SLURM_JOB_ID");
	set_all(torch, 6);
	pp_job_read(&job);
	CHECK(job.rank == 3 && job.size == 6 && job.hosts == 3 && job.local_rank == 1 && job.local_size == 2);
	setenv("OMPI_COMM_WORLD_RANK", "1", 1); /* a torchrun on each host, started by mpirun */
	setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
	pp_job_read(&job);
	CHECK(job.rank == 1 && job.size == 3);
	setenv("TORCHELASTIC_RUN_ID", "exp", 1);
	setenv("MASTER_PORT", "29400", 1);
	setenv("TORCHELASTIC_RESTART_COUNT", "2", 1);
	pp_job_read(&job);
	CHECK(job.rank == 3 && job.size == 6 && job.local_size == 2);
	CHECK_STR(job.name, "exp-29400-r2");
	setenv("PMIX_NAMESPACE", "77", 1);
	pp_job_read(&job);
	CHECK_STR(job.name, "77-r2");
	unsetenv("PMIX_NAMESPACE");
	unsetenv("TORCHELASTIC_RESTART_COUNT");
	unsetenv("MASTER_PORT");
	unsetenv("TORCHELASTIC_RUN_ID");
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("OMPI_COMM_WORLD_SIZE");
	set_all(none, 7);
	pp_job_read(&job);
	CHECK(job.rank == -1 && job.size == 0 && job.hosts == 0 && job.local_rank == -1);
}

TEST(a_spool_is_the_owners_alone)
{
	struct pp_job job = {.rank = 2, .local_size = 8, .pid = getpid(), .name = "job"};
	char wanted[PP_SPOOL_PATH], path[PP_SPOOL_PATH], text[512];
	struct pp_err err = {""};
	struct stat st;
	int rank = -1, local = -1;
	unsigned long long start = 0;

	snprintf(wanted, sizeof(wanted), "%s/a/b", scratch);
	CHECK_INT(pp_spool_open(wanted, &job, path, sizeof(path), &err), 0);
	CHECK_STR(path, wanted);
	CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0700);
	chmod(path, 0777);
	CHECK_INT(pp_spool_open(wanted, &job, path, sizeof(path), &err), 0);
	CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0700);
	CHECK_INT(pp_spool_register(path, &job, &err), 0);
	if (pp_proc_pid_space() == PP_PID_SPACE_FIRST || !pp_proc_pid_space())
		snprintf(text, sizeof(text), "run-%d", (int)getpid());
	else /* in a container */
		snprintf(text, sizeof(text), "run-%d-%u", (int)getpid(), (unsigned)pp_proc_pid_space());
	read_all(path, text, text, sizeof(text));
	CHECK_INT(sscanf(text, "%d %d %llu", &rank, &local, &start), 3);
	CHECK_INT(rank, 2);
	CHECK_INT(local, 8);
	CHECK_INT(start, pp_proc_start_time(getpid()));
	pp_spool_unregister(path, &job);
	snprintf(wanted, sizeof(wanted), "%s/link", scratch);
	CHECK(!symlink(path, wanted));
	CHECK_INT(pp_spool_open(wanted, &job, path, sizeof(path), &err), -ENOTDIR);
}

TEST(another_users_spool_is_refused)
{
	struct pp_job job = {.name = "job"};
	char wanted[PP_SPOOL_PATH], path[PP_SPOOL_PATH];
	struct pp_err err = {""};

	snprintf(wanted, sizeof(wanted), "%s/theirs", scratch);
	if (geteuid() || mkdir(wanted, 0777) || chown(wanted, 65534, 65534))
		return; /* only root can make one */
	CHECK_INT(pp_spool_open(wanted, &job, path, sizeof(path), &err), -EPERM);
	CHECK(strstr(err.text, "65534") != NULL);
}

TEST(the_first_writes_the_options)
{
	struct pp_job job = {.name = "job"};
	struct pp_options options;
	struct pp_spool_state state;
	char spool[PP_SPOOL_PATH], text[2048];
	struct pp_err err = {""};
	char *first[] = {(char *)"prog", (char *)"a\nb", NULL}, *second[] = {(char *)"other", NULL};

	for (int i = 0; i < PP_OPTS; i++)
		options.text[i] = pp_opt_table[i].fallback;
	snprintf(spool, sizeof(spool), "%s/options", scratch);
	CHECK(!mkdir(spool, 0700));
	CHECK_INT(pp_spool_write_options(spool, &job, options.text, "/logs", first, &err), 0);
	CHECK_INT(pp_spool_write_options(spool, &job, options.text, "/elsewhere", second, &err), 0);
	read_all(spool, "options", text, sizeof(text));
	CHECK(strstr(text, "STEPS=\nEVERY=0\n") == text && strstr(text, "\nOUTPUT=/logs\n"));
	CHECK(strstr(text, "\nCOMMAND=prog a b\n") != NULL);
	CHECK(strstr(text, "\nJOB=job\n") != NULL);
	CHECK_INT(pp_spool_read(spool, &state), 0);
	CHECK_STR(state.output, "/logs");
	CHECK_INT(state.life, PP_SPOOL_LEFT);
	CHECK_INT(state.rings, 0);
	CHECK_INT(pp_spool_read(state.path, &state), 0); /* again, as those who wait for a keeper do */
	CHECK_STR(state.path, spool);
	CHECK_INT(pp_spool_read("/nowhere", &state), -ENOENT);
}

static void (*before_link)(void); /* what another process does while this one is about to name the options */
static struct pp_options defaults;
static char root[64], joined[80];

/* In place of libc's. */
int link(const char *from, const char *to)
{
	void (*now)(void) = before_link;

	before_link = NULL;
	if (now)
		now();
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

static const struct pp_job joining = {.pid = 1, .name = "7"};
static char *program[] = {(char *)"prog", NULL};

static int join(const char *logdir)
{
	char path[PP_SPOOL_PATH];
	struct pp_err err = {""};

	return pp_spool_join(joined, 1, &joining, defaults.text, logdir, program, path, sizeof(path), &err);
}

static int write_options(const char *logdir)
{
	struct pp_err err = {""};

	return pp_spool_write_options(joined, &joining, defaults.text, logdir, program, &err);
}

static void write_in_another_container(void)
{
	CHECK_INT(write_options("/theirs"), 0);
}

static void remove_joined(void)
{
	pp_spool_remove(joined);
}

static void check_joined(const char *logdir)
{
	const char *output;
	char text[2048];

	read_all(joined, "options", text, sizeof(text));
	output = strstr(text, "\nOUTPUT=");
	CHECK(output && !strncmp(output + 8, logdir, strlen(logdir)) && strstr(text, "\nCOMMAND=prog\n"));
}

TEST(processes_with_one_pid_write_the_options)
{
	CHECK(!mkdir(root, 0700) && !mkdir(joined, 0700));
	before_link = write_in_another_container;
	CHECK_INT(write_options("/ours"), 0);
	check_joined("/theirs\n");
	pp_spool_remove(joined);
}

TEST(a_spool_may_go_while_it_is_joined)
{
	before_link = remove_joined;
	CHECK_INT(join("/ours"), 0);
	check_joined("/ours\n");
	pp_spool_remove(joined);
}

/* The next program of the same job comes while the keeper of the last one is still there. */
TEST(a_keeper_that_closes_takes_nobody_in)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	struct pp_control *control = NULL;
	char path[PP_SPOOL_PATH + 16];
	struct pp_err err = {""};
	int status = 1, keeper;

	CHECK_INT(join("/last"), 0);
	CHECK_INT(pp_control_make(joined, &control, &err), 0);
	if (!control)
		return;
	pp_control_set(control, PP_KEEPER_DONE, "");
	keeper = fork();
	if (!keeper) {
		nanosleep(&pause, NULL);
		pp_spool_remove(joined);
		_exit(0);
	}
	CHECK_INT(join("/next"), 0);
	CHECK(waitpid(keeper, &status, 0) == keeper && !status);
	check_joined("/next\n");
	snprintf(path, sizeof(path), "%s/control", joined);
	CHECK(access(path, F_OK));
	pp_control_close(control);
	pp_spool_remove(joined);
}

static void make(const char *path)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	if (f)
		fclose(f);
}

/* What keepers and ranks of several hosts leave is podprof's: the epilog removes it. A file of somebody else keeps the spool. */
TEST(a_spool_of_a_killed_job_is_podprofs)
{
	static const char *const left[] = {"clocks",         "clocks.part",  "meeting", "keeper.log",
	                                   "rank-0-12.ring", "rank-0.claim", "mpi-1f"};
	char path[PP_SPOOL_PATH + 32];

	CHECK_INT(join("/last"), 0);
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", joined, left[i]);
		make(path);
	}
	CHECK_INT(pp_spool_is_one(joined), 1);
	snprintf(path, sizeof(path), "%s/results.txt", joined);
	make(path);
	CHECK_INT(pp_spool_is_one(joined), 0);
	pp_spool_remove(joined);
}

TEST(log_directories)
{
	char wanted[PP_SPOOL_PATH], path[PP_SPOOL_PATH];
	struct pp_err err = {""};
	FILE *f;

	snprintf(wanted, sizeof(wanted), "%s/logs/deep", scratch);
	CHECK_INT(pp_logdir_open(wanted, path, sizeof(path), NULL, &err), 0);
	CHECK_STR(path, wanted);
	snprintf(wanted, sizeof(wanted), "%s/file", scratch);
	f = fopen(wanted, "w");
	CHECK(f != NULL);
	if (f)
		fclose(f);
	CHECK(pp_logdir_open(wanted, path, sizeof(path), NULL, &err) < 0);
	CHECK(strstr(err.text, wanted) != NULL);
	CHECK_STR(pp_logdir_cure(-EMFILE), "raise the limit on open files (ulimit -n)");
	CHECK(pp_logdir_open("/proc/nowhere", path, sizeof(path), NULL, &err) < 0);
	if (!access("/dev/full", F_OK))
		CHECK(pp_logdir_open("/dev/full", path, sizeof(path), NULL, &err) < 0);
}

static void write_ring(int fd, int pid, uint32_t space)
{
	struct pp_ring_header h = {.magic = PP_RING_MAGIC, .version = PP_RING_VERSION, .pid = pid, .pid_space = space};

	CHECK_INT(write(fd, &h, sizeof(h)), (int)sizeof(h));
}

/* The files that name a process, and one that names a rank: its number may be a process's. Pids of another namespace are not
 * this one's. */
TEST(processes_are_found_by_their_files)
{
	static const struct {
		const char *format;
		uint32_t space; /* of a ring's header; 0: the file is empty */
		int found;
	} file[] = {{"run-%d-7", 0, 0},       {"rank-3-%d.ring", 0, 1}, {"rank-3-%d.ring", 7, 0},
	            {"rank-3-%d.ring", 1, 1}, {"rank-%d.claim", 0, 0},  {NULL, 0, 1}};
	char path[PP_SPOOL_PATH], directory[64], own[32] = "run-%d";

	snprintf(directory, sizeof(directory), "%s/processes", scratch);
	CHECK_INT(mkdir(directory, 0700), 0);
	if (pp_proc_pid_space() && pp_proc_pid_space() != PP_PID_SPACE_FIRST)
		snprintf(own, sizeof(own), "run-%%d-%u", (unsigned)pp_proc_pid_space());
	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
		int length = snprintf(path, sizeof(path), "%s/", directory), fd;

		/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): one of those above */
		snprintf(path + length, sizeof(path) - (size_t)length, file[i].format ? file[i].format : own, (int)getpid());
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		CHECK(fd >= 0);
		if (file[i].space)
			write_ring(fd, (int)getpid(), file[i].space == 1 ? pp_proc_pid_space() : file[i].space);
		close(fd);
		CHECK_INT((pp_spool_processes(directory) == PP_PROCESSES_LIVE), file[i].found);
		unlink(path);
	}
	rmdir(directory);
}

/* A rank is seen by the lock of its claim, whatever its pid is here: its ring says a pid of another namespace. */
TEST(a_rank_of_another_namespace_is_found_by_its_lock)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	char directory[64], claim[96], ring[96];
	int fd, tube[2];
	pid_t child;
	char byte;

	snprintf(directory, sizeof(directory), "%s/elsewhere", scratch);
	snprintf(claim, sizeof(claim), "%s/rank-0.claim", directory);
	snprintf(ring, sizeof(ring), "%s/rank-0-1.ring", directory);
	CHECK_INT(mkdir(directory, 0700), 0);
	fd = open(ring, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	write_ring(fd, 1, 7);
	close(fd);
	CHECK_INT((pp_spool_processes(directory) == PP_PROCESSES_LIVE), 0);
	CHECK_INT(pipe(tube), 0);
	child = fork();
	if (!child) {
		fd = open(claim, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		byte = fcntl(fd, F_SETLK, &lock) ? 'n' : 'y';
		(void)!write(tube[1], &byte, 1);
		pause();
		_exit(0);
	}
	CHECK(read(tube[0], &byte, 1) == 1 && byte == 'y');
	CHECK_INT((pp_spool_processes(directory) == PP_PROCESSES_LIVE), 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK_INT((pp_spool_processes(directory) == PP_PROCESSES_LIVE), 0);
	close(tube[0]);
	close(tube[1]);
	unlink(claim);
	unlink(ring);
	rmdir(directory);
}

/* Its maker removes it again: it needs the path, and to know that it was missing. */
TEST(a_log_directory_that_takes_no_file)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct rlimit before, none;
	char wanted[PP_SPOOL_PATH], path[PP_SPOOL_PATH] = "";
	struct pp_err err = {""};
	int made = 0;

	snprintf(wanted, sizeof(wanted), "%s/full", scratch);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	sigaction(SIGXFSZ, &ignore, NULL);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &none), 0);
	CHECK_INT(pp_logdir_open(wanted, path, sizeof(path), &made, &err), -EFBIG);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
	CHECK_INT(made, 1);
	CHECK_STR(path, wanted);
	CHECK_INT(rmdir(wanted), 0);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(scratch))
		return 77;
	names_become_directories();
	a_requeued_job_is_another_run();
	launchers_count_ranks_and_hosts();
	a_spool_is_the_owners_alone();
	another_users_spool_is_refused();
	the_first_writes_the_options();
	for (int i = 0; i < PP_OPTS; i++)
		defaults.text[i] = pp_opt_table[i].fallback;
	snprintf(root, sizeof(root), "%s/podprof-%u", scratch, (unsigned)geteuid());
	snprintf(joined, sizeof(joined), "%s/7", root);
	processes_with_one_pid_write_the_options();
	a_spool_may_go_while_it_is_joined();
	a_keeper_that_closes_takes_nobody_in();
	a_spool_of_a_killed_job_is_podprofs();
	log_directories();
	a_log_directory_that_takes_no_file();
	processes_are_found_by_their_files();
	a_rank_of_another_namespace_is_found_by_its_lock();
	snprintf(command, sizeof(command), "rm -r %s", scratch);
	if (system(command))
		return 1;
	return test_end();
}
