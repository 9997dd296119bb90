/* Names of an XSpace plane: event and stat metadata, made on first use, written after the lines. In: intern ids, MPI calls,
 * steps, categories. Out: metadata ids. Owns its tables. Called by the files of this folder. */
#pragma once

#include "core/base/map.h"
#include "core/ring/intern.h"
#include "proto/xspace_stream.h"

struct pp_capture;
struct pp_rank;

enum pp_xname_class {
	PP_XNAME_RANGE = 1,  /* key: intern id */
	PP_XNAME_CALL,       /* key: MPI call number */
	PP_XNAME_STEP,       /* key: step number */
	PP_XNAME_COUNTER,    /* key: rank << 32 | intern id */
	PP_XNAME_EMPTY_STEP, /* key: 1 on a device's plane */
	PP_XNAME_MEMORY,     /* key: rank */
	PP_XNAME_OPERATOR,   /* a range or call that xprof counts as an operator; key: category << 32 | as for BREAKDOWN */
	PP_XNAME_ALLOCATION, /* key: 1 of memory that is freed */
	PP_XNAME_DEVICE,     /* what a device ran; key: intern id */
	PP_XNAME_BREAKDOWN,  /* + category; key: intern id, or call with PP_XNAME_KEY_CALL */
	PP_XNAME_ON_DEVICE = PP_XNAME_BREAKDOWN + 32, /* the same on a device's plane */
};

#define PP_XNAME_KEY_CALL (1ull << 31)

/* Stats of events, the last ones of planes; these numbers are their metadata ids. */
enum pp_xstat_id {
	PP_XSTAT_GROUP_ID = 1,
	PP_XSTAT_STEP_NAME,
	PP_XSTAT_STEP,
	PP_XSTAT_BYTES,
	PP_XSTAT_RECEIVED,
	PP_XSTAT_COMM,
	PP_XSTAT_SEQUENCE,
	PP_XSTAT_PEER,
	PP_XSTAT_REQUEST,
	PP_XSTAT_CATEGORY,
	PP_XSTAT_EDGE,
	PP_XSTAT_VALUE,
	PP_XSTAT_CUT,
	PP_XSTAT_FILE,
	PP_XSTAT_POLLS,
	PP_XSTAT_PAYLOAD,
	PP_XSTAT_RSS,
	PP_XSTAT_PSS,
	PP_XSTAT_CHILDREN_RSS,
	PP_XSTAT_CORRELATION,
	PP_XSTAT_FLOW,
	PP_XSTAT_OP,
	PP_XSTAT_SHAPE,
	PP_XSTAT_KERNEL_DETAILS,
	PP_XSTAT_LAUNCH, /* of what xprof must not count */
	PP_XSTAT_COPY_DETAILS,
	PP_XSTAT_SET_DETAILS,
	PP_XSTAT_ALLOCATOR,
	PP_XSTAT_ADDRESS,
	PP_XSTAT_REQUESTED,
	PP_XSTAT_ALLOCATION,
	PP_XSTAT_ALLOCATED,
	PP_XSTAT_RESERVED,
	PP_XSTAT_AVAILABLE,
	PP_XSTAT_FRAGMENTATION,
	PP_XSTAT_PEAK,
	PP_XSTAT_IS_COUNTED,
	PP_XSTAT_CLOCK,
	PP_XSTAT_CLOCK_BOUND,
	PP_XSTAT_VENDOR,
	PP_XSTAT_DEVICE_NAME,
	PP_XSTAT_CAPABILITY_MAJOR,
	PP_XSTAT_CAPABILITY_MINOR,
	PP_XSTAT_MULTIPROCESSORS,
	PP_XSTAT_CLOCK_RATE,
	PP_XSTAT_BANDWIDTH,
	PP_XSTAT_MEMORY_SIZE,
	PP_XSTAT_NUMBER,
	PP_XSTAT_TAG, /* of the message that a call sends; then of the one that it receives */
	PP_XSTAT_ORDER,
	PP_XSTAT_SOURCE,
	PP_XSTAT_SOURCE_TAG,
	PP_XSTAT_SOURCE_ORDER,
	PP_XSTAT_FIXED, /* ids from here on: texts */
};
_Static_assert(PP_XSTAT_FIXED <= PP_XSTAT_ID_MOST + 1, "the encoder gives the id of an event's stat one byte");

struct pp_xname_slot {
	uint64_t key;
	uint32_t class; /* enum pp_xname_class, or PP_XNAMES_TEXT + enum pp_xtext_kind */
	uint32_t id;
};

enum { PP_XNAMES_RECENT = 128, PP_XNAMES_TEXT = 0x10000 };

struct pp_xnames {
	const struct pp_intern *names, *payloads; /* payloads NULL: no event has one */
	const struct pp_rank *rank;               /* whose launches a device's plane shows */
	struct pp_xname_slot *slot;               /* [used] event names and texts, in the order of their ids */
	size_t used, room;
	struct pp_map map;      /* of slots */
	uint32_t events, texts; /* ids given so far */
	int no_memory;
	int32_t steps_of;                              /* rank whose steps are the file's; -1: the only one, which needs no name */
	struct pp_xname_slot recent[PP_XNAMES_RECENT]; /* events repeat few names: those are found without the hash */
};

/* The names of the capture are borrowed. To be released. */
void pp_xnames_init(struct pp_xnames *x, const struct pp_capture *capture);
void pp_xnames_release(struct pp_xnames *x);
/* The id of a name; adds a new one. */
uint32_t pp_xnames_put(struct pp_xnames *x, uint32_t class, uint64_t key);
/* Event metadata id, never 0; without memory it sets x->no_memory and returns 1. */
static inline uint32_t pp_xnames_event(struct pp_xnames *x, uint32_t class, uint64_t key)
{
	struct pp_xname_slot *r = &x->recent[(key + 37 * (uint64_t) class) % PP_XNAMES_RECENT];

	if (r->key != key || r->class != class)
		*r = (struct pp_xname_slot){key, class, pp_xnames_put(x, class, key)};
	return r->id;
}

/* Texts that stats refer to by ref_value. None may equal the name of a stat: xprof would take either. */
enum pp_xtext_kind {
	PP_XTEXT_COMM,      /* key: communicator id, shown in hex */
	PP_XTEXT_CATEGORY,  /* key: category id */
	PP_XTEXT_STEP,      /* key: step number; with the rank of steps_of */
	PP_XTEXT_CUT,       /* key: PP_SPAN_CUT_* flags */
	PP_XTEXT_FILE,      /* key: intern id */
	PP_XTEXT_NUMBER,    /* key: 0 nan, 1 inf, 2 -inf: a number that JSON does not have */
	PP_XTEXT_PAYLOAD,   /* key: intern id in payloads; never the name of a stat, as it contains a sign or a digit */
	PP_XTEXT_OP,        /* key: category << 32 | intern id; "name:type" */
	PP_XTEXT_ALLOCATES, /* key: intern id; the same for what allocated memory */
	PP_XTEXT_SHAPE,     /* key: enum pp_precision: what xprof takes for it */
	PP_XTEXT_LAUNCH,    /* key: index + 1 of the rank's launch; 0: unknown */
	PP_XTEXT_SIZE,      /* key: bytes */
	PP_XTEXT_ALLOCATOR, /* key: rank << 32 | intern id */
};
static inline uint32_t pp_xnames_text(struct pp_xnames *x, enum pp_xtext_kind kind, uint64_t key)
{
	return pp_xnames_event(x, PP_XNAMES_TEXT + (uint32_t)kind, key);
}

/* Write all metadata into the open plane; without memory it sets x->no_memory. */
void pp_xnames_write(struct pp_xnames *x, struct pp_xstream *s);

/* Does xprof treat an event of this name as something other than host compute (step marker, input, copy, executor)? */
int pp_xname_is_special(const char *name);
