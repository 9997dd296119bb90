/* pp_rank: what one rank recorded. In: aggregate/read. Out: the clock, the steps and aggregate/analyze. Structs of spans and side
 * arrays: core/capture/{span,thread,side}.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/capture/metadata.h"

struct pp_rank { /* one rank's capture; owns what it points to */
	int32_t rank, size, local_rank;
	int32_t pid;
	char host[72];
	char status[96]; /* aggregate/dataset/status.h */
	char options[512], version[32], command[512];
	int exit_known, exit_status;
	int step_marks;       /* it has begun a step, by podprof_step_* or by the pattern of collectives */
	int shifted;          /* by shift_ns */
	int64_t shift_ns;     /* of its clock against the first rank's, in salvage of several hosts; added when ticks are mapped */
	int64_t last_step;    /* the highest step a thread ended on, captured or not; without step_marks: no meaning */
	char last_place[160]; /* its last MPI call, as pp_place_text() has it; "" unknown */
	int64_t open_tick;
	int64_t horizon;                    /* nothing before this tick is complete (evicted); INT64_MIN: nothing was evicted */
	int64_t recorded_from, recorded_to; /* first to last recorded tick, evicted or not; `to` INT64_MIN: none */
	uint64_t lost[16];                  /* by enum pp_loss */
	uint64_t records;                   /* drained */
	uint64_t ring_bytes;                /* most the ring file held */
	struct pp_thread *thread;
	size_t threads;
	/* Side arrays, as struct pp_usage *usage; size_t usages; their orders are in side.def. */
#define PP_SIDE(member, count, type, order, keep, same)                                                                            \
	struct type *member;                                                                                                       \
	size_t count;
#include "core/capture/side.def"
	uint64_t unlaunched;     /* kernels, copies and sets of CUPTI whose launching call was not recorded */
	uint64_t unrun;          /* launching calls of which nothing that ran was recorded */
	int device_replay;       /* a stand-in of the device's library gave its records: no device ran */
	int64_t device_error_ns; /* |error| of devices' times against the rank's ticks; 0: unknown */
	struct pp_trace_metadata trace;
	char step_rule[64];                      /* rule of the shim that marked the steps; "": the program did */
	char remark[PP_REMARKS][PP_REMARK_TEXT]; /* REMARK records, each text once */
	uint32_t remarks;                        /* these, and others that did not fit */
	struct pp_c10d_count c10d;
	char memory_note[128]; /* why it is missing or incomplete; "" */
	char state_why[192];   /* the same of the state of its GPUs */
	int32_t cores;         /* its main thread may run on; 0: unknown */
	int32_t host_cores;    /* any rank of the host may run on; 0: unknown */
	int32_t domain;        /* clock domain, from 0: equal where the boot id (and, for RAW ticks, the time namespace) is */
	uint32_t level;        /* enum pp_level of steps that have none of their own */
	uint32_t host_clock;   /* row of its host's clock, from 1; 0: none (set when the session is closed) */
	int counts_other;      /* its ticks are of another kind than the first ring's */
	char clock[128];       /* identifies its domain on other hosts: boot id, kind of tick, and for RAW the time namespace */
};
