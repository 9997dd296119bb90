/* A domain as a child: hello, turn, pings, band; packets in and the time. clock_round.c is the parent. Called by clock_link.c. */
#include "aggregate/keeper/clock/clock_exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/clock/clock_private.h"

enum {
	FIRST_PATIENCE_NS = 5000000,
	LEAST_PATIENCE_NS = 1000000,
	HELLO_LONGEST = 32, /* times the first wait */
	SAME_NS = 1000000   /* an interval of offsets that is wider says nothing */
};

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
	rc = pp_clock_round_init(x, o, err);
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

int64_t pp_clock_ns_of(const struct pp_clock_exchange *x, int64_t tick)
{
	return (int64_t)((double)tick / x->o.ticks_per_ns);
}

int64_t pp_clock_exchange_now_ns(const struct pp_clock_exchange *x)
{
	return pp_clock_ns_of(x, x->ops->tick(x->ctx));
}

void pp_clock_say(struct pp_clock_exchange *x, struct pp_clock_packet *p, uint32_t to)
{
	uint8_t bytes[PP_CLOCK_PACKET];

	p->from = x->o.self;
	p->to = to;
	pp_clock_packet_write(p, x->o.key, bytes);
	x->ops->send(x->ctx, to, bytes);
}

void pp_clock_exchange_leave(struct pp_clock_exchange *x)
{
	struct pp_clock_packet p = {.kind = PP_CLOCK_LEAVE};

	if (x->o.parent == x->o.self)
		return;
	x->turn = x->waits = 0;
	x->hello_ns = INT64_MAX;
	pp_clock_say(x, &p, x->o.parent);
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

	if (x->turn && !x->came) /* to the parent we have left, maybe: it granted before it heard of us again */
		x->hello_ns = pp_clock_exchange_now_ns(x);
	x->turn = x->waits = 0;
	x->group = NULL;
	pp_clock_say(x, &done, x->o.parent);
	if (x->children)
		pp_clock_round_start(x, x->turn_sync);
}

static void ping(struct pp_clock_exchange *x)
{
	struct pp_clock_packet p = {.kind = PP_CLOCK_PING, .sync = x->turn_sync, .sequence = ++x->sequence};

	x->waits = 1;
	p.t1 = x->ops->tick(x->ctx);
	x->ping_end_ns = pp_clock_ns_of(x, p.t1) + x->patience_ns;
	pp_clock_say(x, &p, x->o.parent);
}

/* The parent's rate stands in its grant: without it the band would not know which rates are possible. */
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
	if (p->sync == x->turn_sync) { /* our word that we are done was lost */
		struct pp_clock_packet done = {.kind = PP_CLOCK_DONE, .sync = x->turn_sync, .count = x->came};

		pp_clock_say(x, &done, x->o.parent);
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
		trip_ns = pp_clock_ns_of(x, tick - p->t1); /* stamps of a trip that is possible are near one another */
		if (trip_ns > 0 && 4 * trip_ns < x->patience_ns)
			x->patience_ns = 4 * trip_ns > LEAST_PATIENCE_NS ? 4 * trip_ns : LEAST_PATIENCE_NS;
	}
	if (p->sequence != x->sequence)
		return; /* a late one; the ping that is under way goes on */
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
		pp_clock_round_packet(x, &p, tick);
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
		pp_clock_say(x, &hello, x->o.parent);
	}
	pp_clock_round_due(x, now);
}

int64_t pp_clock_exchange_next_ns(const struct pp_clock_exchange *x)
{
	int64_t next = pp_clock_round_next_ns(x);

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
