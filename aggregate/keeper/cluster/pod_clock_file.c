/* Saves the comparisons of this host's clock in its spool: podprof salvage joins hosts by them after all keepers have been killed.
 * Called by pod_clock.c when a comparison has ended. */
#include "aggregate/keeper/cluster/pod_clock_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/spool/control.h"

enum { APPENDED = 2048 /* then the file is written anew, of the bursts that the exchange still holds */ };

static struct pp_clock_file_head head_of(const struct pp_pod *p, const struct pp_clock_bursts *b)
{
	const struct pp_ring_header *h = pp_rings_header(p->o.job->rings, 0);
	const struct pp_pod_clock *c = &p->clock;
	struct pp_clock_file_head head;

	memset(&head, 0, sizeof(head));
	head.self = b->self;
	head.parent = b->parent;
	head.same = (uint32_t)b->same;
	head.tick_kind = h->tick_kind;
	head.hops = c->hops;
	head.exchange = b->exchange;
	head.ticks_per_ns = c->ticks_per_ns;
	head.rate = b->rate;
	head.wander = b->wander;
	head.first = c->first;
	memcpy(head.boot_id, h->boot_id, sizeof(head.boot_id));
	memcpy(head.timens_ns, h->timens_ns, sizeof(head.timens_ns));
	snprintf(head.parent_host, sizeof(head.parent_host), "%s", c->host);
	return head;
}

static int write_bursts(struct pp_pod *p, const struct pp_clock_file_head *head, const struct pp_clock_bursts *b,
                        struct pp_err *err)
{
	struct pp_clock_file_burst *burst = calloc(b->groups + 1, sizeof(*burst));
	struct pp_clock_link_state state;
	size_t bursts = b->groups + !b->groups;
	int rc;

	if (!burst)
		return pp_err_set(err, -ENOMEM, "the comparison of clocks is not kept: no memory");
	pp_clock_link_state(p->clock.link, &state);
	pp_clock_read_pair((enum pp_tick_kind)head->tick_kind, &burst->now);
	burst->rounds = state.counts.rounds;
	burst->trips = state.counts.trips;
	burst->lost = state.counts.lost;
	burst->impossible = state.counts.impossible;
	burst->foreign = state.counts.foreign;
	burst->round_ns = state.round_took_ns;
	burst->cpu_ns = state.cpu_ns;
	for (size_t i = 1; i < bursts; i++)
		burst[i] = burst[0];
	for (size_t i = 0; i < b->groups; i++)
		burst[i].group = b->group[i];
	rc = pp_clock_file_write(&p->clock.file, p->o.spool, head, burst, bursts, b->all, err);
	free(burst);
	return rc;
}

/* Nothing new: a turn without a reply, or that of a host which shares its parent's clock. */
static int is_news(const struct pp_clock_bursts *b)
{
	return b->groups || b->self == b->parent;
}

void pp_pod_clock_save(struct pp_pod *p, uint64_t round)
{
	struct pp_pod_clock *c = &p->clock;
	struct pp_clock_bursts b = {.groups = 0};
	struct pp_clock_file_head head;
	struct pp_err err = {""};
	int rc;

	if (!round || round == c->saved_round)
		return;
	c->saved_round = round;
	rc = pp_clock_link_bursts(c->link, c->file.records > APPENDED ? INT64_MIN : c->saved_tick, &b, &err);
	head = head_of(p, &b);
	if (!rc && !pp_clock_file_fits(&c->file, &head) && !b.all) {
		free(b.group);
		rc = pp_clock_link_bursts(c->link, INT64_MIN, &b, &err);
	}
	if (!rc && is_news(&b))
		rc = write_bursts(p, &head, &b, &err);
	if (rc)
		pp_keeper_log("%s", err.text);
	else if (b.groups)
		c->saved_tick = b.group[b.groups - 1].first;
	free(b.group);
}
