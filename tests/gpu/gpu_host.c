/* A training program on the stand-in of CUDA: STEPS steps; in each, THREADS threads run all rows of the fixture TIMES times inside
 * ranges. Then what the words ask for: "fork" forks a child that goes on and ends; "steal" registers other buffer callbacks with
 * CUPTI in step 3, as PyTorch's profiler does; "late" initialises CUDA in step 2; "pause" waits 20 ms in each step; "early" opens
 * a range and waits before the first step; "graph" makes a CUDA graph in step 8; "mpi" calls MPI_Init and MPI_Finalize; "ready"
 * waits in the first recorded step until CUPTI is on. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/podprof.h"
#include "tests/gpu/replay.h"

enum { READY_MOST_MS = 20000 };

static replay_run run_row;
static const struct replay_fixture *fixture;
static int times;
static _Atomic int *cupti_is_on;

/* Linked with a libcupti, as libtorch is; here found at run time, by the same search. */
extern int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                          void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t)) __attribute__((weak));
extern int cuptiActivityEnable(int kind) __attribute__((weak));
extern int cuptiActivityDisable(int kind) __attribute__((weak));

static uint8_t theirs[1 << 16];
static int their_buffers;

static void their_request(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = theirs;
	*size = sizeof(theirs);
	*most = 0;
}

static void their_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	their_buffers += buffer == theirs && valid;
}

static void rows(void)
{
	for (int t = 0; t < times; t++)
		for (int i = 0; i < fixture->rows; i++) {
			podprof_range_push(fixture->row[i].kind == REPLAY_KERNEL ? "layer" : "input");
			run_row(i);
			podprof_range_pop();
		}
}

static void *thread(void *arg)
{
	rows();
	return arg;
}

static int up(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = NULL;
	const struct replay_fixture *(*of)(void) = NULL;

	if (!cuda)
		return -1;
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&run_row = dlsym(cuda, "replay_row_run");
	*(void **)&of = dlsym(cuda, "replay_rows");
	*(void **)&cupti_is_on = dlsym(cuda, "replay_cupti_is_on");
	if (!init || !run_row || !of || init(0))
		return -1;
	fixture = of();
	return 0;
}

static void in_a_child(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		podprof_step_begin(1000);
		podprof_step_end();
		exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		exit(3);
}

static void steal(int begin)
{
	if (begin && (!cuptiActivityRegisterCallbacks || cuptiActivityRegisterCallbacks(their_request, their_complete)))
		exit(4);
	if (begin)
		cuptiActivityEnable(10);
	else
		cuptiActivityDisable(10);
}

/* On a busy machine podprof's thread may come late: steps would pass without a record. */
static void wait_until_ready(void)
{
	struct timespec nap = {.tv_nsec = 1000000};

	for (int i = 0; i < READY_MOST_MS && cupti_is_on && !atomic_load(cupti_is_on); i++)
		nanosleep(&nap, NULL);
}

static void make_graph(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	_Atomic int *made = cuda ? dlsym(cuda, "replay_has_graph") : NULL;

	if (!made)
		exit(6);
	atomic_store(made, 1);
}

static void mpi(int begin)
{
	int (*init)(int *, char ***), (*finalize)(void);

	if (!dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL))
		exit(5);
	*(void **)&init = dlsym(RTLD_DEFAULT, "MPI_Init");
	*(void **)&finalize = dlsym(RTLD_DEFAULT, "MPI_Finalize");
	if (!init || !finalize || (begin ? init(NULL, NULL) : finalize()))
		exit(5);
}

static int number(int argc, char **argv, int at, int fallback)
{
	return argc > at ? (int)strtol(argv[at], NULL, 10) : fallback;
}

int main(int argc, char **argv)
{
	int steps = number(argc, argv, 1, 6), threads = number(argc, argv, 3, 1);
	const char *words = argc > 4 ? argv[4] : "";
	struct timespec nap = {.tv_nsec = 20000000};
	pthread_t t[16];

	times = number(argc, argv, 2, 1);
	if (strstr(words, "mpi"))
		mpi(1);
	if (!strstr(words, "late") && up() && !strstr(words, "none"))
		return 2;
	if (strstr(words, "early")) {
		podprof_range_push("set up");
		nanosleep(&nap, NULL);
		podprof_range_pop();
	}
	for (int step = 0; step < steps; step++) {
		podprof_step_begin(step);
		if (strstr(words, "late") && step == 2 && up())
			return 2;
		if (strstr(words, "graph") && step == 8)
			make_graph();
		if (strstr(words, "steal") && step == 3)
			steal(1);
		if (strstr(words, "pause"))
			nanosleep(&nap, NULL);
		if (strstr(words, "ready") && step == (strstr(words, "late") ? 2 : 1))
			wait_until_ready();
		if (fixture) {
			for (int i = 1; i < threads; i++)
				pthread_create(&t[i], NULL, thread, NULL);
			rows();
			for (int i = 1; i < threads; i++)
				pthread_join(t[i], NULL);
		}
		if (strstr(words, "fork") && step == 3)
			in_a_child();
		podprof_step_end();
	}
	if (strstr(words, "steal"))
		steal(0);
	if (strstr(words, "mpi"))
		mpi(0);
	return 0;
}
