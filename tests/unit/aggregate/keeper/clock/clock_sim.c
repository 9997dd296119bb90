/* Virtual hosts; see clock_sim.h. Called by tests and benches. */
#include "tests/unit/aggregate/keeper/clock/clock_sim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock/band_solve.h"
#include "core/clock/pieces_make.h"
#include "core/clock/tree.h"

enum { READ_NS = 20 };

double sim_random(struct sim *s)
{
	s->state ^= s->state >> 12;
	s->state ^= s->state << 25;
	s->state ^= s->state >> 27;
	return (double)((s->state * 2685821657736338717ull) >> 11) / 9007199254740992.0;
}

int64_t sim_between(struct sim *s, int64_t low, int64_t high)
{
	return low + (int64_t)(sim_random(s) * (double)(high - low));
}

int64_t sim_tick(const struct sim_clock *c, int64_t true_ns)
{
	long double t = true_ns, shown = c->offset_ns + t * (1 + (long double)c->drift);

	if (c->period_ns > 0) {
		long double turn = 2 * (long double)M_PI / c->period_ns;

		shown += c->sway / turn * (cosl(c->phase) - cosl(turn * t + c->phase));
	}
	if (c->bend_ns && true_ns > c->bend_ns)
		shown += (t - c->bend_ns) * c->bend;
	if (c->step_ns && true_ns > c->step_ns)
		shown += c->step;
	return (int64_t)floorl(shown * c->rate);
}

static int earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void push(struct sim *s, struct sim_event *e)
{
	size_t i = s->events++;

	if (s->events > s->room) {
		s->room = 2 * s->room + 64;
		s->event = realloc(s->event, s->room * sizeof(*s->event));
		if (!s->event)
			abort();
	}
	e->order = s->order++;
	for (; i && earlier(e, &s->event[(i - 1) / 2]); i = (i - 1) / 2)
		s->event[i] = s->event[(i - 1) / 2];
	s->event[i] = *e;
}

static struct sim_event pop(struct sim *s)
{
	struct sim_event first = s->event[0], last = s->event[--s->events];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->events) {
		if (child + 1 < s->events && earlier(&s->event[child + 1], &s->event[child]))
			child++;
		if (!earlier(&s->event[child], &last))
			break;
		s->event[i] = s->event[child];
		i = child;
	}
	if (s->events)
		s->event[i] = last;
	return first;
}

static int64_t tick(void *ctx)
{
	struct sim_host *h = ctx;

	h->sim->now += READ_NS;
	return sim_tick(&h->clock, h->sim->now);
}

/* A path belongs to the child: packets of its parent use it downwards. */
static void send_packet(void *ctx, uint32_t to, const uint8_t *packet)
{
	struct sim_host *h = ctx;
	struct sim *s = h->sim;
	int up = h->x.o.parent == to && h->x.o.self != to;
	const struct sim_path *path = up ? &h->path : &s->host[to].path;
	int turned = path->turn_ns && s->now > path->turn_ns;
	double delay = (up != turned ? path->up : path->down) - path->jitter * log(1 - sim_random(s));
	struct sim_event e = {.host = to, .is_packet = 1};

	s->sent++;
	if (sim_random(s) < path->loss)
		return;
	if (sim_random(s) < path->stall_part)
		delay += path->stall * sim_random(s);
	e.at = s->now + (int64_t)delay;
	memcpy(e.packet, packet, sizeof(e.packet));
	push(s, &e);
}

static const struct pp_clock_ops ops = {.tick = tick, .send = send_packet};

int sim_open(struct sim *s, uint32_t hosts, uint64_t seed)
{
	*s = (struct sim){.hosts = hosts, .state = seed * 2654435769u + 88172645463325252ull, .handle_ns = 1000};
	s->host = calloc(hosts, sizeof(*s->host));
	for (uint32_t i = 0; s->host && i < hosts; i++) {
		s->host[i].sim = s;
		s->host[i].clock.rate = 1;
	}
	return s->host ? 0 : -ENOMEM;
}

static void wake_at(struct sim *s, uint32_t host)
{
	struct sim_host *h = &s->host[host];
	int64_t next = pp_clock_exchange_next_ns(&h->x), shown = (int64_t)((double)sim_tick(&h->clock, s->now) / h->clock.rate);
	struct sim_event e = {.host = host};

	if (next == INT64_MAX)
		return;
	e.at = s->now + (next > shown ? next - shown : 0) + 1000;
	if (h->due_ns > s->now && h->due_ns <= e.at)
		return;
	h->due_ns = e.at;
	push(s, &e);
}

int sim_connect(struct sim *s, uint16_t count)
{
	uint32_t *child = calloc(s->hosts + 1, sizeof(*child));
	int rc = child ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < s->hosts && !rc; i++) {
		struct pp_clock_exchange_options o = {.self = i, .child = child, .count = count, .hello_ns = (int64_t)3600e9};

		o.parent = i ? (uint32_t)pp_tree_parent(i, s->hosts) : 0;
		o.ticks_per_ns = s->host[i].clock.rate;
		for (uint32_t k = 1; k < s->hosts; k++)
			if (k != i && (i == 0 || i <= pp_tree_hubs(s->hosts)) && pp_tree_parent(k, s->hosts) == i)
				child[o.children++] = k;
		rc = pp_clock_exchange_init(&s->host[i].x, &o, &ops, &s->host[i], NULL);
	}
	free(child);
	for (uint32_t i = 1; i < s->hosts && !rc; i++)
		wake_at(s, i); /* hello */
	sim_run(s, s->now + 20000000);
	return rc;
}

void sim_close(struct sim *s)
{
	for (uint32_t i = 0; i < s->hosts; i++)
		pp_clock_exchange_release(&s->host[i].x);
	free(s->host);
	free(s->event);
}

/* When the host can look at what came now: it may be stopped, or at work on another packet. */
static int64_t can_look(const struct sim_host *h, int64_t at)
{
	if (h->go_ns && at >= h->stop_ns && at < h->go_ns)
		at = h->go_ns;
	return at > h->free_ns ? at : h->free_ns;
}

static void one_event(struct sim *s)
{
	struct sim_event e = pop(s);
	struct sim_host *h = &s->host[e.host];
	int64_t look = can_look(h, e.at);

	if (h->dead)
		return;
	if (look > e.at) {
		e.at = look;
		push(s, &e);
		return;
	}
	s->now = e.at;
	if (e.is_packet) {
		s->now += (int64_t)(-s->handle_ns * log(1 - sim_random(s)));
		pp_clock_exchange_packet(&h->x, e.packet, sizeof(e.packet), tick(h));
	}
	pp_clock_exchange_due(&h->x);
	h->free_ns = s->now;
	wake_at(s, e.host);
}

void sim_run(struct sim *s, int64_t until)
{
	while (s->events && s->event[0].at <= until)
		one_event(s);
	s->now = until > s->now ? until : s->now;
}

static int busy(const struct sim *s)
{
	for (uint32_t i = 0; i <= pp_tree_hubs(s->hosts); i++)
		if (s->host[i].x.round && !s->host[i].dead && !s->host[i].go_ns)
			return 1;
	return 0;
}

int64_t sim_round(struct sim *s, uint64_t sync, int64_t most_ns)
{
	int64_t begin = s->now, end = begin;

	if (pp_clock_exchange_start(&s->host[0].x, sync))
		return -1;
	wake_at(s, 0);
	while (s->events && s->event[0].at <= begin + most_ns && busy(s)) {
		one_event(s);
		end = s->now;
	}
	return end - begin;
}

int sim_pieces(struct sim *s, uint32_t host, int64_t beyond, struct pp_pieces *ret, struct pp_err *err)
{
	struct pp_clock_exchange *x = &s->host[host].x;
	struct pp_pieces own, up;
	int64_t hub;
	int rc = x->has_band ? pp_band_solve(&x->band, err) : -ENODATA;

	if (rc)
		return rc;
	if (x->o.parent == 0)
		return pp_pieces_of_band(&x->band, beyond, ret, err);
	hub = (int64_t)((double)(2 * beyond) * s->host[x->o.parent].clock.rate / s->host[host].clock.rate);
	rc = sim_pieces(s, x->o.parent, hub, &up, err);
	if (rc)
		return rc;
	rc = pp_pieces_of_band(&x->band, beyond, &own, err);
	if (!rc) {
		rc = pp_pieces_join(&own, &up, ret, err);
		pp_pieces_release(&own);
	}
	pp_pieces_release(&up);
	return rc;
}
