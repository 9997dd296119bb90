/* State of one Kineto file while it is read. Data only, internal to this room; one thread.
 * Flow: kineto.c unpacks bytes -> json.c events, with fields.c -> take.c tracks of spans -> finish.c the capture. */
#pragma once

#include "aggregate/read/demangle.h"
#include "aggregate/read/kineto/event.h"
#include "aggregate/read/launch_table.h"
#include "aggregate/read/trace_options.h"
#include "core/base/map.h"
#include "core/capture/capture.h"
#include "core/ring/intern.h"
#include "core/step/kernel_name.h"

struct pp_allocation;
struct pp_device;
struct pp_launch;
struct pp_span;

/* While reading, spans of the host hold range.id = correlation, and what finish.c needs and then clears: range.payload = external
 * id, range.payload_type = enum kineto_mark. Of operators range.id = their dimensions. device.step is the external id; the lowest
 * bit of device.host_thread says whether there is one, its other bits are a worker, index + 1. */
enum kineto_mark {
	KINETO_MARK_OPERATOR = 1,
	KINETO_MARK_LAUNCH = 2,
	KINETO_MARK_FOREIGN = 3 /* payload: index + 1 into `foreign`, until process.c knows what the thread is */
};

struct kineto_track {        /* thread, or stream of a device */
	kineto_key pid, tid; /* as the file has them; of a stream those of its first event */
	int64_t device;      /* -1: host */
	int64_t stream;
	struct pp_span *span;
	size_t spans, room;
	size_t *open; /* indexes of spans that have begun (phase B) */
	size_t opens, opens_room;
	size_t steps;                          /* of the spans */
	int may_nest;                          /* operations of a device, not a stream */
	uint32_t seen;                         /* bits of enum kineto_category, of the host */
	int64_t last;                          /* highest time seen */
	int64_t profiler_first, profiler_last; /* first end and last begin of frames of the profiler */
};

enum kineto_label_of { KINETO_OF_THREAD, KINETO_OF_PROCESS, KINETO_OF_LABELS };

struct kineto_label { /* name of a thread or process, or what a process is labelled with */
	kineto_key pid, tid;
	uint32_t name, order;
	uint32_t of; /* enum kineto_label_of */
};

struct kineto_foreign { /* what an event without a known category says of work on a device */
	uint64_t bytes;
	uint32_t op, launch; /* as of struct pp_span_device */
	uint8_t group;       /* enum kineto_category, by the type of its task */
};

struct kineto_collective { /* a collective as the host's event describes it */
	uint32_t track;
	int64_t begin, end;
	int64_t done;                                                  /* end of its last kernel; 0: none was found */
	uint32_t kernels, correlation;                                 /* how many, and of one of them */
	uint32_t operation, group, group_ranks, type;                  /* pp_intern ids */
	int64_t elements_in, elements_out, group_size, sequence, rank; /* sequence, rank in the group: -1 unknown */
};

enum { KINETO_SAMPLES = 1024, KINETO_INFOS_MOST = 1024 };

struct kineto_store { /* all that was read */
	struct pp_intern *names;
	struct pp_intern *payloads; /* dimensions of operators' inputs; NULL: none were read */
	struct kineto_track *track;
	size_t tracks, tracks_room;
	uint32_t last_track;  /* of the event before, index + 1 */
	struct pp_map by_key; /* of tracks */
	struct kineto_label *label;
	size_t labels, labels_room;
	struct kineto_foreign *foreign;
	size_t foreigns, foreigns_room;
	struct pp_launch_table launches;
	struct pp_kernel_cache kernels;
	struct pp_kernel_texts texts; /* old Kineto leaves long names as they are */
	struct pp_device *device;
	size_t devices, devices_room;
	struct pp_allocation *allocation; /* op: track until finish.c has found the operator */
	size_t allocations, allocations_room;
	struct kineto_collective *collective;
	size_t collectives, collectives_room;
	size_t device_opens;            /* begins on streams whose ends were not read yet */
	uint64_t overlaps;              /* on streams */
	uint64_t unclear;               /* events of one of several ranks, of which is unknown */
	uint64_t mistyped;              /* values of another type than expected, left out */
	const char *first_mistyped;     /* key of the first of these; NULL: of no argument */
	int64_t sample[KINETO_SAMPLES]; /* of times, every 2^shift-th event */
	size_t samples;
	unsigned sample_shift;
	kineto_key *worker; /* processes with operators or launches; of a device span the last one before it in the file */
	size_t workers, workers_room;
	uint16_t last_worker;
	uint64_t worker_runs; /* of these that stand together in the file; as many as workers: one behind the other */
	uint8_t *is_profiler; /* by pp_intern id: 1 + whether it is a frame of the profiler; 0: not looked at */
	uint32_t is_profiler_room;
	uint64_t timed;                  /* events with a time */
	int64_t base;                    /* ns since 1970; 0: not given */
	int32_t rank, world;             /* by distributedInfo; -1 */
	int32_t groups;                  /* of processes, by distributedInfo; 0: it does not say */
	int32_t info[KINETO_INFOS_MOST]; /* ranks of all distributedInfo, in the order of the file */
	size_t infos;
	uint32_t version; /* of PyTorch, pp_intern id */
	int has_schema;   /* Kineto wrote it */
	struct pp_trace_metadata trace;
};
