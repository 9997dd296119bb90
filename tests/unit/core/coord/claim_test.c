/* Who is the rank: launchers' variables, the lock and how it passes on. */
#include "core/coord/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static void no_launcher(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",   "PMI_RANK", "SLURM_PROCID", "RANK",
	                                    "LOCAL_RANK",           "SLURM_NTASKS"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

TEST(variables)
{
	struct pp_claim c;

	no_launcher();
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 0 && c.size == 1 && c.local_size == 1);
	setenv("RANK", "3", 1);
	setenv("WORLD_SIZE", "8", 1);
	setenv("LOCAL_RANK", "1", 1);
	setenv("LOCAL_WORLD_SIZE", "2", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 3 && c.size == 8 && c.local_rank == 1 && c.local_size == 2);
	setenv("SLURM_PROCID", "5", 1);
	setenv("SLURM_NTASKS", "16", 1);
	setenv("SLURM_LOCALID", "1", 1);
	setenv("SLURM_TASKS_PER_NODE", "4(x4)", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 5 && c.size == 16 && c.local_rank == 1 && c.local_size == 4);
	pp_claim_read(&c, 6, 7);
	CHECK(c.rank == 6 && c.size == 7);
	pp_claim_read(&c, 0, 1); /* MPI without its launcher */
	CHECK(c.rank == 5 && c.size == 16);
	setenv("OMPI_COMM_WORLD_RANK", "0", 1); /* of a torchrun on each host */
	setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
	setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 0 && c.size == 2 && c.local_size == 1);
	setenv("TORCHELASTIC_RUN_ID", "7", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 3 && c.size == 8 && c.local_rank == 1 && c.local_size == 2);
	unsetenv("RANK");
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 0 && c.size == 2);
	unsetenv("TORCHELASTIC_RUN_ID");
	no_launcher();
	pp_claim_read(&c, 0, 1);
	CHECK(c.rank == 0 && c.size == 1);
	unsetenv("WORLD_SIZE");
	setenv("RANK", "2147483646", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 2147483646 && c.size == 2147483647);
	setenv("RANK", "2147483647", 1); /* no rank: nothing counts up to it */
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 0 && c.size == 1);
	unsetenv("RANK");
}

/* Open MPI without its launcher sets its variables itself, in MPI_Init. */
TEST(alone_under_another_launcher)
{
	struct pp_claim c;

	no_launcher();
	setenv("PMI_RANK", "1", 1);
	setenv("PMI_SIZE", "2", 1);
	setenv("OMPI_COMM_WORLD_RANK", "0", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
	pp_claim_read(&c, 0, 1);
	CHECK(c.rank == 1 && c.size == 2 && c.by == PP_CLAIM_VARIABLE);
	setenv("PMI_SIZE", "1", 1); /* where its launcher started one */
	setenv("PMI_RANK", "0", 1);
	pp_claim_read(&c, 0, 1);
	CHECK(c.rank == 0 && c.size == 1);
	unsetenv("PMI_SIZE");
	unsetenv("OMPI_COMM_WORLD_SIZE");
	no_launcher();
}

TEST(ranks_of_the_program)
{
	int32_t born[PP_CLAIM_ROWS];
	struct pp_claim c;

	no_launcher();
	unsetenv("WORLD_SIZE");
	unsetenv("LOCAL_WORLD_SIZE");
	unsetenv("SLURM_LOCALID");
	pp_claim_numbers(born);
	setenv("LOCAL_RANK", "1", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 1 && c.size == 2 && c.local_rank == 1 && c.by == PP_CLAIM_VARIABLE);
	CHECK(pp_claim_is_group(&c, 3, 4, 0) && !pp_claim_is_group(&c, 0, 1, 0));
	CHECK(pp_claim_is_group(&c, 0, 2, 0)); /* LOCAL_RANK may be another host's */
	setenv("NODE_RANK", "2", 1);           /* how many come before is not known */
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 0 && c.size == 1 && c.by == PP_CLAIM_NOTHING);
	setenv("LOCAL_WORLD_SIZE", "4", 1);
	setenv("WORLD_SIZE", "16", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 9 && c.size == 16 && c.local_size == 4);
	unsetenv("NODE_RANK");
	unsetenv("LOCAL_WORLD_SIZE");
	setenv("WORLD_SIZE", "1", 1); /* the number of a device */
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 0 && c.size == 1);
	CHECK(!pp_claim_read_changed(&c, born));
	setenv("WORLD_SIZE", "2", 1);
	CHECK(pp_claim_read_changed(&c, born) && c.rank == 1);
	pp_claim_numbers(born);
	CHECK(!pp_claim_read_changed(&c, born));
	setenv("PMIX_RANK", "0", 1); /* the first that differs, whatever stays */
	CHECK(pp_claim_read_changed(&c, born) && c.rank == 0);
	unsetenv("PMIX_RANK");
	setenv("SLURM_PROCID", "0", 1); /* one task, which starts ranks */
	setenv("SLURM_NTASKS", "1", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 1 && c.size == 2);
	setenv("SLURM_NTASKS", "3", 1);
	pp_claim_read(&c, -1, -1);
	CHECK(c.rank == 0 && c.size == 3);
	no_launcher();
	unsetenv("LOCAL_RANK");
	unsetenv("WORLD_SIZE");
}

/* Exit status of a child that tries: 0 got it, 1 busy. */
static int child_takes(const char *dir, const struct pp_claim *c)
{
	pid_t pid = fork();
	uint32_t beside;
	int status = 0;

	if (!pid)
		_exit(pp_claim_take(c, dir, &beside, NULL) < 0);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int spawned_into(const char *dir, const char *job)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/options", dir);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fprintf(f, "STEPS=\nJOB=%s\nVERSION=1\nCOMMAND=a\n", job);
	fclose(f);
	return pp_claim_is_spawned(dir);
}

TEST(spawned_worlds)
{
	char dir[] = "/tmp/podprof-claim-XXXXXX", path[96];

	if (!mkdtemp(dir))
		return;
	unsetenv("OMPI_PARENT_PORT");
	setenv("PMIX_NAMESPACE", "prte-host-17@2", 1);
	CHECK_INT(spawned_into(dir, "prte-host-17_1"), 0);
	setenv("OMPI_PARENT_PORT", "x", 1);
	CHECK_INT(spawned_into(dir, "prte-host-17_1"), 1);
	CHECK_INT(spawned_into(dir, "prte-host-17_2"), 0);
	CHECK_INT(spawned_into(dir, "prte-host-17_22"), 1);
	CHECK_INT(spawned_into(dir, "prte-host-17"), 1);
	CHECK_INT(spawned_into(dir, "host-1-2"), 1);
	snprintf(path, sizeof(path), "%s/options", dir);
	unlink(path);
	CHECK_INT(pp_claim_is_spawned(dir), 1);
	rmdir(dir);
	unsetenv("OMPI_PARENT_PORT");
	unsetenv("PMIX_NAMESPACE");
}

static int child_takes_beside(const char *dir, struct pp_claim c, enum pp_claim_by by)
{
	pid_t pid = fork();
	uint32_t beside = 7;
	int status = 0;

	c.by = by;
	if (!pid)
		_exit(pp_claim_take(&c, dir, &beside, NULL) < 0 ? 1 : beside ? 2 : 0);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

/* Beside a holder is who is surer of its number: a rank beside the process that started it, and no helper beside its rank. */
TEST(beside)
{
	struct pp_claim c = {.rank = 0, .size = 1, .by = PP_CLAIM_NOTHING};
	char dir[] = "/tmp/podprof-claim-XXXXXX", path[64];
	uint32_t beside;
	int fd;

	CHECK(mkdtemp(dir) != NULL);
	CHECK_INT(child_takes_beside(dir, c, PP_CLAIM_VARIABLE), 0);
	fd = pp_claim_take(&c, dir, &beside, NULL);
	CHECK(fd >= 0);
	CHECK_INT(child_takes_beside(dir, c, PP_CLAIM_NOTHING), 1);
	CHECK_INT(child_takes_beside(dir, c, PP_CLAIM_VARIABLE), 2);
	pp_claim_raise(fd, PP_CLAIM_VARIABLE);
	CHECK_INT(child_takes_beside(dir, c, PP_CLAIM_VARIABLE), 1);
	CHECK_INT(child_takes_beside(dir, c, PP_CLAIM_MEMBER), 2);
	pp_claim_raise(fd, PP_CLAIM_MEMBER);
	CHECK_INT(child_takes_beside(dir, c, PP_CLAIM_MEMBER), 1);
	snprintf(path, sizeof(path), "%s/rank-0.claim", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/rank-0.own.claim", dir);
	unlink(path);
	rmdir(dir);
}

TEST(lock)
{
	struct pp_claim c = {.rank = 2, .size = 4, .by = PP_CLAIM_VARIABLE},
	                other = {.rank = 1, .size = 4, .by = PP_CLAIM_VARIABLE};
	char dir[] = "/tmp/podprof-claim-XXXXXX", path[64];
	struct pp_err err;
	uint32_t beside;

	CHECK(mkdtemp(dir) != NULL);
	CHECK_INT(child_takes(dir, &c), 0); /* the child is dead: free again */
	CHECK(pp_claim_take(&c, dir, &beside, &err) >= 0);
	CHECK_INT(child_takes(dir, &c), 1);
	CHECK_INT(child_takes(dir, &other), 0);
	CHECK(pp_claim_take(&c, "/proc/nonexistent/dir", &beside, &err) == -ENOENT);
	CHECK(strstr(err.text, "/proc/nonexistent/dir") != NULL);
	for (int rank = 1; rank < 3; rank++) {
		snprintf(path, sizeof(path), "%s/rank-%d.claim", dir, rank);
		unlink(path);
	}
	rmdir(dir);
}

static const char *watched; /* file whose lock close() must not drop */
static int dropped;

/* As another process sees it. */
static int is_locked(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd, status = 0;
	pid_t child = fork();

	if (child) {
		waitpid(child, &status, 0);
		return WEXITSTATUS(status);
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	_exit(fd >= 0 && !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK);
}

int close(int fd)
{
	int rc, was_locked = watched && is_locked(watched);

	rc = (int)syscall(SYS_close, fd);
	dropped += was_locked && !is_locked(watched);
	return rc;
}

/* A holder never lets go of its lock: for that moment a process with equal evidence would take it for less sure. */
TEST(held)
{
	struct pp_claim c = {.rank = 0, .size = 1, .by = PP_CLAIM_VARIABLE};
	char dir[] = "/tmp/podprof-claim-XXXXXX", path[64];
	uint32_t beside;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/rank-0.claim", dir);
	watched = path;
	CHECK(pp_claim_take(&c, dir, &beside, NULL) >= 0);
	watched = NULL;
	CHECK_INT(dropped, 0);
	CHECK_INT(child_takes(dir, &c), 1);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	variables();
	alone_under_another_launcher();
	ranks_of_the_program();
	beside();
	spawned_worlds();
	lock();
	held();
	return test_end();
}
