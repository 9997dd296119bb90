/* Arrows of messages, and their tags. Called by session.c. Only certain pairs get an arrow (aggregate/analyze/message.h). */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/message.h"
#include "aggregate/timeline/timeline_private.h"
#include "core/call/mpi_call.h"

static uint32_t event_at(const struct pp_timeline_maker *m, const struct pp_message_end *end)
{
	return m->event[end->rank][end->thread][end->span];
}

static void set_tag(const struct pp_timeline_maker *m, uint32_t event, int32_t tag)
{
	struct pp_timeline_detail *d =
	        event == UINT32_MAX || !m->t->event[event].detail ? NULL : &m->t->detail[m->t->event[event].detail - 1];

	if (!d || d->has & PP_TIMELINE_HAS_TAG)
		return;
	d->tag = tag;
	d->has |= PP_TIMELINE_HAS_TAG;
}

int pp_timeline_messages(struct pp_timeline_maker *m)
{
	int64_t *bound = calloc(m->capture.ranks + 1, sizeof(*bound));
	struct pp_messages messages;
	struct pp_err err;
	int rc = bound ? 0 : -ENOMEM;

	for (size_t r = 0; r < m->capture.ranks && !rc; r++)
		bound[r] = m->t->rank[pp_timeline_rank_at(m->t, m->capture.rank[r].rank)].bound_ns;
	if (!rc)
		rc = pp_messages_match(&m->capture, bound, &messages, &err);
	free(bound);
	if (rc)
		return rc;
	m->t->left.unmatched_messages = messages.sends + messages.receives - 2 * messages.pairs;
	for (size_t i = 0; i < messages.pairs && !rc; i++) {
		const uint32_t from = event_at(m, &messages.pair[i].from), to = event_at(m, &messages.pair[i].to);

		set_tag(m, from, messages.pair[i].tag);
		set_tag(m, to, messages.pair[i].tag);
		rc = pp_timeline_add_flow(m, from, to, PP_FLOW_MESSAGE);
	}
	pp_messages_release(&messages);
	return rc;
}
