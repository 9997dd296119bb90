/* Samples of the host's GPUs for one keeper. In: the page that a process of its own fills (gpu_child.h), the devices of the ranks.
 * Out: rows of pp_rank.state with a device. The keeper never calls NVML: a call may hang for ever, in a state that no signal ends.
 * Called by keeper.c, close.c and doctor. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "aggregate/keeper/host/gpu_page.h"

struct pp_rank;
struct pp_state;

enum pp_gpu_when { PP_GPU_WINDOW, PP_GPU_ALWAYS, PP_GPU_NEVER }; /* words of --gpu-state, in order */

struct pp_gpu_state {
	enum pp_gpu_when when;
	const char *self; /* podprof */
	char path[128];   /* of the page */
	struct pp_gpu_page *page;
	int fd;      /* of the page: a shared lock says that a keeper uses it */
	pid_t child; /* 0: none was started, or it has ended */
	int tried, recording;
	uint64_t next[PP_GPUS]; /* number of the sample to be read */
	struct pp_gpu_store {   /* of a GPU */
		struct pp_gpu_sample *row;
		size_t used, room;
	} store[PP_GPUS];
	int64_t next_ns;
	char why[192]; /* why samples are missing; "" */
};

/* A row in which nothing is known. */
extern const struct pp_state pp_gpu_state_unknown;

/* `self`: path of the program, whose hidden verb gpu-state is the child; it must live as long. To be released. */
void pp_gpu_state_init(struct pp_gpu_state *s, enum pp_gpu_when when, const char *self);
/* Ends the child, removes the page where no other keeper uses it. Never waits for a call of the library. */
void pp_gpu_state_release(struct pp_gpu_state *s);
/* Each turn of the keeper: starts the child at the first window of a host with GPUs, asks for samples while ranks record, keeps
 * them. */
void pp_gpu_state_run(struct pp_gpu_state *s, int recording);
/* Copies the samples of the rank's devices to it, whose ticks are of this kind; those of the window remain when the capture is
 * cut. */
void pp_gpu_state_give(const struct pp_gpu_state *s, int tick_kind, struct pp_rank *rank);
/* Is there a GPU that NVML could know? `root`: "", or the directory that stands for "/" in tests. */
int pp_gpu_state_has_gpus(const char *root);
