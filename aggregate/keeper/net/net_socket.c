/* Sockets, keys and access control; see net.h. Called by the keeper; net_pump.c turns what arrives into events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <zmq.h>

#include "aggregate/keeper/net/net_state.h"
#include "core/base/now.h"

enum { ANY_PORTS = 16 };

static const char domain[] = "podprof";

static int set_number(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value));
}

/* Options of both ends: no wait at close, no message above the limit, close dead connections. */
static int set_common(const struct pp_net *net, void *socket)
{
	int64_t limit = PP_WIRE_MAX;
	int beat = (int)net->o.heartbeat_ms, dead = (int)(net->o.dead_ms / 2 + 1);

	return set_number(socket, ZMQ_LINGER, 0) || set_number(socket, ZMQ_IPV6, 1) || set_number(socket, ZMQ_SNDHWM, 256) ||
	       set_number(socket, ZMQ_RCVHWM, 256) || set_number(socket, ZMQ_HEARTBEAT_IVL, beat) ||
	       set_number(socket, ZMQ_HEARTBEAT_TIMEOUT, dead) || set_number(socket, ZMQ_HANDSHAKE_IVL, (int)net->o.dead_ms) ||
	       zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &limit, sizeof(limit));
}

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

static struct pp_net *net_new(const struct pp_net_options *o, int *ret_rc, struct pp_err *err)
{
	struct pp_net *net = calloc(1, sizeof(*net));

	if (!net) {
		*ret_rc = pp_err_set(err, -ENOMEM, "cannot reach other hosts: no memory");
		return NULL;
	}
	net->o = *o;
	net->o.job = net->o.host = net->o.version = net->o.session = net->o.bind = NULL;
	copy(net->boot_id, sizeof(net->boot_id), o->clock.boot_id);
	copy(net->timens, sizeof(net->timens), o->clock.timens);
	net->o.clock.boot_id = net->boot_id;
	net->o.clock.timens = net->timens;
	copy(net->job, sizeof(net->job), o->job);
	copy(net->host, sizeof(net->host), o->host);
	copy(net->version, sizeof(net->version), o->version);
	copy(net->session, sizeof(net->session), o->session);
	net->o.heartbeat_ms = o->heartbeat_ms > 0 ? o->heartbeat_ms : 500;
	net->o.dead_ms = o->dead_ms > 0 ? o->dead_ms : 10000;
	net->o.peers_most = o->peers_most && o->peers_most < PP_NET_PEERS ? o->peers_most : PP_NET_PEERS;
	net->o.queue_bytes = o->queue_bytes ? o->queue_bytes : (size_t)64 << 20;
	net->now_ms = pp_now_ms();
	if (getrandom(&net->instance, sizeof(net->instance), 0) != sizeof(net->instance) || !net->instance) {
		free(net);
		*ret_rc = pp_err_set(err, -EIO, "cannot reach other hosts: no random numbers");
		return NULL;
	}
	net->context = zmq_has("curve") ? zmq_ctx_new() : NULL;
	if (!net->context) {
		free(net);
		*ret_rc =
		        pp_err_set(err, -ENOTSUP, "cannot reach other hosts: libzmq is without CURVE, so nobody could be kept out");
		return NULL;
	}
	*ret_rc = 0;
	return net;
}

void pp_net_free(struct pp_net *net)
{
	if (!net)
		return;
	pp_wire_release(&net->held);
	for (size_t i = 0; i < net->peers; i++)
		pp_peer_release(&net->peer[i]);
	for (size_t i = 0; i < net->sockets; i++)
		if (net->socket[i])
			zmq_close(net->socket[i]);
	if (net->door)
		zmq_close(net->door);
	zmq_ctx_term(net->context);
	free((void *)(uintptr_t)net->state.rank);
	explicit_bzero(net, sizeof(*net));
	free(net);
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
static int bind_one(struct pp_net *net, const char *address, unsigned *port)
{
	char where[128], at[128] = "";
	size_t size = sizeof(at);
	const char *colon;

	endpoint(where, address, *port);
	if (zmq_bind(net->socket[0], where))
		return -errno;
	if (!zmq_getsockopt(net->socket[0], ZMQ_LAST_ENDPOINT, at, &size) && (colon = strrchr(at, ':')))
		*port = (unsigned)strtoul(colon + 1, NULL, 10);
	return 0;
}

static int is_taken(int rc)
{
	return rc == -EADDRINUSE || rc == -EACCES;
}

/* Binds one port at every address, and drops addresses that do not exist any more. -EADDRINUSE: it is in use at one of them. */
static int bind_all(struct pp_net *net, unsigned port, struct pp_net_invite *invite)
{
	struct pp_net_invite left = {.addresses = 0};
	int rc = -EADDRNOTAVAIL, one = 0;
	char where[128];

	for (size_t i = 0; i < invite->addresses && !is_taken(one); i++) {
		one = bind_one(net, invite->address[i], &port);
		rc = left.addresses && !is_taken(one) ? 0 : one;
		if (!one)
			memcpy(left.address[left.addresses++], invite->address[i], sizeof(left.address[0]));
	}
	for (size_t i = 0; rc && i < left.addresses; i++) {
		endpoint(where, left.address[i], port);
		zmq_unbind(net->socket[0], where);
	}
	if (rc)
		return rc;
	memcpy(invite->address, left.address, sizeof(left.address));
	invite->addresses = left.addresses;
	invite->port = (uint16_t)port;
	return 0;
}

static int bind_to_range(struct pp_net *net, const struct pp_net_options *o, struct pp_net_invite *invite, struct pp_err *err)
{
	int rc = -EINVAL;

	for (unsigned port = o->port_first; port <= o->port_last; port++) {
		/* The port found at the first address may be in use at another. */
		for (int i = 0; i < (port ? 1 : ANY_PORTS); i++) {
			rc = bind_all(net, port, invite);
			if (!is_taken(rc))
				break;
		}
		if (!is_taken(rc))
			break;
	}
	if (!rc)
		return 0;
	if (is_taken(rc))
		return pp_err_set(err, -EADDRINUSE, "cannot listen for the other hosts: no free port in %u-%u",
		                  (unsigned)o->port_first, (unsigned)o->port_last);
	return pp_err_set(err, rc, "cannot listen for the other hosts on '%s', ports %u-%u: %s",
	                  invite->addresses ? invite->address[0] : "", (unsigned)o->port_first, (unsigned)o->port_last,
	                  zmq_strerror(-rc));
}

int pp_net_listen(const struct pp_net_options *o, struct pp_net_invite *ret_invite, struct pp_net **ret_net, struct pp_err *err)
{
	struct pp_net_invite invite = {.addresses = 0};
	char secret[PP_NET_KEY];
	int rc;
	struct pp_net *net = net_new(o, &rc, err);

	if (!net)
		return rc;
	net->listens = 1;
	if (!o->bind) {
		invite = *ret_invite;
	} else {
		copy(invite.address[0], sizeof(invite.address[0]), o->bind);
		invite.addresses = 1;
	}
	copy(invite.job, sizeof(invite.job), o->job);
	net->door = zmq_socket(net->context, ZMQ_REP);
	net->socket[0] = zmq_socket(net->context, ZMQ_ROUTER);
	net->sockets = 1;
	if (!net->door || !net->socket[0] || zmq_curve_keypair(invite.server_public, secret) ||
	    zmq_curve_keypair(invite.client_public, invite.client_secret) ||
	    !zmq_z85_decode(net->client_key, invite.client_public) || zmq_bind(net->door, "inproc://zeromq.zap.01") ||
	    set_common(net, net->socket[0]) || set_number(net->socket[0], ZMQ_CURVE_SERVER, 1) ||
	    zmq_setsockopt(net->socket[0], ZMQ_CURVE_SECRETKEY, secret, sizeof(secret)) ||
	    zmq_setsockopt(net->socket[0], ZMQ_ZAP_DOMAIN, domain, sizeof(domain) - 1) ||
	    set_number(net->socket[0], ZMQ_ROUTER_MANDATORY, 1) || set_number(net->socket[0], ZMQ_ROUTER_HANDOVER, 1))
		rc = pp_err_set(err, -errno, "cannot listen for the other hosts: %s", zmq_strerror(errno));
	else
		rc = bind_to_range(net, o, &invite, err);
	explicit_bzero(secret, sizeof(secret));
	if (rc < 0) {
		pp_net_free(net);
		return rc;
	}
	*ret_invite = invite;
	*ret_net = net;
	return 0;
}

static int dial(struct pp_net *net, const struct pp_net_invite *invite, size_t i)
{
	const char *open = strchr(invite->address[i], ':') ? "[" : "", *close = *open ? "]" : "";
	void *socket = zmq_socket(net->context, ZMQ_DEALER);
	uint8_t route[PP_ROUTE];
	char where[128];

	if (!socket)
		return -1;
	net->socket[net->sockets++] = socket;
	memcpy(route, &net->instance, sizeof(net->instance));
	/* libzmq reserves names that begin with zero. */
	route[0] |= 1;
	route[PP_ROUTE - 1] = (uint8_t)i;
	memcpy(&net->instance, route, sizeof(net->instance));
	snprintf(where, sizeof(where), "tcp://%s%s%s:%u", open, invite->address[i], close, (unsigned)invite->port);
	return set_common(net, socket) || set_number(socket, ZMQ_IMMEDIATE, 1) || set_number(socket, ZMQ_RECONNECT_IVL, 50) ||
	       set_number(socket, ZMQ_RECONNECT_IVL_MAX, 1000) || zmq_setsockopt(socket, ZMQ_ROUTING_ID, route, sizeof(route)) ||
	       zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, invite->server_public, PP_NET_KEY) ||
	       zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, invite->client_public, PP_NET_KEY) ||
	       zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, invite->client_secret, PP_NET_KEY) || zmq_connect(socket, where);
}

int pp_net_connect(const struct pp_net_options *o, const struct pp_net_invite *invite, struct pp_net **ret_net, struct pp_err *err)
{
	int rc;
	struct pp_net *net = net_new(o, &rc, err);

	if (!net)
		return rc;
	for (size_t i = 0; i < invite->addresses && i < PP_NET_ADDRESSES; i++) {
		if (dial(net, invite, i) == 0)
			continue;
		rc = -errno;
		pp_err_set(err, rc, "cannot reach rank 0's host at '%s': %s", invite->address[i], zmq_strerror(errno));
		pp_net_free(net);
		return rc;
	}
	net->peers = 1;
	net->peer[0].state = PP_PEER_GREETED;
	net->peer[0].received_ms = net->now_ms;
	net->hello_ms = INT64_MIN / 2;
	*ret_net = net;
	return 0;
}

/* ZAP, RFC 27: the request has seven frames, the reply six. */
int pp_net_door(struct pp_net *net)
{
	enum { VERSION, ID, DOMAIN, ADDRESS, NAME, MECHANISM, KEY, FRAMES };
	unsigned char frame[FRAMES][64] = {{0}};
	int size[FRAMES] = {0}, n = 0, more = 1, is_ours;

	for (; more; n++) {
		unsigned char spare[64];
		size_t length = sizeof(more);
		int got = zmq_recv(net->door, n < FRAMES ? frame[n] : spare, 64, ZMQ_DONTWAIT);

		if (got < 0)
			return 0;
		if (n < FRAMES)
			size[n] = got;
		zmq_getsockopt(net->door, ZMQ_RCVMORE, &more, &length);
	}
	is_ours = n == FRAMES && size[MECHANISM] == 5 && !memcmp(frame[MECHANISM], "CURVE", 5) &&
	          size[KEY] == sizeof(net->client_key) && !memcmp(frame[KEY], net->client_key, sizeof(net->client_key));
	net->counts.strangers += !is_ours;
	zmq_send(net->door, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(net->door, frame[ID], size[ID] > 64 || size[ID] < 0 ? 0 : (size_t)size[ID], ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(net->door, is_ours ? "200" : "400", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(net->door, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(net->door, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(net->door, "", 0, ZMQ_DONTWAIT);
	return 1;
}

struct pp_net_counts pp_net_counts(const struct pp_net *net)
{
	return net->counts;
}
