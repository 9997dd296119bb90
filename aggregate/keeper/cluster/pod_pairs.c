/* The leader's schedule where all pairs of clocks are compared; see pod_pairs.h. Called by pod_clock.c, pod.c and podprof doctor
 * --clock. */
#include "aggregate/keeper/cluster/pod_pairs.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/cluster/pod_state.h"
#include "core/base/now.h"

enum { TURN_LEAST_MS = 1000, TURN_EACH_MS = 60 /* for each host */ };

static void send_place(struct pp_pod *p, size_t i, size_t k)
{
	const struct pp_pod_peer *other = k ? &p->peer[p->pairs.peer[k]] : NULL;
	struct pp_wire m = {.kind = PP_WIRE_COMPARE};

	m.compare = (struct pp_wire_compare){.domain = (uint32_t)p->pairs.peer[i] + 1,
	                                     .port = other ? other->place.port : p->clock.port,
	                                     .key = p->clock.key,
	                                     .key_size = sizeof(p->clock.key),
	                                     .parent = (uint32_t)(p->pairs.peer[k] + 1),
	                                     .addresses = other ? other->place.address : p->clock.addresses,
	                                     .host = other ? other->name : p->host,
	                                     .serves = i < p->pairs.stars ? (uint32_t)(p->pairs.hosts - 1 - i) : 0};
	pp_net_send(p->star.net, p->pairs.peer[i], &m, NULL);
}

void pp_pod_pairs_place(struct pp_pod *p, const int *peer, size_t hosts)
{
	memcpy(p->pairs.peer, peer, hosts * sizeof(*peer));
	p->pairs.hosts = hosts;
	p->pairs.stars = p->pairs.at = hosts > PP_POD_ALL_PAIRS ? 1 : hosts;
	p->clock.serves = (uint32_t)hosts - 1;
	for (size_t i = 1; i < hosts; i++)
		for (size_t k = 0; k < i && k < p->pairs.stars; k++)
			send_place(p, i, k);
}

static int is_placed(const struct pp_pod *p, size_t i)
{
	return !i || p->peer[p->pairs.peer[i]].place.placed > (i < p->pairs.stars ? i : p->pairs.stars);
}

int pp_pod_pairs_are_placed(const struct pp_pod *p)
{
	for (size_t i = 1; i < p->pairs.hosts; i++)
		if (!is_placed(p, i) && !p->peer[p->pairs.peer[i]].gone)
			return 0;
	return 1;
}

/* It is this host's turn, as the parent of those behind it. */
static void call(struct pp_pod *p)
{
	struct pp_wire m = {.kind = PP_WIRE_CLOCK, .clock.round = p->clock.round};

	p->pairs.end_ms = pp_now_ms() + TURN_LEAST_MS + TURN_EACH_MS * (int64_t)p->pairs.hosts;
	if (p->pairs.at) {
		pp_net_send(p->star.net, p->pairs.peer[p->pairs.at], &m, NULL);
		return;
	}
	p->clock.due = p->clock.round;
	p->clock.due_ms = pp_now_ms();
}

static int is_running(const struct pp_pod *p)
{
	size_t at = p->pairs.at;
	const struct pp_pod_peer *one = at ? &p->peer[p->pairs.peer[at]] : NULL;

	if (at + 1 >= p->pairs.hosts || pp_now_ms() >= p->pairs.end_ms) /* nobody is behind the last one */
		return 0;
	return one ? !one->gone && is_placed(p, at) && one->place.round < p->clock.round : p->clock.due != 0;
}

void pp_pod_pairs_begin(struct pp_pod *p)
{
	p->clock.round++;
	p->pairs.at = 0;
	call(p);
}

int pp_pod_pairs_is_busy(const struct pp_pod *p)
{
	return p->pairs.at < p->pairs.stars;
}

/* Packets of two hosts' turns at once would delay each other. */
void pp_pod_pairs_run(struct pp_pod *p)
{
	while (pp_pod_pairs_is_busy(p) && !is_running(p))
		if (++p->pairs.at < p->pairs.stars)
			call(p);
}

const char *pp_pod_pairs_addresses(const struct pp_pod *p, int peer)
{
	return peer < 0 ? p->clock.addresses : p->peer[peer].place.address;
}

void pp_pod_pairs_take(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	struct pp_pod_place *place = &p->peer[peer].place;

	if (m->clock.round) {
		place->round = m->clock.round;
		return;
	}
	place->placed++;
	place->port = (uint16_t)m->clock.port;
	snprintf(place->address, sizeof(place->address), "%s", m->clock.addresses);
}
