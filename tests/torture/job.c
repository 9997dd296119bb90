/* A small job that never calls MPI: steps, ranges, NVTX, a second thread; many steps until there is GUEST_STOP, where that is set.
 * Exit code 7, so that it is seen to be the job's own. */
#include <pthread.h>
#ifdef TORTURE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#include "tests/guest/marks.h"

static void *second(void *arg)
{
	podprof_range_push("second thread");
	podprof_mark("here");
	podprof_range_pop();
	return arg;
}

static void nap(void)
{
	struct timespec t = {0, getenv("TORTURE_SLOW") ? 60000000 : 300000};

	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	int steps = getenv("GUEST_STOP") ? 10000 : 12, step;
	pthread_t thread;

	(void)argv;
	for (step = 0; step < steps && !is_stopped(); step++) {
		podprof_step_begin(step);
#ifdef TORTURE_NVTX
		nvtxRangePushA("forward, under a name that is longer than what one record of the ring can hold");
		nap();
		nvtxRangePop();
#endif
		podprof_range_push_as("next batch", PODPROF_INPUT);
		nap();
		podprof_range_pop();
		for (int i = 0; i < 50000 && getenv("TORTURE_BURST"); i++) {
			podprof_range_push("burst");
			podprof_range_pop();
		}
		podprof_counter("loss", 1.0 / (step + 1));
		if (step == 5 && !pthread_create(&thread, NULL, second, NULL))
			pthread_join(thread, NULL);
		podprof_step_end();
	}
	printf("%d steps done\n", step);
	return argc > 1 ? 0 : 7;
}
