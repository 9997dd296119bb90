/* See device.h. In: operations of job.c. Out: kernels, NCCL's calls and waits of the host on the stand-ins of tests/gpu. */
#include "tests/truth/device.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/replay.h"
#include "tests/gpu/replay_nccl.h"

static const char gemm[] = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_cublas";

static replay_launch_function launch;
static replay_stream_wait_function stream_wait;
static replay_synchronize_function synchronize;
static int (*group_start)(void), (*group_end)(void);
static int (*all_reduce)(const void *, void *, size_t, int, int, struct ncclComm *, void *);
static int (*all_gather)(const void *, void *, size_t, int, struct ncclComm *, void *);
static int (*reduce_scatter)(const void *, void *, size_t, int, int, struct ncclComm *, void *);
static int (*broadcast)(const void *, void *, size_t, int, int, struct ncclComm *, void *);
static int (*send_to)(const void *, size_t, int, int, struct ncclComm *, void *);
static int (*receive_from)(void *, size_t, int, int, struct ncclComm *, void *);
static struct ncclComm *comm;

static void *find(void *library, const char *name)
{
	void *found = library ? dlsym(library, name) : NULL;

	if (!found) {
		fprintf(stderr, "job: no '%s' in the stand-ins: LD_LIBRARY_PATH\n", name);
		exit(2);
	}
	return found;
}

static void up(const char *dir, int rank, int ranks)
{
	struct replay_nccl_id id = {"gradients"};
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *nccl = dlopen("libnccl.so.2", RTLD_NOW);
	int (*init)(unsigned);
	int (*init_rank)(struct ncclComm **, int, struct replay_nccl_id, int);
	char path[4096];

	snprintf(path, sizeof(path), "%s/kernels.%d", dir, rank);
	setenv("REPLAY_KERNELS", path, 1);
	setenv("REPLAY_NCCL_DIR", dir, 1);
	*(void **)&init = find(cuda, "cuInit");
	*(void **)&launch = find(cuda, "replay_launch");
	*(void **)&stream_wait = find(cuda, "replay_stream_wait");
	*(void **)&synchronize = find(cuda, "replay_synchronize");
	*(void **)&init_rank = find(nccl, "ncclCommInitRank");
	*(void **)&group_start = find(nccl, "ncclGroupStart");
	*(void **)&group_end = find(nccl, "ncclGroupEnd");
	*(void **)&all_reduce = find(nccl, "ncclAllReduce");
	*(void **)&all_gather = find(nccl, "ncclAllGather");
	*(void **)&reduce_scatter = find(nccl, "ncclReduceScatter");
	*(void **)&broadcast = find(nccl, "ncclBroadcast");
	*(void **)&send_to = find(nccl, "ncclSend");
	*(void **)&receive_from = find(nccl, "ncclRecv");
	if (init(0) || init_rank(&comm, ranks, id, rank)) {
		fprintf(stderr, "job: the stand-ins do not start\n");
		exit(2);
	}
}

static int collective(const char *kind, const long *arg)
{
	size_t count = (size_t)arg[0];
	void *stream = (void *)(uintptr_t)arg[1];

	if (!strcmp(kind, "nccl.allreduce"))
		return !all_reduce(NULL, NULL, count, REPLAY_NCCL_FLOAT, 0, comm, stream);
	if (!strcmp(kind, "nccl.allgather"))
		return !all_gather(NULL, NULL, count, REPLAY_NCCL_FLOAT, comm, stream);
	if (!strcmp(kind, "nccl.reducescatter"))
		return !reduce_scatter(NULL, NULL, count, REPLAY_NCCL_FLOAT, 0, comm, stream);
	if (!strcmp(kind, "nccl.broadcast"))
		return !broadcast(NULL, NULL, count, REPLAY_NCCL_FLOAT, 0, comm, stream);
	if (!strcmp(kind, "nccl.send"))
		return !send_to(NULL, count, REPLAY_NCCL_FLOAT, (int)arg[2], comm, stream);
	if (!strcmp(kind, "nccl.recv"))
		return !receive_from(NULL, count, REPLAY_NCCL_FLOAT, (int)arg[2], comm, stream);
	if (!strcmp(kind, "nccl.exchange")) { /* with two ranks, by one kernel */
		group_start();
		for (int i = 2; i < 4; i++) {
			send_to(NULL, count, REPLAY_NCCL_FLOAT, (int)arg[i], comm, stream);
			receive_from(NULL, count, REPLAY_NCCL_FLOAT, (int)arg[i], comm, stream);
		}
		return !group_end();
	}
	return 0;
}

int device_execute(const char *kind, const long *arg, const char *dir, int rank, int ranks)
{
	if (!strcmp(kind, "device")) {
		up(dir, rank, ranks);
	} else if (!strcmp(kind, "kernel")) {
		struct replay_kernel kernel = {.name = gemm, .stream = (unsigned)arg[0], .ns = (uint64_t)arg[1]};

		launch(&kernel);
	} else if (!strcmp(kind, "streamwait")) {
		stream_wait((unsigned)arg[0], (unsigned)arg[1]);
	} else if (!strcmp(kind, "sync")) {
		synchronize((unsigned)arg[0]);
	} else if (!strcmp(kind, "group")) {
		group_start();
	} else if (!strcmp(kind, "endgroup")) {
		group_end();
	} else {
		return collective(kind, arg);
	}
	return 1;
}
