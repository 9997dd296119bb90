/* What the request*.c files share; see request.h. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* request.c: ends the active request without a session; withdraws it from the ranks. `control` NULL: it was not sent to them. */
void pp_requests_fail(struct pp_requests *r, struct pp_control *control, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* request.c: forks the writer of the active request, and releases `metadata`. */
void pp_requests_write(struct pp_requests *r, const struct pp_windows_job *job, struct pp_close_range *range,
                       struct pp_window_told *metadata, const struct pp_pod_window *window);

/* request_ranks.c: the ranks' answers. */
struct pp_pod_rank;
enum pp_request_state pp_requests_rank_state_elsewhere(const struct pp_requests *r, const struct pp_pod_rank *rank);
/* The highest step of all ranks of the job; INT64_MIN: none marks any. */
int64_t pp_requests_highest(const struct pp_requests *r, struct pp_spool_view *v);
/* Does the rank mark steps and run? Then the request waits for its state. */
int pp_requests_counts(struct pp_spool_view *v, size_t ring);
enum pp_request_state pp_requests_rank_state(const struct pp_requests *r, const struct pp_ring_header *h);
/* Has the rank received its steps? */
static inline int pp_requests_taken(enum pp_request_state state)
{
	return state == PP_REQUEST_TAKEN || state == PP_REQUEST_STARTED || state == PP_REQUEST_PASSED;
}
void pp_requests_tell(struct pp_requests *r, struct pp_control *control, enum pp_ask_kind kind, int64_t first, int64_t last);
/* Notes which ranks have received the request since the last turn. */
void pp_requests_note(struct pp_requests *r, const struct pp_spool_view *v);
/* Describes the active request for /window. */
void pp_requests_window_metadata(struct pp_requests *r, const struct pp_windows_job *job, struct pp_window_told *metadata);

/* request_steps.c: steps to come. */
void pp_requests_begin_steps(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                             int64_t pace);
void pp_requests_wait_steps(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                            int busy);
void pp_requests_write_steps(struct pp_requests *r, const struct pp_windows_job *job);

/* request_time.c: windows by time. */
void pp_requests_begin_time(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy);
void pp_requests_wait_time(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy);
void pp_requests_write_time(struct pp_requests *r, const struct pp_windows_job *job);

/* request_pod.c: clients of other hosts. 1: this keeper follows and passes its clients on; a leader serves them. */
int pp_requests_pod(struct pp_requests *r);
void pp_requests_pass_on(struct pp_requests *r, struct pp_client *c, const char *line);
void pp_requests_say_elsewhere(struct pp_client *c, const char *text, int ended);
