/* Side arrays of a rank: what a rank's capture has beside the spans. side.def has a row for each.
 * In: aggregate/read and the keeper's samples. Out: aggregate/analyze. Times are ticks until they are mapped, then job ns. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/record.h"

struct pp_rank;
struct pp_span;

struct pp_comm { /* a communicator as one rank knows it */
	uint64_t id;
	uint32_t name; /* pp_intern id; 0: none */
	uint32_t size;
	int32_t *member; /* world ranks [size]; NULL where unknown */
	uint32_t kind;   /* enum pp_comm_text: FILE, WINDOW, UNKNOWN, RANK, else a communicator */
	int32_t own;     /* RANK: this rank in it; the others are known to themselves only */
	int32_t *near;   /* world ranks from which this rank receives in neighbourhood collectives */
	uint32_t nears;
	int near_known;   /* else no record has them */
	uint32_t devices; /* that take part, where ranks have several; 0: one a rank, or unknown */
};

struct pp_usage {       /* a PROCESS record: counts since the process began, at the edge of a step */
	int64_t time;   /* tick; job ns after mapping */
	int64_t number; /* of the step */
	uint64_t user_ns, system_ns, peak_bytes;
	uint32_t minor_faults, major_faults, voluntary, involuntary; /* low 32 bits */
	uint32_t sequence;                                           /* the end's begin is the one before it */
	int is_end;
};

struct pp_memory {    /* one reading by the keeper of a rank's process and its children */
	int64_t time; /* tick; job ns after mapping */
	uint64_t rss_bytes, pss_bytes, children_rss_bytes;
	uint64_t user_ns, system_ns, children_cpu_ns; /* since the process began; children: alive, or ended and reaped */
	uint64_t minor_faults, major_faults;
	uint64_t run_queue_ns; /* main thread: time ready to run without a core; 0: unknown */
	uint32_t children;     /* alive, with theirs */
	int pss_present;
};

struct pp_annotation { /* an ANNOTATION record: a framework's description of one of its collectives */
	int64_t time;  /* its begin: tick of the record until mapped, then job ns less its age */
	int64_t age_ns;
	int64_t done; /* when its device had completed it; 0: not known */
	uint64_t comm, sent, received;
	uint32_t sequence;
	uint32_t correlation; /* of its only kernel, which ends at `done`; 0: not known, or several */
	int32_t root;
	uint16_t call;
};

struct pp_operation {         /* how an operation of NCCL or RCCL ran on the device */
	uint32_t request;     /* of its span; of operations with equal ones the first counts */
	uint32_t correlation; /* of its kernel, which ends when its REQUEST does; 0: none was found */
	int64_t device_ns;    /* as the library timed it; 0: it did not */
	uint8_t channels;     /* 0: unknown */
	uint8_t how;          /* algorithm << 4 | protocol, core/source/nccl_how.def; 0: unknown */
	uint32_t device;      /* number + 1, where no kernel tells it; 0: unknown */
};

struct pp_span_message { /* what a call, or its request, sent and received; flags 0: nothing, or not known */
	int64_t time;    /* tick of its record, which is not mapped */
	struct pp_record_message_half sent, received;
};

struct pp_launch {                                         /* how kernels were launched: each combination once a rank; 0: unknown */
	uint32_t registers, static_shared, dynamic_shared; /* of a thread; bytes of a block */
	uint32_t block[3], grid[3];
	float occupancy; /* percent; -1: unknown */
	uint32_t device; /* number + 1, where its limits decide the occupancy; 0: unknown */
};

struct pp_device { /* a device whose streams the rank has */
	uint32_t number;
	uint32_t own;    /* while a file of podprof is read: the number in the rank's process, where the file's differs */
	char kind[8];    /* GPU, TPU */
	char name[56];   /* model; "": unknown */
	uint64_t memory; /* bytes; 0: unknown */
	struct pp_device_limits limits;
	int is_slice; /* of a device, by MIG */
	uint64_t pci; /* as struct pp_record_device_info has it; 0: unknown */
};

struct pp_allocation {                /* a call of a framework's allocator */
	int64_t time;                 /* job ns */
	uint32_t allocator;           /* pp_intern id: GPU_0_bfc */
	uint32_t op;                  /* pp_intern id of the operator; 0: unknown */
	uint32_t region, type, shape; /* pp_intern ids: temp, float, [64,128]; 0: unknown */
	int32_t is_free;
	int64_t step; /* -1: unknown */
	uint64_t address;
	int64_t requested, bytes; /* of this call; of a free those of its allocation, where known */
	int64_t allocated, reserved, available,
	        peak;         /* of the allocator after it; reserved: stack; peak: since its start; -1: unknown */
	int is_counted;       /* `allocated` and `peak` are of the calls that were recorded: earlier ones are unknown */
	double fragmentation; /* 1 - largest free part / all that is free; -1: unknown */
	uint64_t pool;        /* address of the pool of `device` that it is from; 0: none */
	uint32_t device;
};

struct pp_pool_event { /* of a pool of a device's memory: made, trimmed, destroyed, or of another size than before */
	int64_t time;  /* job ns */
	uint64_t address;
	int64_t size, used, threshold; /* after it, bytes; -1: unknown */
	uint32_t device;               /* number */
	uint32_t record;               /* of the rank's, in the order in which they were read */
	uint8_t action;                /* enum pp_device_pool_action */
	uint8_t is_imported;
	uint8_t is_before; /* the window: what holds when that begins */
};

struct pp_iterator {         /* of tf.data: its calls are ranges whose payload is its id */
	uint64_t id, parent; /* parent: id of the iterator that takes its elements; 0: none, or unknown */
	uint32_t name;       /* pp_intern ids: of its calls; 0: unknown, as for the next two */
	uint32_t dataset;    /* PrefetchDataset:3 */
	uint32_t parameters; /* "buffer_limit=2 autotune=false", at its first call */
};

struct pp_device_gap {      /* time in which a device may have done more than its records say */
	int64_t begin, end; /* ticks; job ns after mapping */
	uint64_t launches;  /* without a record; 0: the device's library was not on */
	uint8_t is_idle;    /* while rings are read */
};

/* What order proves of a device's clock, as differences from base: at least low and at most high is to be added to its times. */
struct pp_device_skew {
	int64_t base, low, high, shift; /* shift: what was added */
	uint32_t device;                /* number + 1 */
	uint8_t is_low, is_high;        /* they are known */
	uint8_t is_usable;              /* 0: low is above high */
};

struct pp_state {        /* of a host or a GPU; -1: unknown */
	int64_t time;    /* tick; job ns after mapping */
	uint32_t device; /* number + 1; 0: the host */
	int64_t clock_hz, power_mw;
	double pressure_cpu, pressure_memory, pressure_io; /* percent of the time since the sample before in which a task waited */
	int64_t reason;                                    /* bits of NVML: why the clock is low */
	/* of a GPU only, as aggregate/keeper/host/gpu_value.def says; from energy_mj on since the driver was loaded */
	int64_t memory_hz, max_hz, limit_mw, default_mw, temperature, busy, used_bytes, processes, remap;
	int64_t energy_mj, power_ns, thermal_ns, ecc_corrected, ecc_uncorrected;
	int64_t pcie_replays, pcie_sent, pcie_received, nvlink_sent, nvlink_received, nvlink_errors;
};

struct pp_port {       /* one reading of a network port of the host; counts since it came up; -1: unknown */
	int64_t time;  /* tick; job ns after mapping */
	char name[24]; /* eth0, mlx5_0/1 */
	int64_t rate_mbit;
	int64_t sent, received, errors, dropped, lost, waited; /* as the columns of /port */
	uint8_t link;                                          /* enum pp_port_link of aggregate/keeper/host/port.h */
};

enum { PP_STEPS_ENDED = 256 }; /* of a rank, that are kept */

struct pp_step_ended { /* a step of the job, in ticks */
	int64_t number, begin, end;
};

enum pp_side_id {
#define PP_SIDE(member, count, type, order, keep, same) PP_SIDE_ID_##member,
#include "core/capture/side.def"
	PP_SIDE_IDS
};

enum pp_side_order { PP_SIDE_AS_READ, PP_SIDE_BY_TIME, PP_SIDE_BY_KEY };
enum pp_side_keep { PP_SIDE_ALL, PP_SIDE_WITHIN, PP_SIDE_UNTIL };
enum pp_side_same { PP_SIDE_EACH, PP_SIDE_ONCE };
enum pp_side_type {
	PP_SIDE_TYPE_U,
	PP_SIDE_TYPE_I,
	PP_SIDE_TYPE_F,
	PP_SIDE_TYPE_TEXT,
	PP_SIDE_TYPE_BYTES,
	PP_SIDE_TYPE_NAME,
	PP_SIDE_TYPE_TICK,
	PP_SIDE_TYPE_AGED,
	PP_SIDE_TYPE_RANKS,
	PP_SIDE_TYPE_BEFORE,
};

struct pp_side_field {
	const char *name;
	enum pp_side_type type;
	int is_key;
	size_t offset, size;
	size_t with; /* offset of the other field; 0: none */
};

struct pp_side_array { /* a row of side.def */
	const char *name;
	size_t member, count; /* offsets in struct pp_rank */
	size_t size;          /* of an element */
	enum pp_side_order order;
	enum pp_side_keep keep;
	enum pp_side_same same;
	const struct pp_side_field *field;
	size_t fields;
};

extern const struct pp_side_array pp_side_arrays[PP_SIDE_IDS];

/* The array of a rank; NULL where it has none. */
char *pp_side_rows(const struct pp_side_array *side, const struct pp_rank *rank);
/* Its number of rows. */
size_t pp_side_count(const struct pp_side_array *side, const struct pp_rank *rank);
/* Replaces array and number; the earlier array is the caller's. */
void pp_side_set(const struct pp_side_array *side, struct pp_rank *rank, void *rows, size_t count);
/* Appends copies of rows; what these own is the rank's from then on. -ENOMEM: nothing has changed. */
int pp_side_append(struct pp_rank *rank, enum pp_side_id id, const void *rows, size_t count);
/* Frees what the rows own, not the array. */
void pp_side_release_rows(const struct pp_side_array *side, char *rows, size_t count);
/* Frees the arrays of a rank, with what their rows own. */
void pp_side_release_all(struct pp_rank *rank);
/* The field of the time; NULL: the rows have none. */
const struct pp_side_field *pp_side_time(const struct pp_side_array *side);
/* Where the span has the index + 1 of a row of that side array; NULL: it has none. */
uint32_t *pp_side_index(struct pp_span *span, enum pp_side_id id);
