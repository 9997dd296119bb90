/* Samples memory, CPU time and permitted cores of the ranks' processes, and what their children use, from /proc, while they
 * record. In: headers of rings. Out: pp_rank.memory, cores. At most ten per second, fewer where they would cost more than 1 % of
 * a core. Children of a process without any are looked for again when the host has a new process. Called by keeper.c. */
#pragma once

#include <sched.h>

#include "aggregate/keeper/host/gpu_state.h"
#include "aggregate/keeper/host/port.h"
#include "aggregate/read/ring/rings.h"
#include "core/capture/side.h"

struct pp_capture;

struct pp_sample_store { /* rows of a side array */
	char *row;
	size_t used, room;
};

struct pp_sampled { /* one ring */
	struct pp_sample_store store[PP_SIDE_IDS];
	int recording;      /* at the last sample */
	int childless_at;   /* the newest pid when the process was seen without children; 0: it has some, or that is unknown */
	int64_t checked_ns; /* CLOCK_MONOTONIC */
	cpu_set_t cores;    /* its main thread may run on, at the last sample */
	char reason[128];
};

struct pp_sampler {
	const char *proc; /* "/proc" */
	struct pp_sampled *ring;
	size_t rings;
	struct pp_sample_round *round;
	int64_t least_ns;             /* shortest period; grows when the store is full */
	int64_t period_ns;            /* current period */
	size_t pss_turn;              /* ring whose PSS is next: one at a time, for it may take long */
	int64_t next_ns, next_pss_ns; /* CLOCK_MONOTONIC */
	struct pp_gpu_state gpu;
	struct pp_ports ports;
	char sys_root[128]; /* of ports: what stands before /sys */
};

/* `proc`: "/proc", or the directory that stands for it in tests; it must live as long as the sampler. `gpus`: when the state of
 * GPUs is sampled. To be released. */
void pp_sampler_init(struct pp_sampler *s, const char *proc, enum pp_gpu_when gpus);
void pp_sampler_release(struct pp_sampler *s);
/* Samples every rank that records, if it is time. */
void pp_sampler_run(struct pp_sampler *s, const struct pp_rings *rings);
/* After pp_rings_finish(): moves the samples, why some are missing, and the numbers of cores into the capture. */
void pp_sampler_give(struct pp_sampler *s, const struct pp_rings *rings, struct pp_capture *c);

/* Drops samples of the ring up to tick `cut`: their window is closed. */
void pp_sampler_drop(struct pp_sampler *s, size_t ring, int64_t cut);

enum pp_sample_part { PP_SAMPLE_PSS = 1, PP_SAMPLE_CHILDREN = 2 };

/* Samples one process, with `parts`; `start_time` 0: any. `rings`: the ranks, which are not counted as another rank's children;
 * NULL: none is known. 0, or -errno: -ESRCH no such process (or another of this pid), -EACCES not readable for us. *ret_note says
 * which part could not be read, NULL: none. */
int pp_sample_process(const char *proc, int pid, uint64_t start_time, const struct pp_rings *rings, unsigned parts,
                      struct pp_memory *ret, const char **ret_reason);
