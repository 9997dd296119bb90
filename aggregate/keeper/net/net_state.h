/* What net_socket.c (sockets and keys), net_peer.c (queues and acknowledgement) and net_pump.c (events) share; nobody else
 * includes it. */
#pragma once

#include "aggregate/keeper/net/net.h"

enum { PP_ROUTE = 9, PP_FLIGHT = 4 << 20 }; /* route: instance, number of the address; flight: bytes sent and not acknowledged */

struct pp_packet {
	struct pp_packet *next;
	void *bytes;
	size_t size;
	uint64_t sequence;
};

enum pp_peer_state { PP_PEER_FREE, PP_PEER_GREETED, PP_PEER_JOINED, PP_PEER_GONE };

struct pp_peer {
	enum pp_peer_state state;
	uint64_t instance;
	uint8_t route[PP_ROUTE];
	char host[128];
	struct pp_packet *first, *last; /* not acknowledged */
	struct pp_packet *unsent;       /* first of them not yet passed to the socket */
	size_t queued, flight;          /* bytes */
	uint64_t given, sent, received; /* sequences: last queued, highest sent, last received */
	int owes_ack, said_bye;
	struct pp_wire hello; /* until it has joined */
	int64_t received_ms, beat_ms, progress_ms;
};

struct pp_net {
	int listens;
	void *context, *door;           /* door: ZAP */
	void *socket[PP_NET_ADDRESSES]; /* listener: one ROUTER; else a DEALER for each address, one once joined */
	size_t sockets, turn;           /* turn: the socket to read next */
	struct pp_net_options o;        /* texts: NULL, below */
	char job[128], host[72], version[32], session[64];
	uint64_t instance;
	uint8_t client_key[32];
	struct pp_peer peer[PP_NET_PEERS]; /* listener: by order of arrival; else the listener */
	size_t peers;
	char boot_id[64], timens[96];
	struct pp_wire_heartbeat state; /* its ranks are owned */
	struct pp_net_counts counts;
	struct pp_wire held; /* of the last event */
	int64_t now_ms, hello_ms;
};

/* Sends one message that needs no delivery (hello, hello_ack, heartbeat), by the route where the socket is the listener's. 0,
 * or -errno: not now. */
int pp_net_say(struct pp_net *net, void *socket, const uint8_t *route, const struct pp_wire *m);
/* Answers one ZAP request whether a key may connect. 1: there was one. */
int pp_net_door(struct pp_net *net);

void pp_peer_flush(struct pp_net *net, struct pp_peer *p);
void pp_peer_beat(struct pp_net *net, struct pp_peer *p);
void pp_peer_acknowledged(struct pp_net *net, struct pp_peer *p, uint64_t received);
/* Is the message the next one? Counts those that are not. */
int pp_peer_takes(struct pp_net *net, struct pp_peer *p, uint64_t sequence);
void pp_peer_release(struct pp_peer *p);
