/* Data-parallel training in C: a multi-layer perceptron, gradients summed by MPI_Allreduce, the loss falls or the exit code is 1.
 * One command: mpirun -n 8 podprof run -o logs --steps 10:20 -- c_mpi_train [--steps N] [--slow-rank R --slow-us N]
 * More options make the cases of docs/reading-a-report.md: --work-us N (longer steps), --slow-in input|compute, --slow-turns 1
 * (another rank in each step), --checkpoint-us N (slow disk), --group N (a sum over groups of N ranks before that over all),
 * --parts N (batches go through the ranks as a pipeline, in N parts). */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/podprof.h"
#include "train.h"

enum place { COMPUTE, INPUT };

struct config {
	int steps, work_us, slow_rank, slow_us, slow_turns, checkpoint_every, checkpoint_us, group, parts, print;
	enum place slow_in;
	int profile_first, profile_last; /* steps that the program itself asks to be captured */
	const char *checkpoint;          /* NULL: a file without a name, removed at the end */
};

static int usage(const char *word)
{
	fprintf(stderr,
	        "c_mpi_train: '%s' is not understood. Options: --steps N, --work-us N, --slow-rank R, --slow-us N, "
	        "--slow-in input|compute, --slow-turns 0|1, --checkpoint FILE, --checkpoint-every N, --checkpoint-us N, "
	        "--group N, --parts N, --profile A:B, --quiet\n",
	        word);
	return 2;
}

static int *number_of(struct config *c, const char *word)
{
	const struct {
		const char *word;
		int *number;
	} known[] = {{"--steps", &c->steps},
	             {"--work-us", &c->work_us},
	             {"--slow-rank", &c->slow_rank},
	             {"--slow-us", &c->slow_us},
	             {"--slow-turns", &c->slow_turns},
	             {"--checkpoint-every", &c->checkpoint_every},
	             {"--checkpoint-us", &c->checkpoint_us},
	             {"--group", &c->group},
	             {"--parts", &c->parts}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(word, known[i].word))
			return known[i].number;
	return NULL;
}

static int parse(int argc, char **argv, struct config *c)
{
	for (int i = 1; i < argc; i++) {
		int *number = number_of(c, argv[i]);

		if (!strcmp(argv[i], "--quiet")) {
			c->print = 0;
			continue;
		}
		if (i + 1 >= argc)
			return usage(argv[i]);
		if (number)
			*number = (int)strtol(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--checkpoint"))
			c->checkpoint = argv[i + 1];
		else if (!strcmp(argv[i], "--slow-in") && !strcmp(argv[i + 1], "input"))
			c->slow_in = INPUT;
		else if (!strcmp(argv[i], "--slow-in") && !strcmp(argv[i + 1], "compute"))
			c->slow_in = COMPUTE;
		else if (strcmp(argv[i], "--profile") || sscanf(argv[i + 1], "%d:%d", &c->profile_first, &c->profile_last) != 2)
			return usage(argv[strcmp(argv[i], "--profile") && strcmp(argv[i], "--slow-in") ? i : i + 1]);
		i++;
	}
	return 0;
}

struct job {
	const struct config *config;
	int rank, ranks;
	MPI_Comm group; /* MPI_COMM_NULL: without groups */
};

static void sleep_us(int us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000L};

	if (us > 0)
		nanosleep(&t, NULL);
}

/* A part of a step: work of all ranks, and what the slow rank takes longer; with turns that is another rank in each step. */
static void work(const struct job *j, enum place place, int step, int parts)
{
	const struct config *c = j->config;

	if (place == COMPUTE)
		sleep_us(c->work_us / parts);
	if (c->slow_rank >= 0 && c->slow_us > 0 && c->slow_in == place &&
	    j->rank == (c->slow_rank + (c->slow_turns ? step : 0)) % j->ranks)
		sleep_us(c->slow_us / parts);
}

static void write_checkpoint(FILE *f, const struct model *m, int us)
{
	podprof_range_push_as("checkpoint", PODPROF_OUTPUT);
	rewind(f);
	if (fwrite(m->weight, sizeof(m->weight), 1, f) != 1 || fflush(f))
		perror("c_mpi_train: checkpoint");
	sleep_us(us);
	podprof_range_pop();
}

/* The batch goes through all ranks, each adds what it makes of its part. */
static void pipeline(const struct job *j, const struct model *m, int step)
{
	float sum[HIDDEN1];

	for (int part = 0; part < j->config->parts; part++) {
		memset(sum, 0, sizeof(sum));
		if (j->rank > 0)
			MPI_Recv(sum, HIDDEN1, MPI_FLOAT, j->rank - 1, part, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		podprof_range_push_as("stage", PODPROF_HOST_COMPUTE);
		for (int i = 0; i < BATCH; i++)
			for (int k = 0; k < HIDDEN1; k++)
				sum[k] += m->h1[i][k];
		work(j, COMPUTE, step, j->config->parts);
		podprof_range_pop();
		if (j->rank < j->ranks - 1)
			MPI_Send(sum, HIDDEN1, MPI_FLOAT, j->rank + 1, part, MPI_COMM_WORLD);
		else
			podprof_counter("activation", sum[0]);
	}
}

/* One step; returns this rank's loss. */
static float train_step(const struct job *j, struct model *m, struct batch *b, unsigned *random, int step)
{
	float loss;

	podprof_range_push_as("next batch", PODPROF_INPUT);
	batch_fill(b, random);
	work(j, INPUT, step, 1);
	podprof_range_pop();

	podprof_range_push_as("forward and backward", PODPROF_HOST_COMPUTE);
	loss = model_forward(m, b);
	model_backward(m, b);
	if (j->config->parts < 1)
		work(j, COMPUTE, step, 1);
	podprof_range_pop();
	pipeline(j, m, step);

	podprof_range_push_as("sum gradients", PODPROF_HOST_COMMUNICATION);
	if (j->group != MPI_COMM_NULL) {
		float mean = loss;

		MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_FLOAT, MPI_SUM, j->group);
	}
	MPI_Allreduce(MPI_IN_PLACE, m->gradient, WEIGHTS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	podprof_range_pop();

	podprof_range_push_as("update", PODPROF_HOST_COMPUTE);
	model_update(m, 0.1f, j->ranks);
	podprof_range_pop();
	return loss;
}

/* Returns the loss of all ranks over the first and the last tenth of the steps. */
static void train(const struct job *j, FILE *checkpoint, double *ret_first, double *ret_last)
{
	const struct config *c = j->config;
	static struct model model;
	static struct batch batch;
	unsigned random = 12345u + 7919u * (unsigned)j->rank;
	int tenth = c->steps >= 10 ? c->steps / 10 : 1;
	double sum[2] = {0, 0};

	model_init(&model, 1);
	if (c->profile_last > c->profile_first) /* on every rank, as here: then they are captured on every rank */
		podprof_profile_steps(c->profile_first, c->profile_last);
	for (int i = 0; i < c->steps; i++) {
		float loss;

		podprof_step_begin(i);
		loss = train_step(j, &model, &batch, &random, i);
		podprof_counter("loss", loss);
		if (checkpoint && c->checkpoint_every > 0 && (i + 1) % c->checkpoint_every == 0)
			write_checkpoint(checkpoint, &model, c->checkpoint_us);
		podprof_step_end();
		if (i < tenth)
			sum[0] += loss;
		if (i >= c->steps - tenth)
			sum[1] += loss;
		if (j->rank == 0 && c->print && (i % 100 == 0 || i == c->steps - 1))
			printf("step %d loss %.4f\n", i, (double)loss);
	}
	MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	*ret_first = sum[0] / tenth / j->ranks;
	*ret_last = sum[1] / tenth / j->ranks;
}

int main(int argc, char **argv)
{
	struct config c = {.steps = 200, .slow_rank = -1, .checkpoint_every = 50, .print = 1};
	struct job j = {.config = &c, .group = MPI_COMM_NULL};
	double first = 0, last = 0;
	FILE *checkpoint = NULL;
	int rc;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
	rc = parse(argc, argv, &c);
	if (rc) {
		MPI_Finalize();
		return rc;
	}
	if (j.rank == 0)
		checkpoint = c.checkpoint ? fopen(c.checkpoint, "wb") : tmpfile();
	if (c.group > 0)
		MPI_Comm_split(MPI_COMM_WORLD, j.rank / c.group, j.rank, &j.group);
	train(&j, checkpoint, &first, &last);
	if (checkpoint)
		fclose(checkpoint);
	if (j.rank == 0)
		printf("%d ranks, %d steps: loss %.4f -> %.4f\n", j.ranks, c.steps, first, last);
	MPI_Finalize();
	/* A run of a few steps is too short to judge. */
	return c.steps >= 20 && !(last < first);
}
