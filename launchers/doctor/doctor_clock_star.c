/* A host's links: the star that it is the root of, and a place in the star of each host before it. Called by doctor_clock_lead.c
 * and doctor_clock_follow.c. The exchange is that of jobs (aggregate/keeper/clock/clock_link.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/clock/clock_link.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "core/base/now.h"
#include "launchers/doctor/doctor_clock.h"

enum {
	HELLO_MS = 400, /* children say hello every 100 ms */
	ROUND_MS = 60,  /* a turn, and one that is lost; for each child */
	BEYOND_S = 20   /* the date is read at most this long after the last burst */
};

struct pp_doctor_stars {
	const struct pp_wire_doctor_host *self;
	struct pp_clock_link *own;
	struct pp_clock_link *to[PP_DOCTOR_HOSTS]; /* each host before this one; NULL: not compared with */
	uint32_t index, children;
	uint8_t key[PP_CLOCK_KEY];
	uint64_t round;
	int wanted, running;
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

int pp_doctor_stars_open(struct pp_wire_doctor_host *self, uint16_t port_first, uint16_t port_last,
                         struct pp_doctor_stars **ret_stars, struct pp_err *err)
{
	struct pp_doctor_stars *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return pp_err_set(err, -ENOMEM, "cannot compare clocks: no memory");
	s->self = self;
	pp_clock_read_pair((enum pp_tick_kind)self->tick_kind, &s->first);
	rc = open_link(self, port_first, port_last, &s->own, err);
	if (!rc)
		rc = bind_all(self, s->own, err);
	if (rc) {
		pp_clock_link_free(s->own);
		free(s);
		return rc;
	}
	*ret_stars = s;
	return 0;
}

void pp_doctor_stars_free(struct pp_doctor_stars *s)
{
	if (!s)
		return;
	pp_clock_link_free(s->own);
	for (size_t i = 0; i < PP_DOCTOR_HOSTS; i++)
		pp_clock_link_free(s->to[i]);
	explicit_bzero(s->key, sizeof(s->key));
	free(s);
}

int pp_doctor_stars_place(struct pp_doctor_stars *s, uint32_t self, uint32_t hosts, const uint8_t key[PP_CLOCK_KEY],
                          struct pp_err *err)
{
	struct pp_clock_exchange_options o = {.self = self, .parent = self};
	uint32_t child[PP_DOCTOR_HOSTS];

	memcpy(s->key, key, sizeof(s->key));
	s->index = self;
	if (self && hosts > PP_DOCTOR_ALL_PAIRS)
		return 0;
	for (uint32_t i = self + 1; i < hosts; i++)
		child[s->children++] = i;
	if (!s->children)
		return 0;
	o.child = child;
	o.children = s->children;
	memcpy(o.key, key, sizeof(o.key));
	return pp_clock_link_join(s->own, &o, NULL, 0, 0, err);
}

int pp_doctor_stars_parent(struct pp_doctor_stars *s, const struct pp_wire_doctor_host *parent, struct pp_err *err)
{
	struct pp_clock_exchange_options o = {.self = s->index, .parent = parent->index};
	char text[sizeof(parent->addresses)], *rest = NULL;
	struct pp_clock_link **to;
	const char *address[PP_NET_ADDRESSES];
	size_t n = 0;
	int rc;

	if (parent->index >= s->index || s->to[parent->index])
		return -EINVAL;
	to = &s->to[parent->index];
	/* `same` stays 0: jobs save the turns of a host with the same clock, here they are what is asked for. */
	memcpy(o.key, s->key, sizeof(o.key));
	snprintf(text, sizeof(text), "%s", parent->addresses);
	for (char *one = strtok_r(text, " ", &rest); one && n < PP_NET_ADDRESSES; one = strtok_r(NULL, " ", &rest))
		address[n++] = one;
	rc = open_link(s->self, 0, 0, to, err);
	if (!rc)
		rc = pp_clock_link_join(*to, &o, address, n, (uint16_t)parent->port, err);
	if (rc != -EHOSTUNREACH)
		return rc;
	pp_clock_link_free(*to); /* treated like lost packets */
	*to = NULL;
	return 0;
}

void pp_doctor_stars_begin(struct pp_doctor_stars *s)
{
	s->wanted = s->children > 0;
	s->running = 0;
	s->since_ms = pp_now_ms();
}

int pp_doctor_stars_run(struct pp_doctor_stars *s)
{
	struct pp_clock_link_state state;
	int64_t waited = pp_now_ms() - s->since_ms;

	if (!s->wanted)
		return 1;
	pp_clock_link_state(s->own, &state);
	if (!s->running) {
		if (state.answered < s->children && waited < HELLO_MS)
			return 0;
		if (pp_clock_link_start(s->own, ++s->round))
			s->wanted = 0;
		s->running = 1;
		s->since_ms = pp_now_ms();
		return !s->wanted;
	}
	if (state.busy && waited < ROUND_MS * (int64_t)s->children)
		return 0;
	s->wanted = 0;
	return 1;
}

void pp_doctor_stars_read(struct pp_doctor_stars *s, struct pp_wire_doctor_reading *ret_read)
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
	*ret_read = s->read;
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

void pp_doctor_stars_result(struct pp_doctor_stars *s, uint32_t parent, struct pp_wire_doctor_raw *ret_raw)
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
	*ret_raw = raw;
}
