/* Messages between the keepers of a job's hosts: rank 0's keeper listens, the others connect (a star). Called by the keeper. In:
 * messages of proto/message.h. Out: the same on another host, each once and in order, or a lost peer. One thread; a forked child
 * does not touch it. No call waits longer than its timeout. Uses libzmq with CURVE: only holders of the invitation connect. A
 * tree, for more hosts than PP_NET_PEERS, would be keepers with two pp_net: one listens to its branches, the other connects. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/net/net_socket.h"
#include "core/base/err.h"
#include "proto/message.h"

enum { PP_NET_PEERS = 512 };

struct pp_net;

struct pp_net_options {
	const char *job, *host, *version, *session; /* session: of the listener, sent to all */
	const char *bind;                           /* numeric address to listen on; NULL: the invitation's */
	uint16_t port_first, port_last;             /* 0, 0: any free port */
	int64_t heartbeat_ms;                       /* 0: 500 */
	int64_t dead_ms;                            /* silence after which a peer is lost, as long as this end runs; 0: 10 s */
	size_t peers_most;                          /* how many may connect; 0: PP_NET_PEERS */
	size_t queue_bytes;                         /* for each peer, not yet acknowledged; 0: 64 MiB */
	struct pp_wire_clock clock;                 /* of this host's ranks, sent to the listener; copied */
	uint32_t transport;
};

enum pp_net_event_kind {
	PP_NET_JOINED,  /* message: its hello, or on the other side the hello_ack */
	PP_NET_MESSAGE, /* all others, heartbeats too */
	PP_NET_LEFT,    /* message: its bye */
	PP_NET_LOST,    /* sent nothing for dead_ms, or was never reached (then, and with a message, it does not come back) */
	PP_NET_BACK,    /* one that was lost sends again; message: a heartbeat. What was queued for it is sent */
	PP_NET_REFUSED, /* the listener refuses us; message: its hello_ack */
};

struct pp_net_event {
	enum pp_net_event_kind kind;
	int peer;                      /* 0..PP_NET_PEERS-1, not used again; 0 on a connecting side */
	const char *host;              /* of the peer, UTF-8; "" where never received */
	const struct pp_wire *message; /* until the next call of pp_net_next(), or NULL */
};

struct pp_net_counts {
	uint64_t malformed; /* dropped: not of the protocol, or out of place */
	uint64_t replayed;  /* dropped: a sequence number received before */
	uint64_t gaps;      /* dropped: an earlier one is missing; it is sent again */
	uint64_t resent;    /* how often unacknowledged messages were sent again */
	uint64_t strangers; /* refused by CURVE: a wrong key */
	uint64_t refused;   /* refused after the hello: another job, protocol, or one host too many */
};

/* Makes the keys. `ret_invite` holds the addresses to listen on, with one port for all; addresses that do not exist any more are
 * removed from it. -EADDRINUSE: no free port in the range. */
int pp_net_listen(const struct pp_net_options *o, struct pp_net_invite *ret_invite, struct pp_net **ret_net, struct pp_err *err);
/* Returns at once; the event JOINED, REFUSED or LOST follows. Tries all addresses, and keeps the first that answers. */
int pp_net_connect(const struct pp_net_options *o, const struct pp_net_invite *invite, struct pp_net **ret_net, struct pp_err *err);
/* Closes the sockets at once; what was not acknowledged is lost. */
void pp_net_free(struct pp_net *net);

/* The state of this host's ranks for heartbeats (we set `received`); copied. -EINVAL: more than PP_WIRE_RANKS, -ENOMEM. */
int pp_net_state(struct pp_net *net, const struct pp_wire_heartbeat *state);
/* Sends a heartbeat to all joined peers, now. */
void pp_net_beat(struct pp_net *net);
/* Queues a message (we set its sequence); delivered once and in order while the peer lives. -EAGAIN: its queue is full, call
 * pp_net_next() and retry. -ENOTCONN: not joined, left or lost. */
int pp_net_send(struct pp_net *net, int peer, const struct pp_wire *m, struct pp_err *err);
/* 1: an event, 0: none within timeout_ms. Must be called at least every dead_ms / 4, or the others count this keeper as lost. */
int pp_net_next(struct pp_net *net, int64_t timeout_ms, struct pp_net_event *ret_event);
/* Waits until something arrives or `fd` (-1: none) is readable, at most `ms`; consumes no event. */
void pp_net_wait(struct pp_net *net, int fd, int64_t ms);
/* For how long this peer has sent nothing; time in which this end itself did not run counts little. */
int64_t pp_net_silent_ms(const struct pp_net *net, int peer);
/* Listener: through which of the invitation's addresses this peer connected. */
size_t pp_net_address_of(const struct pp_net *net, int peer);
/* Bytes that live peers have not acknowledged. */
size_t pp_net_unsent(const struct pp_net *net);
/* Of all messages so far. */
struct pp_net_counts pp_net_counts(const struct pp_net *net);
