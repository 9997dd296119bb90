/* A job that fills its rings and stays: the load of salvage.py. Each rank marks STEPS steps; each has LAYERS layers, forward and
 * backward, of OPERATORS ranges, and an MPI_Allreduce per layer. Then it says so on stdout and sleeps until it is killed.
 * Usage: bench_salvage_job STEPS LAYERS OPERATORS. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/podprof.h"

enum { NAMES = 48 };

static void layer(const char *phase, int number, int operators)
{
	static const char *const kind[] = {"linear", "gelu", "softmax", "layer_norm"};
	char name[48];

	snprintf(name, sizeof(name), "%s/layer%d", phase, number % NAMES);
	podprof_range_push(name);
	for (int i = 0; i < operators; i++) {
		snprintf(name, sizeof(name), "aten::%s", kind[i % 4]);
		podprof_range_push(name);
		podprof_range_pop();
	}
	podprof_range_pop();
}

static int number(const char *word)
{
	return (int)strtol(word, NULL, 10);
}

int main(int argc, char **argv)
{
	int steps = argc == 4 ? number(argv[1]) : 0, layers = argc == 4 ? number(argv[2]) : 0;
	int operators = argc == 4 ? number(argv[3]) : 0, rank;
	float loss = 1, sum;

	if (steps < 1 || layers < 0 || operators < 0) {
		fprintf(stderr, "usage: %s STEPS LAYERS OPERATORS\n", argv[0]);
		return 64;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int step = 0; step < steps; step++) {
		podprof_step_begin(step);
		for (int i = 0; i < layers; i++)
			layer("forward", i, operators);
		for (int i = layers; i-- > 0;) {
			layer("backward", i, operators);
			MPI_Allreduce(&loss, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		}
		podprof_step_end();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank) {
		puts("filled");
		fflush(stdout);
	}
	for (;;)
		pause();
}
