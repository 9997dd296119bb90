/* Which launcher's command may span hosts, by its words, files and allocations; and what the spool holds of the rendezvous. */
#include "launchers/run/rendezvous.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/net/rendezvous_point.h"
#include "launchers/run/launcher_hosts.h"
#include "tests/test.h"

static char dir[64] = "/tmp/podprof-meet-XXXXXX";

/* Words at blanks. */
static int spans(const char *line)
{
	char text[512], *word[64] = {NULL}, *next = text;
	int n = 0;

	snprintf(text, sizeof(text), "%s", line);
	while (*next && n < 63) {
		word[n++] = next;
		next += strcspn(next, " ");
		if (*next)
			*next++ = '\0';
	}
	return pp_launcher_spans(word);
}

static const char *file(const char *name, const char *text)
{
	static char path[4][128];
	static int turn;
	char *at = path[turn++ % 4];
	FILE *f;

	snprintf(at, sizeof(path[0]), "%s/%s", dir, name);
	f = fopen(at, "w");
	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
	return at;
}

static int with_file(const char *option, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "mpirun %s %s -n 4 ./train", option, file("hosts", text));
	return spans(line);
}

TEST(words_of_mpirun)
{
	CHECK(spans("mpirun --host a,b -n 4 ./train") && spans("/opt/ompi/bin/mpirun -H a:4,b:4 ./train"));
	CHECK(spans("mpiexec -n 4 -hosts a,b ./train") && spans("mpirun -x A --mca btl self --host a,b ./train"));
	CHECK(spans("mpirun --host=a,b ./train") && spans("mpirun -n 1 --host b ./x : -n 1 --host a,b ./y"));
	CHECK(spans("mpirun -n 1 --host a ./x : -n 1 --host b ./y") && !spans("mpirun -n 1 --host a ./x : -n 1 --host a ./y -H b"));
	CHECK(!spans("mpirun -n 4 ./train") && !spans("mpirun --host a:4 -n 4 ./train") && !spans("mpirun --host a,a:2 ./train"));
	CHECK(!spans("mpirun -n 4 ./train --host a,b") && !spans("mpirun --oversubscribe ./train -H a,b") && !spans("mpirun"));
	CHECK(!spans("mpirun --host") && !spans("mpirun --mca") && !spans("mpirun -x A ./train : ./y --host a,b"));
	CHECK(!spans("./train --host a,b") && !spans("torchrun --nnodes 2 train.py") && !spans("bash -c mpirun"));
}

TEST(files_of_mpirun)
{
	CHECK(with_file("--hostfile", "a slots=4\nb slots=4\n") && with_file("-machinefile", "# two\n\na:4\n  b:4\n"));
	CHECK(with_file("-f", "a\nb") && !with_file("--hostfile", "a slots=4\n") && !with_file("--hostfile", "a\na\n\n#b\n"));
	CHECK(!with_file("--hostfile", "") && !spans("mpirun --hostfile /nowhere/at/all ./train"));
	setenv("OMPI_MCA_orte_default_hostfile", file("default", "a\nb\n"), 1);
	CHECK(spans("mpirun -n 4 ./train") && !spans("mpirun --host a ./train"));
	unsetenv("OMPI_MCA_orte_default_hostfile");
}

TEST(allocations)
{
	setenv("SLURM_JOB_ID", "7", 1);
	setenv("SLURM_JOB_NUM_NODES", "2", 1);
	CHECK(spans("mpirun -n 4 ./train") && spans("srun ./train") && spans("srun -n 8 --exclusive ./train"));
	CHECK(!spans("mpirun --host a ./train") && !spans("srun -N1 ./train") && !spans("srun -n 4 --nodes=1 ./train"));
	CHECK(!spans("./train") && !spans("srun -w node1 ./train"));
	setenv("SLURM_JOB_NUM_NODES", "1", 1);
	CHECK(!spans("srun -n 8 ./train") && !spans("mpirun ./train") && !spans("srun -N1 ./x : -N1 ./y"));
	setenv("SLURM_HET_SIZE", "2", 1);
	CHECK(spans("srun -N1 ./x : -N1 ./y") && !spans("srun -N1 ./x"));
	CHECK(spans("srun --het-group=0,1 ./x") && spans("srun -N1 --het-group 0-1 ./x") && !spans("srun --het-group=1 ./x"));
	unsetenv("SLURM_HET_SIZE");
	unsetenv("SLURM_JOB_NUM_NODES");
	unsetenv("SLURM_JOB_ID");
	CHECK(spans("srun -N1 ./x : -N1 ./y"));
	CHECK(spans("srun -N 2 ./train") && spans("srun --label -N2-4 ./train") && spans("srun --nodes 1-2 ./train"));
	CHECK(spans("srun --job-name x -w node[1-2] ./train") && spans("srun -n 8 ./train") && !spans("srun ./train -N 2"));
	CHECK(!spans("srun -J -N2 ./train") && !spans("srun") && !spans("srun -N") && !spans("srun -- ./train -N 2"));
	setenv("PBS_NODEFILE", file("pbs", "a\na\nb\nb\n"), 1);
	CHECK(spans("mpirun ./train"));
	unsetenv("PBS_NODEFILE");
	setenv("LSB_MCPU_HOSTS", "a 4 b 4", 1);
	CHECK(spans("mpirun ./train"));
	setenv("LSB_MCPU_HOSTS", "a 4", 1);
	CHECK(!spans("mpirun ./train"));
	unsetenv("LSB_MCPU_HOSTS");
}

static int exists(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

static void drop(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

TEST(what_the_keeper_says)
{
	struct pp_err err = {""};
	char *value;

	pp_rendezvous_want(dir, 1);
	CHECK(exists(PP_RENDEZVOUS_POINT_WANTED));
	drop(PP_RENDEZVOUS_POINT_WANTED);
	file(PP_RENDEZVOUS_POINT_FAILED, "no free port in 4-5");
	CHECK(pp_rendezvous_wait(dir, &err) == NULL);
	CHECK_STR(err.text, "no free port in 4-5");
	file(PP_RENDEZVOUS_POINT_FILE, "abcd");
	value = pp_rendezvous_wait(dir, &err);
	CHECK_STR(value, "abcd");
	free(value);
	pp_rendezvous_want(dir, 1); /* there is one */
	CHECK(!exists(PP_RENDEZVOUS_POINT_WANTED));
	pp_rendezvous_want(dir, 0); /* of a job that was killed */
	CHECK(exists(PP_RENDEZVOUS_POINT_WANTED) && !exists(PP_RENDEZVOUS_POINT_FILE) && !exists(PP_RENDEZVOUS_POINT_FAILED));
	drop(PP_RENDEZVOUS_POINT_WANTED);
	CHECK(pp_rendezvous_wait(dir, &err) == NULL);
	CHECK_STR(err.text, "the keeper gave no reason");
}

TEST(handed_on)
{
	char path[128], text[64] = "";
	struct stat st;
	FILE *f;

	unsetenv(PP_RENDEZVOUS_VARIABLE);
	CHECK(!pp_rendezvous_pass(dir));
	setenv(PP_RENDEZVOUS_VARIABLE, "", 1);
	CHECK(!pp_rendezvous_pass(dir));
	CHECK(!exists(PP_RENDEZVOUS_POINT_FILE));
	umask(0);
	setenv(PP_RENDEZVOUS_VARIABLE, "abcd", 1);
	CHECK(pp_rendezvous_pass(dir));
	setenv(PP_RENDEZVOUS_VARIABLE, "efgh", 1);
	CHECK(!pp_rendezvous_pass(dir)); /* the first one's stays */
	snprintf(path, sizeof(path), "%s/" PP_RENDEZVOUS_POINT_FILE, dir);
	CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0600 && st.st_nlink == 1);
	f = fopen(path, "r");
	CHECK(f && fgets(text, sizeof(text), f));
	if (f)
		fclose(f);
	CHECK_STR(text, "abcd");
	drop(PP_RENDEZVOUS_POINT_FILE);
}

int main(void)
{
	static const char *const others[] = {"SLURM_JOB_ID",  "SLURM_JOB_NUM_NODES", "SLURM_NNODES",   "NHOSTS",
	                                     "PBS_NUM_NODES", "PBS_NODEFILE",        "LSB_MCPU_HOSTS", "HYDRA_HOST_FILE"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		unsetenv(others[i]);
	if (!mkdtemp(dir))
		return 77;
	words_of_mpirun();
	files_of_mpirun();
	allocations();
	what_the_keeper_says();
	handed_on();
	drop("hosts");
	drop("default");
	drop("pbs");
	CHECK_INT(rmdir(dir), 0);
	return test_end();
}
