/* Requests to ranks and their answers; see request.h. Called by the other request*.c files, slow.c and timed.c. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

struct pp_pod_rank;
/* What a rank of another host has answered to the active request; NONE: nothing yet. */
enum pp_request_state pp_requests_rank_state_elsewhere(const struct pp_requests *r, const struct pp_pod_rank *rank);
/* The highest step of all ranks of the job; INT64_MIN: none marks any. */
int64_t pp_requests_highest(const struct pp_requests *r, struct pp_spool_view *v);
/* Does the rank mark steps and run? Then the request waits for its state. */
int pp_requests_counts(struct pp_spool_view *v, size_t ring);
/* The same of a rank of this host. */
enum pp_request_state pp_requests_rank_state(const struct pp_requests *r, const struct pp_ring_header *h);
/* Has the rank received its steps? */
static inline int pp_requests_taken(enum pp_request_state state)
{
	return state == PP_REQUEST_TAKEN || state == PP_REQUEST_STARTED || state == PP_REQUEST_PASSED;
}
/* Gives the request the next number, and sends it to the ranks of this host and to the other keepers; first and last as in
 * core/window/ask.h. */
void pp_requests_publish(struct pp_requests *r, struct pp_control *control, enum pp_ask_kind kind, int64_t first, int64_t last);
/* Notes which ranks have received the request since the last turn. */
void pp_requests_mark(struct pp_requests *r, const struct pp_spool_view *v);
/* Describes the active request for /window. */
void pp_requests_window_metadata(struct pp_requests *r, const struct pp_windows_job *job, struct pp_window_metadata *metadata);
