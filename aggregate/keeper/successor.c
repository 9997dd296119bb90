/* A keeper goes on behind a killed one; see successor.h. */
#include "aggregate/keeper/successor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/capture/request_ranks.h"
#include "aggregate/spool/control.h"
#include "core/base/forked.h"

enum { TEXT = 160 };

static uint32_t written; /* sessions of windows by the keepers before */

static void describe(const struct pp_death *d, char *text)
{
	char when[16] = "";
	struct tm tm;
	size_t n = 0;

	pp_local_time(d->when, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	if (d->times > 1)
		n = (size_t)snprintf(text, TEXT, "%d times, last ", d->times);
	snprintf(text + n, TEXT - n, "by signal %d (%s) at %s", d->signal, strsignal(d->signal), when);
}

int pp_successor_page(const char *spool, const struct pp_death *d, struct pp_control **ret_control, struct pp_err *err)
{
	int rc = d->times ? pp_control_take(spool, ret_control, err) : pp_control_make(spool, ret_control, err);

	if (!rc)
		pp_guard_ready();
	return rc;
}

void pp_successor_begin(const struct pp_death *d, struct pp_control *c, struct pp_windows *w, struct pp_timed *t,
                        struct pp_requests *r, struct pp_warnings *warnings)
{
	uint32_t bell = atomic_load(&c->bell);
	char text[TEXT];

	if (!d->times)
		return;
	describe(d, text);
	pp_keeper_log("the keeper was killed %s: this one goes on", text);
	pp_warnings_add(warnings,
	                "salvaged: the keeper was killed %s, and another one went on. What is lost with it is counted: "
	                "keeper_gone in /quality",
	                text);
	written = atomic_load(&c->windows_captured);
	w->next = atomic_load(&c->windows_next);
	w->api_next = atomic_load(&c->api_next);
	w->api_closed = atomic_load(&c->api_closed);
	if (atomic_load(&c->timed_over))
		t->turn = PP_TIMED_OVER;
	r->number = bell;
	if (bell && atomic_load(&c->request_kind) != PP_ASK_NOTHING)
		pp_requests_publish(r, c, PP_ASK_NOTHING, 0, 0);
}

void pp_successor_mark(struct pp_control *c, const struct pp_windows *w, const struct pp_timed *t)
{
	atomic_store_explicit(&c->windows_next, w->next, memory_order_relaxed);
	atomic_store_explicit(&c->api_next, w->api_next, memory_order_relaxed);
	atomic_store_explicit(&c->api_closed, w->api_closed, memory_order_relaxed);
	atomic_store_explicit(&c->timed_over, t->turn == PP_TIMED_OVER, memory_order_relaxed);
	atomic_store_explicit(&c->windows_captured, written + (uint32_t)w->totals.captured, memory_order_relaxed);
}

/* Records that are in no session and in no ring. */
static uint64_t count_lost(const struct pp_spool_view *v)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < pp_spool_count(v); i++)
		lost += pp_drain_gone(v->ring[i].drain);
	return lost;
}

void pp_successor_say(const struct pp_death *d, const struct pp_windows *w, const struct pp_windows_job *job, char *message,
                      size_t size)
{
	const char *logdir = job->options->logdir;
	char text[TEXT], what[64] = "no record was lost";
	uint64_t lost = count_lost(job->view);
	size_t n;

	if (!d->times)
		return;
	describe(d, text);
	if (lost)
		snprintf(what, sizeof(what), "%" PRIu64 " records that it had read are lost", lost);
	if (written && !w->totals.captured && !w->totals.failed)
		snprintf(message, size, "%u window%s captured\n%s/podprof  (podprof report --list %s)", written,
		         written == 1 ? "" : "s", logdir, logdir);
	n = strlen(message);
	if (n + 1 < size)
		n += (size_t)snprintf(message + n, size - n, "%sthe keeper was killed %s, and another one went on; %s",
		                      n ? "\n" : "", text, what);
	if (written && w->totals.captured && n + 1 < size)
		snprintf(message + n, size - n, "\n%u more window%s captured before", written, written == 1 ? " was" : "s were");
}
