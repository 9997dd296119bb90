/* How long devices waited inside an operation of ranks. In: when each rank's device was ready for the operation, and when its
 * kernel ended. Out: waiting, transfer, for whom, how that was determined, and |error|. Pure; one thread; no errors. Called by
 * aggregate/analyze/waiting.c. docs/steps.md explains the rules. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pp_device_wait_kind {
	PP_DEVICE_WAIT_ALL,       /* no kernel ends before all have begun: all-reduce, all-gather, reduce-scatter */
	PP_DEVICE_WAIT_EXCHANGE,  /* made of sends and receives: all-to-all */
	PP_DEVICE_WAIT_FROM_ROOT, /* broadcast, scatter */
	PP_DEVICE_WAIT_TO_ROOT,   /* reduce, gather: the others wait for room in buffers at most, which nothing shows */
	PP_DEVICE_WAIT_MESSAGE,   /* of a sender, which is the root, and a receiver */
};

enum pp_device_wait_how {                           /* words of /collective, device_how */
	                  PP_DEVICE_WAIT_UNKNOWN,   /* a device was not recorded, or clocks are needed that are not joined */
	                  PP_DEVICE_WAIT_CLOCKS,    /* by the begins of the kernels */
	                  PP_DEVICE_WAIT_DURATIONS, /* by their lengths: the shortest did not wait */
	                  PP_DEVICE_WAIT_BOTH,      /* by their lengths, and the begins agree */
	                  PP_DEVICE_WAIT_DISAGREE,  /* begins and lengths contradict each other: not determined */
};

struct pp_device_rank {
	int64_t ready_ns, end_ns; /* job time, or the rank's own; a year at most. No later end: not recorded */
	int64_t error_ns;         /* of both, against those of other ranks */
	int is_root;
	/* set by pp_device_wait() */
	int64_t wait_ns, transfer_ns; /* 0 where it is not determined */
	int64_t bound_ns;             /* |error| of wait_ns */
	int32_t late;                 /* index of the rank that it waits for; -1: it does not wait */
	enum pp_device_wait_how how;
};

struct pp_device_operation {
	enum pp_device_wait_kind kind;
	int is_whole;  /* `rank` has all ranks that take part */
	int has_clock; /* times of two ranks can be compared */
	struct pp_device_rank *rank;
	size_t ranks;
	/* set by pp_device_wait() */
	int64_t transfer_ns; /* from the last rank on; 0: not determined */
	int32_t last;        /* index of the last rank to be ready; -1: not determined */
	int is_sure;         /* it was later than every other by more than the error */
};

/* Times in ns. Sets what the two structs say. */
void pp_device_wait(struct pp_device_operation *o);
