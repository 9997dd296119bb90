/* The keeper's own requests: captures by a signal to a rank. In: headers of rings. Out: requests, and a line about them at the
 * end of the job. Called by request.c and lookback.c. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* Queues a request of the keeper. 0, or -EBUSY: another one of the same kind is queued. */
int pp_own_ask(struct pp_requests *r, const struct pp_capture_request *request);
/* One turn: has a rank received the signal since the last one? */
void pp_own_check(struct pp_requests *r, const struct pp_windows_job *job);
/* Notes the result of one of them. */
void pp_own_done(struct pp_requests *r, const struct pp_forked_answer *a);
/* Counts the active request as failed; the first reason is kept up to its line break. */
void pp_own_failed(struct pp_requests *r, const char *why);
/* Lines for rank 0, each after a line break; "" where nothing was requested. */
void pp_own_message(const struct pp_requests *r, const char *logdir, char *text, size_t size);
