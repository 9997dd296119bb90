/* Turns arriving messages and timeouts into events; see net.h. Called by the keeper. Joining takes three messages: hello on
 * every address, hello_ack, and a heartbeat on the address that answered first. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "aggregate/keeper/net/net_state.h"
#include "core/base/now.h"
#include "core/ring/utf8.h"

enum { CONSUMED, EVENT, NOTHING }; /* handled without an event; an event; nothing arrived */

static int make_event(struct pp_net *net, struct pp_net_event *e, enum pp_net_event_kind kind, struct pp_peer *p, struct pp_wire *m)
{
	pp_wire_release(&net->held);
	if (m) {
		net->held = *m;
		memset(m, 0, sizeof(*m));
	}
	*e = (struct pp_net_event){
	        .kind = kind, .peer = (int)(p - net->peer), .host = p->host, .message = net->held.kind ? &net->held : NULL};
	return EVENT;
}

static void set_host(struct pp_peer *p, const char *host)
{
	char mended[3 * PP_WIRE_TEXT + 1] = "";

	pp_utf8_mend(mended, host, strlen(host));
	snprintf(p->host, sizeof(p->host), "%.*s", pp_utf8_fit(mended, (int)sizeof(p->host) - 1), mended);
}

static struct pp_peer *find(struct pp_net *net, uint64_t instance)
{
	for (size_t i = 0; i < net->peers; i++)
		if (net->peer[i].state != PP_PEER_FREE && net->peer[i].instance == instance)
			return &net->peer[i];
	return NULL;
}

static struct pp_peer *find_free(struct pp_net *net)
{
	for (size_t i = 0; i < net->peers; i++)
		if (net->peer[i].state == PP_PEER_FREE)
			return &net->peer[i];
	return net->peers < net->o.peers_most ? &net->peer[net->peers++] : NULL;
}

static void answer(struct pp_net *net, const uint8_t *route, size_t host_index, const char *refused)
{
	struct pp_wire m = {.kind = PP_WIRE_HELLO_ACK};

	m.hello_ack =
	        (struct pp_wire_hello_ack){PP_WIRE_PROTOCOL, (uint32_t)host_index, net->session, refused, net->instance, net->host};
	net->counts.refused += refused != NULL;
	pp_net_say(net, net->socket[0], route, &m);
}

/* Listener: handles a hello. It may be repeated, on other addresses or because the answer was late. */
static int greet(struct pp_net *net, const uint8_t *route, uint64_t instance, struct pp_wire *m)
{
	struct pp_peer *p = find(net, instance);
	const struct pp_wire_hello *h = &m->hello;
	char why[PP_WIRE_TEXT + 1] = "";

	if (h->instance != instance) {
		net->counts.malformed++;
		return CONSUMED;
	}
	if (h->protocol != PP_WIRE_PROTOCOL)
		snprintf(why, sizeof(why), "protocol %u, not %d: podprof %s is not %s", (unsigned)h->protocol, PP_WIRE_PROTOCOL,
		         pp_utf8_fit(h->version, 64) < 64 ? h->version : "?", net->version);
	else if (strcmp(h->job, net->job) != 0)
		snprintf(why, sizeof(why), "it belongs to another job");
	else if (p && p->state == PP_PEER_GONE)
		snprintf(why, sizeof(why), "it was taken for lost");
	else if (!p)
		p = find_free(net);
	if (!why[0] && !p)
		snprintf(why, sizeof(why), "a job has at most %zu other hosts here", net->o.peers_most);
	if (!p || why[0]) {
		answer(net, route, 0, why);
		return CONSUMED;
	}
	if (p->state == PP_PEER_FREE) {
		*p = (struct pp_peer){.state = PP_PEER_GREETED, .instance = instance, .received_ms = net->now_ms, .hello = *m};
		set_host(p, h->host);
		memset(m, 0, sizeof(*m));
	}
	answer(net, route, (size_t)(p - net->peer) + 1, NULL);
	return CONSUMED;
}

/* Either side: handles a message of a joined peer. */
static int take(struct pp_net *net, struct pp_peer *p, struct pp_wire *m, struct pp_net_event *e)
{
	p->received_ms = net->now_ms;
	if (m->kind == PP_WIRE_HEARTBEAT) {
		pp_peer_acknowledged(net, p, m->heartbeat.received);
		pp_peer_flush(net, p);
		return make_event(net, e, PP_NET_MESSAGE, p, m);
	}
	if (m->kind == PP_WIRE_HELLO || m->kind == PP_WIRE_HELLO_ACK) {
		net->counts.malformed++;
		return CONSUMED;
	}
	if (!pp_peer_takes(net, p, m->sequence))
		return CONSUMED;
	if (m->kind != PP_WIRE_BYE)
		return make_event(net, e, PP_NET_MESSAGE, p, m);
	pp_peer_beat(net, p);
	p->state = PP_PEER_GONE;
	p->said_bye = 1;
	pp_peer_release(p);
	return make_event(net, e, PP_NET_LEFT, p, m);
}

static int listener_takes(struct pp_net *net, const uint8_t *route, struct pp_wire *m, struct pp_net_event *e)
{
	struct pp_peer *p;
	uint64_t instance;

	memcpy(&instance, route, sizeof(instance));
	if (m->kind == PP_WIRE_HELLO)
		return greet(net, route, instance, m);
	p = find(net, instance);
	if (!p) {
		net->counts.malformed++;
	} else if (p->state == PP_PEER_GONE && p->said_bye) {
		if (m->kind == PP_WIRE_BYE) /* its acknowledgement was lost */
			pp_peer_beat(net, p);
	} else if (p->state == PP_PEER_GONE) {
		answer(net, route, 0, "it was taken for lost");
	} else if (p->state == PP_PEER_JOINED && !memcmp(p->route, route, PP_ROUTE)) {
		return take(net, p, m, e);
	} else if (p->state == PP_PEER_GREETED && m->kind == PP_WIRE_HEARTBEAT) {
		memcpy(p->route, route, PP_ROUTE);
		p->state = PP_PEER_JOINED;
		p->received_ms = net->now_ms;
		return make_event(net, e, PP_NET_JOINED, p, &p->hello);
	} else if (p->state == PP_PEER_JOINED) {
		net->counts.malformed++;
	}
	return CONSUMED;
}

static int caller_takes(struct pp_net *net, size_t socket, struct pp_wire *m, struct pp_net_event *e)
{
	struct pp_peer *p = &net->peer[0];
	int is_answer = m->kind == PP_WIRE_HELLO_ACK;

	if (p->state == PP_PEER_GONE)
		return CONSUMED;
	if (is_answer && m->hello_ack.refused[0]) {
		enum pp_net_event_kind kind = p->state == PP_PEER_JOINED ? PP_NET_LOST : PP_NET_REFUSED;

		p->state = PP_PEER_GONE;
		pp_peer_release(p);
		return make_event(net, e, kind, p, m);
	}
	if (p->state == PP_PEER_JOINED && !is_answer)
		return take(net, p, m, e);
	if (p->state == PP_PEER_JOINED && m->hello_ack.instance == p->instance)
		return CONSUMED; /* our hello arrived more than once */
	if (p->state == PP_PEER_JOINED || !is_answer || m->hello_ack.protocol != PP_WIRE_PROTOCOL) {
		net->counts.malformed++;
		return CONSUMED;
	}
	for (size_t i = 0; i < net->sockets; i++)
		if (i != socket)
			zmq_close(net->socket[i]);
	net->socket[0] = net->socket[socket];
	net->sockets = 1;
	p->state = PP_PEER_JOINED;
	p->instance = m->hello_ack.instance;
	p->received_ms = net->now_ms;
	set_host(p, m->hello_ack.host);
	pp_peer_beat(net, p);
	return make_event(net, e, PP_NET_JOINED, p, m);
}

/* Receives all frames of one message, and counts surplus ones. -1: nothing arrived. */
static int receive(void *socket, zmq_msg_t frame[3], int want)
{
	int n = 0, more = 1;

	while (more) {
		zmq_msg_t *at = &frame[n < want ? n : want];

		if (zmq_msg_recv(at, socket, ZMQ_DONTWAIT) < 0)
			return n ? n : -1;
		more = zmq_msg_more(at);
		n++;
	}
	return n;
}

static int take_one(struct pp_net *net, size_t socket, struct pp_net_event *e)
{
	int want = net->listens ? 2 : 1, got, rc = CONSUMED;
	struct pp_wire m = {.sequence = 0};
	zmq_msg_t frame[3];

	for (int i = 0; i < 3; i++)
		zmq_msg_init(&frame[i]);
	got = receive(net->socket[socket], frame, want);
	if (got < 0)
		rc = NOTHING;
	else if (got != want || (net->listens && zmq_msg_size(&frame[0]) != PP_ROUTE) ||
	         pp_wire_read(zmq_msg_data(&frame[want - 1]), zmq_msg_size(&frame[want - 1]), &m, NULL) < 0)
		net->counts.malformed++;
	else if (net->listens)
		rc = listener_takes(net, zmq_msg_data(&frame[0]), &m, e);
	else
		rc = caller_takes(net, socket, &m, e);
	pp_wire_release(&m);
	for (int i = 0; i < 3; i++)
		zmq_msg_close(&frame[i]);
	return rc;
}

static void say_hello(struct pp_net *net)
{
	struct pp_wire m = {.kind = PP_WIRE_HELLO};

	m.hello = (struct pp_wire_hello){PP_WIRE_PROTOCOL, net->job,         net->host,    net->version, net->instance,
	                                 net->state.rank,  net->state.ranks, net->o.clock, net->o.way};
	for (size_t i = 0; i < net->sockets; i++)
		pp_net_say(net, net->socket[i], NULL, &m);
	net->hello_ms = net->now_ms;
}

/* Sends heartbeats, resends messages, finds lost peers. */
static int look_at_time(struct pp_net *net, struct pp_net_event *e)
{
	int64_t now = pp_now_ms(), away = now - net->now_ms;

	net->now_ms = now;
	if (!net->listens && net->peer[0].state == PP_PEER_GREETED && now - net->hello_ms >= net->o.heartbeat_ms / 4)
		say_hello(net);
	for (size_t i = 0; i < net->peers; i++) {
		struct pp_peer *p = &net->peer[i];

		if (p->state == PP_PEER_FREE || p->state == PP_PEER_GONE)
			continue;
		/* This keeper itself did not run for so long. */
		if (away > net->o.dead_ms / 4)
			p->received_ms += away;
		if (now - p->received_ms > net->o.dead_ms) {
			int was_here = p->state == PP_PEER_JOINED || !net->listens;

			p->state = was_here ? PP_PEER_GONE : PP_PEER_FREE;
			pp_peer_release(p);
			if (was_here)
				return make_event(net, e, PP_NET_LOST, p, NULL);
		}
		if (p->state != PP_PEER_JOINED)
			continue;
		if (p->owes_ack || now - p->beat_ms >= net->o.heartbeat_ms)
			pp_peer_beat(net, p);
		pp_peer_flush(net, p);
	}
	return CONSUMED;
}

void pp_net_wait(struct pp_net *net, int64_t most_ms)
{
	zmq_pollitem_t item[PP_NET_ADDRESSES + 1];
	int n = 0;

	for (size_t i = 0; i < net->sockets; i++)
		item[n++] = (zmq_pollitem_t){.socket = net->socket[i], .events = ZMQ_POLLIN};
	if (net->door)
		item[n++] = (zmq_pollitem_t){.socket = net->door, .events = ZMQ_POLLIN};
	zmq_poll(item, n, most_ms);
}

int pp_net_next(struct pp_net *net, int64_t timeout_ms, struct pp_net_event *ret_event)
{
	int64_t end = pp_now_ms() + timeout_ms, most = net->o.heartbeat_ms / 4 + 1;

	pp_wire_release(&net->held);
	for (;;) {
		int idle = 1;

		if (look_at_time(net, ret_event) == EVENT)
			return 1;
		if (net->door && pp_net_door(net))
			idle = 0;
		for (size_t i = 0; i < net->sockets; i++) {
			int rc = take_one(net, net->turn++ % net->sockets, ret_event);

			if (rc == EVENT)
				return 1;
			idle &= rc == NOTHING;
		}
		if (net->now_ms >= end)
			return 0;
		if (idle)
			pp_net_wait(net, end - net->now_ms < most ? end - net->now_ms : most);
	}
}
