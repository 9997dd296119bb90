/* Serves capture requests one after another: which is next, what it resulted in. See request.h. Called by keeper.c. */
#include "aggregate/keeper/capture/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/capture/request_file.h"
#include "aggregate/keeper/capture/request_own.h"
#include "aggregate/keeper/capture/request_private.h"
#include "aggregate/keeper/capture/request_socket.h"
#include "aggregate/keeper/capture/request_status.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/control.h"
#include "aggregate/keeper/live.h"
#include "core/base/now.h"
#include "core/base/rank_list.h"

enum { LIMIT_MS = 600000, JUMP = 1 << 30 };

int pp_requests_active(const struct pp_requests *r)
{
	return r->active != NULL;
}

static void end_request(struct pp_requests *r)
{
	pp_client_leave(r->active);
	r->active = NULL;
	r->turn = PP_TURN_IDLE;
}

void pp_requests_fail(struct pp_requests *r, struct pp_control *control, const char *fmt, ...)
{
	char why[512], text[64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	pp_keeper_log("request of %s: %s", pp_capture_request_text(&r->active->request, text, sizeof(text)), why);
	if (control)
		pp_requests_tell(r, control, PP_ASK_NOTHING, 0, 0);
	pp_client_say(r->active, "failed\n%s", why);
	if (r->active->request.by >= PP_BY_SIGNAL)
		pp_own_failed(r, why);
	end_request(r);
}

/* Says which part of the requested time is not held any more. */
static const char *held_text(const struct pp_requests *r, char *text, size_t size)
{
	text[0] = '\0';
	if (r->active->request.kind == PP_CAPTURE_REQUEST_STEPS || !r->held_ns)
		return text;
	if (r->evicted)
		snprintf(text, size, "only the last %.1f s of it are held: give podprof run a larger --keep or --window-buffer",
		         (double)r->held_ns / 1e9);
	else
		snprintf(text, size, "the job records for no more than %.1f s", (double)r->held_ns / 1e9);
	return text;
}

void pp_requests_write(struct pp_requests *r, const struct pp_windows_job *job, struct pp_close_range *range,
                       struct pp_window_told *metadata, const struct pp_pod_window *window)
{
	struct pp_pod_window hosts = *window;
	struct pp_writing w = {.first = r->first,
	                       .last = r->last,
	                       .range = range,
	                       .metadata = metadata,
	                       .event_ranks = r->active->request.ranks,
	                       .hosts = &hosts,
	                       .limit_ms = LIMIT_MS};
	size_t n = strlen(metadata->what);
	char held[128];
	int rc;

	snprintf(hosts.ranks, sizeof(hosts.ranks), "%s", r->active->request.ranks);
	if (*held_text(r, held, sizeof(held)))
		snprintf(metadata->what + n, sizeof(metadata->what) - n, "; %.100s", held);
	rc = pp_writing_start(&r->writer, job, &w);
	free(range);
	pp_window_told_release(metadata);
	if (rc) {
		pp_requests_fail(r, NULL, "the keeper has no process to write it: %s", strerror(-rc));
		return;
	}
	r->turn = PP_TURN_WRITING;
	pp_client_say(r->active, "wait for the files\n");
}

/* Ranks whose events are requested must be ranks of the job. */
static int lacks_ranks(const struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_rank_list list = {0};

	return !pp_rank_list_parse(r->active->request.ranks, &list, NULL) &&
	       pp_rank_list_misses(&list, pp_rings_header(job->view->rings, 0)->size);
}

static void take_next(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                      int64_t pace, int busy)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state == PP_CLIENT_QUEUED && (!r->active || r->client[i].order < r->active->order))
			r->active = &r->client[i];
	if (!r->active)
		return;
	r->active->state = PP_CLIENT_ACTIVE;
	r->tries = 0;
	r->held_ns = 0;
	r->asked = r->taken = pp_timestamp_pair_now();
	if (!pp_rings_count(job->view->rings))
		pp_requests_fail(r, NULL, "no rank has come yet (no MPI call, no step, no range). Ask again when the job runs");
	else if (lacks_ranks(r, job))
		pp_requests_fail(r, NULL, "the job has %d ranks, none of --ranks %s",
		                 (int)pp_rings_header(job->view->rings, 0)->size, r->active->request.ranks);
	else if (r->active->request.kind == PP_CAPTURE_REQUEST_STEPS)
		pp_requests_begin_steps(r, job, control, step, pace);
	else
		pp_requests_begin_time(r, job, control, busy);
}

static void answer(struct pp_requests *r)
{
	const struct pp_forked_answer *a = &r->writer.answer;
	char held[128], text[64];

	if (!pp_forked_writer_done(&r->writer))
		return;
	if (r->active) {
		const char *said = a->code ? a->err.text : a->text;

		held_text(r, held, sizeof(held));
		pp_keeper_log("request of %s: %s", pp_capture_request_text(&r->active->request, text, sizeof(text)), said);
		pp_client_say(r->active, "%s\n%s%s%s", a->code || !a->message.session[0] ? "failed" : "done", said,
		              held[0] ? "\n" : "", held);
		if (r->active->request.by >= PP_BY_SIGNAL)
			pp_own_done(r, a);
		end_request(r);
	}
	r->turn = PP_TURN_WRITING; /* until the child has made its report */
	if (pp_forked_writer_reaped(&r->writer))
		r->turn = PP_TURN_IDLE;
}

/* Steps since the last turn. Larger jumps of the number are not a pace. */
static int64_t pace_of(const struct pp_requests *r, int64_t step)
{
	uint64_t moved = (uint64_t)step - (uint64_t)r->seen_step;

	return step > r->seen_step && r->seen_step != INT64_MIN && moved < JUMP ? (int64_t)moved : 0;
}

void pp_requests_run(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy)
{
	int64_t step, pace;

	r->pod = job->pod;
	if (pp_requests_pod(r))
		return;
	step = pp_requests_highest(r, job->view);
	pace = pace_of(r, step);
	pp_requests_listen(r, pp_now_ms());
	pp_request_files_run(r, job, pp_now_ms());
	pp_requests_status(r);
	pp_own_look(r, job);
	if (step != r->seen_step)
		r->moved_ms = r->turn == PP_TURN_ASKED ? pp_now_ms() : r->moved_ms;
	r->seen_step = step;
	if (r->turn != PP_TURN_IDLE && r->turn != PP_TURN_WRITING && pp_client_gone(r->active)) {
		pp_requests_tell(r, control, PP_ASK_NOTHING, 0, 0);
		end_request(r);
	}
	if (r->turn == PP_TURN_IDLE && r->held)
		return;
	if (r->turn == PP_TURN_IDLE)
		take_next(r, job, control, step, pace, busy);
	else if (r->turn == PP_TURN_ASKED)
		pp_requests_wait_steps(r, job, control, step, busy);
	else if (r->turn == PP_TURN_WRITING)
		answer(r);
	else
		pp_requests_wait_time(r, job, control, busy);
}

void pp_requests_end(struct pp_requests *r)
{
	pp_request_files_release(&r->files);
	pp_live_close(r->live);
	free(r->acked);
	free(r->seen);
	r->seen = NULL;
	r->live = NULL;
	r->acked = NULL;
}

/* Runs until the child has written: other hosts send their shares meanwhile. */
static void write_out(struct pp_requests *r)
{
	const struct timespec nap = {.tv_nsec = 1000000};

	while (r->turn == PP_TURN_WRITING) {
		answer(r);
		pp_pod_run(r->pod);
		if (!pp_pod_wait(r->pod, 1))
			nanosleep(&nap, NULL);
	}
}

void pp_requests_close(struct pp_requests *r, const struct pp_windows_job *job, const char *spool)
{
	char path[4200];

	if (r->listen_fd >= 0) {
		close(r->listen_fd);
		r->listen_fd = -1;
		snprintf(path, sizeof(path), "%s/socket", spool);
		unlink(path);
	}
	/* Requests that have begun are written: the ranks reported before they ended. */
	if (r->turn == PP_TURN_ASKED) {
		pp_requests_write_steps(r, job);
	} else if (r->turn == PP_TURN_TIMED || r->turn == PP_TURN_OPEN) {
		r->to = pp_timestamp_pair_now();
		pp_requests_write_time(r, job);
	}
	write_out(r);
	/* The keeper's own requests are about the past. */
	for (int i = PP_REQUEST_CLIENTS; i < PP_REQUEST_SLOTS && !r->active; i++) {
		if (r->client[i].state != PP_CLIENT_QUEUED || r->client[i].request.kind != PP_CAPTURE_REQUEST_SPAN)
			continue;
		r->active = &r->client[i];
		pp_requests_begin_time(r, job, NULL, 0);
		write_out(r);
	}
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state != PP_CLIENT_FREE) {
			pp_client_say(&r->client[i], "failed\nthe job is over: the keeper takes no more");
			pp_client_leave(&r->client[i]);
		}
}
