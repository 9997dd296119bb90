/* The window of --delay, --duration and --at; see timed.h. Called by keeper.c. */
#include "aggregate/keeper/capture/timed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregate/keeper/capture/request.h"
#include "aggregate/keeper/capture/request_ranks.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/session/window_rows.h"
#include "aggregate/spool/control.h"
#include "core/base/now.h"
#include "core/base/parse.h"

enum { SECOND = 1000000000 };

#define LEAD_NS INT64_C(200000000)    /* how early a request is sent: ranks look for it at MPI calls and step marks only */
#define GATHER_NS INT64_C(5000000000) /* limit for the keepers of other hosts to join */

static int parse_clock(const char *text, struct tm *tm)
{
	int n = 0;

	tm->tm_sec = 0;
	if (sscanf(text, "%2d:%2d%n", &tm->tm_hour, &tm->tm_min, &n) != 2)
		return 0;
	if (text[n] == ':') {
		int more = 0;

		if (sscanf(text + n, ":%2d%n", &tm->tm_sec, &more) != 1)
			return 0;
		n += more;
	}
	return !text[n] && tm->tm_hour >= 0 && tm->tm_hour < 24 && tm->tm_min >= 0 && tm->tm_min < 60 && tm->tm_sec >= 0 &&
	       tm->tm_sec < 60;
}

int pp_timed_parse_at(const char *text, int64_t now_ns, int64_t *ret_ns, struct pp_err *err)
{
	time_t second = (time_t)(now_ns / SECOND);
	int64_t number;
	struct tm tm;

	if (*text == '@') {
		if (pp_parse_int(text + 1, &number, NULL) || number > INT64_MAX / SECOND)
			return pp_err_set(err, -EINVAL, "'%s' is not a time. Give seconds since 1970, as date +@%%s prints them",
			                  text);
		*ret_ns = number * SECOND;
		return 0;
	}
	localtime_r(&second, &tm);
	tm.tm_isdst = -1;
	if (!parse_clock(text, &tm) || (second = mktime(&tm)) == (time_t)-1)
		return pp_err_set(err, -EINVAL, "'%s' is not a time of the day. Give HH:MM or HH:MM:SS, or @SECONDS since 1970",
		                  text);
	*ret_ns = (int64_t)second * SECOND;
	return 0;
}

static void add_text(struct pp_timed *t, const char *name, const char *value)
{
	size_t n = strlen(t->what);

	if (*value)
		snprintf(t->what + n, sizeof(t->what) - n, "%s--%s %.30s", n ? " " : "", name, value);
}

void pp_timed_init(struct pp_timed *t, const struct pp_opt_time *delay, const struct pp_opt_time *duration, const char *at)
{
	struct pp_timestamp_pair now = pp_timestamp_pair_now();

	*t = (struct pp_timed){.origin = now, .to_raw = INT64_MAX};
	if (!*delay->text && !*duration->text && !*at)
		return;
	t->turn = PP_TIMED_WAITS;
	add_text(t, "delay", delay->text);
	add_text(t, "at", at);
	add_text(t, "duration", duration->text);
	t->delay_ns = delay->ns;
	t->duration_ns = duration->ns;
	if (!*at || pp_timed_parse_at(at, pp_clock_ns(CLOCK_REALTIME), &t->at_ns, NULL))
		return;
	t->from_raw = now.raw_ns + (t->at_ns - pp_clock_ns(CLOCK_REALTIME));
	t->from_raw = t->from_raw > 0 ? t->from_raw : 1;
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t both;

	return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

/* When the first rank started; 0: none has. */
static int64_t first_came(const struct pp_timed *t, const struct pp_rings *r, const struct pp_timestamp_pair *now)
{
	int64_t first = 0;

	for (size_t i = 0; i < pp_rings_count(r); i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);
		int64_t raw = now->raw_ns - pp_timestamp_pair_since(now, &t->origin, h, (int64_t)h->open_tick);

		if (!first || raw < first)
			first = raw;
	}
	return first;
}

/* --at is a date: a step of the wall clock moves the window while it is waited for, and a step past --at begins it. */
static void follow_date(struct pp_timed *t, const struct pp_timestamp_pair *now)
{
	int64_t left;

	if (!t->at_ns || t->turn != PP_TIMED_WAITS || t->from_raw <= now->raw_ns)
		return;
	left = t->at_ns - pp_clock_ns(CLOCK_REALTIME);
	t->from_raw = now->raw_ns + (left > 0 ? left : 0);
}

static void fix_times(struct pp_timed *t, const struct pp_rings *r, const struct pp_timestamp_pair *now)
{
	int64_t came;

	follow_date(t, now);
	if (!t->from_raw && now->raw_ns - t->origin.raw_ns > SECOND / 100) {
		came = first_came(t, r, now);
		if (came)
			t->from_raw = sum(came, t->delay_ns);
	}
	if (t->from_raw && t->duration_ns)
		t->to_raw = sum(t->from_raw, t->duration_ns);
}

struct cut { /* of the window, for all rings */
	const struct pp_timed *timed;
	uint32_t number;
};

static int ticks_of(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	const struct pp_timed *t = ((const struct cut *)context)->timed;

	*ret_from = t->from.raw_ns ? pp_timestamp_pair_tick(&t->from, h) : INT64_MIN;
	*ret_to = t->to.raw_ns ? pp_timestamp_pair_tick(&t->to, h) : INT64_MAX;
	return 1;
}

static void row_of_rank(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank)
{
	const struct cut *cut = context;
	int64_t from, to;

	(void)ring;
	ticks_of(h, context, &from, &to);
	rank->asked = from == INT64_MIN || from < (int64_t)h->open_tick ? (int64_t)h->open_tick : from;
	rank->acked = rank->started = rank->asked;
	if (h->request_row.begin && h->request_row.begin < (pp_tick)INT64_MAX && cut->timed->from.raw_ns)
		rank->acked = (int64_t)h->request_row.begin;
	if (rank->acked > rank->started)
		rank->started = rank->acked;
	if (to != INT64_MAX)
		rank->ended = to;
}

static void start(struct pp_timed *t, struct pp_windows *w, const struct pp_windows_job *job, uint32_t number)
{
	struct cut cut = {t, number};
	struct pp_close_range *range = pp_writing_ranges(job->rings, ticks_of, &cut);
	struct pp_window_metadata metadata = {.by = "options", .kind = "duration", .channel = "memory", .tries = 1};
	struct pp_pod_window hosts = {.cut = PP_POD_TICKS};
	struct pp_writing writing = {.range = range, .metadata = &metadata, .hosts = &hosts, .limit_ms = w->limit_ms};

	snprintf(metadata.what, sizeof(metadata.what), "%s", t->what);
	if (pp_window_rows_make(job->rings, row_of_rank, &cut, &metadata))
		metadata.by[0] = '\0';
	ticks_of(pp_rings_header(job->rings, 0), &cut, &hosts.from, &hosts.to);
	w->name[0] = '\0';
	t->turn = PP_TIMED_OVER;
	pp_rings_drain_all(job->rings);
	pp_windows_start(w, job, &writing, t->what);
	pp_window_metadata_release(&metadata);
	free(range);
}

/* The job ends before its window does. Returns 1 where there is something to write. */
static int end_early(struct pp_timed *t, struct pp_windows *w, const struct pp_timestamp_pair *now)
{
	int64_t left = t->from_raw - now->raw_ns;

	if (t->turn == PP_TIMED_WAITS || left > 0) {
		t->turn = PP_TIMED_OVER;
		snprintf(w->totals.failure, sizeof(w->totals.failure), "the job ended %.1f s before the window began (%s)",
		         left > 0 ? (double)left / SECOND : 0.0, t->what);
		return 0;
	}
	if (t->to_raw < INT64_MAX && t->to_raw > now->raw_ns)
		snprintf(w->totals.must_know, sizeof(w->totals.must_know), "the job ended %.1f s before the window's end (%s)",
		         (double)(t->to_raw - now->raw_ns) / SECOND, t->what);
	return 1;
}

/* Was no rank there during the window? */
static int was_missed(struct pp_timed *t, struct pp_windows *w, const struct pp_rings *r, const struct pp_timestamp_pair *now)
{
	int64_t came = first_came(t, r, now);

	if (came && came < t->to_raw)
		return 0;
	t->turn = PP_TIMED_OVER;
	snprintf(w->totals.failure, sizeof(w->totals.failure), "the window ended before the first rank started (%s)", t->what);
	return 1;
}

static void set_from(struct pp_timed *t, const struct pp_timestamp_pair *now)
{
	if (t->delay_ns || t->at_ns) /* else all that was recorded before belongs to it */
		t->from = pp_timestamp_pair_before(now, &t->origin, now->raw_ns - t->from_raw);
}

int pp_timed_has_begun(const struct pp_timed *t)
{
	return pp_timed_holds(t) || (t->turn == PP_TIMED_WAITS && t->from_raw && pp_timestamp_pair_now().raw_ns >= t->from_raw);
}

int pp_timed_run(struct pp_timed *t, struct pp_windows *w, const struct pp_windows_job *job, struct pp_requests *r,
                 struct pp_control *control, int ending)
{
	struct pp_timestamp_pair now = pp_timestamp_pair_now();

	r->held = pp_timed_holds(t);
	if (t->turn == PP_TIMED_NONE || t->turn == PP_TIMED_OVER || pp_pod_role(job->pod) == PP_POD_FOLLOWER ||
	    pp_pod_is_done(job->pod))
		return 0;
	fix_times(t, job->rings, &now);
	if (t->turn == PP_TIMED_WAITS && !pp_requests_active(r) &&
	    (!(t->delay_ns || t->at_ns) || (t->from_raw && now.raw_ns >= t->from_raw - LEAD_NS))) {
		pp_requests_publish(r, control, PP_ASK_NOW, 0, 0);
		t->turn = PP_TIMED_OPEN;
		r->held = 1;
		pp_keeper_log("%s: ranks record", t->what);
	}
	if (ending && t->turn != PP_TIMED_DUE) {
		if (!pp_rings_count(job->rings) || !end_early(t, w, &now))
			return 0;
		set_from(t, &now);
		start(t, w, job, r->number);
		return 1;
	}
	if (t->turn == PP_TIMED_OPEN && now.raw_ns >= t->to_raw) {
		pp_requests_publish(r, control, PP_ASK_NOTHING, 0, 0);
		t->to = pp_timestamp_pair_before(&now, &t->origin, now.raw_ns - t->to_raw);
		set_from(t, &now);
		t->turn = PP_TIMED_DUE;
	}
	if (t->turn != PP_TIMED_DUE || w->busy || (!ending && now.raw_ns - t->to_raw < GATHER_NS && pp_windows_lack_ranks(job)) ||
	    was_missed(t, w, job->rings, &now))
		return 0;
	start(t, w, job, r->number);
	return 1;
}
