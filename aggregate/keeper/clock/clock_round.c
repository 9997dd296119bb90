/* A domain as a parent: turns of its children, one after another. Called by clock_exchange.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/clock/clock_private.h"

enum { GRANT_AGAIN_NS = 4000000, GIVEN_UP = 2 };

int pp_clock_round_init(struct pp_clock_exchange *x, const struct pp_clock_exchange_options *o, struct pp_err *err)
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

/* Most packets are of the child that is in turn. */
static struct pp_clock_child *child_of(struct pp_clock_exchange *x, uint32_t domain)
{
	if (x->current < x->children && x->child[x->current].domain == domain)
		return &x->child[x->current];
	for (size_t i = 0; i < x->children; i++)
		if (x->child[i].domain == domain)
			return &x->child[i];
	return NULL;
}

/* Behind all others: in the round that runs its turn comes too. */
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
	pp_clock_say(x, &p, c->domain);
}

/* Turns are given until one is to be waited for. Who did not answer twice is told of the round too, but the next one comes on. */
static void next_turn(struct pp_clock_exchange *x, int64_t now_ns)
{
	while (x->current < x->children) {
		struct pp_clock_child *c = &x->child[x->current];

		if (c->left) {
			x->current++;
			continue;
		}
		grant(x, c, now_ns);
		if (c->heard && c->missed < GIVEN_UP) {
			c->state = PP_CHILD_TURN;
			x->given_ns = now_ns;
			x->heard_ns = INT64_MIN;
			return;
		}
		c->state = PP_CHILD_MISSED;
		x->current++;
	}
	x->round = 0;
	x->round_took_ns = now_ns - x->round_began_ns;
}

static void end_turn(struct pp_clock_exchange *x, enum pp_clock_child_state state, int64_t now_ns)
{
	struct pp_clock_child *c = &x->child[x->current++];

	c->state = state;
	c->took_ns = now_ns - x->given_ns;
	c->missed = state == PP_CHILD_DONE ? 0 : c->missed + 1;
	next_turn(x, now_ns);
}

void pp_clock_round_start(struct pp_clock_exchange *x, uint64_t sync)
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
	pp_clock_round_start(x, sync);
	return 0;
}

void pp_clock_round_packet(struct pp_clock_exchange *x, const struct pp_clock_packet *p, int64_t tick)
{
	struct pp_clock_child *c = child_of(x, p->from);

	if (!c && p->kind == PP_CLOCK_HELLO)
		c = adopt(x, p->from);
	if (!c || (c->left && p->kind != PP_CLOCK_HELLO))
		return;
	c->heard = 1;
	c->left = p->kind == PP_CLOCK_LEAVE;
	if (c->left && c->state == PP_CHILD_TURN)
		end_turn(x, PP_CHILD_DONE, pp_clock_exchange_now_ns(x));
	if (p->kind == PP_CLOCK_PING) {
		struct pp_clock_packet pong = *p;

		pong.kind = PP_CLOCK_PONG;
		pong.t2 = tick;
		pong.t3 = x->ops->tick(x->ctx);
		pp_clock_say(x, &pong, p->from);
	}
	if (c->state != PP_CHILD_TURN)
		c->missed = 0; /* it lives: in the next round it is waited for */
	else if (p->kind == PP_CLOCK_PING && p->sync == x->round_sync)
		x->heard_ns = pp_clock_ns_of(x, tick);
	if (p->kind != PP_CLOCK_DONE || p->sync != x->round_sync || !x->round)
		return;
	if (c->state == PP_CHILD_TURN) {
		c->trips += p->count;
		end_turn(x, PP_CHILD_DONE, pp_clock_exchange_now_ns(x));
	} else if (c->state == PP_CHILD_MISSED && p->count) {
		c->trips += p->count;
		c->state = PP_CHILD_DONE;
	}
}

/* When the turn that runs is lost. */
static int64_t lost_ns(const struct pp_clock_exchange *x)
{
	int64_t silent = (x->heard_ns > x->given_ns ? x->heard_ns : x->given_ns) + x->o.answer_ns;
	int64_t over = x->given_ns + x->o.budget_ns + x->o.answer_ns;

	return silent < over ? silent : over;
}

void pp_clock_round_due(struct pp_clock_exchange *x, int64_t now_ns)
{
	if (!x->round)
		return;
	if (now_ns >= lost_ns(x))
		end_turn(x, PP_CHILD_MISSED, now_ns);
	else if (x->heard_ns < x->given_ns && now_ns >= x->granted_ns + GRANT_AGAIN_NS)
		grant(x, &x->child[x->current], now_ns);
}

int64_t pp_clock_round_next_ns(const struct pp_clock_exchange *x)
{
	int64_t next;

	if (!x->round)
		return INT64_MAX;
	next = lost_ns(x);
	if (x->heard_ns < x->given_ns && x->granted_ns + GRANT_AGAIN_NS < next)
		next = x->granted_ns + GRANT_AGAIN_NS;
	return next;
}
