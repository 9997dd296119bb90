/* A two-layer perceptron, small enough that eight ranks share two cores. Used by c_mpi_train.c. */
#pragma once

enum { INPUTS = 4, HIDDEN1 = 24, HIDDEN2 = 16, BATCH = 32 };

enum {
	W1 = 0,
	B1 = W1 + INPUTS * HIDDEN1,
	W2 = B1 + HIDDEN1,
	B2 = W2 + HIDDEN1 * HIDDEN2,
	W3 = B2 + HIDDEN2,
	B3 = W3 + HIDDEN2,
	WEIGHTS = B3 + 1,
};

struct batch {
	float x[BATCH][INPUTS];
	float y[BATCH];
};

struct model {
	float weight[WEIGHTS];
	float gradient[WEIGHTS];
	float h1[BATCH][HIDDEN1], h2[BATCH][HIDDEN2], out[BATCH];
};

/* The same weights on every rank for the same seed. */
void model_init(struct model *m, unsigned seed);
/* Samples of a smooth function of four variables; `state` is the rank's own random state. */
void batch_fill(struct batch *b, unsigned *state);
/* Mean squared error of the batch; fills h1, h2, out. */
float model_forward(struct model *m, const struct batch *b);
/* Fills gradient, of the mean squared error. */
void model_backward(struct model *m, const struct batch *b);
/* weight -= rate * gradient / ranks */
void model_update(struct model *m, float rate, int ranks);
