/* Options, ports and keys of libzmq's sockets; see net_socket.h. Called by net.c. */
#include "aggregate/keeper/net/net_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "proto/message.h"

enum { ANY_PORTS = 16, BACKLOG = 4096 /* the hosts of a job may all connect at once */ };

static int set_number(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value));
}

/* Options of both ends: no wait at close, no message above the limit, close connections that TCP does not get through. libzmq's own
 * heartbeats are off: ours find silent hosts, and libzmq can abort the process when one of its own is overdue. */
static int set_common(void *socket, int64_t dead_ms)
{
	int64_t limit = PP_WIRE_MAX;
	int unacknowledged = (int)(dead_ms / 2 + 1);

	return set_number(socket, ZMQ_LINGER, 0) || set_number(socket, ZMQ_IPV6, 1) || set_number(socket, ZMQ_SNDHWM, 256) ||
	       set_number(socket, ZMQ_RCVHWM, 256) || set_number(socket, ZMQ_TCP_MAXRT, unacknowledged) ||
	       set_number(socket, ZMQ_HANDSHAKE_IVL, (int)dead_ms) || zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &limit, sizeof(limit));
}

static void endpoint(char where[128], const char *address, unsigned port)
{
	const char *open = strchr(address, ':') ? "[" : "", *close = *open ? "]" : "";

	if (port)
		snprintf(where, 128, "tcp://%s%s%s:%u", open, address, close, port);
	else
		snprintf(where, 128, "tcp://%s%s%s:*", open, address, close);
}

/* 0, or -errno. *port 0: any port, which is returned. */
static int bind_one(void *socket, const char *address, unsigned *port)
{
	char where[128], at[128] = "";
	size_t size = sizeof(at);
	const char *colon;

	endpoint(where, address, *port);
	if (zmq_bind(socket, where))
		return -errno;
	if (!zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, at, &size) && (colon = strrchr(at, ':')))
		*port = (unsigned)strtoul(colon + 1, NULL, 10);
	return 0;
}

static int is_taken(int rc)
{
	return rc == -EADDRINUSE || rc == -EACCES;
}

/* Binds one port at every address, and drops addresses that do not exist any more. -EADDRINUSE: it is in use at one of them. */
static int bind_all(void *socket, unsigned port, struct pp_net_invite *invite)
{
	struct pp_net_invite left = {.addresses = 0};
	int rc = -EADDRNOTAVAIL, one = 0;
	char where[128];

	for (size_t i = 0; i < invite->addresses && !is_taken(one); i++) {
		one = bind_one(socket, invite->address[i], &port);
		rc = left.addresses && !is_taken(one) ? 0 : one;
		if (!one)
			memcpy(left.address[left.addresses++], invite->address[i], sizeof(left.address[0]));
	}
	for (size_t i = 0; rc && i < left.addresses; i++) {
		endpoint(where, left.address[i], port);
		zmq_unbind(socket, where);
	}
	if (rc)
		return rc;
	memcpy(invite->address, left.address, sizeof(left.address));
	invite->addresses = left.addresses;
	invite->port = (uint16_t)port;
	return 0;
}

static int bind_to_range(void *socket, const uint16_t range[2], struct pp_net_invite *invite, struct pp_err *err)
{
	int rc = -EINVAL;

	for (unsigned port = range[0]; port <= range[1]; port++) {
		/* The port found at the first address may be in use at another. */
		for (int i = 0; i < (port ? 1 : ANY_PORTS); i++) {
			rc = bind_all(socket, port, invite);
			if (!is_taken(rc))
				break;
		}
		if (!is_taken(rc))
			break;
	}
	if (!rc)
		return 0;
	if (is_taken(rc))
		return pp_err_set(err, -EADDRINUSE, "cannot listen for the other hosts: no free port in %u-%u", (unsigned)range[0],
		                  (unsigned)range[1]);
	return pp_err_set(err, rc, "cannot listen for the other hosts on '%s', ports %u-%u: %s",
	                  invite->addresses ? invite->address[0] : "", (unsigned)range[0], (unsigned)range[1], zmq_strerror(-rc));
}

int pp_net_socket_serve(void *context, int64_t dead_ms, const uint16_t port[2], struct pp_net_invite *invite,
                        struct pp_net_sockets *ret, struct pp_err *err)
{
	char secret[PP_NET_KEY];
	int rc = 0;

	ret->door = zmq_socket(context, ZMQ_REP);
	ret->router = zmq_socket(context, ZMQ_ROUTER);
	if (!ret->door || !ret->router || zmq_curve_keypair(invite->server_public, secret) ||
	    zmq_curve_keypair(invite->client_public, invite->client_secret) ||
	    !zmq_z85_decode(ret->client_key, invite->client_public) || zmq_bind(ret->door, "inproc://zeromq.zap.01") ||
	    set_common(ret->router, dead_ms) || set_number(ret->router, ZMQ_CURVE_SERVER, 1) ||
	    zmq_setsockopt(ret->router, ZMQ_CURVE_SECRETKEY, secret, sizeof(secret)) ||
	    zmq_setsockopt(ret->router, ZMQ_ZAP_DOMAIN, "podprof", 7) || set_number(ret->router, ZMQ_ROUTER_MANDATORY, 1) ||
	    set_number(ret->router, ZMQ_ROUTER_HANDOVER, 1) || set_number(ret->router, ZMQ_BACKLOG, BACKLOG))
		rc = pp_err_set(err, -errno, "cannot listen for the other hosts: %s", zmq_strerror(errno));
	else
		rc = bind_to_range(ret->router, port, invite, err);
	explicit_bzero(secret, sizeof(secret));
	return rc;
}

int pp_net_socket_dial(void *socket, int64_t dead_ms, const struct pp_net_invite *invite, size_t i, const void *route, size_t size)
{
	char where[128];

	endpoint(where, invite->address[i], invite->port);
	return set_common(socket, dead_ms) || set_number(socket, ZMQ_IMMEDIATE, 1) || set_number(socket, ZMQ_RECONNECT_IVL, 50) ||
	       set_number(socket, ZMQ_RECONNECT_IVL_MAX, 1000) || zmq_setsockopt(socket, ZMQ_ROUTING_ID, route, size) ||
	       zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, invite->server_public, PP_NET_KEY) ||
	       zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, invite->client_public, PP_NET_KEY) ||
	       zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, invite->client_secret, PP_NET_KEY) || zmq_connect(socket, where);
}

int pp_net_socket_answer(void *door, const uint8_t client_key[PP_NET_CLIENT_KEY], uint64_t *strangers)
{
	enum { VERSION, ID, DOMAIN, ADDRESS, NAME, MECHANISM, KEY, FRAMES };
	unsigned char frame[FRAMES][64] = {{0}};
	int size[FRAMES] = {0}, n = 0, more = 1, is_ours;

	for (; more; n++) {
		unsigned char spare[64];
		size_t length = sizeof(more);
		int got = zmq_recv(door, n < FRAMES ? frame[n] : spare, 64, ZMQ_DONTWAIT);

		if (got < 0)
			return 0;
		if (n < FRAMES)
			size[n] = got;
		zmq_getsockopt(door, ZMQ_RCVMORE, &more, &length);
	}
	is_ours = n == FRAMES && size[MECHANISM] == 5 && !memcmp(frame[MECHANISM], "CURVE", 5) && size[KEY] == PP_NET_CLIENT_KEY &&
	          !memcmp(frame[KEY], client_key, PP_NET_CLIENT_KEY);
	*strangers += !is_ours;
	zmq_send(door, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(door, frame[ID], size[ID] > 64 || size[ID] < 0 ? 0 : (size_t)size[ID], ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(door, is_ours ? "200" : "400", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	for (int i = 2; i >= 0; i--)
		zmq_send(door, "", 0, (i ? ZMQ_SNDMORE : 0) | ZMQ_DONTWAIT);
	return 1;
}
