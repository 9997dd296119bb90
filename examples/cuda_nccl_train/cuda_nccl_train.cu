/* Data-parallel training, one device per rank, gradients summed by ncclAllReduce: the loss falls or the exit code is 1; 77 where
 * there is no device, or fewer than ranks on the host.
 * One command: mpirun -n 2 podprof run -o logs --steps 10:20 -- cuda_nccl_train [--steps N] [--slow-rank R --slow-us N] */
#include <mpi.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cuda_train/model.cuh"
#include "core/podprof.h"

struct config {
	long steps, slow_rank, slow_us;
};

static void must_nccl(ncclResult_t rc, const char *what)
{
	if (rc == ncclSuccess)
		return;
	fprintf(stderr, "cuda_nccl_train: %s: %s\n", what, ncclGetErrorString(rc));
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void sleep_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static float step(struct model *m, ncclComm_t comm, int ranks, long slow_us)
{
	float loss;

	podprof_range_push_as("next batch", PODPROF_INPUT);
	model_next_batch(m);
	if (slow_us > 0)
		sleep_us(slow_us);
	model_upload(m);
	podprof_range_pop();
	podprof_range_push("forward and backward");
	model_gradient(m);
	podprof_range_pop();
	podprof_range_push("sum gradients");
	must_nccl(ncclAllReduce(m->gradient, m->gradient, m->weights, ncclFloat, ncclSum, comm, m->stream), "ncclAllReduce");
	podprof_range_pop();
	podprof_range_push("update");
	model_update(m, 0.05f / (float)ranks);
	podprof_range_pop();
	podprof_range_push("loss");
	loss = model_loss(m);
	podprof_range_pop();
	return loss;
}

static void train(const struct config *c, int rank, int ranks, ncclComm_t comm, double *ret_halves)
{
	struct model m;

	model_create(&m, 12345u + 7919u * (unsigned)rank);
	for (long i = 0; i < c->steps; i++) {
		float loss;

		podprof_step_begin(i);
		loss = step(&m, comm, ranks, rank == c->slow_rank ? c->slow_us : 0);
		podprof_counter("loss", loss);
		podprof_step_end();
		ret_halves[i >= c->steps / 2] += loss;
		if (rank == 0 && i % 50 == 0)
			printf("step %ld loss %.4f\n", i, (double)loss);
	}
	model_destroy(&m);
}

static int parse(int argc, char **argv, struct config *c)
{
	for (int i = 1; i < argc; i += 2) {
		long *number = !strcmp(argv[i], "--steps")       ? &c->steps
		               : !strcmp(argv[i], "--slow-rank") ? &c->slow_rank
		               : !strcmp(argv[i], "--slow-us")   ? &c->slow_us
		                                                 : NULL;

		if (!number || i + 1 == argc) {
			fprintf(stderr, "cuda_nccl_train: '%s' is not understood. Options: --steps N, --slow-rank R, --slow-us N\n", argv[i]);
			return 2;
		}
		*number = strtol(argv[i + 1], NULL, 10);
	}
	return 0;
}

/* All ranks leave together, with one sentence, unless each has a device of its own. */
static int has_devices(MPI_Comm host, int rank)
{
	int ranks, devices = 0, mine, all;

	MPI_Comm_size(host, &ranks);
	if (cudaGetDeviceCount(&devices) != cudaSuccess)
		devices = 0;
	mine = devices >= ranks;
	MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!all && rank == 0)
		fprintf(stderr, "cuda_nccl_train: skipped, a host has fewer devices than ranks: %d for %d on this one\n", devices, ranks);
	return all;
}

int main(int argc, char **argv)
{
	struct config c = {200, -1, 0};
	double halves[2] = {0, 0};
	int rank, ranks, local, rc;
	ncclUniqueId id;
	ncclComm_t comm;
	MPI_Comm host;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
	MPI_Comm_rank(host, &local);
	rc = parse(argc, argv, &c);
	if (!rc && !has_devices(host, rank))
		rc = 77;
	if (rc) {
		MPI_Finalize();
		return rc;
	}
	device_choose(local);
	if (rank == 0)
		must_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
	MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
	must_nccl(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
	train(&c, rank, ranks, comm, halves);
	ncclCommDestroy(comm);
	MPI_Allreduce(MPI_IN_PLACE, halves, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, %ld steps: loss %.4f -> %.4f\n", ranks, c.steps, 2 * halves[0] / ranks / c.steps,
		       2 * halves[1] / ranks / c.steps);
	MPI_Finalize();
	return c.steps >= 20 && !(halves[1] < halves[0]);
}
