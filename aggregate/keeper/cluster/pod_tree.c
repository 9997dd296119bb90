/* The leader's tree of clocks: places of the hosts, reports of the hubs, chains for the hosts below them. Called by pod_clock.c,
 * pod.c and pod_gather.c. In: keepers that join, leave and report. Out: messages about who compares with whom. */
#include "aggregate/keeper/cluster/pod_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/clock/clock_identity.h"
#include "aggregate/spool/control.h"
#include "core/base/now.h"
#include "core/clock/pieces_make.h"
#include "core/clock/tree.h"

enum { GATHER_MS = 50, JOIN_MS = 500, MISSED = 2, DEPTH = 4 };

/* Tests build trees of few hosts. */
static size_t star_of(void)
{
	const char *text = getenv("PODPROF_CLOCK_STAR");
	long star = text ? strtol(text, NULL, 10) : 0;

	return star >= 1 && star <= PP_TREE_STAR ? (size_t)star : PP_TREE_STAR;
}

static int are_like(const struct pp_pod_peer *a, const struct pp_pod_peer *b)
{
	struct pp_wire_clock one = pp_pod_clock_of(a), other = pp_pod_clock_of(b);

	return a->boot_id[0] && pp_clock_is_same(&one, &other);
}

/* The host whose clock this one claims to share, unless that was found to be false: the leader, or the first host that reports
 * the same clock. */
static int like_of(const struct pp_pod *p, size_t i)
{
	const struct pp_pod_peer *one = &p->peer[i];

	if (one->place.is_false)
		return PP_TREE_NONE;
	if (pp_pod_same_clock(p, one))
		return PP_TREE_ROOT;
	for (size_t k = 0; k < i; k++)
		if (p->peer[k].joined && !p->peer[k].gone && !p->peer[k].place.is_false && are_like(&p->peer[k], one))
			return (int)k;
	return PP_TREE_NONE;
}

static const char *name_of(const struct pp_pod *p, int parent)
{
	return parent >= 0 ? p->peer[parent].name : p->host;
}

/* Opens this keeper's port for the clock of one host, at the address through which that host has connected. */
static uint16_t own_port(struct pp_pod *p, size_t i, const char **ret_address)
{
	size_t by = pp_net_address_of(p->star.net, (int)i);
	struct pp_err err = {""};
	uint16_t port = 0;

	*ret_address = p->star.invite.address[by < p->star.invite.addresses ? by : 0];
	if (pp_clock_link_bind(p->clock.link, *ret_address, &port, &err))
		pp_keeper_log("%s", err.text);
	return port;
}

static void send_clock(struct pp_pod *p, size_t i, const struct pp_pod_sent_place *t)
{
	struct pp_wire m = {.kind = PP_WIRE_COMPARE};
	struct pp_pod_place *place = &p->peer[i].place;
	struct pp_err err = {""};

	if (place->sent.is_set && t->parent == place->sent.parent && t->same == place->sent.same &&
	    t->serves == place->sent.serves && t->hops == place->sent.hops)
		return;
	m.compare = (struct pp_wire_compare){.domain = (uint32_t)i + 1,
	                                     .key = p->clock.key,
	                                     .key_size = sizeof(p->clock.key),
	                                     .same = t->same,
	                                     .parent = (uint32_t)(t->parent + 1),
	                                     .hops = (uint32_t)t->hops,
	                                     .host = name_of(p, t->parent),
	                                     .serves = (uint32_t)t->serves};
	if (t->parent >= 0) {
		m.compare.port = p->peer[t->parent].place.port;
		m.compare.addresses = p->peer[t->parent].place.address;
	} else {
		m.compare.port = own_port(p, i, &m.compare.addresses);
		if (!m.compare.port)
			return;
	}
	if (place->sent.same && t->parent != place->sent.parent)
		place->port = 0; /* it may have closed that port */
	place->sent = *t;
	if (pp_net_send(p->star.net, (int)i, &m, &err))
		pp_keeper_log("host '%s' does not compare its clock: %s", p->peer[i].name, err.text);
}

void pp_pod_tree_run(struct pp_pod *p)
{
	struct pp_tree_row *row;
	char *serves;

	if (!p->clock.is_stale || !p->clock.link)
		return;
	p->clock.is_stale = 0;
	row = calloc(p->peers + 1, sizeof(*row));
	serves = calloc(p->peers + 1, 1);
	if (!row || !serves)
		goto out;
	p->clock.domains = 0;
	for (size_t i = 0; i < p->peers; i++) {
		struct pp_pod_place *place = &p->peer[i].place;

		row[i] = place->row;
		row[i].live = p->peer[i].joined && !p->peer[i].gone;
		row[i].parent = place->sent.is_set ? row[i].parent : PP_TREE_NONE;
		row[i].like = row[i].live ? like_of(p, i) : PP_TREE_NONE;
		row[i].shy = !place->port || place->sent.same || place->missed >= MISSED;
	}
	pp_tree_place(row, p->peers, star_of());
	for (size_t i = 0; i < p->peers; i++) {
		p->clock.domains += row[i].live && row[i].like == PP_TREE_NONE;
		if (row[i].live && row[i].parent >= 0)
			serves[row[i].parent] = 1;
	}
	for (size_t i = 0; i < p->peers; i++) {
		p->peer[i].place.row = row[i];
		if (row[i].live && row[i].parent != PP_TREE_NONE)
			send_clock(p, i,
			           &(struct pp_pod_sent_place){1, row[i].parent, row[i].like != PP_TREE_NONE, serves[i],
			                                       pp_tree_hops(row, i)});
	}
out:
	free(row);
	free(serves);
}

/* Plans a round for hosts that have joined: a little later, as more may join at the same time. */
static void expect(struct pp_pod_clock *c)
{
	int64_t now = pp_now_ms();

	c->join_began_ms = c->join_ms ? c->join_began_ms : now;
	c->join_ms = now + GATHER_MS < c->join_began_ms + JOIN_MS ? now + GATHER_MS : c->join_began_ms + JOIN_MS;
}

static void take_chain(struct pp_pod_place *place, const struct pp_wire_clock_place *t)
{
	uint8_t *copy = malloc(t->chain_size);

	if (!copy)
		return;
	memcpy(copy, t->chain, t->chain_size);
	free(place->chain);
	place->chain = copy;
	place->chain_size = t->chain_size;
	place->chain_of = t->parent;
	place->round = t->round;
}

void pp_pod_tree_take(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_clock_place *t = &m->clock;
	struct pp_pod_peer *one = &p->peer[peer];
	struct pp_pod_place *place = &one->place;

	if (!one->joined || t->parent != (uint32_t)(place->sent.parent + 1))
		return; /* about a place that it had before */
	if (t->chain_size) {
		take_chain(place, t);
		return;
	}
	if (t->verdict == PP_SAME_FALSE && place->sent.same && !place->is_false) {
		char whose[72], boot[64];

		place->is_false = 1;
		snprintf(whose, sizeof(whose), "%s", name_of(p, place->sent.parent));
		snprintf(boot, sizeof(boot), "%s", one->boot_id);
		snprintf(
		        place->warning, sizeof(place->warning),
		        "reports the clock of host %.60s (boot id %.36s) but has another one: its clock is compared like any other",
		        whose, boot);
		pp_keeper_log("host '%s' %s", one->name, place->warning);
	}
	if (t->lost && place->sent.same && !place->lost++) {
		expect(&p->clock); /* a turn may have been lost, and where no rank records no other round follows */
	} else if (t->lost && place->sent.parent >= 0) {
		place->row.rooted = 1;
		pp_keeper_log("host '%s' does not reach '%s': it compares its clock with this one", one->name,
		              name_of(p, place->sent.parent));
	}
	place->port = t->port ? (uint16_t)t->port : place->port;
	if (t->port)
		snprintf(place->address, sizeof(place->address), "%s", t->addresses);
	p->clock.is_stale = 1;
	if (!t->lost && t->verdict != PP_SAME_POSSIBLE)
		expect(&p->clock);
}

void pp_pod_tree_take_missed(struct pp_pod *p)
{
	struct pp_clock_child *child = NULL;
	size_t children;

	if (pp_clock_link_children(p->clock.link, &child, &children, NULL))
		return;
	for (size_t i = 0; i < children; i++) {
		struct pp_pod_place *place = child[i].domain - 1 < p->peers ? &p->peer[child[i].domain - 1].place : NULL;

		if (!place || place->sent.parent != PP_TREE_ROOT)
			continue;
		p->clock.is_stale |= place->row.hub && child[i].missed >= MISSED && place->missed < MISSED;
		place->missed = child[i].missed;
	}
	free(child);
}

static int is_server(const struct pp_pod_peer *one)
{
	return one->joined && !one->gone && one->place.sent.serves && one->place.row.like == PP_TREE_NONE;
}

void pp_pod_tree_call(struct pp_pod *p)
{
	struct pp_wire m = {.kind = PP_WIRE_CLOCK};

	m.clock.round = p->clock.round;
	for (size_t i = 0; i < p->peers; i++)
		if (is_server(&p->peer[i]))
			pp_net_send(p->star.net, (int)i, &m, NULL);
}

int pp_pod_tree_waits(const struct pp_pod *p)
{
	for (size_t i = 0; i < p->peers; i++)
		if (is_server(&p->peer[i]) && !p->peer[i].place.row.shy && p->peer[i].place.round < p->clock.round)
			return 1;
	return 0;
}

size_t pp_pod_tree_turns(const struct pp_pod *p)
{
	size_t direct = 0, most = 0;

	for (size_t i = 0; i < p->peers; i++) {
		size_t n = 0;

		direct += p->peer[i].joined && !p->peer[i].gone && p->peer[i].place.row.parent == PP_TREE_ROOT;
		for (size_t k = 0; is_server(&p->peer[i]) && k < p->peers; k++)
			n += p->peer[k].joined && p->peer[k].place.row.parent == (int)i;
		most = n > most ? n : most;
	}
	return direct + most;
}

/* Extends `chain` to the leader by this place's own chain. */
static int go_on(const struct pp_pod_place *place, struct pp_pieces *chain, struct pp_err *err)
{
	struct pp_pieces next = {0}, joined = {0};
	int rc = pp_pieces_read(place->chain, place->chain_size, &next, err);

	if (!rc && !chain->pieces) {
		*chain = next;
		return 0;
	}
	if (!rc)
		rc = pp_pieces_join(chain, &next, &joined, err);
	pp_pieces_release(&next);
	pp_pieces_release(chain);
	*chain = joined;
	return rc;
}

/* Maps a host's ticks to the leader's, by its own chain and those above it. */
static int chain_of(const struct pp_pod *p, size_t i, struct pp_pieces *ret, struct pp_err *err)
{
	struct pp_pieces chain = {0};
	size_t at = i + 1;
	int rc = 0;

	for (int depth = 0; at && !rc; depth++) {
		const struct pp_pod_place *place = &p->peer[at - 1].place;

		if (place->chain && depth < DEPTH && place->chain_of <= p->peers)
			rc = go_on(place, &chain, err);
		else
			rc = pp_err_set(err, -ENODATA, "the clock of host '%s' is not known", p->peer[at - 1].name);
		at = place->chain_of;
	}
	if (rc)
		pp_pieces_release(&chain);
	else
		*ret = chain;
	return rc;
}

static void send_chain(struct pp_pod *p, size_t server)
{
	struct pp_wire m = {.kind = PP_WIRE_CLOCK};
	struct pp_pieces chain;
	struct pp_err err = {""};
	uint8_t *bytes;
	size_t size;

	if (chain_of(p, server, &chain, &err)) {
		pp_keeper_log("%s", err.text);
		return;
	}
	size = pp_pieces_write(&chain, NULL, 0);
	bytes = size <= PP_WIRE_CHAIN ? malloc(size) : NULL;
	if (bytes) {
		pp_pieces_write(&chain, bytes, size);
		m.clock = (struct pp_wire_clock_place){.parent = (uint32_t)server + 1, .chain = bytes, .chain_size = size};
		for (size_t i = 0; i < p->peers; i++)
			if (p->peer[i].joined && !p->peer[i].gone && p->peer[i].place.sent.parent == (int)server)
				pp_net_send(p->star.net, (int)i, &m, NULL);
	}
	free(bytes);
	pp_pieces_release(&chain);
}

void pp_pod_tree_send_chains(struct pp_pod *p)
{
	for (size_t i = 0; p->clock.link && i < p->peers; i++)
		if (p->peer[i].place.sent.serves)
			send_chain(p, i);
}

void pp_pod_tree_end(struct pp_pod *p)
{
	for (size_t i = 0; i < p->peers; i++) {
		free(p->peer[i].place.chain);
		p->peer[i].place.chain = NULL;
	}
}
