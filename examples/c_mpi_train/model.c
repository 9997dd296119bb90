/* The perceptron of the example: tanh, tanh, linear; plain loops. Called by c_mpi_train.c. */
#include "train.h"

#include <math.h>
#include <string.h>

static float uniform(unsigned *state) /* [-1, 1) */
{
	*state = *state * 1664525u + 1013904223u;
	return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

void model_init(struct model *m, unsigned seed)
{
	memset(m, 0, sizeof(*m));
	for (int i = 0; i < WEIGHTS; i++) {
		float fan = i < W2 ? INPUTS : i < W3 ? HIDDEN1 : HIDDEN2;

		m->weight[i] = uniform(&seed) / sqrtf(fan);
	}
}

void batch_fill(struct batch *b, unsigned *state)
{
	for (int n = 0; n < BATCH; n++) {
		for (int i = 0; i < INPUTS; i++)
			b->x[n][i] = uniform(state);
		b->y[n] = sinf(2 * b->x[n][0]) + 0.5f * b->x[n][1] * b->x[n][2] - 0.3f * b->x[n][3];
	}
}

/* out = tanh(in * w + bias) for one sample */
static void layer(const float *in, int inputs, const float *w, const float *bias, float *out, int outputs)
{
	for (int o = 0; o < outputs; o++)
		out[o] = bias[o];
	for (int i = 0; i < inputs; i++)
		for (int o = 0; o < outputs; o++)
			out[o] += in[i] * w[i * outputs + o];
	for (int o = 0; o < outputs; o++)
		out[o] = tanhf(out[o]);
}

float model_forward(struct model *m, const struct batch *b)
{
	float loss = 0;

	for (int n = 0; n < BATCH; n++) {
		float out = m->weight[B3], error;

		layer(b->x[n], INPUTS, m->weight + W1, m->weight + B1, m->h1[n], HIDDEN1);
		layer(m->h1[n], HIDDEN1, m->weight + W2, m->weight + B2, m->h2[n], HIDDEN2);
		for (int i = 0; i < HIDDEN2; i++)
			out += m->h2[n][i] * m->weight[W3 + i];
		m->out[n] = out;
		error = out - b->y[n];
		loss += error * error;
	}
	return loss / BATCH;
}

/* Gradients of one layer for one sample; `back` (may be null) receives d loss / d in before tanh'. */
static void layer_back(const float *in, int inputs, const float *delta, int outputs, const float *w, float *gw, float *gb,
                       float *back)
{
	for (int o = 0; o < outputs; o++)
		gb[o] += delta[o];
	for (int i = 0; i < inputs; i++) {
		float sum = 0;

		for (int o = 0; o < outputs; o++) {
			gw[i * outputs + o] += in[i] * delta[o];
			sum += delta[o] * w[i * outputs + o];
		}
		if (back)
			back[i] = sum * (1 - in[i] * in[i]);
	}
}

void model_backward(struct model *m, const struct batch *b)
{
	float *g = m->gradient;
	const float *w = m->weight;

	memset(g, 0, sizeof(m->gradient));
	for (int n = 0; n < BATCH; n++) {
		float d3 = 2 * (m->out[n] - b->y[n]) / BATCH, d2[HIDDEN2], d1[HIDDEN1];

		layer_back(m->h2[n], HIDDEN2, &d3, 1, w + W3, g + W3, g + B3, d2);
		layer_back(m->h1[n], HIDDEN1, d2, HIDDEN2, w + W2, g + W2, g + B2, d1);
		layer_back(b->x[n], INPUTS, d1, HIDDEN1, w + W1, g + W1, g + B1, NULL);
	}
}

void model_update(struct model *m, float rate, int ranks)
{
	for (int i = 0; i < WEIGHTS; i++)
		m->weight[i] -= rate * m->gradient[i] / (float)ranks;
}
