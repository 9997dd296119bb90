/* Kernels and memory of the perceptron; see model.cuh. */
#include "model.cuh"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TILE = 16, THREADS = 256, SKIPPED = 77 };

static const int width[LAYERS + 1] = {INPUTS, HIDDEN, HIDDEN, 1};

void must(cudaError_t rc, const char *what)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "cuda_train: %s: %s\n", what, cudaGetErrorString(rc));
	exit(1);
}

void device_choose(int number)
{
	int devices = 0;
	cudaError_t rc = cudaGetDeviceCount(&devices);

	if (rc != cudaSuccess || devices == 0) {
		fprintf(stderr, "cuda_train: skipped, there is no device: %s\n",
		        rc == cudaSuccess ? "the driver found none" : cudaGetErrorString(rc));
		exit(SKIPPED);
	}
	must(cudaSetDevice(number % devices), "cannot use the device");
}

/* c[rows][columns] = a * b, each read as transposed where asked; `inner` is the length of the sums. */
__global__ static void multiply(float *c, const float *a, const float *b, int rows, int columns, int inner, int a_is_turned,
                                int b_is_turned)
{
	__shared__ float x[TILE][TILE + 1], y[TILE][TILE + 1];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int from = 0; from < inner; from += TILE) {
		int i = from + threadIdx.x, k = from + threadIdx.y;

		x[threadIdx.y][threadIdx.x] = row < rows && i < inner ? (a_is_turned ? a[i * rows + row] : a[row * inner + i]) : 0;
		y[threadIdx.y][threadIdx.x] =
		        column < columns && k < inner ? (b_is_turned ? b[column * inner + k] : b[k * columns + column]) : 0;
		__syncthreads();
		for (int t = 0; t < TILE; t++)
			sum += x[threadIdx.y][t] * y[t][threadIdx.x];
		__syncthreads();
	}
	if (row < rows && column < columns)
		c[row * columns + column] = sum;
}

__global__ static void activate(float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tanhf(out[i]);
}

__global__ static void activate_backward(float *delta, const float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		delta[i] *= 1 - out[i] * out[i];
}

__global__ static void compare(float *delta, float *loss, const float *out, const float *y)
{
	__shared__ float sum[BATCH];
	float error = out[threadIdx.x] - y[threadIdx.x];

	delta[threadIdx.x] = 2 * error / BATCH;
	sum[threadIdx.x] = error * error / BATCH;
	__syncthreads();
	for (int half = BATCH / 2; half; half /= 2) {
		if (threadIdx.x < half)
			sum[threadIdx.x] += sum[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		*loss = sum[0];
}

__global__ static void update(float *weight, const float *gradient, float rate, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		weight[i] -= rate * gradient[i];
}

static float uniform(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (float)(*state >> 8) / (float)(1u << 24) - 0.5f;
}

static float *on_device(size_t n)
{
	float *p = NULL;

	must(cudaMalloc((void **)&p, n * sizeof(*p)), "cudaMalloc");
	return p;
}

static float *on_host(size_t n)
{
	float *p = NULL;

	must(cudaMallocHost((void **)&p, n * sizeof(*p)), "cudaMallocHost");
	return p;
}

static size_t layer_weights(int layer)
{
	return (size_t)width[layer] * (size_t)width[layer + 1];
}

void model_create(struct model *m, unsigned seed)
{
	unsigned same = 1;
	float *weight;

	m->weights = 0;
	for (int i = 0; i < LAYERS; i++)
		m->weights += layer_weights(i);
	must(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking), "cudaStreamCreate");
	m->weight = on_device(m->weights);
	m->gradient = on_device(m->weights);
	m->x = on_device(BATCH * INPUTS);
	m->y = on_device(BATCH);
	m->loss = on_device(1);
	m->next_x = on_host(BATCH * INPUTS);
	m->next_y = on_host(BATCH);
	m->host_loss = on_host(1);
	m->random = seed;
	weight = on_host(m->weights);
	for (int i = 0, at = 0; i < LAYERS; i++) {
		m->out[i] = on_device((size_t)BATCH * width[i + 1]);
		m->delta[i] = on_device((size_t)BATCH * width[i + 1]);
		for (size_t k = 0; k < layer_weights(i); k++)
			weight[at++] = 2 * uniform(&same) / sqrtf((float)width[i]);
	}
	must(cudaMemcpy(m->weight, weight, m->weights * sizeof(*weight), cudaMemcpyHostToDevice), "copy of the weights");
	must(cudaMemset(m->gradient, 0, m->weights * sizeof(*m->gradient)), "cudaMemset");
	cudaFreeHost(weight);
}

void model_destroy(struct model *m)
{
	for (int i = 0; i < LAYERS; i++) {
		cudaFree(m->out[i]);
		cudaFree(m->delta[i]);
	}
	cudaFree(m->weight);
	cudaFree(m->gradient);
	cudaFree(m->x);
	cudaFree(m->y);
	cudaFree(m->loss);
	cudaFreeHost(m->next_x);
	cudaFreeHost(m->next_y);
	cudaFreeHost(m->host_loss);
	cudaStreamDestroy(m->stream);
}

void model_next_batch(struct model *m)
{
	for (int i = 0; i < BATCH; i++) {
		float *x = m->next_x + (size_t)i * INPUTS;

		for (int k = 0; k < INPUTS; k++)
			x[k] = uniform(&m->random);
		m->next_y[i] = sinf(3 * x[0]) + x[1] * x[2] - 0.5f * x[3];
	}
}

void model_upload(struct model *m)
{
	must(cudaMemcpyAsync(m->x, m->next_x, BATCH * INPUTS * sizeof(float), cudaMemcpyHostToDevice, m->stream), "copy of the batch");
	must(cudaMemcpyAsync(m->y, m->next_y, BATCH * sizeof(float), cudaMemcpyHostToDevice, m->stream), "copy of the batch");
}

static void product(struct model *m, float *c, const float *a, const float *b, int rows, int columns, int inner, int a_is_turned,
                    int b_is_turned)
{
	dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);

	multiply<<<grid, block, 0, m->stream>>>(c, a, b, rows, columns, inner, a_is_turned, b_is_turned);
}

static int blocks(int n)
{
	return (n + THREADS - 1) / THREADS;
}

static void forward(struct model *m)
{
	const float *in = m->x;

	for (int i = 0, at = 0; i < LAYERS; i++) {
		int n = BATCH * width[i + 1];

		product(m, m->out[i], in, m->weight + at, BATCH, width[i + 1], width[i], 0, 0);
		if (i < LAYERS - 1)
			activate<<<blocks(n), THREADS, 0, m->stream>>>(m->out[i], n);
		in = m->out[i];
		at += (int)layer_weights(i);
	}
}

static void backward(struct model *m)
{
	compare<<<1, BATCH, 0, m->stream>>>(m->delta[LAYERS - 1], m->loss, m->out[LAYERS - 1], m->y);
	for (int i = LAYERS - 1, at = (int)m->weights; i >= 0; i--) {
		const float *in = i ? m->out[i - 1] : m->x;
		int n = BATCH * width[i];

		at -= (int)layer_weights(i);
		product(m, m->gradient + at, in, m->delta[i], width[i], width[i + 1], BATCH, 1, 0);
		if (!i)
			break;
		product(m, m->delta[i - 1], m->delta[i], m->weight + at, BATCH, width[i], width[i + 1], 0, 1);
		activate_backward<<<blocks(n), THREADS, 0, m->stream>>>(m->delta[i - 1], m->out[i - 1], n);
	}
}

void model_gradient(struct model *m)
{
	forward(m);
	backward(m);
	must(cudaGetLastError(), "launch of a kernel");
}

void model_update(struct model *m, float rate)
{
	update<<<blocks((int)m->weights), THREADS, 0, m->stream>>>(m->weight, m->gradient, rate, (int)m->weights);
	must(cudaGetLastError(), "launch of a kernel");
}

float model_loss(struct model *m)
{
	must(cudaMemcpyAsync(m->host_loss, m->loss, sizeof(float), cudaMemcpyDeviceToHost, m->stream), "copy of the loss");
	must(cudaStreamSynchronize(m->stream), "a step");
	return *m->host_loss;
}
