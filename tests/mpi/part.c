/* Who takes part (mpi/coord_part.c): by the launcher's variables and the marks in a spool, each rank a struct of this process. */
#include <stdlib.h>
#include <unistd.h>

#include "mpi/coord_part.h"
#include "tests/test.h"

enum { RANKS = 4 };

static char spool[] = "/tmp/podprof-part-XXXXXX";
static struct pp_part part[RANKS];

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void launcher(const char *world, int rank, int size, int local)
{
	char text[16];

	set("PMIX_NAMESPACE", world);
	snprintf(text, sizeof text, "%d", rank);
	set("OMPI_COMM_WORLD_RANK", text);
	snprintf(text, sizeof text, "%d", size);
	set("OMPI_COMM_WORLD_SIZE", text);
	snprintf(text, sizeof text, "%d", local);
	set("OMPI_COMM_WORLD_LOCAL_SIZE", text);
}

static void command(const char *contexts, const char *name, const char *arguments)
{
	set("OMPI_NUM_APP_CTX", contexts);
	set("OMPI_COMMAND", name);
	set("OMPI_ARGV", arguments);
}

/* Marks of ranks [0, marks) of a world on one host. */
static void mark(const char *world, int marks)
{
	for (int r = 0; r < marks; r++) {
		launcher(world, r, RANKS, RANKS);
		pp_part_mark(&part[r], spool);
	}
}

static int yes(const struct pp_part *p)
{
	return !pp_part_why_not(p, RANKS);
}

TEST(test_one_host)
{
	mark("all.1", RANKS);
	for (int r = 0; r < RANKS; r++) {
		CHECK(yes(&part[r]));
		CHECK_INT(pp_part_is_first(&part[r]), r == 0);
	}
	mark("some.1", 3); /* rank 3 has no podprof */
	CHECK(!yes(&part[0]));
	CHECK(!yes(&part[2]));
	launcher("some.1", 3, RANKS, RANKS); /* its mark comes too late, when another has decided */
	pp_part_mark(&part[3], spool);
	CHECK(!yes(&part[3]));
	CHECK(!yes(&part[1]));
	mark("size.1", RANKS);
	CHECK(pp_part_why_not(&part[0], RANKS + 1) != NULL);
	launcher("none.1", 1, RANKS, RANKS);
	pp_part_mark(&part[1], NULL);
	CHECK(!yes(&part[1]));
	pp_part_mark(&part[1], "/proc/nonexistent");
	CHECK(!yes(&part[1]));
}

/* Two worlds of one spool know nothing of each other. */
TEST(test_worlds)
{
	struct pp_part other;

	mark("first.1", 3);
	launcher("first.2", 3, RANKS, RANKS);
	pp_part_mark(&other, spool);
	CHECK(!yes(&part[0]));
	CHECK(!yes(&other));
}

/* A helper of rank 1 had called MPI_Init, and then the rank itself: whoever asks says no, before and after the others have. */
TEST(test_again)
{
	mark("helper.1", RANKS);
	launcher("helper.1", 1, RANKS, RANKS);
	pp_part_mark(&part[1], spool);
	for (int r = 0; r < RANKS; r++)
		CHECK(!yes(&part[r]));
	mark("twice.1", RANKS);
	CHECK(yes(&part[2]));
	mark("twice.1", RANKS); /* the next program of all ranks, in the same world */
	for (int r = 0; r < RANKS; r++)
		CHECK(!yes(&part[r]));
}

static void hydra(int rank, int local)
{
	char text[16];

	set("PMIX_NAMESPACE", NULL);
	set("OMPI_COMM_WORLD_RANK", NULL);
	snprintf(text, sizeof text, "%d", rank);
	set("PMI_RANK", text);
	set("PMI_SIZE", "4");
	snprintf(text, sizeof text, "%d", local);
	set("MPI_LOCALNRANKS", text);
}

/* MPICH's launcher: its ranks on a host are children of one process. */
TEST(test_hydra)
{
	for (int r = 0; r < RANKS; r++) {
		hydra(r, RANKS);
		pp_part_mark(&part[r], spool);
	}
	for (int r = 0; r < RANKS; r++)
		CHECK(yes(&part[r]));
	hydra(1, 2); /* the others on another host */
	pp_part_mark(&part[1], spool);
	CHECK(!yes(&part[1]));
	set("MPI_LOCALNRANKS", NULL); /* another launcher with PMI */
	pp_part_mark(&part[1], spool);
	CHECK(!yes(&part[1]));
	set("PMI_RANK", NULL);
	set("PMI_SIZE", NULL);
}

static const char *several(const char *contexts, const char *name, const char *arguments)
{
	launcher("far.1", 2, RANKS, 2);
	command(contexts, name, arguments);
	pp_part_mark(&part[2], NULL);
	return pp_part_why_not(&part[2], RANKS);
}

TEST(test_several_hosts)
{
	CHECK(!several("1", "podprof", "run -o logs -- ./train"));
	CHECK(!several("1", "/opt/podprof/bin/podprof", "run ./train.share"));
	CHECK(!several("1", "podprof", "run -- python3 train.py --mesh 2"));
	CHECK(!several("1", "nice", "podprof run -- ./train"));
	CHECK(!several("1", "/usr/bin/numactl", "-m 0 --cpunodebind=0 /opt/podprof run ./train"));
	CHECK(!several("1", "env", "A=1 PATH=/a/b nice -n 10 taskset 0x3 podprof run ./train"));
	CHECK(several("1", "nice", "./train podprof run") != NULL);
	CHECK(several("1", "nice", "./some podprof run ./train") != NULL);
	CHECK(several("1", "numactl", "-m 0 ./start.sh podprof run ./train") != NULL);
	CHECK(several("1", "env", "A=1 bash podprof run ./train") != NULL);
	CHECK(several("1", "env", "podprof") != NULL);
	CHECK(several("1", "nice", "-n 10") != NULL);
	CHECK(several("1", "podprof", "runs ./train") != NULL);
	CHECK(several("2", "podprof", "run -o logs -- ./train") != NULL);
	CHECK(several(NULL, "podprof", "run -o logs -- ./train") != NULL);
	CHECK(several("1", "bash", "-c podprof run ./train") != NULL);
	CHECK(several("1", "./train", "") != NULL);
	CHECK(several("1", NULL, NULL) != NULL);
	CHECK(several("1", "podprof", "status logs") != NULL);
	CHECK(several("1", "podprof", "run -- bash -c ./train") != NULL);
	CHECK(several("1", "podprof", "run -- /bin/sh start") != NULL);
	CHECK(several("1", "podprof", "run ./start.sh 8") != NULL);
	set("OMPI_PARENT_PORT", "1.0;tcp");
	CHECK(several("1", "podprof", "run -o logs -- ./train") != NULL);
	set("OMPI_PARENT_PORT", NULL);
	command(NULL, NULL, NULL);
}

TEST(test_no_launcher)
{
	launcher(NULL, 0, 1, 1);
	pp_part_mark(&part[0], spool);
	CHECK_STR(pp_part_why_not(&part[0], 1), "no launcher started this process");
	launcher("odd.1", 4, 4, 4);
	pp_part_mark(&part[0], spool);
	CHECK(pp_part_why_not(&part[0], 4) != NULL);
	set("OMPI_COMM_WORLD_RANK", "zero");
	set("PMIX_RANK", NULL);
	pp_part_mark(&part[0], spool);
	CHECK(pp_part_why_not(&part[0], 4) != NULL);
}

TEST(test_srun)
{
	set("OMPI_COMM_WORLD_RANK", NULL);
	set("PMIX_NAMESPACE", "slurm.pmix.7.0");
	set("SLURM_STEP_NUM_TASKS", "2");
	for (int nodes = 1; nodes <= 2; nodes++) {
		set("SLURM_STEP_NUM_NODES", nodes == 1 ? "1" : "2");
		set("PMIX_NAMESPACE", nodes == 1 ? "slurm.pmix.7.0" : "slurm.pmix.7.1");
		for (int r = 0; r < 2; r++) {
			set("PMIX_RANK", r ? "1" : "0");
			pp_part_mark(&part[r], spool);
		}
		CHECK_INT(!pp_part_why_not(&part[0], 2), nodes == 1);
		CHECK_INT(!pp_part_why_not(&part[1], 2), nodes == 1);
	}
}

int main(void)
{
	char line[64];

	if (!mkdtemp(spool))
		return 1;
	set("OMPI_PARENT_PORT", NULL);
	command(NULL, NULL, NULL);
	test_one_host();
	test_worlds();
	test_again();
	test_hydra();
	test_several_hosts();
	test_no_launcher();
	test_srun();
	snprintf(line, sizeof line, "rm -rf %s", spool);
	return system(line) | test_end();
}
