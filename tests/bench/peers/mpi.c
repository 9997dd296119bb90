/* What a tool in front of MPI adds to MPI_Allreduce on MPI_COMM_SELF, in units of rdtsc: wrapped and bare call in turns. The
 * tool is what is preloaded or, for podprof, what podprof run brings. Prints the median; started by peers.py. */
#include <dlfcn.h>
#include <mpi.h>

#include "tests/bench/bench.h"

enum { CALLS = 2000, ROUNDS = 101 };

typedef int allreduce_fn(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static double cost(allreduce_fn *f)
{
	double in = 1, out, begin = bench_ns();

	for (int i = 0; i < CALLS; i++)
		f(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
	return (bench_ns() - begin) / CALLS;
}

int main(int argc, char **argv)
{
	static double added[ROUNDS];
	struct bench_figure f = {0};
	/* Out of the library itself: tools may stand before PMPI_ names too. */
	void *library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
	allreduce_fn *bare = library ? (allreduce_fn *)dlsym(library, "PMPI_Allreduce") : NULL;

	if (!bench_asked())
		return 77;
	if (!bare) {
		fprintf(stderr, "bench_peers_mpi: needs Open MPI\n");
		return 1;
	}
	pp_tick_init();
	MPI_Init(&argc, &argv);
	for (int i = 0; i < ROUNDS; i++) {
		double tick = bench_rdtsc(CALLS), without = cost(bare);

		added[i] = (cost(MPI_Allreduce) - without) / tick;
	}
	bench_take(&f, added, ROUNDS, 0.25, 0.5, 0.75);
	MPI_Finalize();
	printf("%.3f\n", f.value);
	return 0;
}
