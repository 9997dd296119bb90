/* Reads a host's clocks, and what its comparisons have found; see doctor_clock_report.h. */
#include "launchers/doctor/doctor_clock_report.h"

#include <math.h>
#include <stdlib.h>

#include "aggregate/keeper/clock/clock_link.h"
#include "aggregate/keeper/cluster/pod_clock.h"
#include "core/clock/wall_read.h"

enum { BEYOND_S = 20 /* the date is read at most this long after the last burst */ };

void pp_doctor_read_clocks(const struct pp_doctor_run *r, struct pp_wire_doctor_reading *ret_reading)
{
	enum pp_tick_kind kind = (enum pp_tick_kind)r->self.tick_kind;
	struct pp_clock_pair last;
	struct pp_wall_sample wall;
	int64_t raw_ns;

	pp_wall_read(kind, &wall);
	pp_clock_read_pair(kind, &last);
	raw_ns = last.raw_ns - r->first.raw_ns;
	*ret_reading = (struct pp_wire_doctor_reading){
	        .tick = (int64_t)last.tick,
	        .raw_ns = last.raw_ns,
	        .width_ns = last.width_ns,
	        .date_ns = wall.realtime_ns,
	        .date_tick = wall.tick_before + (wall.tick_after - wall.tick_before) / 2,
	        .date_half = (double)(wall.tick_after - wall.tick_before) / 2,
	        .ticks_per_ns = pp_clock_rate(kind, &r->first, &last),
	        .rate_error = raw_ns > 0 ? (double)(r->first.width_ns + last.width_ns) / (double)raw_ns : 1,
	};
}

static void take_nodes(struct pp_clock_link *l, struct pp_wire_doctor_raw *raw)
{
	struct pp_band_node *node = NULL;
	size_t nodes = 0;

	if (pp_clock_link_nodes(l, &node, &nodes, NULL))
		return;
	raw->nodes = nodes > 2 ? 2 : (uint32_t)nodes;
	raw->least = INFINITY;
	for (size_t i = 0; i < nodes; i++)
		if (node[i].least < raw->least)
			raw->least = node[i].least;
	for (size_t i = 0; i < raw->nodes; i++) {
		const struct pp_band_node *n = &node[i ? nodes - 1 : 0];

		raw->x[i] = n->x;
		raw->y[i] = n->y;
		raw->half[i] = n->high > -n->low ? n->high : -n->low;
	}
	free(node);
}

int pp_doctor_measured(const struct pp_doctor_run *r, size_t i, const struct pp_wire_doctor_reading *read,
                       struct pp_wire_doctor_raw *ret_raw)
{
	struct pp_wire_doctor_raw raw = {.bound = INT64_MAX, .date_y_bound = INT64_MAX};
	struct pp_clock_link *l = pp_pod_clock_before(r->pod, i, &raw.parent);
	struct pp_clock_link_state state;
	struct pp_pieces pieces = {0};

	if (!l)
		return 0;
	pp_clock_link_state(l, &state);
	raw.trips = state.counts.trips;
	raw.lost = state.counts.lost;
	raw.two = pp_same_clock_verdict(&state.same, INT64_MAX) == PP_SAME_FALSE;
	/* The chain first: nodes are there when it was made. */
	if (!pp_clock_link_pieces(l, (int64_t)(BEYOND_S * 1e9 * r->self.ticks_per_ns), &pieces, NULL)) {
		take_nodes(l, &raw);
		if (raw.nodes)
			raw.bound = pp_pieces_worst(&pieces, raw.x[0], raw.x[raw.nodes - 1]);
		raw.date_y = pp_pieces_map(&pieces, read->date_tick);
		raw.date_y_bound = pp_pieces_bound(&pieces, read->date_tick);
		pp_pieces_release(&pieces);
	}
	*ret_raw = raw;
	return 1;
}
