/* The clocks of a job's hosts: who compares his with rank 0's, when, and what a follower's ticks are in the leader's. Called by the
 * other files of the pod. In: keepers that join, windows that close. Out: rounds of clock_link.h, chains of lines. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "aggregate/keeper/close.h"
#include "aggregate/keeper/control.h"
#include "aggregate/keeper/pod_private.h"
#include "core/base/now.h"

enum {
	EVERY_MS = 5000, /* between two rounds */
	END_MS = 100,    /* a window's shares wait so long for its last round */
	BEYOND_S = 3600  /* before the first and behind the last burst */
};

static int open_link(struct pp_pod *p)
{
	struct pp_clock_link_options o = {.kind = pp_close_tick_kind(p->o.job->view->rings)};
	struct pp_clock_pair a, b;
	struct timespec pause = {.tv_nsec = 5000000};
	struct pp_err err = {""};

	o.port_first = p->o.settings->port_first;
	o.port_last = p->o.settings->port_last;
	pp_clock_read_pair(o.kind, &a);
	nanosleep(&pause, NULL);
	pp_clock_read_pair(o.kind, &b);
	o.ticks_per_ns = pp_clock_rate(o.kind, &a, &b);
	p->clock.ticks_per_ns = o.ticks_per_ns;
	if (!pp_clock_link_open(&o, &p->clock.link, &err))
		return 0;
	pp_keeper_log("%s", err.text);
	return -ENOTCONN;
}

static void take_place(struct pp_pod *p, const struct pp_clock_exchange_options *o, const char *const *address, size_t addresses,
                       uint16_t port)
{
	struct pp_err err = {""};

	if (!pp_clock_link_join(p->clock.link, o, address, addresses, port, &err))
		return;
	pp_keeper_log("%s", err.text);
	pp_pod_clock_end(p);
}

void pp_pod_clock_lead(struct pp_pod *p)
{
	struct pp_clock_exchange_options o = {.children = PP_NET_PEERS};
	uint32_t child[PP_NET_PEERS];

	if (p->clock.link || getrandom(p->clock.key, sizeof(p->clock.key), 0) != sizeof(p->clock.key) || open_link(p))
		return;
	for (uint32_t i = 0; i < PP_NET_PEERS; i++)
		child[i] = i + 1;
	o.child = child;
	memcpy(o.key, p->clock.key, sizeof(o.key));
	take_place(p, &o, NULL, 0, 0);
}

void pp_pod_clock_invite(struct pp_pod *p, int peer, int same)
{
	struct pp_wire m = {.kind = PP_WIRE_COMPARE};
	struct pp_err err = {""};

	if (!p->clock.link)
		return;
	m.compare = (struct pp_wire_compare){(uint32_t)peer + 1, pp_clock_link_port(p->clock.link), p->clock.key,
	                                     sizeof(p->clock.key), same};
	p->clock.others |= !same;
	if (pp_net_send(p->net, peer, &m, &err))
		pp_keeper_log("host '%s' does not compare its clock: %s", p->peer[peer].name, err.text);
}

void pp_pod_clock_take(struct pp_pod *p, const struct pp_wire_compare *c)
{
	struct pp_clock_exchange_options o = {.self = c->domain, .same = c->same};
	const char *address[PP_NET_ADDRESSES];

	if (p->clock.link || !c->domain || open_link(p))
		return;
	for (size_t i = 0; i < p->invite.addresses; i++)
		address[i] = p->invite.address[i];
	p->clock.same = c->same;
	memcpy(o.key, c->key, sizeof(o.key));
	take_place(p, &o, address, p->invite.addresses, (uint16_t)c->port);
}

void pp_pod_clock_end(struct pp_pod *p)
{
	pp_clock_link_free(p->clock.link);
	explicit_bzero(&p->clock, sizeof(p->clock));
}

void pp_pod_clock_want(struct pp_pod *p)
{
	p->clock.wanted = p->clock.others;
	pp_pod_clock_run(p);
}

void pp_pod_clock_run(struct pp_pod *p)
{
	struct pp_clock_link_state state;
	int64_t now = pp_now_ms();

	if (!p->clock.link)
		return;
	pp_clock_link_state(p->clock.link, &state);
	/* One clock, as both had said: nothing is left to compare, and no port is held for it. */
	if (p->clock.same && !state.busy && pp_same_clock_verdict(&state.same, INT64_MAX) == PP_SAME_POSSIBLE)
		pp_pod_clock_end(p);
	if (p->state != PP_POD_LISTENING)
		return;
	p->clock.busy = state.busy;
	if (state.busy || !state.heard ||
	    (!p->clock.wanted && state.heard <= p->clock.heard && (!p->clock.others || now - p->clock.round_ms < EVERY_MS)))
		return;
	if (pp_clock_link_start(p->clock.link, ++p->clock.round))
		return;
	p->clock.heard = state.heard;
	p->clock.round_ms = now;
	p->clock.wanted = 0;
	p->clock.busy = 1;
}

int pp_pod_clock_is_settled(struct pp_pod *p, int64_t since_ms)
{
	pp_pod_clock_run(p);
	return (!p->clock.wanted && !p->clock.busy) || pp_now_ms() - since_ms > END_MS;
}

int pp_pod_clock_is_false(struct pp_pod *p)
{
	struct pp_clock_link_state state;

	if (!p->clock.link)
		return 0;
	pp_clock_link_state(p->clock.link, &state);
	return pp_same_clock_verdict(&state.same, INT64_MAX) == PP_SAME_FALSE;
}

/* Of the last burst's line, by our tick's rate since the keeper began. */
static int64_t drift_of(const struct pp_pod *p, const struct pp_pieces *pieces)
{
	const struct pp_clock_piece *last = &pieces->piece[pieces->pieces > 1 ? pieces->pieces - 2 : 0];
	struct pp_clock_pair now;

	pp_clock_read_pair(pp_close_tick_kind(p->o.job->view->rings), &now);
	return (int64_t)(((double)last->num / (double)((int64_t)1 << PP_PIECE_SHIFT) *
	                          pp_clock_rate(pp_close_tick_kind(p->o.job->view->rings), p->o.job->first, &now) -
	                  1) *
	                 1e9);
}

int pp_pod_clock_pieces(struct pp_pod *p, struct pp_clock_map *leader, struct pp_pieces *ret, struct pp_err *err)
{
	int64_t beyond = (int64_t)(BEYOND_S * 1e9 * p->clock.ticks_per_ns);
	struct pp_pieces own = {0}, line = {0};
	int64_t from, to;
	int rc;

	if (!p->clock.link)
		return pp_err_set(err, -ENODATA, "the clock was not compared: no exchange with rank 0's keeper");
	rc = pp_clock_link_pieces(p->clock.link, beyond, &own, err);
	if (rc)
		return rc;
	from = own.piece[0].y;
	to = pp_pieces_map(&own, own.end);
	if (from < 0)
		from = 0;
	rc = pp_pieces_of_map(leader, (pp_tick)from, (pp_tick)to, &line, err);
	if (!rc)
		rc = pp_pieces_join(&own, &line, ret, err);
	if (!rc)
		leader->drift_ppb = drift_of(p, ret);
	pp_pieces_release(&own);
	pp_pieces_release(&line);
	return rc;
}
