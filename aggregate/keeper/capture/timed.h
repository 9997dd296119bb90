/* The window of --delay, --duration and --at: ranks record from its begin on, and its ticks cut the session. In: settings, the
 * clocks. Out: requests to the ranks, one window of pp_windows. Called by keeper.c. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"
#include "aggregate/keeper/capture/timestamp_pair.h"
#include "aggregate/keeper/capture/windows.h"

enum pp_timed_turn { PP_TIMED_NONE, PP_TIMED_WAITS, PP_TIMED_OPEN, PP_TIMED_DUE, PP_TIMED_OVER };

struct pp_timed {
	enum pp_timed_turn turn;
	int64_t delay_ns, duration_ns; /* 0: from the first rank's start; to the end of the job */
	int64_t at_ns;                 /* since 1970; 0: not given */
	int64_t from_raw, to_raw;      /* ns of CLOCK_MONOTONIC_RAW; from 0: no rank has started yet; to INT64_MAX: endless */
	struct pp_timestamp_pair origin, from, to;
	char what[128]; /* "--delay 5s --duration 2s" */
};

/* The window of the options; `delay`, `duration` and `at` are checked texts. */
void pp_timed_init(struct pp_timed *t, const struct pp_opt_time *delay, const struct pp_opt_time *duration, const char *at);
/* One turn. `ending`: the ranks are over. Returns 1 where a child was started. */
int pp_timed_run(struct pp_timed *t, struct pp_windows *w, const struct pp_windows_job *job, struct pp_requests *r,
                 struct pp_control *control, int ending);
/* 1: it is open, or about to be: no request may change what ranks record. */
/* 1: it may begin or end at any moment. */
static inline int pp_timed_is_open(const struct pp_timed *t)
{
	return t->turn != PP_TIMED_NONE && t->turn != PP_TIMED_OVER;
}

static inline int pp_timed_holds(const struct pp_timed *t)
{
	return t->turn == PP_TIMED_OPEN || t->turn == PP_TIMED_DUE;
}

/* 1: its time has begun, even if an earlier capture delays it. */
int pp_timed_has_begun(const struct pp_timed *t);

/* "14:30", "14:30:15" of today by the local clock, "@1700000000": ns since 1970. -EINVAL with the sentence. For `podprof run`
 * too. */
int pp_timed_parse_at(const char *text, int64_t now_ns, int64_t *ret_ns, struct pp_err *err);
