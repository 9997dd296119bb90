/* The line from ticks to job ns; see clock_map.h. Called by the keeper and salvage when a window closes. */
#include "core/clock/clock_map.h"

#include <errno.h>

#include "core/base/now.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/clock/pieces.h"

enum {
	READINGS = 200,            /* the narrowest is taken: one of them meets no interrupt */
	PAIR_DISTANCE_NS = 1000000 /* shorter distances make the widths a large part of it */
};

void pp_clock_read_pair(enum pp_tick_kind kind, struct pp_clock_pair *ret_pair)
{
	struct pp_clock_pair best = {.width_ns = INT64_MAX};
	int64_t realtime_width = INT64_MAX;
	int64_t realtime_less_raw = 0;

	for (int i = 0; i < READINGS; i++) {
		int64_t before = (int64_t)pp_tick_raw();
		pp_tick tick = pp_tick_read(kind);
		int64_t after = (int64_t)pp_tick_raw();
		int64_t realtime = pp_clock_ns(CLOCK_REALTIME);
		int64_t last = (int64_t)pp_tick_raw();

		if (kind == PP_TICK_RAW) {
			best.tick = tick;
			best.raw_ns = (int64_t)tick;
			best.width_ns = 0;
		} else if ((after - before + 1) / 2 < best.width_ns) {
			best.tick = tick;
			best.raw_ns = before + (after - before) / 2;
			best.width_ns = (after - before + 1) / 2;
		}
		if (last - after < realtime_width) {
			realtime_width = last - after;
			realtime_less_raw = realtime - (after + (last - after) / 2);
		}
	}
	best.realtime_ns = best.raw_ns + realtime_less_raw;
	*ret_pair = best;
}

double pp_clock_rate(enum pp_tick_kind kind, const struct pp_clock_pair *a, const struct pp_clock_pair *b)
{
	if (kind == PP_TICK_RAW || b->raw_ns <= a->raw_ns)
		return 1;
	return (double)(b->tick - a->tick) / (double)(b->raw_ns - a->raw_ns);
}

int pp_clock_map_init(struct pp_clock_map *m, enum pp_tick_kind kind, const struct pp_clock_pair *a, const struct pp_clock_pair *b,
                      pp_tick epoch, struct pp_err *err)
{
	struct pp_clock_map map = {.tick0 = epoch, .num = 1};
	unsigned __int128 quotient;
	uint64_t ticks, ns;

	if (b->raw_ns - a->raw_ns < PAIR_DISTANCE_NS || b->tick <= a->tick)
		return pp_err_set(err, -EINVAL,
		                  "cannot map the clock: its two readings are less than 1 ms apart. Take the second one later");
	if (kind != PP_TICK_RAW) {
		ticks = b->tick - a->tick;
		ns = (uint64_t)(b->raw_ns - a->raw_ns);
		map.shift = 62; /* num is below 2^62: its product with any distance of two ticks fits */
		while ((quotient = ((unsigned __int128)ns << map.shift) / ticks) >> 62)
			map.shift--;
		map.num = (uint64_t)quotient;
		/* The rate is off by at most (wa + wb) / distance, so a difference up to the distance by wa + wb; 1 is
		 * rounding. */
		map.bound_ns = a->width_ns + b->width_ns + 1;
	}
	*m = map;
	return 0;
}

int64_t pp_clock_map_ns(const struct pp_clock_map *m, pp_tick tick)
{
	__int128 distance = (__int128)tick - (__int128)m->tick0;

	if (m->pieces)
		return pp_pieces_map(m->pieces, (int64_t)tick);
	/* Shifting a negative product rounds down too: the map is monotone across tick0. */
	return (int64_t)((uint64_t)m->ns0 + (uint64_t)(distance * (__int128)m->num >> m->shift));
}

pp_tick pp_clock_map_tick(const struct pp_clock_map *m, int64_t ns)
{
	__int128 wanted = ((__int128)ns - m->ns0) * ((__int128)1 << m->shift);

	if (m->pieces)
		return (pp_tick)pp_pieces_inverse(m->pieces, ns);
	return m->tick0 + (pp_tick)(wanted / (__int128)m->num + (wanted > 0 && wanted % (__int128)m->num));
}

static void map_line(const void *context, int64_t *time, size_t times, size_t stride)
{
	const struct pp_clock_map line = *(const struct pp_clock_map *)context; /* stores of times cannot change it */

	for (char *at = (char *)time; times > 0; times--, at += stride) {
		int64_t *one = (int64_t *)(void *)at;

		*one = pp_clock_map_ns(&line, (pp_tick)*one);
	}
}

static void map_pieces(const void *context, int64_t *time, size_t times, size_t stride)
{
	pp_pieces_map_run(context, time, times, stride);
}

void pp_clock_map_rank(const struct pp_clock_map *m, struct pp_rank *rank)
{
	const struct pp_time_mapper mapper = {.map = m->pieces ? map_pieces : map_line,
	                                      .context = m->pieces ? (const void *)m->pieces : m};

	pp_rank_map_times(rank, &mapper);
}
