/* Queues to peers, and events; see net.h. A cut connection loses what lay in the sockets: messages stay in their
 * queue until the peer acknowledges them, and are sent again. */
#include "aggregate/keeper/net/net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <zmq.h>

#include "core/base/now.h"
#include "core/base/utf8.h"

enum { ROUTE = 9 /* instance, number of the address */, FLIGHT = 4 << 20 /* bytes sent and not acknowledged */ };

struct packet {
	struct packet *next;
	void *bytes;
	size_t size;
	uint64_t sequence;
};

enum pp_peer_state {
	PP_PEER_FREE,
	PP_PEER_GREETED,
	PP_PEER_JOINED,
	PP_PEER_SILENT, /* it had joined, and was lost: its queue is kept, it may come back */
	PP_PEER_GONE,
};

struct pp_peer {
	enum pp_peer_state state;
	uint64_t instance;
	uint8_t route[ROUTE];
	char host[128];
	struct packet *first, *last;    /* not acknowledged */
	struct packet *unsent;          /* first of them not yet passed to the socket */
	size_t queued, flight;          /* bytes */
	uint64_t given, sent, received; /* sequences: last queued, highest sent, last received */
	int owes_ack;
	struct pp_wire hello; /* until it has joined */
	int64_t received_ms;  /* by pp_net.lived_ms */
	int64_t beat_ms, progress_ms;
};

struct pp_net {
	int listens;
	void *context, *door;           /* door: ZAP */
	void *socket[PP_NET_ADDRESSES]; /* listener: one ROUTER; else a DEALER for each address, one once joined */
	size_t sockets, turn;           /* turn: the socket to read next */
	struct pp_net_options o;        /* texts: NULL, below */
	char job[128], host[72], version[32], session[64];
	uint64_t instance;
	uint8_t client_key[PP_NET_CLIENT_KEY];
	struct pp_peer peer[PP_NET_PEERS]; /* listener: by order of arrival; else the listener */
	size_t peers;
	char boot_id[64], timens[96];
	struct pp_wire_heartbeat state; /* its ranks are owned */
	struct pp_net_counts counts;
	struct pp_wire held;               /* of the last event */
	int64_t now_ms, hello_ms, turn_ms; /* turn_ms: of the last handle_time() */
	int64_t lived_ms;                  /* goes on while this end runs: one that was stopped judges nobody by its own pause */
	int has_read;                      /* all that has arrived was read */
};

static int put(struct pp_net *net, void *socket, const uint8_t *route, const void *bytes, size_t size)
{
	if (net->listens && zmq_send(socket, route, ROUTE, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
		return -errno;
	return zmq_send(socket, bytes, size, ZMQ_DONTWAIT) < 0 ? -errno : 0;
}

/* Sends one message that needs no delivery (hello, hello_ack, heartbeat), by the route where the socket is the listener's. */
static int say(struct pp_net *net, void *socket, const uint8_t *route, const struct pp_wire *m)
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

static void release_peer(struct pp_peer *p)
{
	for (struct packet *packet = p->first, *next; packet; packet = next) {
		next = packet->next;
		free(packet->bytes);
		free(packet);
	}
	p->first = p->last = p->unsent = NULL;
	p->queued = p->flight = 0;
	pp_wire_release(&p->hello);
}

static void flush(struct pp_net *net, struct pp_peer *p)
{
	if (p->state != PP_PEER_JOINED)
		return;
	while (p->unsent && p->flight < FLIGHT) {
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

static void take_acknowledged(struct pp_net *net, struct pp_peer *p, uint64_t received)
{
	/* Only sent messages can be acknowledged; a peer that acknowledges more is wrong, and loses nothing. */
	while (p->first && p->first->sequence <= received && p->first->sequence <= p->sent) {
		struct packet *done = p->first;

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

/* Counts those that are not. */
static int is_next(struct pp_net *net, struct pp_peer *p, uint64_t sequence)
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

static void beat(struct pp_net *net, struct pp_peer *p)
{
	struct pp_wire m = {.kind = PP_WIRE_HEARTBEAT};

	m.heartbeat = net->state;
	m.heartbeat.received = p->received;
	if (say(net, net->socket[0], p->route, &m) == 0)
		p->owes_ack = 0;
	p->beat_ms = net->now_ms;
}

int64_t pp_net_silent_ms(const struct pp_net *net, int peer)
{
	return net->lived_ms - net->peer[peer].received_ms;
}

size_t pp_net_address_of(const struct pp_net *net, int peer)
{
	return net->peer[peer].route[ROUTE - 1];
}

void pp_net_beat(struct pp_net *net)
{
	net->now_ms = pp_now_ms();
	for (size_t i = 0; i < net->peers; i++)
		if (net->peer[i].state == PP_PEER_JOINED)
			beat(net, &net->peer[i]);
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
	struct packet *packet;
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
	if (rc == 0 && p->queued + packet->size > net->o.queue_bytes)
		rc = pp_err_set(err, -EAGAIN, "cannot send a %s to '%s' now: its queue is full", pp_wire_name(m->kind), p->host);
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
	flush(net, p);
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

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

static int net_new(const struct pp_net_options *o, struct pp_net **ret_net, struct pp_err *err)
{
	struct pp_net *net = calloc(1, sizeof(*net));
	int rc = 0;

	if (!net)
		return pp_err_set(err, -ENOMEM, "cannot reach other hosts: no memory");
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
	net->now_ms = net->turn_ms = pp_now_ms();
	if (getrandom(&net->instance, sizeof(net->instance), 0) != sizeof(net->instance) || !net->instance)
		rc = pp_err_set(err, -EIO, "cannot reach other hosts: no random numbers");
	else if (!zmq_has("curve") || !(net->context = zmq_ctx_new()))
		rc = pp_err_set(err, -ENOTSUP, "cannot reach other hosts: libzmq lacks CURVE, which protects the connection");
	if (rc)
		free(net);
	else
		*ret_net = net;
	return rc;
}

void pp_net_free(struct pp_net *net)
{
	if (!net)
		return;
	pp_wire_release(&net->held);
	for (size_t i = 0; i < net->peers; i++)
		release_peer(&net->peer[i]);
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

int pp_net_listen(const struct pp_net_options *o, struct pp_net_invite *ret_invite, struct pp_net **ret_net, struct pp_err *err)
{
	struct pp_net_invite invite = {.addresses = 0};
	struct pp_net_sockets made = {.router = NULL};
	struct pp_net *net = NULL;
	int rc = net_new(o, &net, err);

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
	rc = pp_net_socket_serve(net->context, net->o.dead_ms, (const uint16_t[]){o->port_first, o->port_last}, &invite, &made,
	                         err);
	net->door = made.door;
	net->socket[0] = made.router;
	net->sockets = 1;
	memcpy(net->client_key, made.client_key, sizeof(net->client_key));
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
	void *socket = zmq_socket(net->context, ZMQ_DEALER);
	uint8_t route[ROUTE];

	if (!socket)
		return -1;
	net->socket[net->sockets++] = socket;
	memcpy(route, &net->instance, sizeof(net->instance));
	/* libzmq reserves names that begin with zero. */
	route[0] |= 1;
	route[ROUTE - 1] = (uint8_t)i;
	memcpy(&net->instance, route, sizeof(net->instance));
	return pp_net_socket_dial(socket, net->o.dead_ms, invite, i, route, sizeof(route));
}

int pp_net_connect(const struct pp_net_options *o, const struct pp_net_invite *invite, struct pp_net **ret_net, struct pp_err *err)
{
	struct pp_net *net = NULL;
	int rc = net_new(o, &net, err);

	if (!net)
		return rc;
	for (size_t i = 0; i < invite->addresses && i < PP_NET_ADDRESSES; i++) {
		if (dial(net, invite, i) == 0)
			continue;
		rc = pp_err_set(err, -errno, "cannot reach rank 0's host at '%s': %s", invite->address[i], zmq_strerror(errno));
		pp_net_free(net);
		return rc;
	}
	net->peers = 1;
	net->peer[0].state = PP_PEER_GREETED;
	net->hello_ms = INT64_MIN / 2;
	*ret_net = net;
	return 0;
}

struct pp_net_counts pp_net_counts(const struct pp_net *net)
{
	return net->counts;
}

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
	char repaired[3 * PP_WIRE_TEXT + 1] = "";

	pp_utf8_repair(repaired, host, strlen(host));
	snprintf(p->host, sizeof(p->host), "%.*s", pp_utf8_fit(repaired, (int)sizeof(p->host) - 1), repaired);
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
	say(net, net->socket[0], route, &m);
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
		snprintf(why, sizeof(why), "it has left");
	else if (!p)
		p = find_free(net);
	if (!why[0] && !p)
		snprintf(why, sizeof(why), "a job has at most %zu other hosts here", net->o.peers_most);
	if (!p || why[0]) {
		answer(net, route, 0, why);
		return CONSUMED;
	}
	if (p->state == PP_PEER_FREE) {
		*p = (struct pp_peer){.state = PP_PEER_GREETED, .instance = instance, .received_ms = net->lived_ms, .hello = *m};
		set_host(p, h->host);
		memset(m, 0, sizeof(*m));
	}
	answer(net, route, (size_t)(p - net->peer) + 1, NULL);
	return CONSUMED;
}

static int is_known(const struct pp_peer *p)
{
	return p->state == PP_PEER_JOINED || p->state == PP_PEER_SILENT;
}

static int take_heartbeat(struct pp_net *net, struct pp_peer *p, struct pp_wire *m, struct pp_net_event *e)
{
	enum pp_net_event_kind kind = p->state == PP_PEER_SILENT ? PP_NET_BACK : PP_NET_MESSAGE;

	if (kind == PP_NET_BACK) { /* what was on the way to it may be lost */
		p->state = PP_PEER_JOINED;
		p->unsent = p->first;
		p->flight = 0;
	}
	take_acknowledged(net, p, m->heartbeat.received);
	flush(net, p);
	return make_event(net, e, kind, p, m);
}

/* Either side: handles a message of a peer that has joined. */
static int take(struct pp_net *net, struct pp_peer *p, struct pp_wire *m, struct pp_net_event *e)
{
	p->received_ms = net->lived_ms;
	if (m->kind == PP_WIRE_HEARTBEAT)
		return take_heartbeat(net, p, m, e);
	if (p->state == PP_PEER_SILENT) /* its heartbeat comes first; this is sent again */
		return CONSUMED;
	if (m->kind == PP_WIRE_HELLO || m->kind == PP_WIRE_HELLO_ACK) {
		net->counts.malformed++;
		return CONSUMED;
	}
	if (!is_next(net, p, m->sequence))
		return CONSUMED;
	if (m->kind != PP_WIRE_BYE)
		return make_event(net, e, PP_NET_MESSAGE, p, m);
	beat(net, p);
	p->state = PP_PEER_GONE;
	release_peer(p);
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
	} else if (p->state == PP_PEER_GONE) {
		if (m->kind == PP_WIRE_BYE) /* its acknowledgement was lost */
			beat(net, p);
	} else if (is_known(p) && !memcmp(p->route, route, ROUTE)) {
		return take(net, p, m, e);
	} else if (p->state == PP_PEER_GREETED && m->kind == PP_WIRE_HEARTBEAT) {
		memcpy(p->route, route, ROUTE);
		p->state = PP_PEER_JOINED;
		p->received_ms = net->lived_ms;
		return make_event(net, e, PP_NET_JOINED, p, &p->hello);
	} else if (is_known(p)) {
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
		enum pp_net_event_kind kind = is_known(p) ? PP_NET_LOST : PP_NET_REFUSED;

		p->state = PP_PEER_GONE;
		release_peer(p);
		return make_event(net, e, kind, p, m);
	}
	if (is_known(p) && !is_answer)
		return take(net, p, m, e);
	if (is_known(p) && m->hello_ack.instance == p->instance)
		return CONSUMED; /* our hello arrived more than once */
	if (is_known(p) || !is_answer || m->hello_ack.protocol != PP_WIRE_PROTOCOL) {
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
	p->received_ms = net->lived_ms;
	set_host(p, m->hello_ack.host);
	beat(net, p);
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
	else if (got != want || (net->listens && zmq_msg_size(&frame[0]) != ROUTE) ||
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

	m.hello = (struct pp_wire_hello){PP_WIRE_PROTOCOL, net->job,         net->host,    net->version,    net->instance,
	                                 net->state.rank,  net->state.ranks, net->o.clock, net->o.transport};
	for (size_t i = 0; i < net->sockets; i++)
		say(net, net->socket[i], NULL, &m);
	net->hello_ms = net->now_ms;
}

/* The clocks. After a pause of this end, what others have sent meanwhile is read before anybody is judged. */
static void tick(struct pp_net *net)
{
	int64_t now = pp_now_ms(), away = now - net->turn_ms, most = net->o.dead_ms / 4;

	net->lived_ms += away < most ? away : most;
	net->has_read &= away <= net->o.heartbeat_ms;
	net->now_ms = net->turn_ms = now;
}

/* EVENT, or CONSUMED: it had not joined this listener, and nobody misses it. */
static int lose(struct pp_net *net, struct pp_peer *p, struct pp_net_event *e)
{
	if (p->state == PP_PEER_JOINED) {
		p->state = PP_PEER_SILENT;
		return make_event(net, e, PP_NET_LOST, p, NULL);
	}
	p->state = net->listens ? PP_PEER_FREE : PP_PEER_GONE;
	release_peer(p);
	return net->listens ? CONSUMED : make_event(net, e, PP_NET_LOST, p, NULL);
}

/* Sends heartbeats, also to those that are silent; resends messages; finds lost peers. */
static int handle_time(struct pp_net *net, struct pp_net_event *e)
{
	tick(net);
	if (!net->listens && net->peer[0].state == PP_PEER_GREETED && net->now_ms - net->hello_ms >= net->o.heartbeat_ms / 4)
		say_hello(net);
	for (size_t i = 0; i < net->peers; i++) {
		struct pp_peer *p = &net->peer[i];
		int waits = p->state == PP_PEER_GREETED || p->state == PP_PEER_JOINED;

		if (waits && net->has_read && net->lived_ms - p->received_ms > net->o.dead_ms && lose(net, p, e) == EVENT)
			return EVENT;
		if (!is_known(p))
			continue;
		if (p->owes_ack || net->now_ms - p->beat_ms >= net->o.heartbeat_ms)
			beat(net, p);
		flush(net, p);
	}
	return CONSUMED;
}

void pp_net_wait(struct pp_net *net, int fd, int64_t most_ms)
{
	zmq_pollitem_t item[PP_NET_ADDRESSES + 2] = {{.fd = fd, .events = ZMQ_POLLIN}};
	int n = fd >= 0;

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

		if (handle_time(net, ret_event) == EVENT)
			return 1;
		if (net->door && pp_net_socket_answer(net->door, net->client_key, &net->counts.strangers))
			idle = 0;
		for (size_t i = 0; i < net->sockets; i++) {
			int rc = take_one(net, net->turn++ % net->sockets, ret_event);

			if (rc == EVENT)
				return 1;
			idle &= rc == NOTHING;
		}
		if (idle && !net->has_read) {
			net->has_read = 1;
			continue;
		}
		if (net->now_ms >= end)
			return 0;
		if (idle)
			pp_net_wait(net, -1, end - net->now_ms < most ? end - net->now_ms : most);
	}
}
