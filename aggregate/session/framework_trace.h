/* Files that the profilers of JAX and TensorFlow made in windows (launchers/python/podprof/_profiler.py), joined to what the ranks
 * recorded. In: <spool>/rank-R-PID-TICK-REALTIME-TICK-REALTIME-ERROR.xspace, from begin to end of the profiler: ticks, realtime in
 * ns, |error| of both in ticks; rank-R-PID-TICK.part, while it is on or its file is written; ....failed, a text. Out: ranges,
 * device streams and operations of the capture, in ticks. Called by close.c. */
#pragma once

#include <stddef.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/session/close_range.h"
#include "aggregate/session/warnings.h"
#include "core/clock/clock_map.h"

#define PP_FRAMEWORK_THREAD "podprof: thread " /* and its tid: an event of the thread that began the profiler, in the file */

struct pp_framework_traces {
	const struct pp_rings *rings;
	struct pp_warnings *warnings;      /* say what was joined, and what was not */
	enum pp_tick_kind kind;            /* of the rings */
	const struct pp_clock_pair *first; /* an early reading of the ticks, or NULL: the files' clock is not checked */
	const struct pp_close_range *range;
	size_t ranges; /* 0: all that is held */
};

/* After pp_rings_finish(), before the cut to the window. Waits up to 20 s for files of living ranks. */
void pp_framework_traces_join(const struct pp_framework_traces *w, struct pp_capture *capture);
