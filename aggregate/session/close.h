/* Closes a window: from rings to a session. In: drained rings and two readings of the clock. Out: files and message. */
#pragma once

#include "aggregate/session/close_range.h"
#include "aggregate/session/session.h"
#include "aggregate/session/warnings.h"

struct pp_sampler;
struct pp_salvage_clocks;

struct pp_close {
	struct pp_rings *rings;
	size_t refused;               /* rings that cannot be read; the first note says why */
	struct pp_warnings *warnings; /* notes so far; those of the headers are added */
	pp_status_of *status_of;
	void *status_context;              /* its first argument */
	const struct pp_clock_pair *first; /* NULL: salvage */
	const struct pp_clock_pair *early; /* salvage: [PP_TICK_RAW, PP_TICK_COUNTER] of this host, from before it read rings */
	struct pp_salvage_clocks *clocks;  /* NULL, or the clocks of the hosts that are salvaged together */
	const struct pp_session_options *options; /* `warning` is filled from notes */
	struct pp_sampler *sampler;               /* NULL: no samples; else this function moves them into the capture: */
	void (*give_samples)(struct pp_sampler *sampler, const struct pp_rings *r, struct pp_capture *c);
	struct pp_row_host_clock *wall; /* NULL, or this host's wall clock, pair[] and change[] in ticks: moved out of it */
	char *message;
	size_t message_size;
	const struct pp_close_range *range; /* the ticks of one of several windows; NULL: all that is held */
	size_t ranges;
};

/* The kind of tick of the first ring: this keeper reads all clocks with it. */
enum pp_tick_kind pp_close_tick_kind(const struct pp_rings *r);
int pp_close_session(const struct pp_close *c, struct pp_err *err);
