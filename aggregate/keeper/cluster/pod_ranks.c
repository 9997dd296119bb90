/* Reports this host's ranks to the leader, and keeps the other hosts' ranks in the leader's table. Called by pod.c. */
#include "aggregate/keeper/cluster/pod_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/cluster/pod_state.h"
#include "aggregate/keeper/live.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/place.h"
#include "aggregate/spool/ranks.h"
#include "core/base/grow.h"
#include "core/base/now.h"
#include "core/base/utf8.h"

enum {
	EAGER_MS = 1, /* between two readings of this host's ranks: while a request goes on, else */
	CALM_MS = 100,
	STILL_MS = 1000, /* a rank that stands in one place so long also says what its communicator is */
};

/* Did the claim pass to a later ring of the same rank? */
static int is_replaced(const struct pp_rings *r, size_t i)
{
	const struct pp_ring_header *h = pp_rings_header(r, i);

	for (size_t k = 0; k < pp_rings_count(r); k++)
		if (pp_rings_header(r, k)->rank == h->rank && pp_rings_header(r, k)->open_tick > h->open_tick)
			return 1;
	return 0;
}

/* Where it is; and of one that stands still, what its communicator is. */
static void say_place(struct pp_spool_view *v, size_t ring, struct pp_wire_rank *r)
{
	struct pp_still *s = pp_still_of(v, ring);
	struct pp_live_rank place = {.rank = r->rank};
	struct pp_ring_comm row;
	int64_t now = pp_now_ms();

	if (!s)
		return;
	r->call = s->where.call;
	r->comm = s->where.comm;
	r->sequence = s->where.sequence;
	r->peer = s->where.peer;
	r->last_call = s->where.last;
	r->waits = s->where.waits;
	r->waits_sequence = s->where.waits_sequence;
	for (int i = 0; i < PP_WHERE_PEERS; i++)
		r->other[i] = i < s->where.peers ? s->where.peer_of[i] : -1;
	r->other_more = s->where.peers_more != 0;
	r->place_ms = now > s->since_ms ? (uint64_t)(now - s->since_ms) : 0;
	if (r->place_ms < STILL_MS)
		return;
	r->process = r->state == PP_WIRE_RUNNING ? (unsigned char)pp_still_process(s, &v->rank[ring], now) : 0;
	pp_live_nccl_put(pp_spool_header(v, ring), r->nccl, sizeof(r->nccl));
	if (!pp_place_comm(pp_spool_header(v, ring), r->comm, &row))
		return;
	pp_live_comm(&place, &row);
	r->comm_size = (uint32_t)place.comm_size;
	r->comm_flags = (uint32_t)place.comm_flags;
	memcpy(r->members, place.members, sizeof(r->members));
	memcpy(r->comm_name, place.comm_name, sizeof(r->comm_name));
}

static void read_state(struct pp_pod *p, size_t ring, struct pp_wire_rank *r)
{
	struct pp_spool_view *v = p->o.job->view;
	const struct pp_ring_header *h = pp_spool_header(v, ring);
	int ended = pp_ring_state(h) == PP_RANK_ENDING;

	*r = (struct pp_wire_rank){.rank = h->rank, .pid = h->pid, .step = pp_ranks_step(h), .peer = -1};
	r->state = ended ? PP_WIRE_ENDED : pp_ranks_has_ended(v, ring) ? PP_WIRE_DIED : PP_WIRE_RUNNING;
	r->over = pp_ranks_is_over(v, ring);
	r->marks = pp_ring_step_marks(h) != 0;
	r->recording = pp_ring_recording(h) != 0;
	r->windows_passed = pp_ring_windows_passed(h);
	r->request = pp_ring_request(h);
	r->first = h->request_row.first;
	r->last = h->request_row.last;
	r->signals = pp_ring_signals(h);
	r->end = ended ? pp_ring_exit_status(h) : v->rank[ring].gone ? v->rank[ring].end : -1;
	say_place(v, ring, r);
}

/* Without steps_too only changes count that other hosts wait for; steps alone are sent with the heartbeats. */
static int differs(const struct pp_wire_rank *a, const struct pp_wire_rank *b, int steps_too)
{
	return a->rank != b->rank || a->pid != b->pid || a->state != b->state || a->over != b->over || a->marks != b->marks ||
	       a->recording != b->recording || a->windows_passed != b->windows_passed || a->request != b->request ||
	       a->first != b->first || a->last != b->last || a->signals != b->signals || (steps_too && a->step != b->step);
}

static uint64_t first_tick(const struct pp_rings *r)
{
	int64_t first = pp_rings_first_tick(r);

	return first > 0 ? (uint64_t)first : 0;
}

void pp_pod_send_states(struct pp_pod *p)
{
	const struct pp_rings *r = p->o.job ? pp_pod_rings(p) : NULL;
	int active = p->request.number && p->request.kind != PP_ASK_NOTHING, changed;
	int64_t now = pp_now_ms();
	struct pp_wire_heartbeat beat = {.over = p->over_ms != 0, .first_tick = r ? first_tick(r) : 0};
	struct pp_wire_rank *mine;
	size_t n = 0;

	if (!r)
		return;
	if (!p->star.net || now - p->states_ms < (active ? EAGER_MS : CALM_MS))
		if (!p->star.net || p->mine_over == beat.over)
			return;
	mine = calloc(pp_rings_count(r) + 1, sizeof(*mine));
	if (!mine)
		return;
	p->states_ms = now;
	for (size_t i = 0; i < pp_rings_count(r) && n < PP_WIRE_RANKS; i++)
		if (!is_replaced(r, i) && pp_rings_header(r, i)->rank >= 0)
			read_state(p, i, &mine[n++]);
	changed = n != p->mine_count || p->mine_over != beat.over;
	for (size_t i = 0; i < n && !changed; i++)
		changed = differs(&mine[i], &p->mine[i], active);
	beat.rank = mine;
	beat.ranks = n;
	pp_net_state(p->star.net, &beat);
	if (changed && p->state == PP_POD_JOINED)
		pp_net_beat(p->star.net);
	free(p->mine);
	p->mine = mine;
	p->mine_count = n;
	p->mine_over = beat.over;
}

/* Files and rows of two keepers must not have one name. */
static void name_host(struct pp_pod *p, struct pp_pod_peer *one)
{
	char name[sizeof(one->name)];
	int taken = 1;

	memcpy(name, one->host, sizeof(name));
	for (int n = 2; taken; n++) {
		taken = !strcmp(name, p->host);
		for (size_t i = 0; i < p->peers && !taken; i++)
			taken = &p->peer[i] != one && p->peer[i].joined && !strcmp(p->peer[i].name, name);
		if (taken)
			snprintf(name, sizeof(name), "%.60s-%d", one->host, n);
	}
	memcpy(one->name, name, sizeof(name));
}

void pp_pod_take_peer(struct pp_pod *p, int peer, const struct pp_wire_hello *h)
{
	struct pp_pod_peer *one = &p->peer[peer];

	*one = (struct pp_pod_peer){.joined = 1,
	                            .transport =
	                                    h->transport < PP_TRANSPORTS ? (enum pp_pod_transport)h->transport : PP_TRANSPORT_NONE,
	                            .tick_kind = h->clock.tick_kind,
	                            .delivery.fd = -1};
	snprintf(one->host, sizeof(one->host), "%.*s", pp_utf8_fit(h->host, 70), h->host);
	snprintf(one->boot_id, sizeof(one->boot_id), "%.63s", h->clock.boot_id);
	snprintf(one->timens, sizeof(one->timens), "%.95s", h->clock.timens);
	if ((size_t)peer >= p->peers)
		p->peers = (size_t)peer + 1;
	name_host(p, one);
	pp_keeper_log("host '%s' joined with %zu ranks", one->name, h->ranks);
	pp_pod_take_ranks(p, peer, &(struct pp_wire){.heartbeat = {.rank = h->rank, .ranks = h->ranks}});
	p->clock.is_stale = 1;
}

static struct pp_pod_rank *row_of(struct pp_pod *p, int32_t rank, int peer)
{
	size_t i = p->hint;

	if (i >= p->ranks || p->rank[i].rank != rank) /* a host reports its ranks in a fixed order */
		for (i = 0; i < p->ranks && p->rank[i].rank != rank; i++)
			;
	p->hint = i + 1;
	if (i < p->ranks && p->rank_peer[i] != peer && !p->rank[i].gone)
		return NULL; /* two hosts have this rank: the first one counts */
	if (i == p->ranks) {
		if (PP_RESIZE(p->rank, p->ranks + 1) || PP_RESIZE(p->rank_peer, p->ranks + 1))
			return NULL;
		p->ranks++;
	}
	p->rank_peer[i] = peer;
	return &p->rank[i];
}

static void count_answers(struct pp_pod *p)
{
	int answers = 0;

	if (!p->request.sent_us || p->request.kind == PP_ASK_NOTHING)
		return;
	for (size_t i = 0; i < p->ranks; i++) {
		if (p->rank[i].gone || !p->rank[i].marks)
			continue;
		if (p->rank[i].request >> 8 != p->request.number)
			return;
		answers++;
	}
	if (answers)
		pp_keeper_log("request %u: %d ranks elsewhere have answered after %lld us", (unsigned)p->request.number, answers,
		              (long long)(pp_pod_now_us() - p->request.sent_us));
	p->request.sent_us = 0;
}

static void take_place(struct pp_pod_rank *row, const struct pp_wire_rank *r)
{
	struct pp_where *w = &row->still.where;

	*w = (struct pp_where){.call = (uint16_t)r->call,
	                       .comm = r->comm,
	                       .sequence = r->sequence,
	                       .peer = r->peer,
	                       .step = r->step,
	                       .last = (uint16_t)r->last_call,
	                       .waits = (uint16_t)r->waits,
	                       .waits_sequence = r->waits_sequence,
	                       .peers_more = r->other_more != 0};
	for (int i = 0; i < PP_WHERE_PEERS; i++)
		if (r->other[i] >= 0)
			w->peer_of[w->peers++] = r->other[i];
	row->still.since_ms = row->received_ms - (int64_t)r->place_ms;
	row->still.process = (char)r->process;
	row->comm_size = (int32_t)r->comm_size;
	row->comm_flags = (int32_t)r->comm_flags;
	memcpy(row->members, r->members, sizeof(row->members));
	memcpy(row->comm_name, r->comm_name, sizeof(row->comm_name));
	memcpy(row->nccl, r->nccl, sizeof(row->nccl));
}

void pp_pod_take_ranks(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_heartbeat *h = &m->heartbeat;
	struct pp_pod_peer *one = &p->peer[peer];
	int64_t now = pp_now_ms();

	one->over = h->over;
	if (h->first_tick && (!one->first_tick || h->first_tick < one->first_tick))
		one->first_tick = h->first_tick;
	for (size_t i = 0; i < h->ranks; i++) {
		const struct pp_wire_rank *r = &h->rank[i];
		struct pp_pod_rank *row = row_of(p, r->rank, peer);

		if (!row)
			continue;
		*row = (struct pp_pod_rank){.rank = r->rank,
		                            .pid = r->pid,
		                            .gone = r->state == PP_WIRE_ENDED || r->state == PP_WIRE_DIED,
		                            .over = r->over,
		                            .marks = r->marks,
		                            .recording = r->recording,
		                            .step = r->step,
		                            .request = r->request,
		                            .first = r->first,
		                            .last = r->last,
		                            .windows_passed = r->windows_passed,
		                            .signals = r->signals,
		                            .died = r->state == PP_WIRE_DIED,
		                            .end = r->end,
		                            .received_ms = now};
		snprintf(row->host, sizeof(row->host), "%s", one->name);
		take_place(row, r);
	}
	p->news = 1;
	count_answers(p);
}

void pp_pod_take_end(struct pp_pod *p, int peer, int lost)
{
	struct pp_pod_peer *one = &p->peer[peer];

	one->gone = 1;
	one->lost = lost;
	p->clock.is_stale = 1;
	for (size_t i = 0; i < p->ranks; i++)
		if (p->rank_peer[i] == peer) {
			p->rank[i].gone = p->rank[i].over = 1;
			p->rank[i].lost = lost;
		}
	p->news = 1;
}

void pp_pod_take_back(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	struct pp_pod_peer *one = &p->peer[peer];

	one->gone = one->lost = 0;
	p->clock.is_stale = 1;
	pp_pod_take_ranks(p, peer, m);
}

int pp_pod_is_complete(const struct pp_pod *p)
{
	int zero = pp_pod_zero(p);

	return zero >= 0 && pp_ranks_seen(p->o.job->view) + (int)p->ranks >= pp_rings_header(pp_pod_rings(p), (size_t)zero)->size;
}

int pp_pod_others_over(const struct pp_pod *p)
{
	for (size_t i = 0; i < p->peers; i++)
		if (p->peer[i].joined && !p->peer[i].gone && !p->peer[i].over)
			return 0;
	return 1;
}

const struct pp_pod_rank *pp_pod_ranks(const struct pp_pod *p, size_t *ret_ranks)
{
	*ret_ranks = p && p->state == PP_POD_LISTENING ? p->ranks : 0;
	return p ? p->rank : NULL;
}
