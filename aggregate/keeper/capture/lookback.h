/* Looking back: --keep holds the last so many seconds of every rank, --trigger keeps what was around a slow step.
 * In: drained rings. Out: evicted spans, requests, a line at the end. Called by keeper.c. */
#pragma once

#include "aggregate/keeper/capture/slow.h"
#include "aggregate/keeper/capture/windows.h"

struct pp_lookback {
	int64_t keep_ns;  /* 0: what fits the window buffer is held */
	int64_t kept_ms;  /* when it was last evicted */
	const char *rule; /* of --trigger, as it was given; "" none */
	struct pp_slow slow;
	struct pp_close_range *range; /* at the end: of the last keep_ns; NULL: all there is */
};

void pp_lookback_init(struct pp_lookback *b, const struct pp_settings *settings);
void pp_lookback_release(struct pp_lookback *b);
/* One turn, before that of the requests. `ending`: a slow step that was seen is asked for now or not at all. */
void pp_lookback_run(struct pp_lookback *b, struct pp_requests *r, const struct pp_windows_job *job, int ending);
/* A capture is over where ranks record in windows only: what they recorded for it goes, but for what a window needs. */
void pp_lookback_sweep(const struct pp_windows *w, const struct pp_requests *r, const struct pp_windows_job *job);
/* The ranks are over: what of them the last session has, with --keep; also in `told` words. */
void pp_lookback_end(struct pp_lookback *b, const struct pp_requests *r, const struct pp_windows_job *job);
/* 1: nothing but what the rule found is to be written. */
int pp_lookback_only_triggers(const struct pp_lookback *b);
/* Lines for rank 0 about what the keeper asked for itself, behind those that are in `message`. */
void pp_lookback_message(const struct pp_lookback *b, const struct pp_requests *r, const char *logdir, char *message, size_t size);
