/* The sockets of a star: libzmq's options, ports and keys (CURVE). Called by net.c. In: addresses and keys of an invitation. Out:
 * sockets that listen or connect. No call waits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_NET_ADDRESSES = 16, PP_NET_KEY = 41, PP_NET_CLIENT_KEY = 32 };

struct pp_net_invite { /* secret: it lets its holder in */
	char job[128];
	char address[PP_NET_ADDRESSES][48]; /* numeric, IPv4 or IPv6 */
	size_t addresses;
	uint16_t port;
	char server_public[PP_NET_KEY], client_public[PP_NET_KEY], client_secret[PP_NET_KEY]; /* Z85 */
};

struct pp_net_sockets {      /* of a listener */
	void *router, *door; /* door: ZAP */
	uint8_t client_key[PP_NET_CLIENT_KEY];
};

/* Makes the keys of the invitation, and listens at its addresses, on a port of the range (0, 0: any free one). After a failure what
 * was made has to be closed too. */
int pp_net_socket_serve(void *context, int64_t dead_ms, const uint16_t port[2], struct pp_net_invite *invite,
                        struct pp_net_sockets *ret, struct pp_err *err);
/* Connects a DEALER to the i-th address. -1 and errno. */
int pp_net_socket_dial(void *socket, int64_t dead_ms, const struct pp_net_invite *invite, size_t i, const void *route, size_t size);
/* Answers one request whether a key may connect, and counts those that may not; 1: there was one. ZAP, RFC 27: it has seven frames,
 * the reply six. */
int pp_net_socket_answer(void *door, const uint8_t client_key[PP_NET_CLIENT_KEY], uint64_t *strangers);
