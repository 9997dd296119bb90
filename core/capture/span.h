/* pp_span: begin and end of one event on one thread; input of stages 4-5.
 * In: aggregate/read (rings, XSpace and Kineto files). Out: core/step, aggregate/analyze, aggregate/write. */
#pragma once

#include <stdint.h>

enum pp_span_kind {
	PP_SPAN_RANGE,   /* push/pop: nested on its thread */
	PP_SPAN_ASYNC,   /* start/end: may overlap anything */
	PP_SPAN_MARK,    /* instant */
	PP_SPAN_COUNTER, /* instant with a value */
	PP_SPAN_STEP,    /* from step_begin to step_end or the next begin */
	PP_SPAN_MPI,     /* one MPI call */
	PP_SPAN_REQUEST, /* nonblocking operation: from its call to seen complete; overlaps anything */
	PP_SPAN_DEVICE,  /* kernel, copy or set on a device's stream */
};

enum pp_span_flags {
	PP_SPAN_CUT_BEGIN = 1, /* began before the first record (clipped there) */
	PP_SPAN_CUT_END = 2,   /* never seen to end (clipped at the thread's last tick) */
	PP_SPAN_IS_ROOT = 4,
	PP_SPAN_FAILED = 8,
	PP_SPAN_PEER_IN_COMM = 16,
	PP_SPAN_POLLS = 32,        /* MPI polls without result; sequence: how many */
	PP_SPAN_RECEIVES = 64,     /* start of a persistent receive; Sendrecv that sends nothing */
	PP_SPAN_IN_OPERATION = 64, /* DEVICE: a part of an operation whose row another kernel of the rank has */
	PP_SPAN_WAITS_INPUT = 128, /* the step waits for input in it, on whatever thread: TensorFlow's IteratorGetNext */
};

/* Who made a range, by how it was recorded and never by words in its name: what core/step/category.h may conclude from the name. */
enum pp_origin {
	PP_ORIGIN_PROGRAM,  /* the program named it: podprof.h, NVTX, ITT, record_function(), TraceAnnotation */
	PP_ORIGIN_OPERATOR, /* a framework's operator: Kineto's cpu_op, XSpace with hlo_op or tf_op or NAME:TYPE, emit_itt */
	PP_ORIGIN_RUNTIME,  /* a call of a device's runtime or driver */
	PP_ORIGIN_PYTHON,   /* a frame or a builtin function of Python */
	PP_ORIGIN_LIBRARY,  /* a library's or a framework's runtime: its own domain of NVTX or ITT, its C++ in XSpace */
	PP_ORIGINS,
};

/* What each kind has beside the head. A new kind is a struct of at most 40 bytes, or of an index into an array of its own. */
struct pp_span_range {         /* RANGE, ASYNC, MARK */
	uint64_t payload;      /* bits of a number, or pp_intern id in pp_capture.payloads (PP_PAYLOAD_EXT) */
	uint64_t id;           /* ASYNC: as START and END have it */
	uint16_t payload_type; /* enum pp_payload_type */
	uint16_t domain;       /* of NVTX or ITT, index in pp_ring_header.domain */
	uint8_t origin;        /* enum pp_origin */
};

struct pp_span_step {
	int64_t number;
	/* Found by a pattern of `period` collectives; 0: marked by the job, and the rest is 0. */
	int64_t known_from;          /* the first step found */
	uint64_t matched, irregular; /* collectives so far of the pattern, and others */
	uint32_t period;
	uint32_t level; /* enum pp_level */
};

struct pp_span_mpi {       /* MPI, REQUEST */
	uint64_t comm;     /* communicator id; 0 none */
	uint64_t sent;     /* bytes */
	uint64_t received; /* bytes */
	uint32_t sequence; /* of the collective on comm; polls: how many; PP_MPI_HAS_MESSAGE: pp_rank.message index + 1 */
	int32_t peer;      /* world rank of peer or root; -1 none, -2 any */
	uint32_t request;  /* this rank's request number; 0 none */
	uint16_t call;     /* row of core/call/mpi_call.def */
	uint16_t flags;    /* of the call's record, enum pp_mpi_flags */
};

enum pp_precision { PP_PRECISION_UNKNOWN, PP_PRECISION_32, PP_PRECISION_16 };

#define PP_CORRELATION_OWN (UINT32_C(1) << 31) /* above it, where the source is XSpace: a number that the reader gave */

struct pp_span_device {       /* DEVICE */
	uint64_t correlation; /* with the host's launch; 0: none */
	uint64_t bytes;       /* moved or set */
	int64_t step;         /* number that the file gives it; -1: none */
	uint32_t op;          /* pp_intern id of the operator that launched it, "name:Type" where the type is known; 0: unknown */
	uint32_t launch;      /* index + 1 into pp_rank.launch; 0: unknown */
	uint8_t activity;     /* enum pp_device_activity */
	uint8_t precision;    /* enum pp_precision, of a computation */
	uint8_t by;           /* enum pp_grounds (core/step/classify.h): what the activity rests on; 0: its kind of record */
	uint8_t reserved;
	uint32_t host_thread; /* index + 1 of the thread that launched it; 0: unknown */
};

struct pp_span {
	int64_t begin, end; /* ticks out of the reader; job ns after pp_clock_map_rank() */
	uint32_t name;      /* pp_intern id */
	uint8_t kind;       /* enum pp_span_kind: which member of the union holds */
	uint8_t category;   /* enum pp_category; 0: not set, pp_step_attr decides by name */
	uint8_t flags;      /* enum pp_span_flags */
	uint8_t source;     /* enum pp_source_id */
	union {
		struct pp_span_range range;
		double value; /* COUNTER */
		struct pp_span_step step;
		struct pp_span_mpi mpi;
		struct pp_span_device device;
	};
};
_Static_assert(sizeof(struct pp_span) == 64, "a span is one cache line");
