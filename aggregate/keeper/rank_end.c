/* Says how a rank ended that did not run its exit handler; see rank_end.h. */
#include "aggregate/keeper/rank_end.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "aggregate/dataset/status.h"
#include "core/base/signal_name.h"
#include "core/call/mpi_call.h"

/* A launcher that ends a job with SIGTERM sends SIGKILL later to ranks that are still there. */
enum { SAME_TIME_MS = 200 };

/* When the first rank ended other than through its exit handler. One whose end is unknown counts: it may have been killed, and a
 * launcher then ends the others. gone_ms 0: it was gone before the keeper looked. */
static int64_t first_gone_ms(const struct pp_spool_view *v)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < pp_spool_count(v); i++) {
		const struct pp_watch *w = &v->rank[i];
		int is_failed = w->end > 0 || (w->end < 0 && pp_ring_state(pp_spool_header(v, i)) != PP_RANK_ENDING);

		if (w->gone && w->gone_ms > 0 && is_failed && w->gone_ms < first)
			first = w->gone_ms;
	}
	return first;
}

/* Does the signal say that this rank was killed, rather than that the job was ended? */
static int is_killed(const struct pp_spool_view *v, const struct pp_watch *w)
{
	switch (WTERMSIG(w->end)) {
	case SIGHUP:
	case SIGINT:
	case SIGTERM:
		return 0;
	case SIGKILL:
		return w->gone_ms <= first_gone_ms(v) + SAME_TIME_MS;
	default:
		return 1;
	}
}

static int is_in_abort(const struct pp_ring_header *h)
{
	uint32_t threads = pp_ring_thread_used(h);

	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++) {
		unsigned call = h->thread[i].where.call;

		if (call && pp_mpi_call_is_known(call - 1) && !strcmp(pp_mpi_call_info(call - 1)->name, "MPI_Abort"))
			return 1;
	}
	return 0;
}

void pp_rank_end_status(struct pp_spool_view *v, size_t ring, char *text, size_t size)
{
	const struct pp_ring_header *h = pp_spool_header(v, ring);
	struct pp_watch *w = &v->rank[ring];
	const char *name;

	if (pp_ring_state(h) == PP_RANK_ENDING || !pp_watch_gone(w)) {
		snprintf(text, size, PP_STATUS_DELIVERED);
	} else if (is_in_abort(h)) {
		snprintf(text, size, PP_STATUS_ABORTED);
	} else if (w->end < 0) {
		snprintf(text, size, PP_STATUS_PARTIAL "killed, or ended by _exit() (which of them is unknown)");
	} else if (!WIFSIGNALED(w->end)) {
		snprintf(text, size, PP_STATUS_PARTIAL "ended without exit handlers, as by _exit() or exec, with status %d",
		         WEXITSTATUS(w->end));
	} else {
		name = pp_signal_name(WTERMSIG(w->end));
		snprintf(text, size, "%s%d%s%s%s", is_killed(v, w) ? PP_STATUS_KILLED "signal " : PP_STATUS_ENDED, WTERMSIG(w->end),
		         name ? " (SIG" : "", name ? name : "", name ? ")" : "");
	}
}
