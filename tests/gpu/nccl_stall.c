/* Ranks that train on the stand-in of NCCL and then stop in one of many ways; for gpu_nccl_hang. No MPI. Usage: nccl_stall HOW,
 * with LD_LIBRARY_PATH and REPLAY_NCCL_DIR of the stand-ins. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/podprof.h"
#include "tests/gpu/replay.h"
#include "tests/gpu/replay_nccl.h"

enum { STEPS = 20, COUNT = 1000 };

static int (*init_rank)(struct ncclComm **, int, struct replay_nccl_id, int);
static int (*destroy)(struct ncclComm *);
static int (*all_reduce)(const void *, void *, size_t, int, int, struct ncclComm *, void *);
static int (*broadcast)(const void *, void *, size_t, int, int, struct ncclComm *, void *);

static void *find(void *library, const char *name)
{
	void *found = library ? dlsym(library, name) : NULL;

	if (!found) {
		fprintf(stderr, "no '%s' in the stand-ins: LD_LIBRARY_PATH\n", name);
		exit(2);
	}
	return found;
}

static int number(const char *name)
{
	const char *text = getenv(name);

	return text ? (int)strtol(text, NULL, 10) : 0;
}

/* The stand-in tells communicators apart by the lengths of their names. */
static struct ncclComm *comm_new(const char *name, int ranks, int rank)
{
	struct replay_nccl_id id = {""};
	struct ncclComm *comm;

	snprintf(id.name, sizeof(id.name), "%s", name);
	if (init_rank(&comm, ranks, id, rank)) {
		fprintf(stderr, "the stand-in makes no communicator\n");
		exit(2);
	}
	return comm;
}

static void sum(struct ncclComm *comm, size_t count)
{
	all_reduce(NULL, NULL, count, REPLAY_NCCL_FLOAT, 0, comm, NULL);
}

static void from(struct ncclComm *comm, int root)
{
	broadcast(NULL, NULL, COUNT, REPLAY_NCCL_FLOAT, root, comm, NULL);
}

/* The last calls before all stand still. */
static void last_calls(const char *how, int rank, struct ncclComm *gradients, struct ncclComm *tensor, struct ncclComm *half)
{
	if (!strcmp(how, "missing") && rank != 1)
		sum(gradients, COUNT);
	else if (!strcmp(how, "sizes"))
		sum(gradients, rank == 1 ? COUNT / 2 : COUNT);
	else if (!strcmp(how, "calls") && rank == 1)
		from(gradients, 0);
	else if (!strcmp(how, "calls") || !strcmp(how, "equal"))
		sum(gradients, COUNT);
	else if (!strcmp(how, "roots"))
		from(gradients, rank == 1);
	else if (!strcmp(how, "crossed"))
		sum(rank % 2 ? tensor : gradients, COUNT);
	else if (!strcmp(how, "halves") && rank != 3)
		sum(rank == 2 ? half : gradients, COUNT);
}

int main(int argc, char **argv)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	const char *how = argc > 1 ? argv[1] : "";
	int rank = number("OMPI_COMM_WORLD_RANK"), ranks = number("OMPI_COMM_WORLD_SIZE"), is_fine = !strcmp(how, "fine");
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *nccl = dlopen("libnccl.so.2", RTLD_NOW);
	struct ncclComm *gradients, *tensor, *half, *setup;
	int (*init)(unsigned);

	*(void **)&init = find(cuda, "cuInit");
	*(void **)&init_rank = find(nccl, "ncclCommInitRank");
	*(void **)&destroy = find(nccl, "ncclCommDestroy");
	*(void **)&all_reduce = find(nccl, "ncclAllReduce");
	*(void **)&broadcast = find(nccl, "ncclBroadcast");
	init(0);
	setup = comm_new("set-up", ranks, rank);
	sum(setup, COUNT);
	destroy(setup);
	gradients = comm_new("gradients", ranks, rank);
	tensor = comm_new("tensor parallel", ranks, rank);
	half = comm_new(rank < 2 ? "the left half" : "the right half of it", 2, rank % 2);
	for (int i = 0; i < STEPS || is_fine; i++) {
		podprof_step_begin(i);
		sum(gradients, COUNT);
		sum(tensor, COUNT);
		sum(half, COUNT);
		podprof_step_end();
		if (is_fine)
			nanosleep(&nap, NULL);
	}
	last_calls(how, rank, gradients, tensor, half);
	for (;;)
		pause();
}
