/* Finishes the rings, sets statuses, maps the clock, writes. Called by keeper.c and salvage.c. */
#include "aggregate/session/close.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "aggregate/dataset/status.h"
#include "aggregate/read/ring/finish.h"
#include "aggregate/read/ring/ring_clock.h"
#include "aggregate/session/clock_metadata.h"
#include "aggregate/session/framework_trace.h"
#include "aggregate/session/message.h"
#include "aggregate/session/salvage_clock.h"
#include "aggregate/session/window_rows.h"
#include "core/base/now.h"
#include "core/capture/capture.h"
#include "core/capture/cut.h"
#include "core/capture/thread.h"
#include "core/clock/pieces.h"

enum { SALVAGE_PAIR_MS = 200, PAIR_MS = 20 };

#define TICK_NONE UINT64_MAX

enum pp_tick_kind pp_close_tick_kind(const struct pp_rings *r)
{
	return pp_rings_count(r) ? (enum pp_tick_kind)pp_rings_header(r, 0)->tick_kind : PP_TICK_RAW;
}

/* Spools of several hosts may be salvaged together. */
static int is_like_first(const struct pp_rings *r, const struct pp_ring_header *h)
{
	return pp_rings_same_clock(pp_rings_header(r, 0), h);
}

/* The ring that was opened first. */
static const struct pp_ring_header *first_ring(const struct pp_rings *r)
{
	const struct pp_ring_header *first = pp_rings_header(r, 0);

	for (size_t i = 1; i < pp_rings_count(r); i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);

		if (is_like_first(r, h) && h->open_tick < first->open_tick)
			first = h;
	}
	return first;
}

/* The tick of job ns 0: no span is earlier. A rank often gets its ring only when its first call (MPI_Init) ends. */
static pp_tick epoch_of(const struct pp_capture *c, pp_tick open_tick, int of_other)
{
	pp_tick epoch = open_tick;

	for (size_t r = 0; r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads && c->rank[r].counts_other == of_other && !c->rank[r].shifted; t++) {
			pp_tick first = (pp_tick)c->rank[r].thread[t].first;

			if (first && first < epoch)
				epoch = first;
		}
	return epoch;
}

/* Takes the leader's map, where the clock is the same or was compared with it: times and epoch are then the job's. Where a bound
 * is unknown in the compared range, the ranks keep their own clock. */
static int64_t take_clock(const struct pp_gather *g, struct pp_clock_map *map, struct pp_capture *c, int64_t from, int64_t to)
{
	int64_t bound = 0;

	*map = *g->map;
	c->epoch_realtime_ns = g->epoch_realtime_ns;
	if (map->pieces && from <= to)
		bound = pp_pieces_worst(map->pieces, from, to);
	if (bound > INT64_MAX / 4)
		return PP_BOUND_UNKNOWN;
	for (size_t r = 0; map->pieces && r < c->ranks; r++)
		if (!c->rank[r].domain)
			snprintf(c->rank[r].clock, sizeof(c->rank[r].clock), "%s", g->clock);
	return bound;
}

/* Waits until `a` is that long ago: the rate comes from two readings. */
static void keep_distance(const struct pp_clock_pair *a, int64_t ms)
{
	int64_t passed = ((int64_t)pp_tick_raw() - a->raw_ns) / 1000000;

	if (passed < ms)
		pp_nap_ms(ms - passed);
}

static int read_clock(const struct pp_close *close_it, struct pp_clock_map *map, struct pp_capture *c, struct pp_err *err)
{
	const struct pp_gather *g = close_it->options->gather;
	const struct pp_ring_header *h = first_ring(close_it->rings);
	enum pp_tick_kind kind = (enum pp_tick_kind)h->tick_kind;
	const struct pp_clock_pair *given = close_it->first, a = given ? *given : close_it->early[kind != PP_TICK_RAW];
	struct pp_clock_pair b;
	pp_tick epoch;
	int rc;

	if (g) /* hosts that have just met go on to compare their clocks meanwhile */
		pp_nap_ms(PAIR_MS);
	else
		keep_distance(&a, given ? PAIR_MS : SALVAGE_PAIR_MS);
	pp_clock_read_pair(kind, &b);
	epoch = epoch_of(c, h->open_tick, 0);
	if (g && g->leads && g->first_tick && g->first_tick < epoch)
		epoch = g->first_tick;
	rc = pp_clock_map_init(map, kind, &a, &b, epoch, err);
	/* A dead job's ticks may be of an earlier boot: only its own reading gives the date. */
	if (!rc)
		c->epoch_realtime_ns = given ? b.realtime_ns - pp_clock_map_ns(map, b.tick)
		                             : h->open_realtime_ns - pp_clock_map_ns(map, h->open_tick);
	return rc;
}

static int cut_rank(const struct pp_close_range *range, struct pp_rank *rank)
{
	return range->keep ? pp_rank_keep(rank, range->from) : pp_rank_cut(rank, range->from, range->to);
}

static int cut_ranks(const struct pp_close *c, struct pp_capture *capture, struct pp_err *err)
{
	for (size_t i = 0; i < capture->ranks; i++)
		for (size_t k = 0; k < c->ranges; k++)
			if (c->range[k].rank == capture->rank[i].rank && cut_rank(&c->range[k], &capture->rank[i]))
				return pp_err_set(err, -ENOMEM,
				                  "cannot cut out the window: no memory. Give a smaller --window-buffer");
	return 0;
}

static struct pp_rank *rank_of(struct pp_capture *capture, const struct pp_ring_header *h)
{
	for (size_t k = 0; k < capture->ranks; k++)
		if (capture->rank[k].rank == h->rank && capture->rank[k].pid == h->pid)
			return &capture->rank[k];
	return NULL;
}

/* The rank's last ring counts: it has the claim. */
static void set_status(const struct pp_close *c, struct pp_capture *capture)
{
	for (size_t i = 0; i < pp_rings_count(c->rings); i++) {
		struct pp_rank *rank = rank_of(capture, pp_rings_header(c->rings, i));

		if (rank && !pp_rings_is_excluded(c->rings, i))
			c->status_of(c->status_context, i, rank, rank->status, sizeof(rank->status));
	}
}

/* A rank past the window has delivered it, even if it died before this keeper looked. */
static void count_passed(const struct pp_close *c, struct pp_capture *capture)
{
	for (size_t i = 0; i < pp_rings_count(c->rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(c->rings, i);
		int passed = c->range ? i < c->ranges && c->range[i].passed : pp_ring_window_state(h) >= 2;
		struct pp_rank *rank = passed ? rank_of(capture, h) : NULL;

		if (rank)
			snprintf(rank->status, sizeof(rank->status), PP_STATUS_DELIVERED);
	}
}

static pp_tick other_open(const struct pp_capture *c)
{
	pp_tick open = TICK_NONE;

	for (size_t r = 0; r < c->ranks; r++)
		if (c->rank[r].counts_other && (pp_tick)c->rank[r].open_tick < open)
			open = (pp_tick)c->rank[r].open_tick;
	return open;
}

/* Maps ticks of the other kind to the same time: measures their rate now, and reads their offset beside the first kind's.
 * Namespaces and boots may differ, so the two clocks are not joined; but a second is a second. */
static int read_other_clock(const struct pp_rings *r, const struct pp_capture *c, const struct pp_clock_map *map,
                            struct pp_clock_map *other, struct pp_err *err)
{
	enum pp_tick_kind kind = pp_close_tick_kind(r), another = kind == PP_TICK_RAW ? PP_TICK_COUNTER : PP_TICK_RAW;
	struct pp_clock_pair here, a, b;
	int64_t early;
	int rc;

	pp_clock_read_pair(kind, &here);
	pp_clock_read_pair(another, &a);
	pp_nap_ms(SALVAGE_PAIR_MS);
	pp_clock_read_pair(another, &b);
	rc = pp_clock_map_init(other, another, &a, &b, a.tick, err);
	other->ns0 = pp_clock_map_ns(map, here.tick) + a.raw_ns - here.raw_ns;
	early = pp_clock_map_ns(other, epoch_of(c, other_open(c), 1));
	if (!rc && early < 0)
		other->ns0 -= early;
	return rc;
}

static int any_counts_other(const struct pp_capture *c)
{
	for (size_t i = 0; i < c->ranks; i++)
		if (c->rank[i].counts_other)
			return 1;
	return 0;
}

/* Describes the window of the options, where the caller has not described it. */
static void describe_window(const struct pp_close *c, const struct pp_session_options *o, struct pp_capture *capture,
                            struct pp_window_metadata *metadata)
{
	int steps = o->steps_last > o->steps_first;

	*metadata = (struct pp_window_metadata){.by = "options", .tries = 1};
	snprintf(metadata->kind, sizeof(metadata->kind), "%s", steps ? "steps" : c->range ? "keep" : "all");
	snprintf(metadata->channel, sizeof(metadata->channel), "%s", steps ? "memory" : "none");
	if (steps)
		snprintf(metadata->what, sizeof(metadata->what), "--steps %" PRId64 ":%" PRId64, o->steps_first, o->steps_last);
	if (pp_window_rows_make(c->rings, pp_window_rows_of_options, NULL, metadata))
		metadata->by[0] = '\0';
	for (size_t i = 0; metadata->rank && c->range && i < metadata->ranks; i++)
		for (size_t k = 0; k < c->ranges; k++)
			if (c->range[k].rank == metadata->rank[i].rank && c->range[k].from > metadata->rank[i].started)
				metadata->rank[i].started = c->range[k].from;
	for (size_t i = 0; metadata->rank && steps && i < metadata->ranks; i++)
		for (size_t r = 0; r < capture->ranks; r++)
			if (capture->rank[r].rank == metadata->rank[i].rank &&
			    metadata->rank[i].started > capture->rank[r].recorded_from)
				capture->rank[r].recorded_from = metadata->rank[i].started;
}

/* Two clocks have one name, as those of a virtual machine and its clone: appends the host to this one's. */
static void name_own_clock(struct pp_capture *c)
{
	for (size_t r = 0; r < c->ranks; r++) {
		size_t n = strlen(c->rank[r].clock);

		snprintf(c->rank[r].clock + n, sizeof(c->rank[r].clock) - n, " of %s", c->rank[r].host);
	}
}

static const struct pp_ring_header *ring_of(const struct pp_rings *r, const struct pp_rank *rank)
{
	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (pp_rings_header(r, i)->rank == rank->rank)
			return pp_rings_header(r, i);
	return NULL;
}

/* Finds ranks of other hosts whose clocks were not compared: the wall clock of each host places them, as it was when the rank
 * began. */
static void find_shifted(const struct pp_rings *r, struct pp_capture *c)
{
	for (size_t i = 0; i < c->ranks; i++) {
		const struct pp_ring_header *h = ring_of(r, &c->rank[i]);

		c->rank[i].shifted = h && !c->rank[i].counts_other && !is_like_first(r, h);
	}
}

static void move_epoch(struct pp_capture *c, struct pp_clock_map *map, int64_t by_ns)
{
	map->ns0 -= by_ns;
	c->epoch_realtime_ns += by_ns;
}

static void shift_hosts(const struct pp_rings *r, struct pp_capture *c, struct pp_clock_map *map)
{
	int64_t earliest = 0;

	for (size_t i = 0; i < c->ranks; i++) {
		struct pp_rank *rank = &c->rank[i];
		const struct pp_ring_header *h = ring_of(r, rank);

		if (!rank->shifted || !h)
			continue;
		rank->shift_ns = h->open_realtime_ns - c->epoch_realtime_ns - pp_clock_map_ns(map, h->open_tick);
		for (size_t t = 0; t < rank->threads; t++)
			if (rank->thread[t].first &&
			    pp_clock_map_ns(map, (pp_tick)rank->thread[t].first) + rank->shift_ns < earliest)
				earliest = pp_clock_map_ns(map, (pp_tick)rank->thread[t].first) + rank->shift_ns;
	}
	move_epoch(c, map, earliest);
}

/* The keepers have left readings of the root's ticks, or they are those of a clock that is read here. The error of the rate grows
 * with the distance from them. */
static int read_root(const struct pp_close *c, struct pp_capture *capture, struct pp_clock_map *map, struct pp_err *err)
{
	const struct pp_clock_pair *first = &c->clocks->first, *last = &c->clocks->last;
	enum pp_tick_kind kind = c->clocks->root_here ? pp_close_tick_kind(c->rings) : PP_TICK_TSC;
	int64_t latest = pp_salvage_clocks_latest(c->clocks, capture);
	int rc;

	if (last->tick <= first->tick)
		return read_clock(c, map, capture, err);
	rc = pp_clock_map_init(map, kind, first, last, first->tick, err);
	if (rc)
		return rc;
	capture->epoch_realtime_ns = last->realtime_ns - pp_clock_map_ns(map, last->tick);
	if (latest > (int64_t)last->tick)
		map->bound_ns = (int64_t)ceil((double)map->bound_ns * (double)(latest - (int64_t)first->tick) /
		                              (double)(last->tick - first->tick));
	return 0;
}

/* Joins the clocks of salvaged hosts, as the keepers would have done. Hosts that cannot be joined are placed by their dates. */
static int join_clocks(const struct pp_close *c, struct pp_capture *capture, struct pp_clock_map *map, struct pp_err *err)
{
	int rc;

	pp_salvage_clocks_place(c->clocks, c->rings, capture);
	rc = read_root(c, capture, map, err);
	if (rc)
		return rc;
	move_epoch(capture, map, pp_salvage_clocks_earliest(c->clocks, capture, map));
	shift_hosts(c->rings, capture, map);
	return pp_salvage_clocks_map(c->clocks, c->rings, capture, map, err);
}

/* Maps ticks to job ns and describes this host's clock. A salvaged job has no description: its ticks may be of another boot. */
static int set_clock(const struct pp_close *c, struct pp_capture *capture, struct pp_clock_map *map,
                     struct pp_row_host_clock *ret_clock, struct pp_err *err)
{
	const struct pp_gather *g = c->options->gather;
	const struct pp_ring_header *h = pp_rings_header(c->rings, 0);
	char own[sizeof(ret_clock->own)] = "";
	struct pp_clock_metadata_input in = {.exchange = g ? &g->exchange : NULL,
	                                     .wall = c->wall,
	                                     .map = map,
	                                     .first = c->first,
	                                     .kind = pp_close_tick_kind(c->rings),
	                                     .own = own};
	int rc = 0;

	if (c->clocks && pp_salvage_clocks_any(c->clocks))
		return join_clocks(c, capture, map, err);
	for (size_t r = 0; r < capture->ranks; r++)
		capture->rank[r].host_clock = !capture->rank[r].domain;
	pp_clock_metadata_extent(capture, 1, 0, &in.from_tick, &in.to_tick);
	if (g && g->own_clock)
		name_own_clock(capture);
	if (g && g->map)
		in.bound_ns = take_clock(g, map, capture, in.from_tick, in.to_tick);
	else
		rc = read_clock(c, map, capture, err);
	if (!rc && c->options->salvaged)
		shift_hosts(c->rings, capture, map);
	if (g && !g->map && !g->leads)
		in.bound_ns = PP_BOUND_UNKNOWN;
	if (rc || c->options->salvaged || in.from_tick > in.to_tick)
		return rc;
	pp_rings_name_clock(h->boot_id, h->timens_ns, h->tick_kind, own, sizeof(own));
	for (size_t r = capture->ranks; r-- > 0;)
		if (!capture->rank[r].domain)
			in.host = capture->rank[r].host;
	if (g && g->own_clock)
		snprintf(own + strlen(own), sizeof(own) - strlen(own), " of %s", in.host);
	return pp_clock_metadata_finish(&in, ret_clock, err);
}

int pp_close_session(const struct pp_close *c, struct pp_err *err)
{
	struct pp_session_options options = *c->options;
	struct pp_window_metadata metadata = {.tries = 0};
	struct pp_capture capture = {0};
	struct pp_clock_map map, other;
	struct pp_row_host_clock clock = {.host_bound_ns = PP_BOUND_UNKNOWN};
	int rc;

	if (!pp_rings_count(c->rings) && c->refused)
		return pp_err_set(err, -EPROTO, "%s", c->warnings->text[0]);
	if (!pp_rings_count(c->rings)) {
		pp_message_copy(c->message, c->message_size,
		                "no session was written: no rank called MPI, began a step or opened a range");
		return 0;
	}
	rc = pp_rings_finish(c->rings, &capture, err);
	if (rc)
		return rc;
	if (c->sampler)
		c->give_samples(c->sampler, c->rings, &capture);
	if (options.salvaged)
		find_shifted(c->rings, &capture);
	pp_warnings_of_rings(c->rings, &capture, c->warnings);
	set_status(c, &capture);
	if (!options.salvaged)
		count_passed(c, &capture);
	pp_framework_traces_join(
	        &(struct pp_framework_traces){c->rings, c->warnings, pp_close_tick_kind(c->rings), c->first, c->range, c->ranges},
	        &capture);
	options.warning = c->warnings->list;
	if (!options.window && !options.salvaged) {
		describe_window(c, &options, &capture, &metadata);
		options.window = &metadata;
	}
	for (size_t i = 0; options.gather && options.gather->host[0] && i < capture.ranks; i++)
		snprintf(capture.rank[i].host, sizeof(capture.rank[i].host), "%s", options.gather->host);
	rc = cut_ranks(c, &capture, err);
	if (!rc)
		rc = set_clock(c, &capture, &map, &clock, err);
	options.host_clock = &clock;
	options.host_clocks = clock.name[0] != '\0';
	if (c->clocks && c->clocks->rows) {
		options.host_clock = c->clocks->row;
		options.host_map = c->clocks->map;
		options.host_clocks = c->clocks->rows;
	}
	if (!rc && any_counts_other(&capture)) {
		rc = read_other_clock(c->rings, &capture, &map, &other, err);
		options.other_clock = &other;
	}
	if (!rc)
		rc = pp_session_write(&capture, &map, &options, c->message, c->message_size, err);
	pp_window_metadata_release(&metadata);
	pp_host_clock_release(&clock);
	pp_capture_release(&capture);
	return rc;
}
