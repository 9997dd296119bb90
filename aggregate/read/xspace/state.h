/* What the units of aggregate/read/xspace share: the file that is read, its planes, metadata by id, and lines. Data only.
 * Flow: xspace.c finds planes -> plane.c their lines and metadata -> lines.c spans, of events that event.c reads -> link.c, steps.c
 * what ties them together. */
#pragma once

#include "aggregate/read/launch_table.h"
#include "aggregate/read/trace_options.h"
#include "aggregate/read/xspace/hlo.h"
#include "aggregate/read/xspace/source.h"
#include "aggregate/read/xspace/wire.h"
#include "core/base/map.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/kernel_name.h"

/* Stats that mean something here; all others are passed over. */
enum pp_xs_kind {
	PP_XS_NONE,
	/* texts of events */
	PP_XS_STEP_NAME,
	PP_XS_OP,
	PP_XS_HLO_OP,
	PP_XS_HLO_MODULE,
	PP_XS_HLO_CATEGORY,
	PP_XS_CODE,
	PP_XS_ANNOTATION,
	PP_XS_KERNEL_DETAILS,
	PP_XS_COPY_DETAILS,
	PP_XS_SHAPE,
	PP_XS_OCCUPANCY,
	/* numbers of events, but for an allocator's */
	PP_XS_GROUP_ID,
	PP_XS_STEP_NUM,
	PP_XS_ITER_NUM,
	PP_XS_ROOT,
	PP_XS_ASYNC,
	PP_XS_PRODUCER_TYPE,
	PP_XS_PRODUCER,
	PP_XS_CONSUMER_TYPE,
	PP_XS_CONSUMER,
	PP_XS_CORRELATION,
	PP_XS_RUN_ID,
	PP_XS_PROGRAM,
	PP_XS_GLOBAL_DEVICE,
	PP_XS_BYTES_ACCESSED,
	PP_XS_ALLOCATOR,
	PP_XS_ALLOCATOR_NUMBER,
	PP_XS_RESERVED,
	PP_XS_ALLOCATED,
	PP_XS_AVAILABLE,
	PP_XS_FRAGMENTATION,
	PP_XS_PEAK,
	PP_XS_REQUESTED,
	PP_XS_ALLOCATION_BYTES,
	PP_XS_ADDRESS,
	PP_XS_REGION,
	PP_XS_DATA_TYPE,
	PP_XS_ID,
	PP_XS_PARENT_ID,
	PP_XS_ELEMENT_ID,
	/* of podprof */
	PP_XS_CLOCK,
	PP_XS_CLOCK_BOUND,
	PP_XS_BYTES,
	PP_XS_RECEIVED,
	PP_XS_COMM,
	PP_XS_SEQUENCE,
	PP_XS_POLLS,
	PP_XS_PEER,
	PP_XS_REQUEST,
	PP_XS_CUT,
	PP_XS_CATEGORY,
	PP_XS_VALUE,
	PP_XS_STEP,
	PP_XS_RSS,
	PP_XS_PSS,
	PP_XS_CHILDREN_RSS,
	PP_XS_IS_COUNTED,
	PP_XS_EDGE,
	PP_XS_TAG,
	PP_XS_ORDER,
	PP_XS_SOURCE,
	PP_XS_SOURCE_TAG,
	PP_XS_SOURCE_ORDER,
	PP_XS_OF_EVENTS,
	/* of planes */
	PP_XS_START_TIME = PP_XS_OF_EVENTS,
	PP_XS_DEVICE_NAME,
	PP_XS_DEVICE_VENDOR,
	PP_XS_COMPUTE_MAJOR,
	PP_XS_COMPUTE_MINOR,
	PP_XS_MEMORY_SIZE,
	PP_XS_OWN_NUMBER,
	PP_XS_HLO_PROTO,
	PP_XS_JAX_VERSION,
	PP_XS_KINDS,
	PP_XS_TEXTS = PP_XS_SHAPE + 1,
	PP_XS_NUMBERS = PP_XS_GROUP_ID,
};
_Static_assert(PP_XS_OF_EVENTS <= 64, "an event has one bit for each kind of stat");

#define PP_XS_BIT(kind) (UINT64_C(1) << (kind))

struct pp_xmeta { /* metadata of an event or a stat, looked at when an event first names it */
	uint64_t id;
	const uint8_t *data; /* its message */
	size_t size;
	const uint8_t *text; /* its name as it lies in the file; the label of an event of podprof */
	size_t length;
	uint32_t name;     /* pp_intern id of it */
	uint32_t op;       /* of an event: operator that its stats name; of an operation of XLA: with its module */
	uint32_t module;   /* of such an operation: the module's name */
	uint64_t accessed; /* of an event on a device: bytes that it reads and writes; 0: unknown */
	uint32_t launch;   /* of a text: index + 1 into pp_rank.launch, once it was read as kernel_details */
	uint32_t hlo;      /* index + 1 into pp_xread.hlo: of an event that it describes; of a text as an operation of hlo_module */
	uint32_t hlo_module; /* of that text: index + 1 into pp_xread.module */
	uint32_t line;       /* pp_xread.lines when it was looked at */
	uint8_t is_ready;    /* what is above `data` is set */
	uint8_t kind;        /* of a stat: enum pp_xs_kind; of an event: enum pp_xevent_class */
	uint8_t activity;    /* of an event on a device */
	uint8_t by;          /* enum pp_grounds of that; 0: its name */
	uint8_t is_by_kind;  /* XLA's category tells the activity */
	uint8_t precision;   /* of an event by its name; of a text as a shape, PP_PRECISION_UNKNOWN until it was read as one */
	uint8_t is_unknown;  /* of an event of a host: no rule knows its name */
	uint8_t origin;      /* of an event of a host by its name: enum pp_origin */
	int64_t bytes;       /* of a text as memcpy_details; -1 until it was read as one */
};

enum pp_xevent_class {
	PP_XEVENT_PLAIN,
	PP_XEVENT_INPUT, /* the step waits for input */
	PP_XEVENT_ALLOCATION,
	PP_XEVENT_FREE,
	PP_XEVENT_MARKER,   /* train*, test* and TraceContext: xprof's explicit step markers */
	PP_XEVENT_IMPLICIT, /* an executor's root, which is no step of its own */
	PP_XEVENT_REGION_BEGIN,
	PP_XEVENT_REGION_END,
	PP_XEVENT_ITERATOR, /* a call of an iterator of tf.data */
	PP_XEVENT_ELEMENT,  /* one of its elements is made or taken ahead */
};

struct pp_xtable { /* metadata by id; of two with one id the later one */
	struct pp_xmeta *meta;
	size_t metas, room;
	uint32_t *place; /* [places] index + 1 by id, for small ids; larger ones are found by halving */
	size_t places, sorted_from;
};

struct pp_xslice { /* a message in the file */
	const uint8_t *data;
	size_t size;
};

enum pp_xplane_kind {
	PP_XPLANE_OTHER,
	PP_XPLANE_HOST,
	PP_XPLANE_GPU, /* a device with streams, of any vendor */
	PP_XPLANE_TPU, /* a device whose operations are on lines of their own */
	PP_XPLANE_CUSTOM,
	PP_XPLANE_ENVIRONMENT,
	PP_XPLANE_METADATA,
};

enum pp_xline_kind {
	PP_XLINE_DERIVED,
	PP_XLINE_STEPS,
	PP_XLINE_HOST,
	PP_XLINE_STREAM,
	PP_XLINE_ASYNC,   /* operations of a device that run beside its stream */
	PP_XLINE_MODULES, /* executions of programs */
	PP_XLINE_COUNTERS
};

struct pp_xplane {
	enum pp_xplane_kind kind;
	uint32_t device; /* number of a device */
	char device_kind[16];
	char name[96];
	struct pp_xslice *line;
	size_t lines, lines_room;
	struct pp_xtable events, stats;
	int is_grouped;       /* its stats have a group_id */
	int has_streams;      /* of a device: lines that no viewer made of others */
	uint32_t unnamed;     /* pp_intern id for events without metadata */
	uint8_t kind_of[128]; /* of stats with small ids: enum pp_xs_kind, PP_XS_KINDS where it was not looked up yet */
	struct pp_xslice all; /* the plane */
};

struct pp_xmark { /* an event of a device's line "Steps" */
	int64_t group, number, begin, end;
};

struct pp_xlinked { /* one end of a producer-consumer pair: what runs in [begin, end) of a consumer is its producer's */
	int64_t begin, end;
	uint64_t id;
	int32_t type;
	uint32_t thread;
	int is_consumer;
};

struct pp_xlaunch { /* a call on the host that started something on a device */
	uint64_t correlation;
	uint32_t thread, span;
	uint32_t op; /* pp_intern id of the range around it; 0: none */
};

struct pp_xopen { /* a range around what is read */
	int64_t end;
	uint32_t name;
};

struct pp_xlaunches {
	struct pp_xlaunch *list;
	size_t count, room, at;
	struct pp_xopen *open;
	size_t opens, opens_room;
	int is_indexed;    /* all are there, and found by launch_of() */
	size_t found_from; /* threads from this on found their launches when they were read */
	uint32_t *place;   /* [places] index + 1 by correlation - first; NULL: launches are in order of it */
	uint64_t first;
	size_t places;
};

struct pp_xmemory {
	struct pp_memory memory;
	int32_t rank;
};

struct pp_xmodule { /* a program of XLA */
	uint64_t program;
	uint32_t name; /* pp_intern id */
	struct pp_hlo_devices devices;
};

struct pp_xhlo {         /* a collective of a program */
	uint32_t op;     /* pp_intern id of its name */
	uint32_t module; /* index + 1; 0: unknown */
	uint32_t start;  /* of a done: pp_intern id of the name of its start; 0: unknown */
	struct pp_hlo hlo;
};

struct pp_xrun { /* an execution of a program */
	int64_t begin, end, run;
	int64_t id;       /* of its device among all; -1: unknown */
	uint64_t program; /* on a device */
	uint32_t name;    /* of the program; pp_intern id; 0: unknown */
	uint32_t place;   /* a thread, or the number of a device */
	int is_on_device;
};

struct pp_xcollective { /* an operation that communicates, on a device or on a thread of the host */
	int64_t begin, end, run;
	int64_t id;           /* as above */
	uint64_t correlation; /* on a device; 0: none */
	uint32_t thread, hlo; /* hlo: index + 1 */
	uint32_t device;      /* number + 1; 0: it runs on the host */
	uint8_t has_run;
	uint8_t is_core;   /* on the line of a core, which does one thing at a time */
	uint8_t is_async;  /* on the line of what runs beside it */
	uint8_t is_paired; /* from a start to its done */
	uint8_t is_left_out;
};

struct pp_xread { /* a file that is read */
	const char *path;
	const struct pp_trace_options *options;
	const struct pp_trace_glance *glance;
	struct pp_xsource source;
	struct pp_intern *names;
	struct pp_rank rank;
	/* Of a file of podprof: whose line each thread is, whose steps (as group) are marked, memory of all ranks. */
	int32_t *thread_rank;
	struct pp_span_message *message;
	size_t messages, messages_room;
	struct pp_xmemory *memory;
	size_t thread_ranks_room, memories, memories_room;
	size_t threads_room, devices_room, allocations_room, iterators_room;
	struct pp_map iterators; /* of rank.iterator, by id */
	struct pp_kernel_cache kernels;
	struct pp_launch_table launch; /* rank.launch, which it frees not */
	struct pp_xmark *mark;
	size_t marks, marks_room;
	struct pp_xmodule *module;
	struct pp_xhlo *hlo;
	struct pp_map hlo_place; /* by name and module */
	struct pp_xrun *run;
	struct pp_xcollective *collective;
	size_t modules, modules_room, hlos, hlos_room, runs, runs_room, collectives, collectives_room;
	struct pp_xlinked *linked;
	size_t linkeds, linkeds_room;
	struct pp_xlaunches launches;
	uint32_t lines;    /* that were read */
	uint64_t overlaps; /* on streams of devices */
	size_t hosts;      /* planes of hosts that are not read yet */
	int has_unnamed;   /* a plane that may be of any kind */
	int has_device;    /* a plane of one, or one that may be */
	int has_gpu;
	int keeps_links; /* steps of this plane must be found through producers and consumers */
	int is_cut;      /* the bytes end inside a message; that is noted */
	int no_memory;
	uint64_t start_time; /* Unix ns of time 0; 0: unknown */
	int64_t from, to;    /* the profiler had started, and not ended; INT64_MIN, INT64_MAX: not known */
};

struct pp_xline { /* a line that is read */
	struct pp_xslice all;
	int64_t id, timestamp_ns;
	char name[128];
	const uint8_t *text; /* its name */
	size_t length;
	const uint8_t *at; /* events before it are read */
	int is_whole;      /* what stands behind the events is known too */
	int is_late;       /* it was not, and says something else: the line must be read again */
	unsigned kind;     /* enum pp_xline_kind */
	int is_runtime;    /* a thread that a framework's runtime made */
	struct pp_thread thread;
	int is_unsorted;
	size_t room;
	size_t launches; /* of the lines before */
	int has_region;
	size_t region, region_link; /* index + 1 of the span and of the link of a thread pool's region that is open */
};
