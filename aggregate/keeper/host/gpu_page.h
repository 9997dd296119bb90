/* A page in shared memory with the newest samples of this host's GPUs. In: one process of this user that samples (gpu_child.c),
 * however many jobs record. Out: the keepers (gpu_state.c). Each value is a word of its own; a sample is read again where its
 * number changed meanwhile. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_GPUS = 16, PP_GPU_SAMPLES = 32, PP_GPU_SLICES = 7, PP_GPU_MAGIC = 0x31555047 };

enum pp_gpu_value {
#define PP_GPU(name, what) PP_GPU_##name,
#include "aggregate/keeper/host/gpu_value.def"
	PP_GPU_VALUES
};

struct pp_gpu_sample {
	uint64_t raw, counter;        /* ticks of both kinds, core/base/tick.h */
	int64_t value[PP_GPU_VALUES]; /* -1: unknown */
};

struct pp_gpu {                           /* what it is stands here before `gpus` counts it */
	uint8_t uuid[16];                 /* as the driver of CUDA gives it */
	uint8_t slice[PP_GPU_SLICES][16]; /* its MIG devices; zeros after the last */
	char name[64];
	_Atomic uint64_t samples; /* written so far; the newest are kept */
	struct pp_gpu_word {
		_Atomic uint64_t raw, counter;
		_Atomic int64_t value[PP_GPU_VALUES];
	} word[PP_GPU_SAMPLES];
};

struct pp_gpu_page {
	_Atomic uint32_t magic, size; /* PP_GPU_MAGIC, sizeof of the one who made it */
	_Atomic uint32_t asked;       /* grows when a keeper wants a sample at once; a futex */
	_Atomic uint32_t gpus;
	_Atomic int64_t wanted_until;  /* CLOCK_MONOTONIC ns: some keeper records until then */
	_Atomic int64_t in_call_since; /* CLOCK_MONOTONIC ns; 0: in no call of the library */
	_Atomic int32_t sampler;       /* pid of the process that samples; 0: none */
	_Atomic int32_t failed;        /* `why` says why nothing can be sampled */
	char why[160], driver[80];
	char call[64]; /* the one it is in, or was in last */
	struct pp_gpu gpu[PP_GPUS];
};

/* Maps the page of this user, made where it is missing; to be unmapped by pp_gpu_page_close(). The file is the caller's. -EPERM:
 * another user's file is in its place. */
int pp_gpu_page_open(const char *path, struct pp_gpu_page **ret, int *ret_fd, struct pp_err *err);
void pp_gpu_page_close(struct pp_gpu_page *page);
/* Its path: under /dev/shm, one a user. */
void pp_gpu_page_path(char *path, unsigned size);

/* By the one process that samples. */
void pp_gpu_put(struct pp_gpu *gpu, const struct pp_gpu_sample *sample);
/* Sample number `number`, from 0. 1: here it is; 0: it is overwritten, or not there yet. */
int pp_gpu_get(const struct pp_gpu *gpu, uint64_t number, struct pp_gpu_sample *ret);

/* Waits for pp_gpu_ask(), at most this long. */
void pp_gpu_wait(struct pp_gpu_page *page, uint32_t seen, int64_t most_ns);
void pp_gpu_ask(struct pp_gpu_page *page);
