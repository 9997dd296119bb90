/* --trigger: finds a step that takes more than K times the rank's usual step, the median of its last 64 steps, from the 20th on.
 * The slow step with up to five in front of it and one behind it becomes a window of all ranks. At most one per minute; others
 * are counted. In: steps that the keeper has drained. Out: the span to keep, once all ranks have ended it. Called by lookback.c. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

enum { PP_SLOW_STEPS = 64, PP_SLOW_LEAST = 20, PP_SLOW_BEFORE = 5, PP_SLOW_BEHIND = 1 };

struct pp_slow_rank {                 /* by ring */
	uint64_t next;                /* the next step to look at */
	int64_t ticks[PP_SLOW_STEPS]; /* of its last steps, in order of arrival */
	uint64_t steps;
};

struct pp_slow {
	int64_t thousandths; /* 0: no rule */
	struct pp_slow_rank *rank;
	size_t ranks;
	int found; /* `step` waits until all ranks have ended it */
	int64_t step, since_ms;
	int32_t of_rank;
	double seconds, usual_seconds;
	int64_t last_ms;   /* when the last one became a window; 0: none */
	int64_t last_step; /* last slow step, captured or counted: ranks that waited in it were slow too */
	uint64_t counted;  /* within a minute of another */
};

/* One turn; 1: *ret_span is to be kept. `ending`: does not wait for ranks. */
int pp_slow_run(struct pp_slow *s, struct pp_spool_view *v, const struct pp_rings *rings, const struct pp_timestamp_pair *origin,
                int ending, struct pp_request_span *ret_span);
void pp_slow_release(struct pp_slow *s);

/* A keeper that does not lead sends its span to the leader as a line, with times as ns before now. `line`: PP_SLOW_LINE bytes. */
#define PP_SLOW_PREFIX "podprof 1 slow "
enum { PP_SLOW_LINE = 256 };
/* Writes the line of a span, with times relative to now. */
void pp_slow_line(const struct pp_request_span *span, char *line, size_t size);
/* 1: *ret_span is to be kept; 0: not such a line, the same step was found here, or it is within a minute of another (counted). */
int pp_slow_receive(struct pp_slow *s, const struct pp_timestamp_pair *origin, const char *line, struct pp_request_span *ret_span);
