/* When the clocks of a job's hosts are compared: the leader's rounds, and what both roles share. Called by the other files of the
 * pod. In: hosts that join (pod_tree.c), windows that open and close. Out: rounds of clock_link.h. The follower's part is
 * pod_clock_follow.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "aggregate/keeper/cluster/pod_private.h"
#include "aggregate/keeper/control.h"
#include "aggregate/session/close.h"
#include "core/base/now.h"

enum {
	EVERY_MS = 5000, /* between two rounds while a window is open */
	LOOK_MS = 20,    /* between two looks at who records */
	END_MS = 100,    /* a window's shares wait so long for its last round, and TURN_MS for each turn, MOST_MS at most */
	TURN_MS = 8,
	MOST_MS = 1000
};

int pp_pod_clock_open(struct pp_pod *p)
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

void pp_pod_clock_close(struct pp_pod *p)
{
	pp_clock_link_free(p->clock.link);
	p->clock.link = NULL;
}

void pp_pod_clock_lead(struct pp_pod *p)
{
	struct pp_clock_exchange_options o = {.more = PP_NET_PEERS};
	struct pp_err err = {""};

	if (p->clock.link || getrandom(p->clock.key, sizeof(p->clock.key), 0) != sizeof(p->clock.key) || pp_pod_clock_open(p))
		return;
	memcpy(o.key, p->clock.key, sizeof(o.key));
	if (!pp_clock_link_join(p->clock.link, &o, NULL, 0, 0, &err))
		return;
	pp_keeper_log("%s", err.text);
	pp_pod_clock_end(p);
}

void pp_pod_clock_end(struct pp_pod *p)
{
	pp_pod_clock_close(p);
	pp_pieces_release(&p->clock.above);
	explicit_bzero(&p->clock, sizeof(p->clock));
}

void pp_pod_clock_want(struct pp_pod *p)
{
	p->clock.wanted |= p->clock.domains > 0;
}

/* Does any rank of the job record? Then a window is open. */
static int is_recording(const struct pp_pod *p)
{
	const struct pp_rings *r = p->o.job->view->rings;

	for (size_t i = 0; i < pp_rings_count(r); i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);

		if (atomic_load_explicit(&h->recording, memory_order_relaxed) &&
		    atomic_load_explicit(&h->state, memory_order_relaxed) != PP_RANK_ENDING)
			return 1;
	}
	for (size_t i = 0; i < p->ranks; i++)
		if (p->rank[i].recording && !p->rank[i].gone)
			return 1;
	return 0;
}

static void look_at_windows(struct pp_pod *p, int64_t now)
{
	int was_open = p->clock.is_open;

	if (now - p->clock.look_ms < LOOK_MS)
		return;
	p->clock.look_ms = now;
	p->clock.is_open = is_recording(p);
	if (p->clock.is_open && !was_open)
		pp_pod_clock_want(p);
}

static int is_due(const struct pp_pod_clock *c, const struct pp_clock_link_state *state, int64_t now)
{
	return c->wanted || state->heard > c->heard || (c->join_ms && now >= c->join_ms) ||
	       (c->domains && c->is_open && now - c->round_ms >= EVERY_MS);
}

static void lead(struct pp_pod *p)
{
	struct pp_pod_clock *c = &p->clock;
	struct pp_clock_link_state state;
	int64_t now = pp_now_ms();
	int was_busy = c->busy;

	pp_pod_tree_run(p);
	look_at_windows(p, now);
	pp_clock_link_state(c->link, &state);
	if (was_busy && !state.busy)
		pp_pod_tree_look(p);
	c->busy = state.busy;
	c->wanted &= state.children > 0;
	if (state.busy || !state.children || !is_due(c, &state, now) || pp_clock_link_start(c->link, c->round + 1))
		return;
	c->round++;
	pp_pod_tree_call(p);
	c->heard = state.heard;
	c->join_ms = c->join_ms && now >= c->join_ms ? 0 : c->join_ms;
	c->round_ms = now;
	c->wanted = 0;
	c->busy = 1;
}

int pp_pod_clock_is_settled(struct pp_pod *p, int64_t since_ms)
{
	int64_t limit = END_MS + TURN_MS * (int64_t)pp_pod_tree_turns(p);

	if (!p->clock.link)
		return 1;
	lead(p);
	return (!p->clock.wanted && !p->clock.busy && !pp_pod_tree_waits(p)) ||
	       pp_now_ms() - since_ms > (limit < MOST_MS ? limit : MOST_MS);
}

void pp_pod_clock_run(struct pp_pod *p)
{
	if (!p->clock.link)
		p->clock.due = 0;
	else if (p->state == PP_POD_LISTENING)
		lead(p);
	else
		pp_pod_clock_follow(p);
}
