/* A three-layer perceptron on one device, small enough to show each kernel of a step. Used by cuda_train.cu and cuda_nccl_train.cu. */
#pragma once

#include <cuda_runtime.h>

enum { INPUTS = 64, HIDDEN = 512, BATCH = 256, LAYERS = 3 };

struct model {
	float *weight, *gradient; /* device, [weights] */
	size_t weights;
	float *x, *y;                       /* device, the batch */
	float *out[LAYERS], *delta[LAYERS]; /* device, [BATCH][width of the layer] */
	float *loss;                        /* device, one number */
	float *next_x, *next_y, *host_loss; /* pinned memory of the host */
	unsigned random;
	cudaStream_t stream;
};

/* A sentence on stderr and exit code 1, unless `rc` is a success. */
void must(cudaError_t rc, const char *what);
/* Chooses the device; exit code 77 with a sentence where there is none. */
void device_choose(int number);

/* The same weights for every seed of samples. */
void model_create(struct model *m, unsigned seed);
void model_destroy(struct model *m);
/* Fills the next batch on the host: samples of a smooth function. */
void model_next_batch(struct model *m);
/* Enqueued on the stream: the batch to the device; then forward and backward, which leave gradient and loss. */
void model_upload(struct model *m);
void model_gradient(struct model *m);
/* weight -= rate * gradient */
void model_update(struct model *m, float rate);
/* Waits for the stream; the mean squared error of the batch. */
float model_loss(struct model *m);
