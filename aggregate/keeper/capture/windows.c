/* Decides when a window is over, cuts it out of the rings and forks the child that writes it. See windows.h. */
#include "aggregate/keeper/capture/windows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/read/ring/cut.h"
#include "aggregate/session/window_rows.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/ranks.h"
#include "core/base/now.h"

enum {
	LIMIT_MS = 600000,
	LATE_MS = 60000,     /* a rank that stays in the window while the others have passed it */
	UNMARKED_MS = 5000,  /* a rank that marks no step, or opens no window, where others do */
	UNSTEPPED_MS = 1000, /* after it a rank of another host without step marks counts as past the window */
};

#define NO_WINDOW UINT64_MAX

void pp_windows_init(struct pp_windows *w, const struct pp_step_windows *asked)
{
	*w = (struct pp_windows){.asked = *asked, .limit_ms = LIMIT_MS, .writer = {.fd = -1}};
}

/* The first window from `from` on that has begun on any rank. */
static uint64_t first_begun(const struct pp_windows *w, const struct pp_rings *r, uint64_t from)
{
	uint64_t found = NO_WINDOW;
	int64_t first, last;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		for (int k = 0; k < PP_WINDOW_ROWS; k++) {
			uint64_t n = atomic_load_explicit(&pp_rings_header(r, i)->window[k].number, memory_order_acquire);

			if (n-- && n >= from && n < found && pp_step_windows_get(&w->asked, n, &first, &last))
				found = n;
		}
	return found;
}

int pp_windows_lack_ranks(const struct pp_windows_job *job)
{
	size_t others, here = pp_rings_count(job->rings);

	pp_pod_ranks(job->pod, &others);
	return here && (int64_t)(here + others) < pp_rings_header(job->rings, 0)->size;
}

struct passing { /* how far the ranks have passed the windows */
	uint64_t least, most, unmarked;
};

static void see_rank(struct passing *p, uint64_t n, int marks, int ended)
{
	if (n > p->most)
		p->most = n;
	if (ended)
		return;
	if (!marks)
		p->unmarked = 0;
	else if (n < p->least)
		p->least = n;
}

/* How many windows are over on every rank that is waited for, on all hosts; NO_WINDOW: all of them. */
static uint64_t passed_by_all(struct pp_windows *w, const struct pp_windows_job *job)
{
	struct passing p = {.least = NO_WINDOW, .unmarked = NO_WINDOW};
	struct pp_spool_view *v = job->view;
	size_t others;
	const struct pp_pod_rank *other = pp_pod_ranks(job->pod, &others);
	int64_t waited;

	for (size_t i = 0; i < pp_spool_count(v); i++) {
		const struct pp_ring_header *h = pp_spool_header(v, i);

		see_rank(&p, pp_ring_windows_passed(h), pp_ring_step_marks(h) != 0, pp_ranks_has_ended(v, i));
	}
	for (size_t i = 0; i < others; i++)
		see_rank(&p, other[i].windows_passed, other[i].marks, other[i].gone);
	if (pp_ranks_seen(v) + (int)v->refused < pp_ranks_expected(v) || (!w->without && pp_windows_lack_ranks(job)))
		p.unmarked = 0;
	if (p.most <= w->next) {
		w->since_ms = 0;
		return 0;
	}
	if (!w->since_ms)
		w->since_ms = pp_now_ms();
	waited = pp_now_ms() - w->since_ms;
	w->without |= waited > UNMARKED_MS;
	if (waited > LATE_MS)
		return p.most;
	return waited > UNMARKED_MS || p.unmarked > p.least ? p.least : p.unmarked;
}

static void add(char *to, size_t size, const char *text)
{
	size_t n = strlen(to);

	if (n + strlen(text) + 12 < size)
		snprintf(to + n, size - n, "%s%s", n ? ", " : "", text);
	else if (n + 12 < size && (n < 6 || strcmp(to + n - 6, "others") != 0))
		snprintf(to + n, size - n, ", others");
}

/* Notes a window that no rank reached. */
static void miss_one(struct pp_windows *w, const char *label)
{
	w->totals.missed++;
	add(w->totals.lacking, sizeof(w->totals.lacking), label);
}

static void miss(struct pp_windows *w, uint64_t index)
{
	int64_t first, last;
	char text[64];

	if (!pp_step_windows_get(&w->asked, index, &first, &last))
		return;
	snprintf(text, sizeof(text), "%" PRId64 ":%" PRId64, first, last);
	miss_one(w, text);
}

static void know(struct pp_windows_totals *t, const char *label, const char *text)
{
	size_t n = strlen(t->must_know);

	if (n + strlen(label) + 264 > sizeof(t->must_know))
		t->more++;
	else
		snprintf(t->must_know + n, sizeof(t->must_know) - n, "%s%s: %.260s", n ? "\n" : "", label, text);
}

static void take_answer(struct pp_windows *w)
{
	struct pp_forked_answer *a = &w->writer.answer;
	struct pp_windows_totals *t = &w->totals;
	struct pp_message *m = &a->message;
	char what[sizeof(m->what) + sizeof(w->name) + 4];

	if (a->code || !m->session[0]) {
		const char *why = a->code ? a->err.text : a->text;

		t->failed += a->code != 0;
		t->missed += !a->code;
		if (!t->lost[0])
			snprintf(t->why, sizeof(t->why), "%.300s", why);
		add(t->lost, sizeof(t->lost), w->label);
		pp_keeper_log("%s: %s", w->label, why);
		return;
	}
	if (!t->captured || m->delivered < t->delivered)
		t->delivered = m->delivered;
	t->captured++;
	t->asked = m->asked;
	t->hosts = m->hosts;
	snprintf(what, sizeof(what), "%s%s%s%s", t->captured == 1 || strncmp(m->what, "steps ", 6) ? m->what : m->what + 6,
	         w->name[0] ? " (" : "", w->name, w->name[0] ? ")" : "");
	add(t->steps, sizeof(t->steps), what);
	if (t->captured == 1) {
		snprintf(t->first, sizeof(t->first), "%s", m->session);
		snprintf(t->moved, sizeof(t->moved), "%s", m->moved);
	}
	if (!strcmp(m->moved, t->moved)) /* else its note says where it is */
		snprintf(t->last, sizeof(t->last), "%s", m->session);
	if (m->must_know[0])
		know(t, w->label, m->must_know);
	if (m->failure[0] && !t->failure[0])
		snprintf(t->failure, sizeof(t->failure), "%.80s: %.220s", m->lacking, m->failure);
	if (m->failure[0])
		add(t->halved, sizeof(t->halved), m->session);
	pp_keeper_log("%s: session %s", w->label, m->session);
}

/* What a job does before its first step belongs to the first window, unless an open capture made ranks record too. */
static int64_t begin_of(const struct pp_windows *w, const struct pp_window_row *row, uint64_t index)
{
	return (index || w->hold) && row->begin && row->begin < (pp_tick)INT64_MAX ? (int64_t)row->begin : INT64_MIN;
}

static int64_t end_of(const struct pp_ring_header *h, const struct pp_window_row *row, uint64_t index)
{
	return pp_ring_windows_passed(h) > index && row->end < (pp_tick)INT64_MAX ? (int64_t)row->end : INT64_MAX;
}

/* Windows requested via API have rows of their own. */

enum stand {
	ASKED = PP_API_WINDOW_ASKED,
	BEGUN = PP_API_WINDOW_BEGUN,
	PASSED = PP_API_WINDOW_PASSED,
	MISSED = PP_API_WINDOW_MISSED,
	NEVER,  /* this rank has never requested any */
	BEHIND, /* it has not reached this one */
	GONE,   /* its row was reused for a later one */
};

static enum stand stand_of(const struct pp_ring_header *h, uint64_t place)
{
	const struct pp_api_window_row *row = pp_ring_api_window(h, place);
	uint64_t state;

	if (!row)
		return place < pp_ring_api_windows(h) ? GONE : pp_ring_api_windows(h) ? BEHIND : NEVER;
	state = atomic_load_explicit(&row->state, memory_order_acquire);
	return state <= MISSED ? (enum stand)state : ASKED;
}

int pp_windows_via_api(const struct pp_rings *r)
{
	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (pp_ring_api_windows(pp_rings_header(r, i)))
			return 1;
	return 0;
}

static int is_closed(const struct pp_windows *w, uint64_t place)
{
	return place < w->api_next || (place - w->api_next < 64 && w->api_closed >> (place - w->api_next) & 1);
}

int64_t pp_windows_api_needs(const struct pp_windows *w, const struct pp_ring_header *h)
{
	int64_t least = INT64_MAX, from, to;
	uint64_t count = pp_ring_api_windows(h), first = count > PP_WINDOW_ROWS ? count - PP_WINDOW_ROWS : 0;

	for (uint64_t n = first > w->api_next ? first : w->api_next; n < count; n++)
		if (!is_closed(w, n) && pp_job_api_ticks(h, &n, &from, &to) && from < least)
			least = from;
	return least;
}

int64_t pp_windows_begun(const struct pp_windows *w, const struct pp_ring_header *h)
{
	const struct pp_window_row *row = pp_ring_window(h, w->next);
	int64_t least = pp_windows_api_needs(w, h);

	return row && row->begin < (pp_tick)least ? (int64_t)row->begin : least;
}

/* The least tick on this ring that an open window needs. */
static int64_t needs(const struct pp_windows *w, const struct pp_ring_header *h)
{
	return !w->next && pp_ring_window(h, 0) ? INT64_MIN : pp_windows_begun(w, h);
}

static int64_t least_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Drops what no other window needs; the child has its copy. end: of the window just closed, on this ring; INT64_MAX: it did not
 * begin there, then the least tick that any window needs counts. */
static void drop(struct pp_windows *w, const struct pp_windows_job *job, int64_t (*end)(const struct pp_ring_header *, uint64_t),
                 uint64_t index)
{
	struct pp_rings *r = job->rings;
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		least = least_of(least, end(pp_rings_header(r, i), index));
	for (size_t i = 0; i < pp_rings_count(r) && least < INT64_MAX; i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);
		int64_t cut = end(h, index), needed = needs(w, h);

		cut = cut < INT64_MAX ? cut : least;
		cut = needed > cut ? cut : needed > INT64_MIN ? needed - 1 : needed;
		pp_rings_drop(r, i, cut);
		pp_sampler_drop(job->sampler, i, cut);
	}
}

static int64_t end_of_index(const struct pp_ring_header *h, uint64_t index)
{
	const struct pp_window_row *row = pp_ring_window(h, index);

	return row ? end_of(h, row, index) : INT64_MAX;
}

struct cut {
	const struct pp_windows *windows;
	uint64_t index;
};

static int ticks_of(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	const struct cut *cut = context;
	const struct pp_window_row *row = pp_ring_window(h, cut->index);

	if (!row)
		return 0;
	*ret_from = begin_of(cut->windows, row, cut->index);
	*ret_to = end_of(h, row, cut->index);
	return *ret_to < INT64_MAX ? PP_TICKS_PASSED : 1;
}

struct pp_close_range *pp_windows_ranges(const struct pp_windows *w, const struct pp_windows_job *job, uint64_t index)
{
	return pp_writing_ranges(job->rings, ticks_of, &(struct cut){w, index});
}

void pp_windows_start(struct pp_windows *w, const struct pp_windows_job *job, const struct pp_writing *writing, const char *label)
{
	int rc = 0;

	snprintf(w->label, sizeof(w->label), "%s", label);
	w->busy = writing->range != NULL;
	if (writing->range)
		rc = pp_writing_start(&w->writer, job, writing);
	else
		w->totals.skipped++; /* its rows were reused for another window */
	if (rc) {                    /* written in this process it would finish the rings that later windows need */
		w->writer = (struct pp_forked_writer){.fd = -1};
		w->writer.answer.code =
		        pp_err_set(&w->writer.answer.err, rc, "cannot start a process to write it: %s", strerror(-rc));
		take_answer(w);
		w->busy = 0;
	}
}

static void start(struct pp_windows *w, const struct pp_windows_job *job, uint64_t index)
{
	struct pp_close_range *range = pp_windows_ranges(w, job, index);
	struct pp_window_metadata metadata = {.by = "options", .kind = "steps", .channel = "memory", .tries = 1};
	struct pp_pod_window hosts = {.cut = PP_POD_WINDOW, .number = index};
	struct pp_writing writing = {.range = range, .metadata = &metadata, .hosts = &hosts, .limit_ms = w->limit_ms};
	char label[64];

	pp_step_windows_get(&w->asked, index, &writing.first, &writing.last);
	hosts.first = writing.first;
	hosts.last = writing.last;
	w->next = index + 1;
	pp_pod_set_windows_done(job->pod, w->next);
	w->since_ms = 0;
	w->name[0] = '\0';
	snprintf(label, sizeof(label), "steps %" PRId64 ":%" PRId64, writing.first, writing.last);
	snprintf(metadata.what, sizeof(metadata.what), "--steps %" PRId64 ":%" PRId64, writing.first, writing.last);
	if (pp_window_rows_make(job->rings, pp_window_rows_of_window, &index, &metadata))
		metadata.by[0] = '\0';
	pp_windows_start(w, job, &writing, label);
	pp_window_metadata_release(&metadata);
	free(range);
	if (!w->hold)
		drop(w, job, end_of_index, index);
}

/* Was a step of the window marked, not only the step in front of it? */
static int was_reached(const struct pp_windows *w, const struct pp_rings *r, uint64_t index)
{
	int64_t first = 0, last = 0;

	pp_step_windows_get(&w->asked, index, &first, &last);
	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (pp_ring_window(pp_rings_header(r, i), index) && pp_ranks_step(pp_rings_header(r, i)) >= first)
			return 1;
	return 0;
}

/* Windows requested via API: when the n-th is over on all ranks it becomes a session, as one of --steps does. */

static void set_closed(struct pp_windows *w, uint64_t place)
{
	if (place - w->api_next < 64)
		w->api_closed |= UINT64_C(1) << (place - w->api_next);
	for (; w->api_closed & 1; w->api_closed >>= 1)
		w->api_next++;
	w->api_since_ms = w->api_step_ms = 0;
}

/* Of ranks of other hosts only the steps are known: those past the step that ranks here were in have passed the window too. */
static int others_follow(struct pp_windows *w, const struct pp_windows_job *job)
{
	size_t others;
	const struct pp_pod_rank *other = pp_pod_ranks(job->pod, &others);

	if (!w->api_step_ms) {
		w->api_step = pp_ranks_highest_step(job->view);
		w->api_step_ms = pp_now_ms();
	}
	for (size_t i = 0; i < others; i++)
		if (!other[i].over &&
		    (other[i].step == INT64_MIN ? pp_now_ms() - w->api_step_ms < UNSTEPPED_MS : other[i].step <= w->api_step))
			return pp_now_ms() - w->api_step_ms > LATE_MS;
	return 1;
}

struct seen { /* the state of one window on all ranks */
	int over, open, behind, never, begun, passed;
	const struct pp_ring_header *of; /* a ring that has its row */
};

static struct seen find_seen(const struct pp_windows *w, const struct pp_windows_job *job, uint64_t place)
{
	struct pp_spool_view *v = job->view;
	struct seen s = {0};

	for (size_t i = 0; i < pp_spool_count(v); i++) {
		const struct pp_ring_header *h = pp_spool_header(v, i);
		int ended = pp_ranks_has_ended(v, i); /* read first: the rank reports before it ends */
		enum stand stand = stand_of(h, place);

		if (stand == ASKED || stand == BEGUN || stand == PASSED || stand == MISSED)
			s.of = h;
		s.begun |= stand == BEGUN || stand == PASSED;
		s.passed |= stand == PASSED;
		s.over |= stand == PASSED || stand == MISSED || stand == GONE;
		s.open |= !ended && (stand == ASKED || stand == BEGUN);
		s.behind |= !ended && stand == BEHIND;
		s.never |= !ended && stand == NEVER;
	}
	s.never |= pp_ranks_seen(v) + (int)v->refused < pp_ranks_expected(v) || (!w->without && pp_windows_lack_ranks(job));
	return s;
}

/* May it be closed? Ranks that are late, or request none, are waited for from when the first one has passed it. */
static int is_due(struct pp_windows *w, const struct pp_windows_job *job, const struct seen *s)
{
	int64_t waited;

	if (!s->over)
		return 0;
	if (!s->open && !s->behind && !s->never)
		return others_follow(w, job);
	if (!w->api_since_ms)
		w->api_since_ms = pp_now_ms();
	waited = pp_now_ms() - w->api_since_ms;
	w->without |= waited > UNMARKED_MS;
	return waited > (s->open || s->behind ? LATE_MS : UNMARKED_MS);
}

static int64_t api_end_of(const struct pp_ring_header *h, uint64_t place)
{
	int64_t from, to = INT64_MAX;

	return pp_job_api_ticks(h, &place, &from, &to) ? to : INT64_MAX;
}

static void row_of_rank(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank)
{
	int64_t from = 0, to = 0;

	(void)ring;
	if (!pp_job_api_ticks(h, context, &from, &to))
		return;
	rank->asked = rank->acked = rank->started = from;
	if (to < INT64_MAX)
		rank->ended = to;
}

static void name_of(const struct pp_ring_header *h, uint64_t place, char *text, size_t size)
{
	const struct pp_api_window_row *row = h ? pp_ring_api_window(h, place) : NULL;
	char name[sizeof(row->name)];

	if (!row)
		snprintf(text, size, "window %" PRIu64 " of the program", place + 1);
	else if (row->last > row->first)
		snprintf(text, size, "%" PRId64 ":%" PRId64, row->first, row->last);
	else {
		snprintf(name, sizeof(name), "%s", row->name);
		snprintf(text, size, "window %s%s%s", *name ? "'" : "", *name ? name : "without a name", *name ? "'" : "");
	}
}

static void api_start(struct pp_windows *w, const struct pp_windows_job *job, const struct seen *s, uint64_t place)
{
	struct pp_close_range *range = pp_writing_ranges(job->rings, pp_job_api_ticks, &place);
	struct pp_window_metadata metadata = {.by = "code", .channel = "none", .tries = 1};
	const struct pp_api_window_row *row = pp_ring_api_window(s->of, place);
	struct pp_pod_window hosts = {.cut = PP_POD_API, .number = place};
	struct pp_writing writing = {.range = range, .metadata = &metadata, .hosts = &hosts, .limit_ms = w->limit_ms};
	char label[128];

	name_of(s->of, place, label, sizeof(label));
	snprintf(metadata.kind, sizeof(metadata.kind), "%s", row && row->last > row->first ? "steps" : "span");
	if (row && row->last > row->first) {
		writing.first = row->first;
		writing.last = row->last;
		snprintf(metadata.what, sizeof(metadata.what), "podprof_profile_steps(%" PRId64 ", %" PRId64 ")", row->first,
		         row->last);
	} else {
		snprintf(metadata.what, sizeof(metadata.what), "podprof_window_start(): %s", label);
	}
	if (pp_window_rows_make(job->rings, row_of_rank, &place, &metadata))
		metadata.by[0] = '\0';
	hosts.first = writing.first;
	hosts.last = writing.last;
	snprintf(w->name, sizeof(w->name), "%s", row && row->last <= row->first ? row->name : "");
	set_closed(w, place);
	pp_windows_start(w, job, &writing, label);
	pp_window_metadata_release(&metadata);
	free(range);
	if (!w->hold)
		drop(w, job, api_end_of, place);
}

/* Was more than the step in front of it recorded? */
static int api_was_reached(const struct pp_rings *r, uint64_t place)
{
	for (size_t i = 0; i < pp_rings_count(r); i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);
		const struct pp_api_window_row *row = pp_ring_api_window(h, place);

		if (row && row->last <= row->first)
			return 1;
		if (row && pp_ranks_step(h) >= row->first)
			return 1;
	}
	return 0;
}

/* One turn of the windows requested via API: 1 while something is open. */
static int run_api(struct pp_windows *w, const struct pp_windows_job *job, int ending)
{
	struct pp_rings *r = job->rings;
	uint64_t most = 0;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (pp_ring_api_windows(pp_rings_header(r, i)) > most)
			most = pp_ring_api_windows(pp_rings_header(r, i));
	if (most > w->api_next + PP_WINDOW_ROWS) { /* requested faster than sessions are written */
		w->totals.skipped += most - PP_WINDOW_ROWS - w->api_next;
		w->api_closed = 0;
		w->api_next = most - PP_WINDOW_ROWS;
	}
	for (uint64_t n = w->api_next; n < most; n++) {
		struct seen s;
		char label[128];

		if (is_closed(w, n))
			continue;
		s = find_seen(w, job, n);
		if (!ending && !is_due(w, job, &s))
			continue;
		/* After the ranks' answers: their records from before are there now. */
		pp_rings_drain_all(r);
		s = find_seen(w, job, n);
		if (s.begun && s.of && (s.passed || api_was_reached(r, n))) {
			api_start(w, job, &s, n);
			return 1;
		}
		name_of(s.of, n, label, sizeof(label));
		set_closed(w, n);
		miss_one(w, label);
	}
	return 0;
}

int pp_windows_is_writing(struct pp_windows *w)
{
	if (w->busy == 1) {
		if (!pp_forked_writer_done(&w->writer))
			return 1;
		take_answer(w);
		w->busy = 2;
	}
	if (w->busy && !pp_forked_writer_reaped(&w->writer))
		return 1;
	w->busy = 0;
	return 0;
}

int pp_windows_run(struct pp_windows *w, const struct pp_windows_job *job, int ending)
{
	uint64_t begun, over;

	if (pp_windows_is_writing(w))
		return 1;
	if (w->next < pp_pod_windows_done(job->pod)) /* rank 0's keeper had them, and is lost */
		w->next = pp_pod_windows_done(job->pod);
	over = ending ? NO_WINDOW : passed_by_all(w, job);
	begun = first_begun(w, job->rings, w->next);
	while (!w->asked.every && w->next < (uint64_t)w->asked.count && w->next < begun && w->next < over)
		miss(w, w->next++);
	if (w->asked.every && begun < over && begun > w->next)
		w->totals.skipped += begun - w->next;
	if (begun == NO_WINDOW || begun >= over)
		return run_api(w, job, ending);
	w->next = begun;
	/* After the ranks' answers: their records from before are there now. */
	pp_rings_drain_all(job->rings);
	if (ending && !was_reached(w, job->rings, begun)) {
		w->next = begun + 1;
		if (!w->asked.every)
			miss(w, begun);
		return 1;
	}
	start(w, job, begun);
	return 1;
}

int pp_windows_message(struct pp_windows *w, const struct pp_windows_job *job, char *message, size_t size)
{
	const struct pp_windows_totals *t = &w->totals;
	const char *logdir = t->moved[0] ? t->moved : job->options->logdir;
	int several = strcmp(t->first, t->last) != 0;
	int64_t last = pp_ranks_highest_step(job->view);
	char why[96] = "", sessions[160];
	size_t n = 0;

	if (last != INT64_MIN)
		snprintf(why, sizeof(why), "; the last marked step is %" PRId64, last);
	snprintf(sessions, sizeof(sessions), "%s%s%s", t->first, several ? " to " : "", several ? t->last : "");
	if (t->captured)
		n = (size_t)snprintf(
		        message, size,
		        "%d window%s captured on %d of %d rank%s, %zu host%s: %s\n%s/podprof/%s  (podprof report %s%s)",
		        t->captured, t->captured == 1 ? "" : "s", t->delivered, t->asked, t->asked == 1 ? "" : "s", t->hosts,
		        t->hosts == 1 ? "" : "s", t->steps, logdir, sessions, several ? "--list " : "", logdir);
	else if (t->lost[0])
		n = (size_t)snprintf(message, size, "no session was written for %s: %s", t->lost, t->why);
	else
		n = (size_t)snprintf(message, size, "no session was written: %s%s%s",
		                     t->failure[0] ? t->failure : "no window was reached", t->failure[0] ? "" : why,
		                     t->failure[0] ? "" : ". Give steps that the job reaches");
	if (t->captured && t->lacking[0] && n < size)
		n += (size_t)snprintf(message + n, size - n, "\n%s%s %s not captured%s", t->lacking[0] == 'w' ? "" : "steps ",
		                      t->lacking, t->lacking[0] == 'w' && t->missed == 1 ? "was" : "were", why);
	if (t->captured && t->skipped && n < size)
		n += (size_t)snprintf(message + n, size - n,
		                      "\n%" PRIu64 " windows were not written: they follow each other too fast, or "
		                      "step numbers were skipped. Give a larger --every",
		                      t->skipped);
	if (t->captured && t->lost[0] && n < size)
		n += (size_t)snprintf(message + n, size - n, "\nno session was written for %s: %s", t->lost, t->why);
	if (t->captured && t->failure[0] && n < size)
		n += (size_t)snprintf(message + n, size - n, "\n%s%s%s%s", t->halved[0] ? "session " : "", t->halved,
		                      t->halved[0] ? " has no " : "", t->failure);
	if (t->captured && t->must_know[0] && n < size)
		n += (size_t)snprintf(message + n, size - n, "\n%s", t->must_know);
	if (t->captured && t->more && n < size)
		snprintf(message + n, size - n, "\n%d more window%s such notes: see /quality of the sessions", t->more,
		         t->more == 1 ? " has" : "s have");
	return t->captured || !t->failed ? 0 : -EIO;
}
