/* Evicts old records with --keep, and requests a capture of slow steps with --trigger; see lookback.h. */
#include "aggregate/keeper/capture/lookback.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/capture/request.h"
#include "aggregate/keeper/capture/request_own.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_request.h"
#include "aggregate/read/ring/cut.h"
#include "aggregate/spool/control.h"
#include "core/base/now.h"

enum { KEEP_MS = 500, OWN = PP_BY_TRIGGER - PP_BY_SIGNAL };

void pp_lookback_init(struct pp_lookback *b, const struct pp_settings *settings)
{
	*b = (struct pp_lookback){.keep_ns = settings->keep_ns, .rule = settings->trigger.text};
	b->slow.thousandths = settings->trigger.thousandths;
	b->slow.last_step = INT64_MIN;
}

void pp_lookback_release(struct pp_lookback *b)
{
	pp_slow_release(&b->slow);
	free(b->range);
	b->range = NULL;
}

int pp_lookback_only_triggers(const struct pp_lookback *b)
{
	return b->slow.thousandths && !b->keep_ns;
}

static int is_needed(const struct pp_lookback *b, const struct pp_requests *r)
{
	int needed = b->slow.found || pp_requests_active(r);

	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		needed |= r->client[i].state == PP_CLIENT_QUEUED;
	return needed;
}

static void evict(struct pp_lookback *b, const struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_timestamp_pair now = pp_timestamp_pair_now(), cut = pp_timestamp_pair_before(&now, &r->origin, b->keep_ns);

	b->held_ms = pp_now_ms();
	if (now.raw_ns - r->origin.raw_ns <= b->keep_ns)
		return;
	for (size_t i = 0; i < pp_rings_count(job->rings); i++) {
		int64_t tick = pp_timestamp_pair_tick(&cut, pp_rings_header(job->rings, i));

		pp_rings_keep(job->rings, i, tick);
		pp_sampler_drop(job->sampler, i, tick);
	}
}

static void ask(struct pp_lookback *b, struct pp_requests *r, const struct pp_request_span *span)
{
	const struct pp_capture_request request = {.kind = PP_CAPTURE_REQUEST_SPAN, .by = PP_BY_TRIGGER};

	pp_keeper_log("trigger: %s", span->what);
	if (pp_own_ask(r, &request))
		b->slow.counted++;
	else
		r->span = *span;
}

/* Handles a slow step that another host's keeper reported. */
static void receive_slow(struct pp_lookback *b, struct pp_requests *r)
{
	struct pp_request_span span;

	b->slow.counted += r->slow_more;
	r->slow_more = 0;
	if (b->slow.thousandths && pp_slow_receive(&b->slow, &r->origin, r->slow, &span))
		ask(b, r, &span);
	r->slow[0] = '\0';
}

void pp_lookback_run(struct pp_lookback *b, struct pp_requests *r, const struct pp_windows_job *job, int ending)
{
	int follows = pp_pod_role(job->pod) == PP_POD_FOLLOWER;
	struct pp_request_span span;
	char line[PP_SLOW_LINE];

	if (!pp_pod_is_done(job->pod) && pp_slow_run(&b->slow, job->view, job->rings, &r->origin, ending, &span)) {
		pp_slow_line(&span, line, sizeof(line));
		if (!follows)
			ask(b, r, &span);
		else if (pp_pod_ask(job->pod, 0, line)) /* the leader cannot be reached */
			b->slow.counted++;
	}
	if (!follows && r->slow[0])
		receive_slow(b, r);
	if (b->keep_ns && !ending && pp_now_ms() - b->held_ms > KEEP_MS && !is_needed(b, r))
		evict(b, r, job);
}

void pp_lookback_sweep(const struct pp_windows *w, const struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_rings *rings = job->rings;
	struct pp_timestamp_pair now;

	pp_rings_drain_all(rings);
	now = pp_timestamp_pair_now();
	for (size_t i = 0; i < pp_rings_count(rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(rings, i);
		int64_t from = pp_timestamp_pair_tick(&r->taken, h), to = pp_timestamp_pair_tick(&now, h),
		        begun = pp_windows_begun(w, h);

		to = begun <= to ? begun - 1 : to;
		/* What a rank does before its first step belongs to the first window. */
		if (from <= to && pp_ring_step_marks(h))
			pp_rings_drop_between(rings, i, from, to);
	}
}

void pp_lookback_end(struct pp_lookback *b, const struct pp_requests *r, const struct pp_windows_job *job)
{
	size_t rings = pp_rings_count(job->rings);
	struct pp_timestamp_pair now = pp_timestamp_pair_now(), from = pp_timestamp_pair_before(&now, &r->origin, b->keep_ns);

	if (!b->keep_ns || now.raw_ns - r->origin.raw_ns <= b->keep_ns)
		return;
	b->range = calloc(rings + 1, sizeof(*b->range));
	for (size_t i = 0; b->range && i < rings; i++) {
		const struct pp_ring_header *h = pp_rings_header(job->rings, i);

		b->range[i] = (struct pp_close_range){
		        .rank = h->rank, .from = pp_timestamp_pair_tick(&from, h), .to = INT64_MAX, .keep = 1};
	}
}

/* Has a rank ended more steps than make its first median? */
static int has_compared(const struct pp_slow *s)
{
	for (size_t i = 0; i < s->ranks; i++)
		if (s->rank[i].steps > PP_SLOW_LEAST)
			return 1;
	return 0;
}

void pp_lookback_message(const struct pp_lookback *b, const struct pp_requests *r, const char *logdir, char *message, size_t size)
{
	const struct pp_requests_own *o = &r->own[OWN];
	size_t n = strlen(message);
	char text[1024];

	pp_own_message(r, logdir, text, sizeof(text));
	n += (size_t)snprintf(message + n, size - n, "%s", !n && text[0] ? text + 1 : text);
	if (!b->slow.thousandths || n >= size)
		return;
	if (!o->captured && !o->failed)
		snprintf(message + n, size - n, "%sno session by --trigger '%s': %s", n ? "\n" : "", b->rule,
		         has_compared(&b->slow) ? "no step was slow enough" : "no rank ended the 20 steps that give its median");
	else if (b->slow.counted)
		snprintf(message + n, size - n, "%s%" PRIu64 " more slow step%s within a minute of a captured one", n ? "\n" : "",
		         b->slow.counted, b->slow.counted == 1 ? "" : "s");
}
