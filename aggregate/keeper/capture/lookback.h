/* Lookback: --keep holds the last so many seconds of every rank, --trigger keeps the steps around a slow one. In: drained rings.
 * Out: evicted spans, requests, a line at the end. Called by keeper.c. */
#pragma once

#include "aggregate/keeper/capture/slow.h"
#include "aggregate/keeper/capture/windows.h"
#include "core/base/opt.h"

struct pp_lookback {
	int64_t keep_ns;  /* 0: the rings hold what fits the window buffer */
	int64_t held_ms;  /* when it was last evicted */
	const char *rule; /* text of --trigger; "" none */
	struct pp_slow slow;
	struct pp_close_range *range; /* at the end: the last keep_ns; NULL: all that is held */
};

/* Takes what `settings` says of --keep and --trigger. To be released. */
void pp_lookback_init(struct pp_lookback *b, const struct pp_settings *settings);
void pp_lookback_release(struct pp_lookback *b);
/* One turn, before that of the requests. `ending`: a slow step that was found is requested now or not at all. */
void pp_lookback_run(struct pp_lookback *b, struct pp_requests *r, const struct pp_windows_job *job, int ending);
/* After a capture of ranks that record in windows only: drops what they recorded for it, except what a window needs. */
void pp_lookback_sweep(const struct pp_windows *w, const struct pp_requests *r, const struct pp_windows_job *job);
/* The ranks are over: the part of them that the last session gets, with --keep. */
void pp_lookback_end(struct pp_lookback *b, const struct pp_requests *r, const struct pp_windows_job *job);
/* 1: only steps that the rule found are written. */
int pp_lookback_only_triggers(const struct pp_lookback *b);
/* Appends lines for rank 0 about the keeper's own requests to `message`. */
void pp_lookback_message(const struct pp_lookback *b, const struct pp_requests *r, const char *logdir, char *message, size_t size);
