/* What exports say of a timeline; see said.h. */
#include "aggregate/write/export/outline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/host_clock.h"
#include "core/base/partition.h"
#include "core/base/utf8.h"
#include "core/capture/span.h"

const char *pp_arg_name(enum pp_arg_id id)
{
	static const char *const name[PP_ARG_IDS] = {
#define PP_ARG(symbol, text) [PP_ARG_##symbol] = (text),
#include "aggregate/write/export/arg.def"
#undef PP_ARG
	};

	return name[id];
}

void pp_outline_text(char *to, size_t size, const char *text)
{
	char good[3 * 256 + 1] = "";

	pp_utf8_repair(good, text, strnlen(text, 256));
	snprintf(to, size, "%.*s", pp_utf8_fit(good, (int)size - 1), good);
}

int pp_outline_overlaps(const struct pp_timeline_track *track)
{
	return track->of == PP_TIMELINE_REQUESTS || track->of == PP_TIMELINE_ASYNC || track->of == PP_TIMELINE_STREAM;
}

uint32_t pp_outline_depths(const struct pp_timeline_track *track)
{
	return pp_outline_overlaps(track) && track->depths ? track->depths : 1;
}

const char *pp_outline_category(const struct pp_timeline_event *e)
{
	if (e->category)
		return pp_category_name(e->category);
	return e->kind == PP_SPAN_STEP ? "steps" : e->kind == PP_SPAN_MARK ? "marks" : NULL;
}

void pp_outline_rank(const struct pp_timeline_rank *r, char *name, size_t size)
{
	char host[sizeof(r->host)];

	pp_outline_text(host, sizeof(host), r->host);
	snprintf(name, size, *host ? "rank %" PRId32 " (%s)" : "rank %" PRId32, r->rank, host);
}

size_t pp_outline_labels(const struct pp_outline *s, const struct pp_timeline_rank *r, char label[PP_OUTLINE_LABELS][256])
{
	size_t n = 0;
	char text[200];

	pp_outline_text(text, sizeof(text), r->host);
	if (*text)
		snprintf(label[n++], sizeof(label[0]), "host %s", text);
	if (r->pid)
		snprintf(label[n++], sizeof(label[0]), "pid %" PRIu32, r->pid);
	if (r->bound_ns == PP_BOUND_UNKNOWN)
		snprintf(label[n++], sizeof(label[0]), "clock error unknown");
	else
		snprintf(label[n++], sizeof(label[0]), "clock error <= %" PRId64 " ns", r->bound_ns);
	pp_outline_text(text, sizeof(text), r->missing);
	if (*text)
		snprintf(label[n++], sizeof(label[0]), "no events: %s", text);
	if (s->t->is_replay)
		snprintf(label[n++], sizeof(label[0]), "simulated devices");
	return n;
}

void pp_outline_track(const struct pp_outline *s, const struct pp_timeline_track *track, uint32_t depth, char *name, size_t size)
{
	char whole[256], text[200], rank[32], number[16] = "";
	size_t skip = (size_t)snprintf(rank, sizeof(rank), "rank %" PRId32 " ", s->t->rank[track->rank].rank);

	pp_timeline_track_name(s->t, track, whole, sizeof(whole));
	if (strncmp(whole, rank, skip) != 0)
		skip = 0;
	pp_outline_text(text, sizeof(text), whole + skip); /* a long name may end within a character */
	if (depth)
		snprintf(number, sizeof(number), " %" PRIu32, depth + 1);
	snprintf(name, size, "%s%s%s", text, track->device && s->t->is_replay ? " (simulated)" : "", number);
}

static int comm_order(const void *a, const void *b, void *comms)
{
	const struct pp_timeline_comm *comm = comms;
	const uint64_t x = comm[*(const uint32_t *)a].id, y = comm[*(const uint32_t *)b].id;

	return (x > y) - (x < y);
}

/* Its index + 1; 0: the timeline has none of this id. */
static uint32_t comm_of(const struct pp_outline *s, uint64_t id)
{
	const size_t low = PP_PARTITION(s->t->comms, at, s->t->comm[s->comm_order[at]].id < id);

	return low < s->t->comms && s->t->comm[s->comm_order[low]].id == id ? s->comm_order[low] + 1 : 0;
}

static struct pp_arg *add(struct pp_arg *n, enum pp_arg_id id, enum pp_arg_type type, int64_t value)
{
	*n = (struct pp_arg){id, type, value};
	return n + 1;
}

static struct pp_arg *add_wait(struct pp_arg *n, const struct pp_timeline_event *e, const struct pp_timeline_detail *d)
{
	n = add(n, PP_ARG_WAITED, PP_ARG_IS_NUMBER, d->until_ns - e->begin_ns);
	if (d->last >= 0)
		n = add(n, PP_ARG_WAITED_FOR, PP_ARG_IS_NUMBER, d->last);
	if (d->bound_ns == PP_BOUND_UNKNOWN)
		return add(n, PP_ARG_BOUND_UNKNOWN, PP_ARG_IS_YES, 1);
	return add(n, PP_ARG_BOUND, PP_ARG_IS_NUMBER, d->bound_ns);
}

static struct pp_arg *add_detail(const struct pp_outline *s, struct pp_arg *n, const struct pp_timeline_event *e,
                                 const struct pp_timeline_detail *d)
{
	const uint32_t comm = d->comm ? comm_of(s, d->comm) : 0;

	if (d->sent)
		n = add(n, PP_ARG_SENT, PP_ARG_IS_NUMBER, (int64_t)d->sent);
	if (d->received)
		n = add(n, PP_ARG_RECEIVED, PP_ARG_IS_NUMBER, (int64_t)d->received);
	if (d->peer >= 0)
		n = add(n, PP_ARG_PEER, PP_ARG_IS_NUMBER, d->peer);
	else if (d->peer == -2)
		n = add(n, PP_ARG_ANY_PEER, PP_ARG_IS_YES, 1);
	if (comm && s->t->comm[comm - 1].name)
		n = add(n, PP_ARG_COMM, PP_ARG_IS_COMM, comm - 1);
	if (d->comm)
		n = add(n, PP_ARG_COMM_ID, PP_ARG_IS_ID, (int64_t)d->comm);
	if (d->has & PP_TIMELINE_HAS_SEQUENCE)
		n = add(n, PP_ARG_SEQUENCE, PP_ARG_IS_NUMBER, d->sequence);
	if (d->request)
		n = add(n, PP_ARG_REQUEST, PP_ARG_IS_NUMBER, d->request);
	if (d->has & PP_TIMELINE_HAS_TAG)
		n = add(n, PP_ARG_TAG, PP_ARG_IS_NUMBER, d->tag);
	return d->has & PP_TIMELINE_HAS_WAIT ? add_wait(n, e, d) : n;
}

static struct pp_arg *add_known(struct pp_arg *n, enum pp_arg_id id, uint64_t value)
{
	return value ? add(n, id, PP_ARG_IS_NUMBER, (int64_t)value) : n;
}

static struct pp_arg *add_launch(struct pp_arg *n, const struct pp_timeline_launch *l)
{
	for (int i = 0; i < 3; i++)
		n = add_known(n, (enum pp_arg_id)(PP_ARG_GRID_X + i), l->grid[i]);
	for (int i = 0; i < 3; i++)
		n = add_known(n, (enum pp_arg_id)(PP_ARG_BLOCK_X + i), l->block[i]);
	n = add_known(n, PP_ARG_REGISTERS, l->registers);
	return add_known(n, PP_ARG_SHARED, l->shared);
}

size_t pp_outline_args(const struct pp_outline *s, const struct pp_timeline_event *e, struct pp_arg arg[PP_ARG_IDS])
{
	static const struct {
		int flag;
		enum pp_arg_id id;
	} flag[] = {{PP_SPAN_CUT_BEGIN, PP_ARG_CUT_BEGIN},
	            {PP_SPAN_CUT_END, PP_ARG_CUT_END},
	            {PP_SPAN_FAILED, PP_ARG_FAILED},
	            {PP_SPAN_POLLS, PP_ARG_POLLS}};
	struct pp_arg *n = arg;

	if (e->end_ns > e->begin_ns)
		n = add(n, PP_ARG_SELF, PP_ARG_IS_NUMBER, e->self_ns);
	if (e->step)
		n = add(n, PP_ARG_STEP, PP_ARG_IS_NUMBER, s->t->step[e->step - 1].number);
	if (e->detail)
		n = add_detail(s, n, e, &s->t->detail[e->detail - 1]);
	for (size_t i = 0; e->flags && i < sizeof(flag) / sizeof(flag[0]); i++)
		if (e->flags & flag[i].flag)
			n = add(n, flag[i].id, PP_ARG_IS_YES, 1);
	if (e->kind == PP_SPAN_DEVICE && e->launch)
		n = add_launch(n, &s->t->launch[e->launch - 1]);
	n = add_known(n, PP_ARG_CORRELATION, e->correlation);
	if (e->op)
		n = add(n, PP_ARG_OPERATOR, PP_ARG_IS_NAME, e->op);
	if (e->kind == PP_SPAN_RANGE && e->dims)
		n = add(n, PP_ARG_DIMS, PP_ARG_IS_NAME, e->dims);
	return (size_t)(n - arg);
}

static int is_earlier(const struct pp_timeline *t, uint32_t a, uint32_t b)
{
	return t->event[a].begin_ns != t->event[b].begin_ns ? t->event[a].begin_ns < t->event[b].begin_ns : a < b;
}

/* Flows by their events: first how many each has, then where the next one goes. */
static void place_flows(struct pp_outline *s)
{
	const struct pp_timeline *t = s->t;
	uint32_t sum = 0;

	for (size_t i = 0; i < t->flows; i++) {
		s->flow_at[t->flow[i].from]++;
		s->flow_at[t->flow[i].to]++;
	}
	for (size_t i = 0; i <= t->events; i++) {
		const uint32_t n = i < t->events ? s->flow_at[i] : 0;

		s->flow_at[i] = sum;
		sum += n;
	}
	for (int ends = 0; ends < 2; ends++) /* those that begin go first */
		for (size_t i = 0; i < t->flows; i++) {
			const struct pp_timeline_flow *f = &t->flow[i];
			const uint32_t first = is_earlier(t, f->from, f->to) ? f->from : f->to;
			const uint32_t at = ends ? f->from + f->to - first : first;

			s->flow[s->flow_at[at]++] = (uint64_t)(i + 1) << 1 | (unsigned)ends;
		}
	for (size_t i = t->events; i > 0; i--) /* each stands where the next begins */
		s->flow_at[i] = s->flow_at[i - 1];
	s->flow_at[0] = 0;
}

static int contradiction(struct pp_err *err, const char *what, size_t index)
{
	return pp_err_set(err, -EINVAL, "cannot export the timeline: %s %zu contradicts the others; please report this", what,
	                  index);
}

static int check(const struct pp_timeline *t, struct pp_err *err)
{
	size_t events = 0;

	for (size_t i = 0; i < t->flows; i++)
		if (t->flow[i].from >= t->events || t->flow[i].to >= t->events || t->flow[i].from == t->flow[i].to)
			return contradiction(err, "flow", i);
	for (size_t i = 0; i < t->tracks; i++) {
		if (t->track[i].event != events || t->track[i].rank >= t->ranks)
			return contradiction(err, "track", i);
		events += t->track[i].events;
	}
	if (events != t->events)
		return contradiction(err, "track", t->tracks);
	for (size_t i = 0; i < t->events; i++) {
		const struct pp_timeline_event *e = &t->event[i];

		if (e->end_ns < e->begin_ns || e->step > t->steps || e->detail > t->details)
			return contradiction(err, "event", i);
	}
	return 0;
}

/* Do events of a track nest, or where they overlap, those of each depth follow each other? `row` has room for all events, and for
 * all depths. */
static int is_in_order(const struct pp_timeline *t, const struct pp_timeline_track *track, const struct pp_timeline_event **row)
{
	const struct pp_timeline_event *e = &t->event[track->event];
	const uint32_t depths = pp_outline_depths(track);
	size_t open = 0;

	for (uint32_t i = 0; i < depths; i++)
		row[i] = NULL;
	for (uint32_t i = 0; i < track->events; i++, e++) {
		if (i && e->begin_ns < e[-1].begin_ns)
			return 0;
		if (pp_outline_overlaps(track)) {
			if (e->depth >= depths || (row[e->depth] && row[e->depth]->end_ns > e->begin_ns))
				return 0;
			row[e->depth] = e;
			continue;
		}
		while (open && pp_outline_is_over(row[open - 1], open, e))
			open--;
		if (open && e->end_ns > row[open - 1]->end_ns)
			return 0;
		row[open++] = e;
	}
	return 1;
}

static int check_order(const struct pp_timeline *t, struct pp_err *err)
{
	const struct pp_timeline_event **row;
	size_t most = 1;
	int code = 0;

	for (size_t i = 0; i < t->tracks; i++) {
		const size_t depths = pp_outline_depths(&t->track[i]),
		             n = t->track[i].events > depths ? t->track[i].events : depths;

		most = n > most ? n : most;
	}
	row = calloc(most, sizeof(*row)); /* NOLINT(bugprone-sizeof-expression): an array of pointers */
	if (!row)
		return pp_err_set(err, -ENOMEM, "cannot export the timeline: no memory");
	for (size_t i = 0; i < t->tracks && code == 0; i++)
		if (!is_in_order(t, &t->track[i], row)) {
			char name[256];

			pp_timeline_track_name(t, &t->track[i], name, sizeof(name));
			code = pp_err_set(err, -EINVAL, "cannot export the timeline: events of %s overlap; please report this",
			                  name);
		}
	free(row);
	return code;
}

int pp_outline_init(struct pp_outline *s, const struct pp_timeline *t, struct pp_err *err)
{
	int rc = check(t, err);

	*s = (struct pp_outline){.t = t, .date_ns = t->epoch_realtime_ns};
	if (rc == 0)
		rc = check_order(t, err);
	if (rc < 0)
		return rc;
	s->flow_at = calloc(t->events + 1, sizeof(*s->flow_at));
	s->flow = calloc(2 * t->flows + 1, sizeof(*s->flow));
	s->depth_at = calloc(t->tracks + 1, sizeof(*s->depth_at));
	s->comm_order = calloc(t->comms + 1, sizeof(*s->comm_order));
	if (!s->flow_at || !s->flow || !s->depth_at || !s->comm_order)
		return pp_err_set(err, -ENOMEM, "cannot export the timeline: no memory");
	place_flows(s);
	for (size_t i = 0; i < t->tracks; i++)
		s->depth_at[i + 1] = s->depth_at[i] + pp_outline_depths(&t->track[i]);
	for (uint32_t i = 0; i < t->comms; i++)
		s->comm_order[i] = i;
	qsort_r(s->comm_order, t->comms, sizeof(*s->comm_order), comm_order, t->comm);
	for (size_t i = 0; i < t->events; i++)
		s->base_ns = t->event[i].begin_ns < s->base_ns ? t->event[i].begin_ns : s->base_ns;
	for (size_t i = 0; i < t->samples; i++)
		s->base_ns = t->sample[i].time_ns < s->base_ns ? t->sample[i].time_ns : s->base_ns;
	if (s->date_ns + s->base_ns < 0)
		s->date_ns = 0; /* no date before 1970 */
	return 0;
}

void pp_outline_release(struct pp_outline *s)
{
	free(s->flow_at);
	free(s->flow);
	free(s->depth_at);
	free(s->comm_order);
}
