/* Data-parallel training in C: a multi-layer perceptron, gradients summed by MPI_Allreduce, the loss falls or the exit code is 1.
 * One command: mpirun -n 8 podprof run -o logs --steps 10:20 -- c_mpi_train [--steps N] [--slow-rank R --slow-us N] */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/podprof.h"
#include "train.h"

struct config {
	int steps, slow_rank, slow_us, checkpoint_every, print;
	int profile_first, profile_last; /* steps that the program itself asks to be captured */
	const char *checkpoint;          /* NULL: a file without a name, removed at the end */
};

static int usage(const char *word)
{
	fprintf(stderr,
	        "c_mpi_train: '%s' is not understood. Options: --steps N, --slow-rank R, --slow-us N, --checkpoint FILE, "
	        "--checkpoint-every N, --profile A:B, --quiet\n",
	        word);
	return 2;
}

static int parse(int argc, char **argv, struct config *c)
{
	for (int i = 1; i < argc; i++) {
		int *number = NULL;

		if (!strcmp(argv[i], "--quiet")) {
			c->print = 0;
			continue;
		}
		if (i + 1 >= argc)
			return usage(argv[i]);
		if (!strcmp(argv[i], "--steps"))
			number = &c->steps;
		else if (!strcmp(argv[i], "--slow-rank"))
			number = &c->slow_rank;
		else if (!strcmp(argv[i], "--slow-us"))
			number = &c->slow_us;
		else if (!strcmp(argv[i], "--checkpoint-every"))
			number = &c->checkpoint_every;
		else if (!strcmp(argv[i], "--checkpoint"))
			c->checkpoint = argv[i + 1];
		else if (!strcmp(argv[i], "--profile")) {
			if (sscanf(argv[i + 1], "%d:%d", &c->profile_first, &c->profile_last) != 2)
				return usage(argv[i + 1]);
		} else
			return usage(argv[i]);
		i++;
		if (number)
			*number = (int)strtol(argv[i], NULL, 10);
	}
	return 0;
}

static void sleep_us(int us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000L};

	nanosleep(&t, NULL);
}

static void write_checkpoint(FILE *f, const struct model *m)
{
	podprof_range_push_as("checkpoint", PODPROF_OUTPUT);
	rewind(f);
	if (fwrite(m->weight, sizeof(m->weight), 1, f) != 1 || fflush(f))
		perror("c_mpi_train: checkpoint");
	podprof_range_pop();
}

/* One step; returns this rank's loss. */
static float step(struct model *m, struct batch *b, unsigned *random, int slow_us, int ranks)
{
	float loss;

	podprof_range_push_as("next batch", PODPROF_INPUT);
	batch_fill(b, random);
	podprof_range_pop();

	podprof_range_push_as("forward and backward", PODPROF_HOST_COMPUTE);
	loss = model_forward(m, b);
	model_backward(m, b);
	if (slow_us > 0)
		sleep_us(slow_us);
	podprof_range_pop();

	podprof_range_push_as("sum gradients", PODPROF_HOST_COMMUNICATION);
	MPI_Allreduce(MPI_IN_PLACE, m->gradient, WEIGHTS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	podprof_range_pop();

	podprof_range_push_as("update", PODPROF_HOST_COMPUTE);
	model_update(m, 0.1f, ranks);
	podprof_range_pop();
	return loss;
}

/* Returns the loss of all ranks over the first and the last tenth of the steps. */
static void train(const struct config *c, int rank, int ranks, FILE *checkpoint, double *ret_first, double *ret_last)
{
	static struct model model;
	static struct batch batch;
	unsigned random = 12345u + 7919u * (unsigned)rank;
	int tenth = c->steps >= 10 ? c->steps / 10 : 1;
	double sum[2] = {0, 0};

	model_init(&model, 1);
	if (c->profile_last > c->profile_first) /* on every rank, as here: then they are captured on every rank */
		podprof_profile_steps(c->profile_first, c->profile_last);
	for (int i = 0; i < c->steps; i++) {
		float loss;

		podprof_step_begin(i);
		loss = step(&model, &batch, &random, rank == c->slow_rank ? c->slow_us : 0, ranks);
		podprof_counter("loss", loss);
		if (checkpoint && c->checkpoint_every > 0 && (i + 1) % c->checkpoint_every == 0)
			write_checkpoint(checkpoint, &model);
		podprof_step_end();
		if (i < tenth)
			sum[0] += loss;
		if (i >= c->steps - tenth)
			sum[1] += loss;
		if (rank == 0 && c->print && (i % 100 == 0 || i == c->steps - 1))
			printf("step %d loss %.4f\n", i, (double)loss);
	}
	MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	*ret_first = sum[0] / tenth / ranks;
	*ret_last = sum[1] / tenth / ranks;
}

int main(int argc, char **argv)
{
	struct config c = {.steps = 200, .slow_rank = -1, .checkpoint_every = 50, .print = 1};
	double first = 0, last = 0;
	FILE *checkpoint = NULL;
	int rank, ranks, rc;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	rc = parse(argc, argv, &c);
	if (rc) {
		MPI_Finalize();
		return rc;
	}
	if (rank == 0)
		checkpoint = c.checkpoint ? fopen(c.checkpoint, "wb") : tmpfile();
	train(&c, rank, ranks, checkpoint, &first, &last);
	if (checkpoint)
		fclose(checkpoint);
	if (rank == 0)
		printf("%d ranks, %d steps: loss %.4f -> %.4f\n", ranks, c.steps, first, last);
	MPI_Finalize();
	/* A run of a few steps is too short to judge. */
	return c.steps >= 20 && !(last < first);
}
