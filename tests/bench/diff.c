/* Time of podprof diff: two made-up sessions of 1024 ranks, 16 roles and 1000 steps, from their pod.h5 to text and JSON, reading
 * included. bench_diff PODPROF. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "aggregate/write/writer.h"
#include "tests/bench/bench.h"
#include "tests/unit/aggregate/pod_made.h"

enum { RANKS = 1024, STEPS = 1000, PER_HOST = 8, ROLES = 16, REPS = 3 };

static uint64_t seed = 1;

static int64_t noise(int64_t most)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)((seed >> 33) % (uint64_t)most);
}

/* Rank 700 of the second session computes longer. */
static int write_session(const char *logdir, const char *session, int64_t more)
{
	const struct pp_writer_ops *hdf5 = NULL;
	struct pp_made_job m;
	struct pp_dataset d;
	struct pp_err err = {""};
	int rc;

	pp_made_begin(&m, RANKS, PER_HOST, 0, STEPS);
	for (size_t s = 0; s < STEPS; s++) {
		for (size_t r = 0; r < RANKS; r++) {
			pp_made_step_begin(&m, r, s);
			pp_made_work(&m, r, PP_CATEGORY_INPUT, 1000000 + noise(50000));
			pp_made_work(&m, r, PP_CATEGORY_HOST_COMPUTE, 20000000 + noise(400000) + (r == 700 ? more : 0));
		}
		pp_made_collective(&m, 1, "MPI_Allreduce", 1 << 20, 500000);
		pp_made_end_all(&m);
	}
	d = pp_made_end(&m);
	d.role = calloc(ROLES, sizeof(*d.role));
	d.roles = ROLES;
	if (!d.role)
		return -1;
	for (int32_t r = 0; r < RANKS; r++)
		d.worker[r].role = r % ROLES;
	for (int32_t r = 0; r < ROLES; r++)
		d.role[r].first_rank = r;
	snprintf(d.session, sizeof(d.session), "%s", session);
	for (size_t i = 0; pp_writer_list[i]; i++)
		if (!strcmp(pp_writer_list[i]->name, "hdf5"))
			hdf5 = pp_writer_list[i];
	rc = hdf5->write(&(struct pp_output){.dataset = &d, .logdir = logdir, .session = session}, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.text);
	pp_dataset_release(&d);
	return rc;
}

int main(int argc, char **argv)
{
	struct bench_figure f = {
	        .bench = "diff", .what = "two sessions of 1024 ranks, 16 roles and 1000 steps", .unit = "s", .gate = 3};
	char dir[] = "/tmp/podprof-bench-diff-XXXXXX", command[4096];
	double took[REPS];
	int bad = 0;

	if (argc < 2 || !bench_asked())
		return 77;
	if (!mkdtemp(dir))
		return 1;
	bad = write_session(dir, "a", 0) || write_session(dir, "b", 2000000);
	snprintf(command, sizeof(command), "'%s' diff '%s/podprof/a' '%s/podprof/b' | grep -q 'rank 700: Host compute'", argv[1],
	         dir, dir);
	for (int i = 0; i < REPS && !bad; i++) {
		double begin = bench_ns();

		bad = system(command);
		took[i] = (bench_ns() - begin) / 1e9;
	}
	if (!bad)
		bench_take(&f, took, REPS, 0, 0.5, 1);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	(void)!system(command);
	return bad ? 1 : bench_print(&f);
}
