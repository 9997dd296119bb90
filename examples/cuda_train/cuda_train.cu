/* Training on one device: the loss falls or the exit code is 1; 77 where there is no device.
 * One command: podprof run -o logs --steps 10:20 -- cuda_train [--steps N] [--slow-us N] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/podprof.h"
#include "model.cuh"

static void sleep_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static float step(struct model *m, long slow_us)
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
	podprof_range_push("update");
	model_update(m, 0.05f);
	podprof_range_pop();
	podprof_range_push("loss");
	loss = model_loss(m);
	podprof_range_pop();
	return loss;
}

int main(int argc, char **argv)
{
	long steps = 200, slow_us = 0;
	double first = 0, last = 0;
	struct model m;

	for (int i = 1; i < argc; i += 2) {
		long *number = !strcmp(argv[i], "--steps") ? &steps : !strcmp(argv[i], "--slow-us") ? &slow_us : NULL;

		if (!number || i + 1 == argc) {
			fprintf(stderr, "cuda_train: '%s' is not understood. Options: --steps N, --slow-us N\n", argv[i]);
			return 2;
		}
		*number = strtol(argv[i + 1], NULL, 10);
	}
	device_choose(0);
	model_create(&m, 12345);
	for (long i = 0; i < steps; i++) {
		float loss;

		podprof_step_begin(i);
		loss = step(&m, slow_us);
		podprof_counter("loss", loss);
		podprof_step_end();
		(i < steps / 2 ? first : last) += loss;
		if (i % 50 == 0)
			printf("step %ld loss %.4f\n", i, (double)loss);
	}
	model_destroy(&m);
	printf("%ld steps: loss %.4f -> %.4f\n", steps, 2 * first / steps, 2 * last / steps);
	return steps >= 20 && !(last < first);
}
