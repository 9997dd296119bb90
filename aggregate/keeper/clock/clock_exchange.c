/* Runs a domain as a parent (turns of its children) and as a child (hello, turn, pings, band): handles packets and timeouts.
 * Called by clock_link.c. */
#include "aggregate/keeper/clock/clock_exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_PATIENCE_NS = 5000000,
	LEAST_PATIENCE_NS = 1000000,
	HELLO_LONGEST = 32, /* times the first wait */
	SAME_NS = 1000000,  /* a wider interval of offsets proves nothing */
	GRANT_AGAIN_NS = 4000000,
	GIVEN_UP = 2, /* turns that a child missed in a row */
};

static int64_t ns_of(const struct pp_clock_exchange *x, int64_t tick)
{
	return (int64_t)((double)tick / x->o.ticks_per_ns);
}

int64_t pp_clock_exchange_now_ns(const struct pp_clock_exchange *x)
{
	return ns_of(x, x->ops->tick(x->ctx));
}

static void say(struct pp_clock_exchange *x, struct pp_clock_packet *p, uint32_t to)
{
	uint8_t bytes[PP_CLOCK_PACKET];

	p->from = x->o.self;
	p->to = to;
	pp_clock_packet_write(p, x->o.key, bytes);
	x->ops->send(x->ctx, to, bytes);
}

/* As a parent: turns of the children, one after another. */

static int round_init(struct pp_clock_exchange *x, const struct pp_clock_exchange_options *o, struct pp_err *err)
{
	x->room = o->children + o->more;
	x->child = calloc(x->room + 1, sizeof(*x->child));
	if (!x->child)
		return pp_err_set(err, -ENOMEM, "cannot compare clocks: no memory for %zu hosts", x->room);
	for (size_t i = 0; i < o->children; i++)
		x->child[i].domain = o->child[i];
	x->children = o->children;
	return 0;
}

/* Most packets come from the child whose turn it is. */
static struct pp_clock_child *child_of(struct pp_clock_exchange *x, uint32_t domain)
{
	if (x->current < x->children && x->child[x->current].domain == domain)
		return &x->child[x->current];
	for (size_t i = 0; i < x->children; i++)
		if (x->child[i].domain == domain)
			return &x->child[i];
	return NULL;
}

/* Appends it: its turn comes in the running round too. */
static struct pp_clock_child *adopt(struct pp_clock_exchange *x, uint32_t domain)
{
	if (x->children == x->room || domain == x->o.self)
		return NULL;
	x->child[x->children] = (struct pp_clock_child){.domain = domain};
	return &x->child[x->children++];
}

static void grant(struct pp_clock_exchange *x, const struct pp_clock_child *c, int64_t now_ns)
{
	struct pp_clock_packet p = {.kind = PP_CLOCK_GRANT, .sync = x->round_sync, .count = x->o.count};

	p.budget_us = (uint32_t)(x->o.budget_ns / 1000);
	p.t1 = (int64_t)(x->o.ticks_per_ns * 1e9);
	x->granted_ns = now_ns;
	say(x, &p, c->domain);
}

/* Grants turns until one must be waited for. A child that missed two turns is granted one too, but the next child's turn follows
 * at once. */
static void next_turn(struct pp_clock_exchange *x, int64_t now_ns)
{
	while (x->current < x->children) {
		struct pp_clock_child *c = &x->child[x->current];

		if (c->left) {
			x->current++;
			continue;
		}
		grant(x, c, now_ns);
		if (c->has_answered && c->missed < GIVEN_UP) {
			c->state = PP_CHILD_TURN;
			x->given_ns = now_ns;
			x->received_ns = INT64_MIN;
			return;
		}
		c->state = PP_CHILD_MISSED;
		x->current++;
	}
	x->round = 0;
	x->round_took_ns = now_ns - x->round_began_ns;
}

static void end_child_turn(struct pp_clock_exchange *x, enum pp_clock_child_state state, int64_t now_ns)
{
	struct pp_clock_child *c = &x->child[x->current++];

	c->state = state;
	c->took_ns = now_ns - x->given_ns;
	c->missed = state == PP_CHILD_DONE ? 0 : c->missed + 1;
	next_turn(x, now_ns);
}

static void round_start(struct pp_clock_exchange *x, uint64_t sync)
{
	int64_t now_ns = pp_clock_exchange_now_ns(x);

	for (size_t i = 0; i < x->children; i++)
		x->child[i].state = PP_CHILD_IDLE;
	x->round = 1;
	x->round_sync = sync;
	x->round_began_ns = now_ns;
	x->current = 0;
	x->counts.rounds++;
	next_turn(x, now_ns);
}

int pp_clock_exchange_start(struct pp_clock_exchange *x, uint64_t sync)
{
	if (x->round)
		return -EBUSY;
	if (!x->children)
		return -ENOENT;
	round_start(x, sync);
	return 0;
}

static void round_packet(struct pp_clock_exchange *x, const struct pp_clock_packet *p, int64_t tick)
{
	struct pp_clock_child *c = child_of(x, p->from);

	if (!c && p->kind == PP_CLOCK_HELLO)
		c = adopt(x, p->from);
	if (!c || (c->left && p->kind != PP_CLOCK_HELLO))
		return;
	c->has_answered = 1;
	c->left = p->kind == PP_CLOCK_LEAVE;
	if (c->left && c->state == PP_CHILD_TURN)
		end_child_turn(x, PP_CHILD_DONE, pp_clock_exchange_now_ns(x));
	if (p->kind == PP_CLOCK_PING) {
		struct pp_clock_packet pong = *p;

		pong.kind = PP_CLOCK_PONG;
		pong.t2 = tick;
		pong.t3 = x->ops->tick(x->ctx);
		say(x, &pong, p->from);
	}
	if (c->state != PP_CHILD_TURN)
		c->missed = 0; /* it is alive: the next round waits for it */
	else if (p->kind == PP_CLOCK_PING && p->sync == x->round_sync)
		x->received_ns = ns_of(x, tick);
	if (p->kind != PP_CLOCK_DONE || p->sync != x->round_sync || !x->round)
		return;
	if (c->state == PP_CHILD_TURN) {
		c->trips += p->count;
		end_child_turn(x, PP_CHILD_DONE, pp_clock_exchange_now_ns(x));
	} else if (c->state == PP_CHILD_MISSED && p->count) {
		c->trips += p->count;
		c->state = PP_CHILD_DONE;
	}
}

/* When the current turn counts as lost. */
static int64_t lost_ns(const struct pp_clock_exchange *x)
{
	int64_t silent = (x->received_ns > x->given_ns ? x->received_ns : x->given_ns) + x->o.answer_ns;
	int64_t over = x->given_ns + x->o.budget_ns + x->o.answer_ns;

	return silent < over ? silent : over;
}

static void round_due(struct pp_clock_exchange *x, int64_t now_ns)
{
	if (!x->round)
		return;
	if (now_ns >= lost_ns(x))
		end_child_turn(x, PP_CHILD_MISSED, now_ns);
	else if (x->received_ns < x->given_ns && now_ns >= x->granted_ns + GRANT_AGAIN_NS)
		grant(x, &x->child[x->current], now_ns);
}

static int64_t round_next_ns(const struct pp_clock_exchange *x)
{
	int64_t next;

	if (!x->round)
		return INT64_MAX;
	next = lost_ns(x);
	if (x->received_ns < x->given_ns && x->granted_ns + GRANT_AGAIN_NS < next)
		next = x->granted_ns + GRANT_AGAIN_NS;
	return next;
}

/* As a child: hello, turn, pings, band. */

static int64_t or_else(int64_t value, int64_t otherwise)
{
	return value > 0 ? value : otherwise;
}

int pp_clock_exchange_init(struct pp_clock_exchange *x, const struct pp_clock_exchange_options *o, const struct pp_clock_ops *ops,
                           void *ctx, struct pp_err *err)
{
	int rc;

	if (!(o->ticks_per_ns > 0))
		return pp_err_set(err, -EINVAL, "cannot compare clocks: the tick's rate is not known");
	*x = (struct pp_clock_exchange){.o = *o, .ops = ops, .ctx = ctx};
	x->o.count = o->count ? o->count : 50;
	x->o.budget_ns = or_else(o->budget_ns, 20000000);
	x->o.answer_ns = or_else(o->answer_ns, 20000000);
	x->o.hello_ns = or_else(o->hello_ns, 100000000);
	x->o.child = NULL;
	pp_same_clock_init(&x->same);
	rc = round_init(x, o, err);
	if (rc)
		return rc;
	x->hello_ns = o->self == o->parent ? INT64_MAX : pp_clock_exchange_now_ns(x);
	x->hello_wait_ns = x->o.hello_ns;
	return 0;
}

void pp_clock_exchange_release(struct pp_clock_exchange *x)
{
	if (x->has_band)
		pp_band_release(&x->band);
	free(x->child);
	memset(x, 0, sizeof(*x));
}

void pp_clock_exchange_leave(struct pp_clock_exchange *x)
{
	struct pp_clock_packet p = {.kind = PP_CLOCK_LEAVE};

	if (x->o.parent == x->o.self)
		return;
	x->turn = x->waits = 0;
	x->hello_ns = INT64_MAX;
	say(x, &p, x->o.parent);
}

void pp_clock_exchange_move(struct pp_clock_exchange *x, uint32_t parent, int same)
{
	pp_clock_exchange_leave(x);
	if (x->has_band)
		pp_band_release(&x->band);
	x->has_band = 0;
	x->band = (struct pp_band){.nodes = 0};
	x->group = NULL;
	pp_same_clock_init(&x->same);
	x->turn_sync = 0;
	x->o.parent = parent;
	x->o.same = same;
	x->hello_ns = pp_clock_exchange_now_ns(x);
	x->hello_wait_ns = x->o.hello_ns;
}

static void end_turn(struct pp_clock_exchange *x)
{
	struct pp_clock_packet done = {.kind = PP_CLOCK_DONE, .sync = x->turn_sync, .count = x->came};

	if (x->turn && !x->came) /* perhaps to the former parent, which granted a turn before it knew that this child has left */
		x->hello_ns = pp_clock_exchange_now_ns(x);
	x->turn = x->waits = 0;
	x->group = NULL;
	say(x, &done, x->o.parent);
	if (x->children)
		round_start(x, x->turn_sync);
}

static void ping(struct pp_clock_exchange *x)
{
	struct pp_clock_packet p = {.kind = PP_CLOCK_PING, .sync = x->turn_sync, .sequence = ++x->sequence};

	x->waits = 1;
	p.t1 = x->ops->tick(x->ctx);
	x->ping_end_ns = ns_of(x, p.t1) + x->patience_ns;
	say(x, &p, x->o.parent);
}

/* The grant holds the parent's rate: without it the band would not know the possible rates. */
static int begin_band(struct pp_clock_exchange *x, const struct pp_clock_packet *p)
{
	struct pp_band_options o = {.rate = (double)p->t1 / 1e9 / x->o.ticks_per_ns, .wander = x->o.wander, .groups = x->o.bursts};

	if (p->t1 <= 0 || pp_band_init(&x->band, &o, NULL))
		return 0;
	x->has_band = 1;
	return 1;
}

static void granted(struct pp_clock_exchange *x, const struct pp_clock_packet *p)
{
	int64_t now = pp_clock_exchange_now_ns(x);

	if (p->from != x->o.parent || x->turn)
		return;
	if (!x->has_band && !begin_band(x, p))
		return;
	if (p->sync < x->turn_sync)
		return;
	if (p->sync == x->turn_sync) { /* our message DONE was lost */
		struct pp_clock_packet done = {.kind = PP_CLOCK_DONE, .sync = x->turn_sync, .count = x->came};

		say(x, &done, x->o.parent);
		return;
	}
	x->turn_sync = p->sync;
	x->came = 0;
	x->hello_ns = INT64_MAX;
	if (x->o.same && pp_same_clock_verdict(&x->same, (int64_t)(SAME_NS * x->o.ticks_per_ns)) == PP_SAME_POSSIBLE) {
		end_turn(x);
		return;
	}
	x->turn = 1;
	x->wanted = p->count ? p->count : 1;
	x->group = NULL;
	x->patience_ns = FIRST_PATIENCE_NS;
	x->turn_end_ns = now + (int64_t)p->budget_us * 1000;
	ping(x);
}

static void answered(struct pp_clock_exchange *x, const struct pp_clock_packet *p, int64_t tick)
{
	int64_t trip_ns;

	if (p->from != x->o.parent || !x->turn || p->sync != x->turn_sync)
		return;
	if (!x->group)
		x->group = pp_band_begin(&x->band, p->t1, p->t2);
	if (pp_band_trip(&x->band, x->group, p->t1, p->t2, p->t3, tick)) {
		x->counts.impossible++;
	} else {
		pp_same_clock_trip(&x->same, p->t1, p->t2, p->t3, tick);
		x->counts.trips++;
		x->came++;
		trip_ns = ns_of(x, tick - p->t1); /* the timestamps of a possible trip are close together */
		if (trip_ns > 0 && 4 * trip_ns < x->patience_ns)
			x->patience_ns = 4 * trip_ns > LEAST_PATIENCE_NS ? 4 * trip_ns : LEAST_PATIENCE_NS;
	}
	if (p->sequence != x->sequence)
		return; /* a late reply; the current ping stays open */
	if (x->came >= x->wanted || pp_clock_exchange_now_ns(x) >= x->turn_end_ns)
		end_turn(x);
	else
		ping(x);
}

void pp_clock_exchange_packet(struct pp_clock_exchange *x, const void *bytes, size_t size, int64_t tick)
{
	struct pp_clock_packet p;

	if (pp_clock_packet_read(bytes, size, x->o.key, &p) || p.to != x->o.self) {
		x->counts.foreign++;
		return;
	}
	x->counts.packets++;
	switch (p.kind) {
	case PP_CLOCK_PING:
	case PP_CLOCK_HELLO:
	case PP_CLOCK_DONE:
	case PP_CLOCK_LEAVE:
		round_packet(x, &p, tick);
		break;
	case PP_CLOCK_GRANT:
		granted(x, &p);
		break;
	case PP_CLOCK_PONG:
		answered(x, &p, tick);
		break;
	}
}

void pp_clock_exchange_due(struct pp_clock_exchange *x)
{
	int64_t now = pp_clock_exchange_now_ns(x);

	if (x->turn && now >= x->turn_end_ns) {
		x->counts.lost += (uint64_t)x->waits;
		end_turn(x);
	} else if (x->turn && x->waits && now >= x->ping_end_ns) {
		x->counts.lost++;
		x->patience_ns *= 2;
		ping(x);
	}
	if (now >= x->hello_ns) {
		struct pp_clock_packet hello = {.kind = PP_CLOCK_HELLO};

		x->hello_ns = now + x->hello_wait_ns;
		if (x->hello_wait_ns < HELLO_LONGEST * x->o.hello_ns)
			x->hello_wait_ns *= 2;
		say(x, &hello, x->o.parent);
	}
	round_due(x, now);
}

int64_t pp_clock_exchange_next_ns(const struct pp_clock_exchange *x)
{
	int64_t next = round_next_ns(x);

	if (x->turn && x->turn_end_ns < next)
		next = x->turn_end_ns;
	if (x->turn && x->waits && x->ping_end_ns < next)
		next = x->ping_end_ns;
	return x->hello_ns < next ? x->hello_ns : next;
}

int pp_clock_exchange_busy(const struct pp_clock_exchange *x)
{
	return x->turn || x->round;
}
