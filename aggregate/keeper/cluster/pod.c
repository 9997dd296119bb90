/* Decides a keeper's role among the keepers of several hosts, takes their turns and ends them. See pod.h. Called by keeper.c. */
#include "aggregate/keeper/cluster/pod.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/cluster/pod_clock.h"
#include "aggregate/keeper/cluster/pod_gather.h"
#include "aggregate/keeper/cluster/pod_pairs.h"
#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/keeper/cluster/pod_request.h"
#include "aggregate/keeper/cluster/pod_share.h"
#include "aggregate/keeper/cluster/pod_state.h"
#include "aggregate/keeper/cluster/pod_transport.h"
#include "aggregate/keeper/cluster/pod_tree.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/ranks.h"
#include "core/base/hash.h"
#include "core/base/now.h"
#include "core/base/plain.h"
#include "core/base/proc.h"

enum {
	RINGS_MS = 2000, /* limit for further ranks of this keeper to arrive */
	SEARCH_MS = 20,
	CALLING_MS = 200,
	LATE_MS = 30000, /* after the first ring: an invitation is not expected any more */
	ASKED_MS = 2000,
	EVENTS = 256, /* in one turn */
};

const char *pp_pod_why(struct pp_pod *p)
{
	if (!p)
		return "";
	pp_pod_describe(p, p->described, sizeof(p->described));
	return p->described;
}

/* A host's name is untrusted: messages must not contain control bytes, session names no slash. */
static void tame(char *host)
{
	for (char *p = pp_plain(host, ""); *p; p++)
		*p = (char)(*p == '/' ? '_' : *p);
}

int pp_pod_new(const struct pp_pod_options *o, struct pp_pod **ret_pod)
{
	struct pp_pod *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->begin_ms = pp_now_ms();
	p->gather.fd = p->share.fd = p->share.writer.fd = -1;
	gethostname(p->host, sizeof(p->host) - 1);
	tame(p->host);
	*ret_pod = p;
	return 0;
}

int pp_pod_begin(struct pp_pod *p, int leads, pp_pod_watcher *watch, void *context, struct pp_err *err)
{
	int rc = leads ? pp_pod_listen(p, err) : 0;

	p->watch = watch;
	p->watch_context = context;
	if (!rc)
		rc = pp_pod_clock_open(p, err);
	if (!rc && leads)
		return pp_pod_clock_lead(p, err);
	p->rings_ms = p->begin_ms;
	p->state = rc ? PP_POD_ISOLATED : PP_POD_SEARCHING;
	return rc;
}

void pp_pod_send(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	if (p->star.net)
		pp_net_send(p->star.net, peer, m, NULL);
}

void pp_pod_free(struct pp_pod *p)
{
	if (!p)
		return;
	pp_pod_withdraw(p);
	pp_pod_rendezvous_end(p);
	pp_pod_gather_end(p);
	pp_pod_share_end(p);
	pp_pod_clock_end(p);
	pp_pod_tree_end(p);
	/* A host may be starved of CPU now; ranks do not wait for this. */
	pp_star_leave(&p->star, "this host is done", pp_star_silence_ms() / 2);
	free(p->rank);
	free(p->rank_peer);
	free(p->mine);
	explicit_bzero(p, sizeof(*p));
	free(p);
}

enum pp_pod_role pp_pod_role(const struct pp_pod *p)
{
	if (!p)
		return PP_POD_ALONE;
	if (p->state == PP_POD_LISTENING)
		return PP_POD_LEADER;
	return p->state == PP_POD_SEARCHING || p->state == PP_POD_CALLING || p->state == PP_POD_JOINED ? PP_POD_FOLLOWER
	                                                                                               : PP_POD_ALONE;
}

const char *pp_pod_session(const struct pp_pod *p)
{
	return p && p->session[0] ? p->session : NULL;
}

uint64_t pp_pod_windows_done(const struct pp_pod *p)
{
	return p ? p->windows_done : 0;
}

void pp_pod_set_windows_done(struct pp_pod *p, uint64_t number)
{
	if (p && number > p->windows_done)
		p->windows_done = number;
}

int pp_pod_is_done(const struct pp_pod *p)
{
	return p && p->is_done;
}

int pp_pod_is_sharing(const struct pp_pod *p)
{
	return p && p->share.active;
}

static void name_own_session(struct pp_pod *p)
{
	const struct pp_settings *s = p->o.settings;

	if (pp_pod_role(p) == PP_POD_FOLLOWER)
		snprintf(p->session, sizeof(p->session), "%.120s-%.70s", s->session[0] ? s->session : s->job, p->host);
}

/* FOLLOWER. The leader is silent: this keeper continues alone, with what a leader that was only slow finds as it was. */
static void sever(struct pp_pod *p)
{
	name_own_session(p);
	p->state = PP_POD_SEVERED;
	p->news = 1;
}

/* No other host is reached any more: this keeper continues alone. */
static void part(struct pp_pod *p)
{
	name_own_session(p);
	pp_pod_share_end(p);
	pp_pod_clock_end(p);
	pp_star_close(&p->star);
	p->state = PP_POD_ISOLATED;
	p->news = 1;
}

/* 1: this keeper has rank 0; 0: all of its ranks are here, or none has arrived for RINGS_MS; -1: not known yet. */
static int has_zero(struct pp_pod *p, int *ret_size)
{
	struct pp_spool_view *v = p->o.job->view;
	int expected = pp_ranks_expected(v), seen = pp_ranks_seen(v), zero = 0;

	*ret_size = 0;
	for (size_t i = 0; i < pp_spool_count(v); i++) {
		const struct pp_ring_header *h = pp_spool_header(v, i);

		zero |= h->rank == 0;
		if (h->size > *ret_size)
			*ret_size = h->size;
	}
	for (size_t i = 0; i < v->runs; i++)
		zero |= v->run[i].file.rank == 0;
	if (zero)
		return 1;
	if (expected > 0 && (seen >= expected || (int)v->runs >= expected))
		return 0;
	return pp_now_ms() - p->rings_ms > RINGS_MS ? 0 : -1;
}

/* A PID namespace of its own. */
static int in_container(void)
{
	uint32_t space = pp_proc_pid_space();

	return space && space != PP_PID_SPACE_FIRST;
}

static int spans(const struct pp_pod *p)
{
	int zero = pp_pod_zero(p);
	const struct pp_ring_header *h = zero >= 0 ? pp_rings_header(p->o.job->rings, (size_t)zero) : NULL;

	if (!h || h->size < 2)
		return 0;
	if (h->size > h->local_size && h->local_size > 0)
		return 1;
	/* One host to the launcher may be several containers, with a keeper each. */
	if (pp_now_ms() - p->rings_ms > RINGS_MS && !pp_pod_is_complete(p) && (h->local_size <= 0 || in_container()))
		return 1;
	return pp_ring_net_wanted(h) != 0;
}

static void lead(struct pp_pod *p)
{
	struct pp_err err = {""};

	if (pp_pod_listen(p, &err)) {
		part(p);
		pp_pod_say_why(p, "%s: each host has a session of its own. Give a wider --port-range", err.text);
		return;
	}
	if (pp_pod_clock_lead(p, &err))
		pp_keeper_log("%s", err.text);
	pp_keeper_log("leads: listens on port %u", (unsigned)p->star.invite.port);
	pp_pod_publish(p, &err);
}

static void decide(struct pp_pod *p)
{
	int size, zero;

	if (!pp_rings_count(p->o.job->rings))
		return;
	if (!p->rings_ms) {
		p->rings_ms = pp_now_ms();
		snprintf(p->host, sizeof(p->host), "%.71s", pp_rings_header(p->o.job->rings, 0)->host);
		tame(p->host);
	}
	if (pp_pod_zero(p) >= 0) {
		p->state = PP_POD_HERE;
		if (spans(p))
			lead(p);
		return;
	}
	zero = has_zero(p, &size);
	if (pp_ranks_launched(p->o.job->view)) /* rank 0 runs here, and is not profiled */
		return;
	if (size > 1 && (zero == 0 || pp_pod_is_invited(p)))
		p->state = PP_POD_SEARCHING;
}

/* Also called when all is over: a keeper without CPU time until then sees its first and last ring at once. */
static void take_role(struct pp_pod *p)
{
	if (p->state == PP_POD_UNDECIDED)
		decide(p);
	else if (p->state == PP_POD_HERE && spans(p))
		lead(p);
	else if (p->state == PP_POD_SEARCHING && pp_pod_zero(p) >= 0) { /* rank 0 arrived here after other ranks of this host */
		p->state = PP_POD_HERE;
		p->why[0] = '\0';
	}
}

/* Tells `podprof capture` which keepers of this node serve one request together. */
static void publish_pod(const struct pp_pod *p)
{
	int is_in = p->state == PP_POD_LISTENING || p->state == PP_POD_JOINED;

	if (p->o.control)
		pp_control_set_pod(p->o.control, is_in ? (uint32_t)pp_hash_text(p->star.invite.server_public) | 1 : 0);
}

static void joined(struct pp_pod *p, const struct pp_net_event *e)
{
	if (p->state == PP_POD_LISTENING) {
		pp_pod_take_peer(p, e->peer, &e->message->hello);
		pp_pod_resend_request(p, e->peer);
		return;
	}
	p->state = PP_POD_JOINED;
	p->states_ms = 0;
	publish_pod(p);
	if (p->o.job) {
		pp_pod_say_why(p, "reached rank 0's keeper on '%s', invited through %s", e->host,
		               pp_pod_transport_name(p->transport));
	} else {
		p->why[0] = '\0';
		pp_pod_clock_send_place(p);
	}
}

static void refused(struct pp_pod *p, const struct pp_net_event *e)
{
	char why[256];

	snprintf(why, sizeof(why), "%.200s", e->message ? e->message->hello_ack.refused : "");
	part(p);
	pp_pod_say_why(p, "rank 0's keeper refuses this host: %s", why);
}

static void left(struct pp_pod *p, const struct pp_net_event *e, int lost)
{
	int was_joined = p->state == PP_POD_JOINED || p->state == PP_POD_SEVERED;

	if (p->state == PP_POD_LISTENING) {
		pp_keeper_log("host '%s' %s", p->peer[e->peer].name, lost ? "no longer replied" : "has left");
		pp_pod_take_end(p, e->peer, lost);
		return;
	}
	if (!was_joined) {
		pp_keeper_log("rank 0's keeper does not reply at its invitation");
		pp_star_unreached(&p->star); /* another invitation may come, or it is only slow */
		p->state = PP_POD_SEARCHING;
		return;
	}
	if (p->o.job && lost && !e->message)
		sever(p);
	else
		part(p);
	if (!p->o.job)
		return;
	if (p->is_done)
		pp_pod_say_why(p, "rank 0's keeper %s: later captures cover this host only", lost ? "did not reply" : "has ended");
	else if (lost)
		pp_pod_say_why(p, "rank 0's keeper did not reply for %lld s: this host has a session of its own",
		               (long long)(pp_star_silence_ms() + 999) / 1000);
	else
		pp_pod_say_why(p, "rank 0's keeper left before the end: this host has a session of its own");
}

/* A host that was lost replies again: it has its rings, and its clock goes on being compared. */
static void back(struct pp_pod *p, const struct pp_net_event *e)
{
	if (!p->o.job)
		return;
	if (p->state == PP_POD_LISTENING) {
		pp_keeper_log("host '%s' replies again", p->peer[e->peer].name);
		pp_pod_take_back(p, e->peer, e->message);
		pp_pod_resend_request(p, e->peer);
	} else if (p->state == PP_POD_SEVERED) {
		p->state = PP_POD_JOINED;
		p->session[0] = '\0';
		p->states_ms = 0;
		p->news = 1;
		pp_pod_ring_request(p);
		publish_pod(p);
		pp_pod_say_why(p, "rank 0's keeper on '%s' replies again, invited through %s", e->host,
		               pp_pod_transport_name(p->transport));
	}
}

/* The leader's goodbye may follow at once. */
static void acknowledged(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	(void)peer;
	(void)m;
	pp_pod_share_finish(p);
}

static void take_clock(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	if (p->o.job)
		pp_pod_tree_take(p, peer, m);
	else
		pp_pod_pairs_take(p, peer, m);
}

/* Handles a message of `peer`. */
typedef void take_message(struct pp_pod *p, int peer, const struct pp_wire *m);

static const struct {
	take_message *leader, *follower; /* NULL: the message is not for this role */
} taker[PP_WIRE_KINDS] = {
        [PP_WIRE_HEARTBEAT] = {.leader = pp_pod_take_ranks, .follower = acknowledged},
        [PP_WIRE_REQUEST] = {.follower = pp_pod_take_request},
        [PP_WIRE_CLIENT_TEXT] = {.leader = pp_pod_take_line, .follower = pp_pod_take_line},
        [PP_WIRE_COMPARE] = {.follower = pp_pod_clock_take_place},
        [PP_WIRE_CLOCK] = {.leader = take_clock, .follower = pp_pod_clock_take_chain},
        [PP_WIRE_GATHER] = {.follower = pp_pod_share_begin},
        [PP_WIRE_BLOCK] = {.leader = pp_pod_take_piece},
        [PP_WIRE_FILE] = {.leader = pp_pod_take_piece},
        [PP_WIRE_SHARE] = {.leader = pp_pod_take_share},
};

static void take(struct pp_pod *p, const struct pp_net_event *e)
{
	const struct pp_wire *m = e->message;
	int leads = p->state == PP_POD_LISTENING;
	take_message *f = leads ? taker[m->kind].leader : taker[m->kind].follower;

	if (f && (p->o.job || m->kind == PP_WIRE_COMPARE || m->kind == PP_WIRE_CLOCK))
		f(p, e->peer, m);
}

static void pump(struct pp_pod *p)
{
	struct pp_net_event e;

	for (int i = 0; i < EVENTS && p->star.net && pp_net_next(p->star.net, 0, &e) == 1; i++) {
		if (e.kind == PP_NET_JOINED)
			joined(p, &e);
		if (p->watch && e.kind != PP_NET_BACK)
			p->watch(p->watch_context, &e);
		if (e.kind == PP_NET_REFUSED)
			refused(p, &e);
		else if (e.kind == PP_NET_BACK)
			back(p, &e);
		else if (e.kind == PP_NET_LEFT || e.kind == PP_NET_LOST)
			left(p, &e, e.kind == PP_NET_LOST);
		else if (e.kind == PP_NET_MESSAGE)
			take(p, &e);
	}
}

int pp_pod_run(struct pp_pod *p)
{
	int64_t now = pp_now_ms();
	int news;

	if (!p)
		return 0;
	pp_pod_rendezvous_run(p);
	take_role(p);
	if (p->state == PP_POD_SEARCHING && now - p->calling_ms >= SEARCH_MS) {
		p->calling_ms = now;
		pp_pod_search(p);
	}
	if (p->state == PP_POD_CALLING && now - p->calling_ms >= CALLING_MS) {
		p->calling_ms = now;
		pp_pod_search_again(p);
	}
	if (p->star.net) {
		pp_pod_send_states(p);
		pump(p);
	}
	if (p->state == PP_POD_LISTENING) {
		pp_pod_clock_run(p);
		pp_pod_gather_run(p);
		if (!p->complete && pp_pod_is_complete(p)) {
			p->complete = 1;
			pp_pod_withdraw(p);
			pp_keeper_log("every rank of the job is heard of: %zu other hosts", p->peers);
		}
	}
	if (p->state == PP_POD_JOINED) {
		pp_pod_clock_run(p);
		pp_pod_share_run(p);
	}
	publish_pod(p);
	news = p->news;
	p->news = 0;
	return news;
}

int pp_pod_wait(struct pp_pod *p, int fd, int ms)
{
	if (!p || !p->star.net)
		return 0;
	pp_net_wait(p->star.net, fd, ms);
	return 1;
}

int pp_pod_pace(const struct pp_pod *p)
{
	int is_in = p && (p->state == PP_POD_LISTENING || p->state == PP_POD_JOINED);
	int is_asked = p && p->request.number && p->request.kind != PP_ASK_NOTHING;

	return is_in && (p->clock.due || is_asked || p->gather.active || p->share.active) ? 1 : 100;
}

int pp_pod_may_close(struct pp_pod *p, int over, int asked)
{
	int64_t now = pp_now_ms(), grace;

	if (p && p->is_done)
		return 1;
	if (p && over)
		take_role(p);
	if (p && over && p->state == PP_POD_SEVERED)
		part(p);
	if (!p || p->state == PP_POD_UNDECIDED || p->state == PP_POD_SEVERED || p->state == PP_POD_HERE ||
	    p->state == PP_POD_ISOLATED)
		return over;
	p->over_ms = !over ? 0 : p->over_ms ? p->over_ms : now;
	grace = now - p->rings_ms > LATE_MS ? 1000 : p->o.settings->wait_s * 500; /* ranks wait for it */
	if (p->state == PP_POD_LISTENING)
		return asked || (over && pp_pod_others_over(p) && (p->complete || now - p->over_ms > grace));
	p->asked_ms = !asked ? 0 : p->asked_ms ? p->asked_ms : now;
	if (asked && p->state == PP_POD_JOINED && (p->share.active || now - p->asked_ms < ASKED_MS))
		return 0; /* all keepers may have been ended at once, and then the leader's request comes now */
	if (!asked && (!over || p->state == PP_POD_JOINED || now - p->over_ms <= grace))
		return 0;
	if (asked)
		pp_pod_say_why(p, "this host's keeper was asked to end before rank 0's: this host has a session of its own");
	part(p);
	return 1;
}
