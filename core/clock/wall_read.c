/* One reading of this host's clocks between two of the tick. Called by the keeper through pp_wall_read(). */
#include "core/clock/wall_read.h"

#include <errno.h>
#include <sys/timex.h>

#include "core/base/now.h"
#include "core/clock/wall.h"

enum { READINGS = 20 }; /* narrowest of so many */

void pp_wall_glance(enum pp_tick_kind kind, struct pp_wall_sample *ret_sample)
{
	ret_sample->tick_before = (int64_t)pp_tick_read(kind);
	ret_sample->realtime_ns = pp_clock_ns(CLOCK_REALTIME);
	ret_sample->monotonic_ns = pp_clock_ns(CLOCK_MONOTONIC);
	ret_sample->boottime_ns = pp_clock_ns(CLOCK_BOOTTIME);
	ret_sample->tick_after = (int64_t)pp_tick_read(kind);
}

void pp_wall_read(enum pp_tick_kind kind, struct pp_wall_sample *ret_sample)
{
	struct pp_wall_sample best = {.tick_after = INT64_MAX};

	for (int i = 0; i < READINGS; i++) {
		struct pp_wall_sample s;

		pp_wall_glance(kind, &s);
		if (s.tick_after - s.tick_before < best.tick_after - best.tick_before)
			best = s;
	}
	*ret_sample = best;
}

int pp_wall_claim(struct pp_wall_claim *ret_claim)
{
	struct timex t = {.modes = 0};
	int state = adjtimex(&t);

	if (state < 0)
		return -ENOTSUP;
	*ret_claim = (struct pp_wall_claim){.synchronised = state != TIME_ERROR && !(t.status & STA_UNSYNC),
	                                    .error_ns = t.esterror * (int64_t)1000,
	                                    .error_most_ns = t.maxerror * (int64_t)1000,
	                                    .frequency_ppb = (int64_t)t.freq * 1000 / 65536};
	return 0;
}
