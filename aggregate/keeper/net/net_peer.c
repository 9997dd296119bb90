/* Queues messages to a peer until it acknowledges them, and counts those received; see net.h. Called by net_pump.c and
 * net_socket.c. A cut connection loses what lay in the sockets: unacknowledged messages stay here and are sent again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "aggregate/keeper/net/net_state.h"
#include "core/base/now.h"

static int put(struct pp_net *net, void *socket, const uint8_t *route, const void *bytes, size_t size)
{
	if (net->listens && zmq_send(socket, route, PP_ROUTE, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
		return -errno;
	return zmq_send(socket, bytes, size, ZMQ_DONTWAIT) < 0 ? -errno : 0;
}

int pp_net_say(struct pp_net *net, void *socket, const uint8_t *route, const struct pp_wire *m)
{
	void *bytes;
	size_t size;
	int rc = pp_wire_write(m, &bytes, &size, NULL);

	if (rc < 0)
		return rc;
	rc = put(net, socket, route, bytes, size);
	free(bytes);
	return rc;
}

void pp_peer_release(struct pp_peer *p)
{
	for (struct pp_packet *packet = p->first, *next; packet; packet = next) {
		next = packet->next;
		free(packet->bytes);
		free(packet);
	}
	p->first = p->last = p->unsent = NULL;
	p->queued = p->flight = 0;
	pp_wire_release(&p->hello);
}

void pp_peer_flush(struct pp_net *net, struct pp_peer *p)
{
	if (p->state != PP_PEER_JOINED)
		return;
	while (p->unsent && p->flight < PP_FLIGHT) {
		if (put(net, net->socket[0], p->route, p->unsent->bytes, p->unsent->size) < 0)
			return;
		if (p->flight == 0)
			p->progress_ms = net->now_ms;
		p->flight += p->unsent->size;
		if (p->unsent->sequence > p->sent)
			p->sent = p->unsent->sequence;
		p->unsent = p->unsent->next;
	}
	/* Nothing was acknowledged for long: all unacknowledged messages count as lost, so that their order is kept. */
	if (p->first != p->unsent && net->now_ms - p->progress_ms > 4 * net->o.heartbeat_ms) {
		p->unsent = p->first;
		p->flight = 0;
		p->progress_ms = net->now_ms;
		net->counts.resent++;
	}
}

void pp_peer_acknowledged(struct pp_net *net, struct pp_peer *p, uint64_t received)
{
	/* Only sent messages can be acknowledged; a peer that acknowledges more is wrong, and loses nothing. */
	while (p->first && p->first->sequence <= received && p->first->sequence <= p->sent) {
		struct pp_packet *done = p->first;

		p->first = done->next;
		p->queued -= done->size;
		if (done == p->unsent)
			p->unsent = done->next;
		else
			p->flight -= done->size;
		p->progress_ms = net->now_ms;
		free(done->bytes);
		free(done);
	}
	if (!p->first)
		p->last = NULL;
}

int pp_peer_takes(struct pp_net *net, struct pp_peer *p, uint64_t sequence)
{
	p->owes_ack = 1;
	if (sequence == p->received + 1) {
		p->received++;
		return 1;
	}
	if (sequence <= p->received)
		net->counts.replayed++;
	else
		net->counts.gaps++;
	return 0;
}

void pp_peer_beat(struct pp_net *net, struct pp_peer *p)
{
	struct pp_wire m = {.kind = PP_WIRE_HEARTBEAT};

	m.heartbeat = net->state;
	m.heartbeat.received = p->received;
	if (pp_net_say(net, net->socket[0], p->route, &m) == 0)
		p->owes_ack = 0;
	p->beat_ms = net->now_ms;
}

size_t pp_net_address_of(const struct pp_net *net, int peer)
{
	return net->peer[peer].route[PP_ROUTE - 1];
}

void pp_net_beat(struct pp_net *net)
{
	net->now_ms = pp_now_ms();
	for (size_t i = 0; i < net->peers; i++)
		if (net->peer[i].state == PP_PEER_JOINED)
			pp_peer_beat(net, &net->peer[i]);
}

int pp_net_state(struct pp_net *net, const struct pp_wire_heartbeat *state)
{
	struct pp_wire_rank *more;

	if (state->ranks > PP_WIRE_RANKS)
		return -EINVAL;
	more = calloc(state->ranks + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	if (state->ranks)
		memcpy(more, state->rank, state->ranks * sizeof(*more));
	free((void *)(uintptr_t)net->state.rank);
	net->state = *state;
	net->state.rank = more;
	return 0;
}

int pp_net_send(struct pp_net *net, int peer, const struct pp_wire *m, struct pp_err *err)
{
	struct pp_wire numbered = *m;
	struct pp_packet *packet;
	struct pp_peer *p;
	int rc;

	if (peer < 0 || (size_t)peer >= net->peers || net->peer[peer].state != PP_PEER_JOINED)
		return pp_err_set(err, -ENOTCONN, "cannot send a %s: its host is not there", pp_wire_name(m->kind));
	if (m->kind == PP_WIRE_HELLO || m->kind == PP_WIRE_HELLO_ACK || m->kind == PP_WIRE_HEARTBEAT)
		return pp_err_set(err, -EINVAL, "cannot send a %s: it is sent by itself", pp_wire_name(m->kind));
	p = &net->peer[peer];
	packet = calloc(1, sizeof(*packet));
	if (!packet)
		return pp_err_set(err, -ENOMEM, "cannot send a %s: no memory", pp_wire_name(m->kind));
	packet->sequence = numbered.sequence = p->given + 1;
	rc = pp_wire_write(&numbered, &packet->bytes, &packet->size, err);
	if (rc == 0 && p->queued + packet->size > net->o.queue_bytes) {
		pp_err_set(err, -EAGAIN, "cannot send a %s to '%s' now: its queue is full", pp_wire_name(m->kind), p->host);
		rc = -EAGAIN;
	}
	if (rc < 0) {
		free(packet->bytes);
		free(packet);
		return rc;
	}
	p->given++;
	p->queued += packet->size;
	if (p->last)
		p->last->next = packet;
	else
		p->first = packet;
	p->last = packet;
	if (!p->unsent)
		p->unsent = packet;
	net->now_ms = pp_now_ms();
	pp_peer_flush(net, p);
	return 0;
}

size_t pp_net_unsent(const struct pp_net *net)
{
	size_t bytes = 0;

	for (size_t i = 0; i < net->peers; i++)
		if (net->peer[i].state == PP_PEER_JOINED)
			bytes += net->peer[i].queued;
	return bytes;
}
