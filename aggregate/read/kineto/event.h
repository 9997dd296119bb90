/* One event of a Kineto file. Data only: fields.c fills it, take.c reads it. Internal to this room. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum kineto_category { /* groups of "cat"; files without it are of other programs */
	               KINETO_OTHER,
	               KINETO_OPERATOR,
	               KINETO_PYTHON, /* frames and builtin functions */
	               KINETO_LAUNCH, /* calls of a device's runtime or driver */
	               KINETO_OVERHEAD,
	               KINETO_KERNEL,
	               KINETO_COPY,
	               KINETO_SET,
	               KINETO_DERIVED, /* of other events, or waits of a stream: no work */
	               KINETO_EITHER,  /* of the host, or of a device if an engine ran it */
	               KINETO_COUNTER, /* values in its arguments */
};

enum kineto_field { /* which members an event has */
	            KINETO_TS = 1,
	            KINETO_DUR = 2,
	            KINETO_EXTERNAL = 4,
	            KINETO_CORRELATION = 8,
	            KINETO_DEVICE = 0x10,
	            KINETO_STREAM = 0x20,
	            KINETO_BYTES = 0x40, /* "bytes" of a copy */
	            KINETO_SHAPE = 0x80, /* at least one of registers, shared memory, block, grid */
	            KINETO_OCCUPANCY = 0x100,
	            KINETO_ADDRESS = 0x200,
	            KINETO_SIZE = 0x400, /* "Bytes" of an allocation */
	            KINETO_ALLOCATED = 0x800,
	            KINETO_RESERVED = 0x1000,
	            KINETO_DEVICE_TYPE = 0x2000,
	            KINETO_DEVICE_ID = 0x4000,
	            KINETO_COLLECTIVE = 0x8000,
	            KINETO_SEQUENCE = 0x10000, /* of a collective */
	            KINETO_BAD_TIME = 0x20000, /* a time that is no number */
	            KINETO_LABEL = 0x40000,
	            KINETO_QUEUE = 0x80000,
	            KINETO_TASK_TYPE = 0x100000,
	            KINETO_HARDWARE = 0x200000,
	            KINETO_HLO = 0x400000, /* an operation of XLA or TensorFlow */
	            KINETO_RANK = 0x800000,
};

/* Of a queue whose name is no number: its text's intern id with this bit. */
#define KINETO_NAMED_QUEUE ((int64_t)1 << 62)

/* Process or thread: an even number, or an odd one made of the text's intern id. */
typedef uint64_t kineto_key;

static inline kineto_key kineto_key_of_text(uint32_t id)
{
	return ((kineto_key)id << 1) | 1;
}

struct kineto_event {
	uint32_t fields; /* enum kineto_field */
	uint32_t name;   /* pp_intern id */
	char phase;
	uint8_t category; /* enum kineto_category */
	int64_t ts, dur;  /* ns */
	kineto_key pid, tid;
	int64_t external, correlation, device, stream, queue; /* queue: where `stream` is not given */
	uint64_t address;
	int64_t bytes, size, allocated, reserved, device_type, device_id;
	int64_t registers, shared, block[3], grid[3];
	double occupancy;
	uint32_t label;                                            /* "name" of a metadata event, pp_intern id */
	uint32_t hlo_op, hlo_module, framework_op, task, hardware; /* pp_intern ids; 0: none */
	uint32_t dims;                                             /* of an operator's inputs, pp_intern id of payloads */
	/* Of a collective; texts are pp_intern ids. */
	uint32_t collective, group, group_ranks, type;
	int64_t elements_in, elements_out, group_size, sequence, rank;
};

enum { KINETO_COUNTERS_MOST = 32 };

struct kineto_value_of { /* a counter, by its key in the arguments */
	uint32_t key;    /* pp_intern id */
	double value;
};
