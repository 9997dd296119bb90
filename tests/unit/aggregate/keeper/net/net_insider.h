/* Somebody who has the keys of a job and says what he likes. Used by net_hostile_test.c. */
#pragma once

#include <zmq.h>

#include "tests/unit/aggregate/keeper/net/net_kit.h"

static uint64_t seed = 88172645463325252ULL;

static inline uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A socket with the job's keys that says what it likes. */
struct insider {
	void *context, *socket;
	uint64_t instance;
	uint8_t route[9];
};

static inline void insider_start(struct insider *in, const struct pp_net_invite *invite, size_t route_size)
{
	char where[80];
	int zero = 0;

	*in = (struct insider){.context = zmq_ctx_new()};
	in->socket = zmq_socket(in->context, ZMQ_DEALER);
	in->instance = next_random() | 1;
	memcpy(in->route, &in->instance, sizeof(in->instance));
	zmq_setsockopt(in->socket, ZMQ_LINGER, &zero, sizeof(zero));
	if (route_size)
		zmq_setsockopt(in->socket, ZMQ_ROUTING_ID, in->route, route_size);
	zmq_setsockopt(in->socket, ZMQ_CURVE_SERVERKEY, invite->server_public, PP_NET_KEY);
	zmq_setsockopt(in->socket, ZMQ_CURVE_PUBLICKEY, invite->client_public, PP_NET_KEY);
	zmq_setsockopt(in->socket, ZMQ_CURVE_SECRETKEY, invite->client_secret, PP_NET_KEY);
	snprintf(where, sizeof(where), "tcp://127.0.0.1:%u", (unsigned)invite->port);
	CHECK_INT(zmq_connect(in->socket, where), 0);
}

static inline void insider_end(struct insider *in)
{
	zmq_close(in->socket);
	zmq_ctx_term(in->context);
}

static inline void insider_say(struct insider *in, const struct pp_wire *m)
{
	void *bytes = NULL;
	size_t size = 0;

	CHECK_INT(pp_wire_write(m, &bytes, &size, NULL), 0);
	CHECK(zmq_send(in->socket, bytes, size, 0) >= 0);
	free(bytes);
}

static inline struct pp_wire hello_of(const struct insider *in)
{
	struct pp_wire m = {.kind = PP_WIRE_HELLO};

	m.hello = (struct pp_wire_hello){PP_WIRE_PROTOCOL, "job 7", "insider", "0.1.0", in->instance, NULL, 0};
	return m;
}
