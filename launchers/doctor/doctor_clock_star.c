/* A host's links: the star that it is the root of, and a place in the star of each host before it; see doctor_clock_star.h. */
#include "launchers/doctor/doctor_clock_star.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/clock/clock_link.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "core/base/now.h"
#include "core/clock/wall_read.h"

enum {
	HELLO_MS = 400, /* children say hello every 100 ms */
	ROUND_MS = 60,  /* a turn, and one that is lost; for each child */
	BEYOND_S = 20   /* the date is read at most this long after the last burst */
};

struct pp_doctor_star {
	const struct pp_wire_doctor_host *self;
	pp_doctor_answer *answer;
	void *context;
	struct pp_clock_link *own;
	struct pp_clock_link *to[PP_DOCTOR_HOSTS]; /* each host before this one; NULL: not compared with */
	uint32_t index, hosts, children;           /* hosts: 0 before PLACE */
	uint8_t key[PP_CLOCK_KEY];
	uint64_t round;
	int waits, runs, reported; /* of a round: for children to say hello; for their turns */
	int64_t since_ms;
	struct pp_clock_pair first; /* at the begin */
	struct pp_wire_doctor_reading read;
};

/* Binds one port at each address that others may reach, and writes those where it is free. */
static int bind_all(struct pp_wire_doctor_host *self, struct pp_clock_link *l, struct pp_err *err)
{
	struct pp_net_invite all = {.addresses = 0};
	size_t used = 0;
	uint16_t port;
	int rc = 0;

	pp_rendezvous_addresses(&all, NULL);
	for (size_t i = 0; i < all.addresses; i++) {
		int one = pp_clock_link_bind(l, all.address[i], &port, used ? NULL : err);

		rc = rc ? rc : one;
		if (one || (used && port != self->port))
			continue;
		self->port = port;
		used += (size_t)snprintf(self->addresses + used, sizeof(self->addresses) - used, "%s%s", used ? " " : "",
		                         all.address[i]);
	}
	return used ? 0 : rc;
}

static int open_link(const struct pp_wire_doctor_host *self, uint16_t first, uint16_t last, struct pp_clock_link **ret_link,
                     struct pp_err *err)
{
	struct pp_clock_link_options o = {.kind = (enum pp_tick_kind)self->tick_kind,
	                                  .ticks_per_ns = self->ticks_per_ns,
	                                  .port_first = first,
	                                  .port_last = last};

	return pp_clock_link_open(&o, ret_link, err);
}

int pp_doctor_star_open(struct pp_wire_doctor_host *self, uint16_t port_first, uint16_t port_last, pp_doctor_answer *answer,
                        void *context, struct pp_doctor_star **ret_star, struct pp_err *err)
{
	struct pp_doctor_star *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return pp_err_set(err, -ENOMEM, "cannot compare clocks: no memory");
	s->self = self;
	s->answer = answer;
	s->context = context;
	pp_clock_read_pair((enum pp_tick_kind)self->tick_kind, &s->first);
	rc = open_link(self, port_first, port_last, &s->own, err);
	if (!rc)
		rc = bind_all(self, s->own, err);
	if (rc) {
		pp_clock_link_free(s->own);
		free(s);
		return rc;
	}
	*ret_star = s;
	return 0;
}

void pp_doctor_star_free(struct pp_doctor_star *s)
{
	if (!s)
		return;
	pp_clock_link_free(s->own);
	for (size_t i = 0; i < PP_DOCTOR_HOSTS; i++)
		pp_clock_link_free(s->to[i]);
	explicit_bzero(s->key, sizeof(s->key));
	free(s);
}

static int take_place(struct pp_doctor_star *s, const struct pp_wire_doctor_command *c, struct pp_err *err)
{
	struct pp_clock_exchange_options o = {.self = c->index, .parent = c->index};
	uint32_t child[PP_DOCTOR_HOSTS];

	if (s->hosts || !c->hosts || c->hosts > PP_DOCTOR_HOSTS)
		return 0;
	memcpy(s->key, c->key, sizeof(s->key));
	s->index = c->index;
	s->hosts = c->hosts;
	if (s->index && s->hosts > PP_DOCTOR_ALL_PAIRS)
		return 0;
	for (uint32_t i = s->index + 1; i < s->hosts; i++)
		child[s->children++] = i;
	if (!s->children)
		return 0;
	o.child = child;
	o.children = s->children;
	memcpy(o.key, s->key, sizeof(o.key));
	return pp_clock_link_join(s->own, &o, NULL, 0, err);
}

static int add_parent(struct pp_doctor_star *s, const struct pp_wire_doctor_host *parent, struct pp_err *err)
{
	struct pp_clock_exchange_options o = {.self = s->index, .parent = parent->index};
	struct pp_clock_link **to;
	int rc;

	if (parent->index >= s->index || s->to[parent->index])
		return -EINVAL;
	to = &s->to[parent->index];
	/* `same` stays 0: jobs save the turns of a host with the same clock, here they are what is asked for. */
	memcpy(o.key, s->key, sizeof(o.key));
	rc = open_link(s->self, 0, 0, to, err);
	if (!rc)
		rc = pp_clock_link_join(*to, &o, parent->addresses, (uint16_t)parent->port, err);
	if (rc != -EHOSTUNREACH)
		return rc;
	pp_clock_link_free(*to); /* treated like lost packets */
	*to = NULL;
	return 0;
}

static void answer_with(struct pp_doctor_star *s, enum pp_doctor_kind kind)
{
	struct pp_wire m = {.kind = PP_WIRE_DOCTOR_COMMAND, .doctor_command.kind = kind};

	s->answer(s->context, &m);
}

int pp_doctor_star_is_running(const struct pp_doctor_star *s)
{
	return s->waits || s->runs;
}

int pp_doctor_star_has_reported(const struct pp_doctor_star *s)
{
	return s->reported;
}

/* Begins the round, once the children have said hello. */
static void begin(struct pp_doctor_star *s, const struct pp_clock_link_state *state, int64_t now)
{
	if (state->answered < s->children && now - s->since_ms < HELLO_MS)
		return;
	s->waits = 0;
	s->runs = s->children && !pp_clock_link_start(s->own, ++s->round);
	s->since_ms = now;
}

int pp_doctor_star_run(struct pp_doctor_star *s)
{
	struct pp_clock_link_state state;
	int64_t now = pp_now_ms();

	if (!pp_doctor_star_is_running(s))
		return 0;
	pp_clock_link_state(s->own, &state);
	if (s->waits)
		begin(s, &state, now);
	else if (!state.busy || now - s->since_ms >= ROUND_MS * (int64_t)s->children)
		s->runs = 0;
	if (pp_doctor_star_is_running(s))
		return 1;
	answer_with(s, PP_DOCTOR_ROUND);
	return 0;
}

static void read_clocks(struct pp_doctor_star *s)
{
	enum pp_tick_kind kind = (enum pp_tick_kind)s->self->tick_kind;
	struct pp_clock_pair last;
	struct pp_wall_sample wall;
	int64_t raw_ns;

	pp_wall_read(kind, &wall);
	pp_clock_read_pair(kind, &last);
	raw_ns = last.raw_ns - s->first.raw_ns;
	s->read = (struct pp_wire_doctor_reading){
	        .tick = (int64_t)last.tick,
	        .raw_ns = last.raw_ns,
	        .width_ns = last.width_ns,
	        .date_ns = wall.realtime_ns,
	        .date_tick = wall.tick_before + (wall.tick_after - wall.tick_before) / 2,
	        .date_half = (double)(wall.tick_after - wall.tick_before) / 2,
	        .ticks_per_ns = pp_clock_rate(kind, &s->first, &last),
	        .rate_error = raw_ns > 0 ? (double)(s->first.width_ns + last.width_ns) / (double)raw_ns : 1,
	};
}

static void take_nodes(struct pp_clock_link *l, struct pp_wire_doctor_raw *raw)
{
	struct pp_band_node *node = NULL;
	size_t nodes = 0;

	if (pp_clock_link_nodes(l, &node, &nodes, NULL))
		return;
	raw->nodes = nodes > 2 ? 2 : (uint32_t)nodes;
	raw->least = INFINITY;
	for (size_t i = 0; i < nodes; i++)
		if (node[i].least < raw->least)
			raw->least = node[i].least;
	for (size_t i = 0; i < raw->nodes; i++) {
		const struct pp_band_node *n = &node[i ? nodes - 1 : 0];

		raw->x[i] = n->x;
		raw->y[i] = n->y;
		raw->half[i] = n->high > -n->low ? n->high : -n->low;
	}
	free(node);
}

/* Of one parent, with the reading that was taken last. */
static struct pp_wire_doctor_raw measured(const struct pp_doctor_star *s, uint32_t parent)
{
	struct pp_wire_doctor_raw raw = {.parent = parent, .child = s->index, .bound = INT64_MAX, .date_y_bound = INT64_MAX};
	struct pp_clock_link *l = s->to[parent];
	struct pp_clock_link_state state;
	struct pp_pieces pieces = {0};

	if (l) {
		pp_clock_link_state(l, &state);
		raw.trips = state.counts.trips;
		raw.lost = state.counts.lost;
		raw.two = pp_same_clock_verdict(&state.same, INT64_MAX) == PP_SAME_FALSE;
		/* The chain first: nodes are there when it was made. */
		if (!pp_clock_link_pieces(l, (int64_t)(BEYOND_S * 1e9 * s->self->ticks_per_ns), &pieces, NULL)) {
			take_nodes(l, &raw);
			if (raw.nodes)
				raw.bound = pp_pieces_worst(&pieces, raw.x[0], raw.x[raw.nodes - 1]);
			raw.date_y = pp_pieces_map(&pieces, s->read.date_tick);
			raw.date_y_bound = pp_pieces_bound(&pieces, s->read.date_tick);
			pp_pieces_release(&pieces);
		}
	}
	return raw;
}

static void report(struct pp_doctor_star *s)
{
	struct pp_wire reading = {.kind = PP_WIRE_DOCTOR_READING}, raw = {.kind = PP_WIRE_DOCTOR_RAW};

	read_clocks(s);
	for (uint32_t i = 0; i < s->index && (i == 0 || s->hosts <= PP_DOCTOR_ALL_PAIRS); i++) {
		raw.doctor_raw = measured(s, i);
		s->answer(s->context, &raw);
	}
	reading.doctor_reading = s->read;
	s->answer(s->context, &reading); /* last: everything was sent */
	s->reported = 1;
}

int pp_doctor_star_obey(struct pp_doctor_star *s, const struct pp_wire *m, struct pp_err *err)
{
	const struct pp_wire_doctor_command *c = &m->doctor_command;

	if (m->kind == PP_WIRE_DOCTOR_HOST)
		return s->hosts ? add_parent(s, &m->doctor_host, err) : 0;
	if (m->kind != PP_WIRE_DOCTOR_COMMAND)
		return 0;
	if (c->kind == PP_DOCTOR_PLACE)
		return take_place(s, c, err);
	if (c->kind == PP_DOCTOR_READY) {
		answer_with(s, PP_DOCTOR_READY);
	} else if (c->kind == PP_DOCTOR_ROUND && s->hosts) {
		s->waits = 1;
		s->runs = 0;
		s->since_ms = pp_now_ms();
	} else if (c->kind == PP_DOCTOR_REPORT && s->hosts) {
		report(s);
	}
	return 0;
}
