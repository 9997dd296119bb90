/* How operations of NCCL and RCCL ran on a rank's devices. In: a rank, its spans in job time. Out: used by collective.c and
 * channel.c, through pp_join. Internal to aggregate/analyze. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_intern;
struct pp_rank;
struct pp_span;

struct pp_operation_run { /* of a call */
	uint32_t request;
	uint32_t shares;    /* operations that its kernel ran, this one included; 0: no kernel was recorded */
	int64_t device_ns;  /* a year at most; of its kernel, else as the library timed it; 0: unknown */
	int64_t exposed_ns; /* with a kernel: part of it in which no device of the rank did what comes before collectives */
	uint8_t channels, how;
	int32_t device;        /* number; -1: unknown */
	uint32_t correlation;  /* of its kernel; 0: none was recorded */
	int64_t ready, end;    /* of its kernel: when the rank was ready for it, and its end */
	int64_t input_ns;      /* how long before `ready` that had ended which was launched before it; at least 1; 0: unknown */
	int is_beside;         /* a device of the rank computed when it ended */
	uint32_t thread, span; /* of its kernel */
	const struct pp_span *call;
};

struct pp_operation_runs {
	struct pp_operation_run *run; /* by request */
	struct pp_operation_run *ran; /* those with a kernel, by correlation, then by request */
	size_t runs, rans;
	uint64_t without_kernel;    /* operations whose kernel was not recorded, on a rank that recorded devices */
	uint64_t without_operation; /* kernels of a library of collectives that belong to no operation */
	int64_t error_ns;           /* |error| of the kernels' times against the rank's clock, as far as is known */
};

/* Work of devices that comes before collectives in exclusive time, enum pp_device_activity. */
int pp_device_comes_before(int activity);
/* names: of the kernels. -ENOMEM. */
int pp_operation_runs_init(struct pp_operation_runs *o, const struct pp_rank *rank, const struct pp_intern *names);
void pp_operation_runs_release(struct pp_operation_runs *o);
/* The first of the operations that this kernel ran; NULL: none is known. */
const struct pp_operation_run *pp_operation_runs_of_kernel(const struct pp_operation_runs *o, uint64_t correlation);
/* NULL: nothing is known of it. */
const struct pp_operation_run *pp_operation_runs_find(const struct pp_operation_runs *o, uint32_t request);
