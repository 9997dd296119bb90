/* Matches sends with receives. In: spans of all ranks in job time, with their messages' tags and numbers (core/capture/span.h).
 * Out: pairs. A pair is right or is not made: what is not certain, or not recorded at both ends, is counted. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct pp_capture;
struct pp_rank;
struct pp_span;

struct pp_message_end { /* one end of a message: index of rank, thread and span in the capture */
	uint32_t rank, thread;
	size_t span; /* of a send its call; of a nonblocking receive its request */
};

struct pp_message_pair {
	struct pp_message_end from, to;
	int32_t tag;
	uint32_t order; /* n-th message of its communicator, sender, receiver and tag */
};

struct pp_messages {
	struct pp_message_pair *pair; /* by sender, its thread and span, then the receiver's */
	size_t pairs;
	uint64_t sends, receives;       /* all of them: of the sends `pairs` are matched */
	uint64_t uncertain;             /* ends without a certain number, or whose receive was not seen complete */
	uint64_t unmatched;             /* ends whose other end is not recorded */
	uint64_t twice;                 /* ends of one number of which there are several */
	uint64_t too_early, other_size; /* pairs that cannot be: the receive ended before the send began; it got more bytes */
};

struct pp_message_half { /* one end of a message with a certain number; of NCCL sender and receiver are ranks of its communicator */
	int32_t sender, receiver, tag;
	uint32_t order;
	int receives;
};

/* The ends that a span carries, at most two, on its communicator. *ret_all: [0] sends, [1] receives, certain or not. A receive that
 * has a request ends with the request: the span of its call has none. */
size_t pp_message_halves(const struct pp_rank *rank, const struct pp_span *span, struct pp_message_half ret[2],
                         unsigned ret_all[2]);
/* bound_ns[ranks]: |clock error| of each rank's times; PP_BOUND_UNKNOWN: its times are not compared. NULL: all are exact.
 * 0 or -ENOMEM. */
int pp_messages_match(const struct pp_capture *c, const int64_t *bound_ns, struct pp_messages *ret, struct pp_err *err);
void pp_messages_release(struct pp_messages *m);
