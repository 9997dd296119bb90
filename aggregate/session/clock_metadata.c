/* Makes rows of /clock from a keeper's clock data; see clock_metadata.h. Called by the pod and by close.c. */
#include "aggregate/session/clock_metadata.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/plain.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/clock/pieces.h"
#include "core/clock/pieces_make.h"

#define DRIFT_MOST 1e12 /* ppb */

void pp_clock_metadata_release(struct pp_clock_metadata *t)
{
	free(t->node);
	*t = (struct pp_clock_metadata){.nodes = 0};
}

void pp_clock_metadata_print(const struct pp_clock_metadata *t, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64, t->rounds,
	         t->trips, t->lost, t->impossible, t->foreign, t->round_ns, t->cpu_ns);
}

void pp_clock_metadata_scan(const char *text, struct pp_row_host_clock *c)
{
	struct pp_clock_metadata t;

	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64, &t.rounds, &t.trips,
	           &t.lost, &t.impossible, &t.foreign, &t.round_ns, &t.cpu_ns) != 7)
		return;
	c->rounds = t.rounds;
	c->trips = t.trips;
	c->lost = t.lost;
	c->impossible = t.impossible;
	c->foreign = t.foreign;
	c->round_ns = t.round_ns;
	c->cpu_ns = t.cpu_ns;
}

static int is_compared(const struct pp_span *s)
{
	return s->kind == PP_SPAN_STEP || ((s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST) && s->mpi.comm);
}

void pp_clock_metadata_extent(const struct pp_capture *c, uint32_t host_clock, int all, int64_t *ret_from, int64_t *ret_to)
{
	const uint32_t kinds = PP_SPAN_BIT(PP_SPAN_STEP) | PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST);

	for (; all < 2; all++) {
		*ret_from = INT64_MAX;
		*ret_to = INT64_MIN;
		for (size_t r = 0; r < c->ranks; r++)
			for (size_t t = 0; t < c->rank[r].threads && c->rank[r].host_clock == host_clock; t++) {
				const struct pp_thread *thread = &c->rank[r].thread[t];
				const size_t n = all ? thread->spans : pp_thread_others(thread, kinds);

				for (size_t k = 0; k < n; k++) {
					const struct pp_span *s = &thread->span[all ? k : pp_thread_other(thread, k)];

					if (!all && !is_compared(s))
						continue;
					*ret_from = s->begin < *ret_from ? s->begin : *ret_from;
					*ret_to = s->end > *ret_to ? s->end : *ret_to;
				}
			}
		if (*ret_from <= *ret_to)
			return;
	}
}

static int64_t job_ns(const struct pp_clock_metadata_input *in, int64_t tick)
{
	return pp_clock_map_ns(in->map, (pp_tick)tick);
}

/* The rate over all comparisons: the longer the line, the smaller the error, which comes from the bounds at both ends and the
 * rate of the own ticks. A clock that needed no comparison with its parent has the line at the window's begin, and an unknown
 * error. */
static void fill_drift(const struct pp_clock_metadata_input *in, double rate, double rate_error, struct pp_row_host_clock *c)
{
	const struct pp_clock_metadata *t = in->exchange;
	const struct pp_pieces *p = in->map->pieces;
	const struct pp_clock_piece *piece = &p->piece[pp_pieces_find(p, 0, in->from_tick)];
	double error, ns, theirs;
	int64_t first, last;

	c->host_drift_error_ppb = PP_BOUND_UNKNOWN;
	c->host_drift_ppb = llround(((double)piece->num / (double)((int64_t)1 << PP_PIECE_SHIFT) * rate - 1) * 1e9);
	if (t->nodes < 2)
		return;
	first = t->node[0].x;
	last = t->node[t->nodes - 1].x;
	ns = (double)(last - first) / rate;
	theirs = (double)(pp_pieces_map(p, last) - pp_pieces_map(p, first));
	c->host_drift_ppb = llround((theirs / ns - 1) * 1e9);
	if (pp_pieces_bound(p, first) == INT64_MAX || pp_pieces_bound(p, last) == INT64_MAX)
		return;
	error = (((double)pp_pieces_bound(p, first) + (double)pp_pieces_bound(p, last)) / ns + rate_error) * 1e9;
	if (error < DRIFT_MOST)
		c->host_drift_error_ppb = (int64_t)ceil(error);
}

/* The offset between the two clocks at the window's begin, both counted in ns. */
static void fill_offset(const struct pp_clock_metadata_input *in, struct pp_row_host_clock *c)
{
	struct pp_clock_pair now;
	double rate, rate_error = 0, own;

	if (!in->first)
		return;
	if (in->last)
		now = *in->last;
	else
		pp_clock_read_pair(in->kind, &now);
	rate = pp_clock_rate(in->kind, in->first, &now);
	if (in->kind != PP_TICK_RAW)
		rate_error = (double)(in->first->width_ns + now.width_ns) / (double)(now.raw_ns - in->first->raw_ns);
	own = (double)(in->from_tick - (int64_t)in->first->tick) / rate;
	c->host_offset_ns = job_ns(in, in->from_tick) - (in->first->raw_ns + (int64_t)llround(own));
	if (in->map->pieces)
		fill_drift(in, rate, rate_error, c);
}

struct rows { /* rows of a table in order of time that a window shows: those inside, and one before and one behind, at least two */
	size_t first, end;
};

static struct rows rows_of(const void *time, size_t rows, size_t stride, int64_t from, int64_t to)
{
	struct rows r = {0, rows};

	for (size_t i = 0; i < rows; i++) {
		int64_t at;

		memcpy(&at, (const char *)time + i * stride, sizeof(at));
		if (at <= from)
			r.first = i;
		if (at >= to && i + 1 < r.end)
			r.end = i + 1;
	}
	if (r.end - r.first == 1 && r.end < rows)
		r.end++;
	else if (r.end - r.first == 1 && r.first)
		r.first--;
	return r;
}

static double middle(const struct pp_band_node *n, const struct pp_band_node *origin)
{
	return (double)(n->y - origin->y) + n->low + (n->high - n->low) / 2;
}

/* Converts the parent's ticks to ns by the own ones: both count the same seconds within 0.1 %. */
static int fill_samples(const struct pp_clock_metadata_input *in, struct pp_row_host_clock *c)
{
	const struct pp_clock_metadata *t = in->exchange;
	struct rows r = rows_of(t->nodes ? &t->node->x : NULL, t->nodes, sizeof(*t->node), in->from_tick, in->to_tick);
	const struct pp_band_node *first, *last;
	double slope, ns;

	if (r.first >= r.end)
		return 0;
	first = &t->node[r.first];
	last = &t->node[r.end - 1];
	c->sample = calloc(r.end - r.first, sizeof(*c->sample));
	if (!c->sample)
		return -ENOMEM;
	slope = last > first ? (middle(last, first) - middle(first, first)) / (double)(last->x - first->x) : first->rate;
	for (const struct pp_band_node *n = first; n <= last; n++) {
		double x = (double)(n->x - first->x);

		ns = (double)(job_ns(in, n->x + (1 << 30)) - job_ns(in, n->x)) / (1 << 30) / n->rate;
		c->sample[c->samples++] = (struct pp_row_clock_sample){
		        .time_ns = job_ns(in, n->x),
		        .half_ns = (int64_t)ceil((n->high - n->low) / 2 * ns),
		        .residual_ns = llround((middle(n, first) - middle(first, first) - slope * x) * ns),
		        .t1 = n->x_out,
		        .t2 = n->y_in,
		        .t3 = n->y_out,
		        .t4 = n->x_in,
		        .sample_trips = (int32_t)n->samples,
		        .sample_flags = n->flags};
	}
	return 0;
}

static int64_t whole(double ns)
{
	return ns < 9e18 ? (int64_t)ceil(ns) : PP_BOUND_UNKNOWN;
}

static struct pp_row_clock_stretch stretch_of(const struct pp_pieces *p, size_t i, int64_t from, int64_t to)
{
	struct pp_pieces_part part = pp_pieces_part(p, i, from, to);

	return (struct pp_row_clock_stretch){
	        .begin_ns = pp_pieces_map(p, from),
	        .end_ns = pp_pieces_map(p, to),
	        .bound_begin_ns = whole(part.begin),
	        .bound_end_ns = whole(part.end),
	        .bound_hump_ns = whole(part.hump),
	        .stretch_flags = p->piece[i].flags,
	};
}

/* Every piece has a bound here: the largest one is known. */
static int fill_segments(const struct pp_clock_metadata_input *in, struct pp_row_host_clock *c)
{
	const struct pp_pieces *p = in->map->pieces;
	size_t at = pp_pieces_find(p, 0, in->from_tick), last = pp_pieces_find(p, 0, in->to_tick);

	c->stretch = calloc(last - at + 1, sizeof(*c->stretch));
	if (!c->stretch)
		return -ENOMEM;
	for (int64_t from = in->from_tick; at <= last && from < in->to_tick; at++) {
		int64_t end = at + 1 < p->pieces && p->piece[at + 1].x < in->to_tick ? p->piece[at + 1].x : in->to_tick;

		c->stretch[c->stretches++] = stretch_of(p, at, from, end);
		from = end;
	}
	return 0;
}

/* The rows of the wall clock's watch, cut to the window and mapped from ticks to job ns. */
static void fill_wall(const struct pp_clock_metadata_input *in, struct pp_row_host_clock *c)
{
	struct rows r;
	size_t changes = 0;

	c->pair = in->wall->pair;
	c->pairs = in->wall->pairs;
	c->change = in->wall->change;
	c->changes = in->wall->changes;
	c->changes_lost = in->wall->changes_lost;
	c->claim = in->wall->claim;
	*in->wall = (struct pp_row_host_clock){.host_bound_ns = PP_BOUND_UNKNOWN};
	r = rows_of(c->pairs ? &c->pair->wall_time_ns : NULL, c->pairs, sizeof(*c->pair), in->from_tick, in->to_tick);
	c->pairs = 0;
	for (size_t i = r.first; i < r.end; i++) {
		c->pair[c->pairs] = c->pair[i];
		c->pair[c->pairs].wall_time_ns = job_ns(in, c->pair[i].wall_time_ns);
		c->pairs++;
	}
	if (c->changes && c->change[0].to_ns < in->from_tick)
		c->changes_lost = 0; /* only the oldest are lost, all of them before the window */
	for (size_t i = 0; i < c->changes; i++) {
		struct pp_row_clock_change one = c->change[i];

		if (one.to_ns < in->from_tick || one.from_ns > in->to_tick)
			continue;
		one.from_ns = job_ns(in, one.from_ns);
		one.to_ns = job_ns(in, one.to_ns);
		c->change[changes++] = one;
	}
	c->changes = changes;
}

int pp_clock_metadata_finish(const struct pp_clock_metadata_input *in, struct pp_row_host_clock *ret, struct pp_err *err)
{
	const struct pp_clock_metadata *t = in->exchange;
	struct pp_row_host_clock c = {.host_bound_ns = in->bound_ns,
	                              .host_drift_error_ppb = in->bound_ns == PP_BOUND_UNKNOWN ? PP_BOUND_UNKNOWN : 0};
	int rc = 0;

	snprintf(c.name, sizeof(c.name), "%s", in->host);
	pp_plain(c.name, "");
	snprintf(c.own, sizeof(c.own), "%s", in->own);
	fill_offset(in, &c);
	if (t) {
		c.rounds = t->rounds;
		c.trips = t->trips;
		c.lost = t->lost;
		c.impossible = t->impossible;
		c.foreign = t->foreign;
		c.round_ns = t->round_ns;
		c.cpu_ns = t->cpu_ns;
		c.hops = t->hops;
		snprintf(c.parent, sizeof(c.parent), "%s", t->parent);
		rc = fill_samples(in, &c);
	}
	if (!rc && in->map->pieces && in->bound_ns != PP_BOUND_UNKNOWN)
		rc = fill_segments(in, &c);
	if (!rc && in->wall)
		fill_wall(in, &c);
	if (rc) {
		pp_host_clock_release(&c);
		return pp_err_set(err, rc, "no memory for this host's clock");
	}
	*ret = c;
	return 0;
}
