/* Decides when the clocks of a job's hosts are compared, and maps a follower's ticks to the leader's. Called by the other
 * pod_*.c files. In: hosts that join (pod_tree.c), windows that open and close, messages of pod_tree.c. Out: rounds of
 * clock_link.h, a follower's messages about its place, chains of lines. */
#include "aggregate/keeper/cluster/pod_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "aggregate/keeper/cluster/pod_clock_file.h"
#include "aggregate/keeper/cluster/pod_pairs.h"
#include "aggregate/keeper/cluster/pod_state.h"
#include "aggregate/keeper/cluster/pod_tree.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "aggregate/spool/control.h"
#include "core/base/now.h"
#include "core/clock/pieces_make.h"

enum {
	EVERY_MS = 5000, /* between two rounds while a window is open */
	CHECK_MS = 20,   /* between two checks whether any rank records */
	END_MS = 100,    /* a window's shares wait this long for its last round, plus TURN_MS per turn, MOST_MS at most */
	TURN_MS = 8,
	MOST_MS = 1000,
	/* follower */
	REACH_MS =
	        2000, /* without a turn for this long the parent counts as unreachable; logged again after twice that, and so on */
	REACH_MOST_MS = 32000,
	DUE_MS = 1000,   /* a hub's chain of a round is of no use after this */
	HELLO_MS = 400,  /* all pairs: a round waits so long for hosts that have not said hello; they do every 100 ms */
	BEYOND_S = 3600, /* before the first and behind the last burst */
};

static enum pp_tick_kind kind_of(const struct pp_pod *p)
{
	return (enum pp_tick_kind)pp_pod_own_clock(p).tick_kind;
}

static int open_link(struct pp_pod *p, struct pp_opt_ports port, struct pp_clock_link **ret, struct pp_err *err)
{
	struct pp_clock_link_options o = {
	        .kind = kind_of(p), .ticks_per_ns = p->clock.ticks_per_ns, .port_first = port.first, .port_last = port.last};

	return pp_clock_link_open(&o, ret, err);
}

static int open_own(struct pp_pod *p, struct pp_err *err)
{
	p->clock.ticks_per_ns = pp_clock_link_rate(kind_of(p), &p->clock.first);
	return open_link(p, p->o.settings->port, &p->clock.link, err);
}

static void close_link(struct pp_pod *p)
{
	pp_clock_link_free(p->clock.link);
	p->clock.link = NULL;
}

int pp_pod_clock_open(struct pp_pod *p, struct pp_err *err)
{
	struct pp_pod_clock *c = &p->clock;
	struct pp_net_invite all = {.addresses = 0};
	int rc = open_own(p, err), bound = 0;
	size_t used = 0;

	pp_rendezvous_addresses(&all, NULL);
	for (size_t i = 0; c->link && i < all.addresses; i++) {
		uint16_t port = 0;
		int one = pp_clock_link_bind(c->link, all.address[i], &port, used ? NULL : err);

		bound = bound ? bound : one;
		/* One port for all of them, and as many as a message holds. */
		if (one || (used && port != c->port) || used + strlen(all.address[i]) + 2 > sizeof(c->addresses))
			continue;
		c->port = port;
		used += (size_t)snprintf(c->addresses + used, sizeof(c->addresses) - used, "%s%s", used ? " " : "", all.address[i]);
	}
	return rc || used ? rc : bound;
}

/* Begins to answer the hosts that compare their clocks with this one's, which has no parent. */
static int serve(struct pp_pod *p, uint32_t self, struct pp_err *err)
{
	struct pp_clock_exchange_options o = {.self = self, .parent = self, .more = PP_NET_PEERS};

	memcpy(o.key, p->clock.key, sizeof(o.key));
	return pp_clock_link_join(p->clock.link, &o, NULL, 0, err);
}

int pp_pod_clock_lead(struct pp_pod *p, struct pp_err *err)
{
	int rc = p->clock.link ? 0 : open_own(p, err);

	if (!rc && getrandom(p->clock.key, sizeof(p->clock.key), 0) != sizeof(p->clock.key))
		rc = pp_err_set(err, -EIO, "cannot compare clocks: no random numbers");
	if (!rc)
		rc = serve(p, 0, err);
	if (rc)
		pp_pod_clock_end(p);
	return rc;
}

void pp_pod_clock_end(struct pp_pod *p)
{
	close_link(p);
	for (size_t i = 0; i < p->clock.befores; i++)
		pp_clock_link_free(p->clock.before[i].link);
	pp_pieces_release(&p->clock.above);
	explicit_bzero(p->clock.key, sizeof(p->clock.key));
	memset(&p->clock, 0, sizeof(p->clock));
}

void pp_pod_clock_want(struct pp_pod *p)
{
	p->clock.wanted |= p->clock.domains > 0;
}

/* Does any rank of the job record? Then a window is open. */
static int is_recording(const struct pp_pod *p)
{
	const struct pp_rings *r = p->o.job->rings;

	for (size_t i = 0; i < pp_rings_count(r); i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);

		if (pp_ring_recording(h) && pp_ring_state(h) != PP_RANK_ENDING)
			return 1;
	}
	for (size_t i = 0; i < p->ranks; i++)
		if (p->rank[i].recording && !p->rank[i].gone)
			return 1;
	return 0;
}

static void check_windows(struct pp_pod *p, int64_t now)
{
	int was_open = p->clock.is_open;

	if (now - p->clock.windows_ms < CHECK_MS)
		return;
	p->clock.windows_ms = now;
	p->clock.is_open = is_recording(p);
	if (p->clock.is_open && !was_open)
		pp_pod_clock_want(p);
}

static int is_due(const struct pp_pod_clock *c, const struct pp_clock_link_state *state, int64_t now)
{
	return c->wanted || state->answered > c->answered || (c->join_ms && now >= c->join_ms) ||
	       (c->domains && c->is_open && now - c->round_ms >= EVERY_MS);
}

static void lead(struct pp_pod *p)
{
	struct pp_pod_clock *c = &p->clock;
	struct pp_clock_link_state state;
	int64_t now = pp_now_ms();
	int was_busy = c->busy;

	pp_pod_tree_run(p);
	check_windows(p, now);
	pp_clock_link_state(c->link, &state);
	if (was_busy && !state.busy) {
		pp_pod_tree_take_missed(p);
		pp_pod_clock_save(p, state.round);
	}
	c->busy = state.busy;
	c->wanted &= state.children > 0;
	if (state.busy || !state.children || !is_due(c, &state, now) || pp_clock_link_start(c->link, c->round + 1))
		return;
	c->round++;
	pp_pod_tree_call(p);
	c->answered = state.answered;
	c->join_ms = c->join_ms && now >= c->join_ms ? 0 : c->join_ms;
	c->round_ms = now;
	c->wanted = 0;
	c->busy = 1;
}

/* Does a round run, or is one to come? Hosts that have just joined are compared in a round for all of them. */
static int is_comparing(const struct pp_pod *p)
{
	const struct pp_pod_clock *c = &p->clock;
	struct pp_clock_link_state state;

	pp_clock_link_state(c->link, &state);
	return c->wanted || c->busy || (state.children && (c->join_ms || state.answered > c->answered)) || pp_pod_tree_waits(p);
}

int pp_pod_clock_is_ready(struct pp_pod *p, int64_t since_ms)
{
	int64_t limit = END_MS + TURN_MS * (int64_t)pp_pod_tree_turns(p);

	if (!p->clock.link)
		return 1;
	lead(p);
	return !is_comparing(p) || pp_now_ms() - since_ms > (limit < MOST_MS ? limit : MOST_MS);
}

/* As a follower: its place in the tree, its claim to share another host's clock. */

static void send_clock(struct pp_pod *p, struct pp_wire_clock_place t)
{
	struct pp_wire m = {.kind = PP_WIRE_CLOCK, .clock = t};
	struct pp_err err = {""};

	m.clock.parent = p->clock.parent;
	if (pp_net_send(p->star.net, 0, &m, &err))
		pp_keeper_log("cannot report this host's clock to rank 0's keeper: %s", err.text);
}

/* Reports the address at which the children of this keeper exchange timestamps with it. */
static void send_place(struct pp_pod *p)
{
	char address[PP_CLOCK_NUMERIC];
	uint16_t port = pp_clock_link_place(p->clock.link, address);

	send_clock(p, (struct pp_wire_clock_place){.port = port, .addresses = address});
}

void pp_pod_clock_send_place(struct pp_pod *p)
{
	send_clock(p, (struct pp_wire_clock_place){.port = p->clock.port, .addresses = p->clock.addresses});
}

static int take_place(struct pp_pod *p, const struct pp_wire_compare *c, struct pp_err *err)
{
	struct pp_clock_exchange_options o = {.self = c->domain, .parent = c->parent, .same = c->same, .more = PP_NET_PEERS};
	const struct pp_net_invite *v = &p->star.invite;
	char text[PP_WIRE_ADDRESSES + 1];
	int n = snprintf(text, sizeof(text), "%s", c->addresses ? c->addresses : ""), rc;

	for (size_t i = 0; i < v->addresses && !(c->addresses && c->addresses[0]); i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s ", v->address[i]);
	if (p->clock.link)
		return pp_clock_link_move(p->clock.link, c->parent, c->same, text, (uint16_t)c->port, err);
	rc = open_own(p, err);
	if (rc)
		return rc;
	memcpy(o.key, c->key, sizeof(o.key));
	return pp_clock_link_join(p->clock.link, &o, text, (uint16_t)c->port, err);
}

/* All pairs: one more host before this one. This host has a place in the star of each of those, and a star of its own. */
static int add_before(struct pp_pod *p, const struct pp_wire_compare *c, struct pp_err *err)
{
	struct pp_clock_exchange_options o = {.self = c->domain, .parent = c->parent};
	struct pp_pod_clock *mine = &p->clock;
	struct pp_clock_link *link = NULL;
	int rc = 0;

	if (mine->befores == PP_POD_ALL_PAIRS)
		return pp_err_set(err, -ENOSPC, "this host's clock is not compared with that of '%.71s'", c->host);
	if (!mine->befores) {
		memcpy(mine->key, c->key, sizeof(mine->key));
		mine->self = c->domain;
		mine->serves = c->serves;
		rc = c->serves ? serve(p, c->domain, err) : 0;
	}
	memcpy(o.key, c->key, sizeof(o.key));
	if (!rc)
		rc = open_link(p, (struct pp_opt_ports){0, 0}, &link, err);
	if (rc)
		return rc;
	mine->before[mine->befores++] = (struct pp_pod_parent){c->parent, link};
	rc = pp_clock_link_join(link, &o, c->addresses, (uint16_t)c->port, err);
	return rc == -EHOSTUNREACH ? 0 : rc; /* as if all packets were lost */
}

struct pp_clock_link *pp_pod_clock_before(struct pp_pod *p, size_t i, uint32_t *ret_domain)
{
	if (i >= p->clock.befores)
		return NULL;
	*ret_domain = p->clock.before[i].domain;
	return p->clock.before[i].link;
}

void pp_pod_clock_take_place(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_compare *c = &m->compare;
	struct pp_pod_clock *mine = &p->clock;
	int is_new = !mine->self || mine->parent != c->parent, rc = 0;
	struct pp_err err = {""};

	(void)peer;
	if (!p->o.job) {
		if (mine->link && add_before(p, c, &err))
			pp_pod_say_why(p, "%s", err.text);
		pp_pod_clock_send_place(p);
		return;
	}
	if (is_new)
		rc = take_place(p, c, &err);
	else if (mine->link)
		pp_clock_link_claim(mine->link, c->same);
	mine->self = c->domain;
	mine->parent = c->parent;
	mine->same = c->same;
	mine->serves = c->serves;
	mine->hops = (int)c->hops;
	snprintf(mine->host, sizeof(mine->host), "%.71s", c->host ? c->host : "");
	if (!is_new)
		return;
	mine->placed_ms = pp_now_ms();
	mine->patience_ms = REACH_MS;
	if (rc) {
		pp_keeper_log("%s", err.text);
		close_link(p);
		return;
	}
	pp_keeper_log("compares its clock with that of '%s'%s", mine->host, mine->same ? ", which is to be the same" : "");
	send_place(p);
}

void pp_pod_clock_take_chain(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_clock_place *t = &m->clock;
	struct pp_pieces above;
	struct pp_err err = {""};

	(void)peer;
	if (t->chain_size && pp_pieces_read(t->chain, t->chain_size, &above, &err)) {
		pp_keeper_log("%s", err.text);
	} else if (t->chain_size) {
		pp_pieces_release(&p->clock.above);
		p->clock.above = above;
		p->clock.above_of = t->parent;
	}
	if (!t->round)
		return;
	p->clock.due = t->round;
	p->clock.due_ms = pp_now_ms();
}

static void send_chain(struct pp_pod *p)
{
	int64_t beyond = (int64_t)(BEYOND_S * 1e9 * p->clock.ticks_per_ns);
	struct pp_pieces own = {0};
	struct pp_err err = {""};
	uint8_t *bytes;
	size_t size;

	if (pp_clock_link_pieces(p->clock.link, beyond, &own, &err)) {
		pp_keeper_log("%s", err.text);
		return;
	}
	size = pp_pieces_write(&own, NULL, 0);
	bytes = size <= PP_WIRE_CHAIN ? malloc(size) : NULL;
	if (bytes) {
		pp_pieces_write(&own, bytes, size);
		send_clock(p, (struct pp_wire_clock_place){.round = p->clock.due, .chain = bytes, .chain_size = size});
	}
	free(bytes);
	pp_pieces_release(&own);
}

static void check_claim(struct pp_pod *p, const struct pp_clock_link_state *state)
{
	enum pp_same_verdict verdict = pp_same_clock_verdict(&state->same, INT64_MAX);

	if (!p->clock.same || p->clock.is_false || verdict == PP_SAME_UNKNOWN)
		return;
	if (verdict == PP_SAME_FALSE) {
		p->clock.is_false = 1;
		pp_keeper_log("the clock of '%s' is not this host's, though its boot id is", p->clock.host);
		send_clock(p, (struct pp_wire_clock_place){.verdict = PP_SAME_FALSE});
	} else if (!state->busy) {
		/* Both hosts share one clock: nothing is left to compare, and the port is closed. Sent twice, in case the first
		 * message is lost. */
		pp_clock_link_leave(p->clock.link);
		pp_clock_link_leave(p->clock.link);
		close_link(p);
	}
}

static void follow(struct pp_pod *p)
{
	struct pp_pod_clock *c = &p->clock;
	struct pp_clock_link_state state;
	int64_t now = pp_now_ms();

	pp_clock_link_state(c->link, &state);
	if (c->due && (now - c->due_ms > DUE_MS || (state.turn >= c->due && !state.busy))) {
		if (state.turn >= c->due)
			send_chain(p);
		c->due = 0;
	}
	if (!state.turn && now - c->placed_ms > c->patience_ms) {
		c->placed_ms = now;
		c->patience_ms = c->patience_ms < REACH_MOST_MS ? 2 * c->patience_ms : c->patience_ms;
		pp_keeper_log("'%s' gives this host's clock no turn", c->host);
		send_clock(p, (struct pp_wire_clock_place){.lost = 1});
	}
	if (!state.busy)
		pp_pod_clock_save(p, state.turn);
	check_claim(p, &state);
}

int pp_pod_clock_is_false(struct pp_pod *p)
{
	if (p->clock.link)
		follow(p);
	return p->clock.is_false;
}

/* Maps own ticks to the parent's. A host that shares the parent's clock is not compared with it. */
static int own_pieces(struct pp_pod *p, struct pp_pieces *ret, struct pp_err *err)
{
	int64_t beyond = (int64_t)(BEYOND_S * 1e9 * p->clock.ticks_per_ns);

	if (!p->clock.link)
		return pp_err_set(err, -ENODATA, "the clock was not compared: no exchange with rank 0's keeper");
	return pp_clock_link_pieces(p->clock.link, beyond, ret, err);
}

/* Maps own ticks to the leader's. */
static int leader_pieces(struct pp_pod *p, struct pp_pieces *ret, struct pp_err *err)
{
	static const struct pp_clock_piece one = {.num = (int64_t)1 << PP_PIECE_SHIFT};
	const struct pp_pod_clock *c = &p->clock;
	struct pp_pieces own = {0}, same = {.piece = (struct pp_clock_piece *)(uintptr_t)&one, .pieces = 1, .end = INT64_MAX / 4};
	int rc;

	if (c->parent && (c->above_of != c->parent || !c->above.pieces))
		return pp_err_set(err, -ENODATA, "the clock of '%s', which this host's was compared with, is not known", c->host);
	if (c->same && !c->is_false)
		return pp_pieces_join(&c->above, &same, ret, err);
	rc = own_pieces(p, c->parent ? &own : ret, err);
	if (rc || !c->parent)
		return rc;
	rc = pp_pieces_join(&own, &c->above, ret, err);
	pp_pieces_release(&own);
	return rc;
}

int pp_pod_clock_pieces(struct pp_pod *p, struct pp_clock_map *leader, struct pp_pieces *ret, struct pp_err *err)
{
	struct pp_pieces own = {0};
	int rc = leader_pieces(p, &own, err);

	if (!rc)
		rc = pp_pieces_to_job(&own, leader, ret, err);
	pp_pieces_release(&own);
	return rc;
}

/* All pairs. Is the round over that is due here? It begins once the hosts behind this one have said hello, or do not. */
static int star_is_over(struct pp_pod_clock *c)
{
	struct pp_clock_link_state state;

	pp_clock_link_state(c->link, &state);
	if (c->star == c->due)
		return !state.busy;
	if (state.answered < c->serves && pp_now_ms() - c->due_ms < HELLO_MS)
		return 0;
	c->star = c->due;
	return pp_clock_link_start(c->link, c->due) != 0;
}

static void run_pairs(struct pp_pod *p)
{
	struct pp_pod_clock *c = &p->clock;

	if (c->due && star_is_over(c)) {
		if (p->state == PP_POD_JOINED)
			send_clock(p, (struct pp_wire_clock_place){.round = c->due});
		c->due = 0;
	}
	if (p->state == PP_POD_LISTENING)
		pp_pod_pairs_run(p);
}

void pp_pod_clock_run(struct pp_pod *p)
{
	if (!p->clock.link)
		p->clock.due = 0;
	else if (!p->o.job)
		run_pairs(p);
	else if (p->state == PP_POD_LISTENING)
		lead(p);
	else
		follow(p);
}
