/* Messages of podprof.proto as plain structs. In: what a keeper says. Out: bytes, and back; called by aggregate/keeper/net*.c.
 * Pure, any thread. pp_wire_read() takes hostile bytes: it allocates a bounded amount, and every field is in its range. */
#ifndef PP_PROTO_MESSAGE_H
#define PP_PROTO_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_WIRE_PROTOCOL = 1 };

enum {                            /* limits, of both directions */
       PP_WIRE_MAX = 1 << 20,     /* bytes of a message */
       PP_WIRE_PIECE = 256 << 10, /* bytes of a piece */
       PP_WIRE_TEXT = 255,        /* bytes of a text */
       PP_WIRE_RANKS = 4096,      /* of one host */
};

enum pp_wire_kind { /* numbers of podprof.proto */
	            PP_WIRE_HELLO = 2,
	            PP_WIRE_HELLO_ACK,
	            PP_WIRE_WINDOW_REQUEST,
	            PP_WIRE_WINDOW_ACK,
	            PP_WIRE_WINDOW_REFUSED,
	            PP_WIRE_WINDOW_STARTED,
	            PP_WIRE_WINDOW_ENDED,
	            PP_WIRE_WINDOW_CANCEL,
	            PP_WIRE_BLOCK,
	            PP_WIRE_FILE,
	            PP_WIRE_HEARTBEAT,
	            PP_WIRE_BYE,
};

enum pp_wire_state { PP_WIRE_STARTING, PP_WIRE_RUNNING, PP_WIRE_ENDED, PP_WIRE_DIED, PP_WIRE_STATES };

struct pp_wire_rank {
	int32_t rank, pid;
	enum pp_wire_state state;
	int64_t step; /* the last one begun; INT64_MIN: none */
};

/* Texts: NULL is written as "", and read as "". No control characters; not always UTF-8 (pp_utf8_mend). */
struct pp_wire_hello {
	uint32_t protocol;
	const char *job, *host, *version;
	uint64_t instance;
	const struct pp_wire_rank *rank;
	size_t ranks;
};

struct pp_wire_hello_ack {
	uint32_t protocol, host_index;
	const char *session, *refused;
	uint64_t instance;
	const char *host;
};

struct pp_wire_window {
	uint64_t window;
	uint32_t attempt;
	int by_time; /* first and last are job ns, else step numbers */
	int64_t first, last;
	const char *rank_list, *reason;
	const struct pp_wire_rank *rank;
	size_t ranks;
};

struct pp_wire_piece {
	uint64_t window;
	const char *name;       /* file: a name without '/', not "." or ".." */
	uint64_t offset, total; /* offset + size <= total */
	const void *bytes;      /* its CRC-32 travels with it and has been compared */
	size_t size;
};

struct pp_wire_heartbeat {
	uint64_t received;
	int64_t job_ns;
	const struct pp_wire_rank *rank;
	size_t ranks;
};

struct pp_wire {
	enum pp_wire_kind kind;
	uint64_t sequence;
	union {
		struct pp_wire_hello hello;
		struct pp_wire_hello_ack hello_ack;
		struct pp_wire_window window; /* request to cancel */
		struct pp_wire_piece piece;   /* block, file */
		struct pp_wire_heartbeat heartbeat;
		struct {
			const char *reason;
		} bye;
	};
	void *owned[2]; /* by pp_wire_read(); zero otherwise */
};

/* The message as bytes, to be freed. -EINVAL: a field is out of its range, -EMSGSIZE, -ENOMEM. */
int pp_wire_write(const struct pp_wire *m, void **ret_bytes, size_t *ret_size, struct pp_err *err);
/* The bytes as a message, to be released. -EBADMSG: they are none of ours, and the sentence says why; -ENOMEM. */
int pp_wire_read(const void *bytes, size_t size, struct pp_wire *ret_message, struct pp_err *err);
void pp_wire_release(struct pp_wire *m);
const char *pp_wire_name(enum pp_wire_kind kind);

#endif
