/* Messages of podprof.proto as plain structs. In: a keeper's message. Out: bytes, and back; called by aggregate/keeper/net*.c.
 * Pure, any thread. pp_wire_read() takes hostile bytes: it allocates a bounded amount, and every field is in its range. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_WIRE_PROTOCOL = 1 };

enum {                            /* limits, in both directions */
       PP_WIRE_MAX = 1 << 20,     /* bytes of a message */
       PP_WIRE_PIECE = 256 << 10, /* bytes of a piece */
       PP_WIRE_KEY = 16,          /* bytes of the key of clock stamps */
       PP_WIRE_CHAIN = 256 << 10, /* bytes of a chain of lines */
       PP_WIRE_TEXT = 255,        /* bytes of a text */
       PP_WIRE_LONG_TEXT = 4096,  /* bytes of a client's text and of an invitation */
       PP_WIRE_RANKS = 4096,      /* of one host */
       PP_WIRE_ADDRESSES = 768,   /* bytes of 16 numeric addresses */
};

enum pp_wire_kind { /* numbers of podprof.proto */
	            PP_WIRE_HELLO = 2,
	            PP_WIRE_HELLO_ACK,
	            PP_WIRE_BLOCK = 10,
	            PP_WIRE_FILE,
	            PP_WIRE_HEARTBEAT,
	            PP_WIRE_BYE,
	            PP_WIRE_REQUEST,
	            PP_WIRE_CLIENT_TEXT,
	            PP_WIRE_GATHER,
	            PP_WIRE_SHARE,
	            PP_WIRE_INVITE,
	            PP_WIRE_COMPARE,
	            PP_WIRE_CLOCK,
	            PP_WIRE_DOCTOR_COMMAND,
	            PP_WIRE_DOCTOR_HOST,
	            PP_WIRE_DOCTOR_READING,
	            PP_WIRE_DOCTOR_RAW,
	            PP_WIRE_KINDS,
};

enum pp_wire_state { PP_WIRE_STARTING, PP_WIRE_RUNNING, PP_WIRE_ENDED, PP_WIRE_DIED, PP_WIRE_STATES };

struct pp_wire_rank {
	int32_t rank, pid;
	enum pp_wire_state state;
	int64_t step; /* the last one begun; INT64_MIN: none */
	int marks, recording, over;
	uint64_t request; /* state of a request, as the ring's header has it */
	int64_t first, last;
	uint64_t windows_passed;
	uint32_t signals;
	uint32_t call, sequence; /* where its main thread is */
	uint64_t comm;
	int32_t peer;
	uint32_t last_call, waits, waits_sequence; /* as in struct pp_where */
	int32_t other[4];
	int other_more;
	uint64_t place_ms;
	uint32_t process;
	int32_t end; /* ENDED: exit status; DIED: as of wait(), -1 unknown */
	uint32_t comm_size, comm_flags;
	char members[256], comm_name[84];
	char nccl[2048];
};

struct pp_wire_clock { /* the clock of ticks, as the ring's header has it */
	const char *boot_id, *timens;
	uint32_t tick_kind;
};

/* Texts: NULL is written as "", and read as "". No control characters; not always UTF-8 (pp_utf8_repair). */
struct pp_wire_hello {
	uint32_t protocol;
	const char *job, *host, *version;
	uint64_t instance;
	const struct pp_wire_rank *rank;
	size_t ranks;
	struct pp_wire_clock clock;
	uint32_t transport; /* by which it was invited */
};

struct pp_wire_hello_ack {
	uint32_t protocol, host_index;
	const char *session, *refused;
	uint64_t instance;
	const char *host;
};

struct pp_wire_piece {
	uint64_t gather;
	const char *name;       /* file: a name without '/', not "." or ".." */
	uint64_t offset, total; /* offset + size <= total */
	const void *bytes;      /* sent with its CRC-32, which pp_wire_read() has compared */
	size_t size;
};

struct pp_wire_heartbeat {
	uint64_t received;
	int64_t job_ns;
	const struct pp_wire_rank *rank;
	size_t ranks;
	uint64_t first_tick; /* 0: none */
	int over;
};

struct pp_wire_request {
	uint32_t number, kind;
	int64_t first, last;
	uint32_t level;
};

struct pp_wire_text {
	uint32_t client;
	int ended;
	const char *text; /* `size` bytes, not terminated, any value */
	size_t size;
};

struct pp_wire_gather {
	uint64_t gather;
	uint32_t cut; /* enum pp_pod_cut */
	uint64_t number;
	int64_t from, to, from_realtime, to_realtime;
	int64_t first, last;
	const char *session, *token; /* names without '/', not "." or ".." */
	const char *host;            /* "": its own */
	const char *ranks;           /* "": as the options set */
	int has_steps;
	uint64_t tick0, num;
	int64_t ns0, bound, epoch_realtime;
	uint32_t shift;
	struct pp_wire_clock clock;
};

struct pp_wire_share {
	uint64_t gather, block;
	int32_t code; /* 0, -errno */
	const char *reason;
	uint32_t files;
};

struct pp_wire_compare { /* secret */
	uint32_t domain, port;
	const uint8_t *key; /* PP_WIRE_KEY bytes */
	size_t key_size;
	int same;              /* both claim one clock */
	uint32_t parent, hops; /* 0: rank 0's keeper */
	const char *addresses; /* "": those of the invitation */
	const char *host;      /* the parent's */
	uint32_t serves;       /* hosts that compare their clocks with its */
};

struct pp_wire_clock_place {
	uint64_t round;
	uint32_t parent, port, verdict; /* enum pp_same_verdict */
	const char *addresses;
	int lost;
	const uint8_t *chain;
	size_t chain_size;
};

/* podprof doctor --clock. */
struct pp_wire_doctor_command {
	uint32_t kind; /* enum pp_doctor_kind */
};

struct pp_wire_doctor_host { /* a host's report about itself */
	char name[72], boot_id[40], timens[96];
	char why[96]; /* why it has this kind of tick */
	char by[64];  /* whose claim */
	int32_t rank, local_size;
	uint32_t tick_kind;
	int stamps, claims, synchronised;
	int64_t error_ns, error_most_ns, frequency_ppb; /* as struct pp_wall_claim has them */
	double ticks_per_ns, resolution_ns, cost_ns;
};

struct pp_wire_doctor_reading { /* of its clocks, after the last burst */
	int64_t tick, raw_ns, width_ns;
	int64_t date_ns, date_tick;
	double date_half;                /* |error| of date_tick */
	double ticks_per_ns, rate_error; /* since the begin; its relative error */
};

struct pp_wire_doctor_raw { /* a host's measurement of the clock of one before it, in ticks: x its own, y the other's */
	uint32_t parent;    /* the other's domain */
	uint32_t nodes;     /* bursts that came through, at most 2 of them here: the first and the last */
	int two;            /* the trips prove two clocks */
	int64_t x[2], y[2];
	double half[2], least;
	int64_t bound;                /* the largest between the two, y ticks; INT64_MAX: none */
	int64_t date_y, date_y_bound; /* its reading of the date, by the parent's tick */
	uint64_t trips, lost;
};

struct pp_wire {
	enum pp_wire_kind kind;
	uint64_t sequence;
	union {
		struct pp_wire_hello hello;
		struct pp_wire_hello_ack hello_ack;
		struct pp_wire_piece piece; /* block, file */
		struct pp_wire_heartbeat heartbeat;
		struct pp_wire_request request;
		struct pp_wire_text text; /* and an invitation */
		struct pp_wire_gather gather;
		struct pp_wire_share share;
		struct pp_wire_compare compare;
		struct pp_wire_clock_place clock;
		struct pp_wire_doctor_command doctor_command;
		struct pp_wire_doctor_host doctor_host;
		struct pp_wire_doctor_reading doctor_reading;
		struct pp_wire_doctor_raw doctor_raw;
		struct {
			const char *reason;
		} bye;
	};
	void *owned[2]; /* by pp_wire_read(); zero otherwise */
};

/* The message as bytes; the caller frees them. -EINVAL: a field is out of its range, -EMSGSIZE, -ENOMEM. */
int pp_wire_write(const struct pp_wire *m, void **ret_bytes, size_t *ret_size, struct pp_err *err);
/* The bytes as a message; the caller releases it. -EBADMSG: no message of ours, with the reason; -ENOMEM. */
int pp_wire_read(const void *bytes, size_t size, struct pp_wire *ret_message, struct pp_err *err);
/* Frees what pp_wire_read() made; texts and arrays of the message end with it. Nothing to do for one that was filled by hand. */
void pp_wire_release(struct pp_wire *m);
/* For error texts, such as "hello"; static. */
const char *pp_wire_name(enum pp_wire_kind kind);
/* Checks the ranges of both directions. NULL: all is valid. */
const char *pp_wire_fault(const struct pp_wire *m);
