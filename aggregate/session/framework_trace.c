/* Reads the files of frameworks' profilers, and maps their times to the rank's ticks; see framework_trace.h. */
#include "aggregate/session/framework_trace.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/read/trace.h"
#include "aggregate/spool/layout.h"
#include "aggregate/spool/processes.h"
#include "core/base/now.h"
#include "core/capture/capture.h"
#include "core/capture/join.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

enum { WAIT_MS = 20000, TURN_MS = 20, DEPTH = 64, PATH = PP_SPOOL_PATH + 256 };

#define SET_CLOCK 0.02 /* part of the window by which a wall clock may gain: the note says how wrong times are then */

struct file {
	int rank, pid;
	uint64_t begin, end; /* ticks */
	int64_t begin_ns, end_ns, error;
	char suffix[8];
};

struct found { /* what the window's warnings say */
	size_t files, lacking, late;
	uint64_t events;
	double error_ns;
	char why[160];
};

static int parse(const char *name, struct file *f)
{
	const char *dot = strrchr(name, '.');
	int n;

	*f = (struct file){.rank = -1};
	if (strncmp(name, "rank-", 5) || !dot || strlen(dot + 1) >= sizeof(f->suffix))
		return 0;
	snprintf(f->suffix, sizeof(f->suffix), "%s", dot + 1);
	n = sscanf(name, "rank-%d-%d-%" SCNu64 "-%" SCNd64 "-%" SCNu64 "-%" SCNd64 "-%" SCNd64, &f->rank, &f->pid, &f->begin,
	           &f->begin_ns, &f->end, &f->end_ns, &f->error);
	if (!strcmp(f->suffix, "xspace"))
		return n == 7 && f->end > f->begin && f->end <= INT64_MAX && f->end_ns > f->begin_ns && f->begin_ns >= 0 &&
		       f->error >= 0;
	return n == 3 && (!strcmp(f->suffix, "part") || !strcmp(f->suffix, "failed"));
}

/* The ring of the process that made the file; NULL: none of this window. */
static const struct pp_ring_header *ring_of(const struct pp_framework_traces *w, const struct file *f)
{
	for (size_t i = 0; i < pp_rings_count(w->rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(w->rings, i);

		if (h->rank == f->rank && h->pid == f->pid && !pp_rings_is_excluded(w->rings, i))
			return h;
	}
	return NULL;
}

static int is_in_window(const struct pp_framework_traces *w, const struct file *f)
{
	for (size_t i = 0; i < w->ranges; i++)
		if (w->range[i].rank == f->rank)
			return (int64_t)f->begin < w->range[i].to && (!f->end || (int64_t)f->end > w->range[i].from);
	return 1;
}

/* Is a file of the window still to come? */
static int is_coming(const struct pp_framework_traces *w, const char *spool)
{
	DIR *d = opendir(spool);
	const struct pp_ring_header *h;
	struct dirent *e;
	struct file f;
	int coming = 0;

	while (d && !coming && (e = readdir(d)))
		coming = parse(e->d_name, &f) && !strcmp(f.suffix, "part") && is_in_window(w, &f) && (h = ring_of(w, &f)) &&
		         pp_spool_process(f.pid, h->pid_space) != PP_PROCESSES_NONE;
	if (d)
		closedir(d);
	return coming;
}

struct line { /* ns of the file to ticks */
	int64_t ns, tick, by_ns, by_ticks;
};

static void to_ticks(const void *context, int64_t *time, size_t times, size_t stride)
{
	const struct line *l = context;

	for (char *at = (char *)time; times > 0; times--, at += stride) {
		int64_t *one = (int64_t *)(void *)at;
		__int128 tick = (__int128)l->tick + ((__int128)*one - l->ns) * l->by_ticks / l->by_ns;

		if (*one != INT64_MIN && *one != INT64_MAX)
			*one = tick < 0 ? 0 : tick > INT64_MAX ? INT64_MAX : (int64_t)tick;
	}
}

/* |error| of the line in ns; < 0: the wall clock was set meanwhile. */
static double error_of(const struct pp_framework_traces *w, const struct file *f)
{
	double ns = (double)(f->end_ns - f->begin_ns), rate = ns / (double)(f->end - f->begin), other = rate;
	struct pp_clock_pair now;

	if (w->first) {
		pp_clock_read_pair(w->kind, &now);
		other = 1 / pp_clock_rate(w->kind, w->first, &now);
	}
	if (fabs(rate / other - 1) > SET_CLOCK + (1e5 + 4 * rate * (double)f->error) / ns)
		return -1;
	return fabs(rate - other) * (double)(f->end - f->begin) + rate * (double)f->error;
}

/* Files number threads as they like. An event of ours says which one made it: the thread's tid; 0: none of this thread does. */
static uint32_t take_tid(const struct pp_intern *names, struct pp_thread *t)
{
	static const char mark[] = PP_FRAMEWORK_THREAD;
	uint32_t tid = 0;
	size_t left = 0;

	for (size_t i = 0; i < t->spans; i++) {
		const char *text = pp_intern_text(names, t->span[i].name, NULL);

		if (t->span[i].kind <= PP_SPAN_MARK && !strncmp(text, mark, sizeof(mark) - 1))
			tid = (uint32_t)strtoul(text + sizeof(mark) - 1, NULL, 10);
		else
			t->span[left++] = t->span[i];
	}
	t->spans = left;
	return tid;
}

struct around { /* ranges and calls of a thread that are open at the time of a cursor */
	const struct pp_span *open[DEPTH];
	size_t depth, next;
};

/* The innermost of the live ranges and calls that has all of `s` in it; NULL: none. Times of `s` rise from call to call. */
static const struct pp_span *find_around(struct around *a, const struct pp_thread *live, const struct pp_span *s)
{
	for (; a->next < live->spans && live->span[a->next].begin <= s->begin; a->next++) {
		const struct pp_span *l = &live->span[a->next];

		if ((l->kind != PP_SPAN_RANGE && l->kind != PP_SPAN_MPI) || l->end <= l->begin)
			continue;
		while (a->depth && a->open[a->depth - 1]->end <= l->begin)
			a->depth--;
		if (a->depth < DEPTH)
			a->open[a->depth++] = l;
	}
	for (size_t i = a->depth; i > 0; i--)
		if (a->open[i - 1]->end >= s->end)
			return a->open[i - 1];
	return NULL;
}

/* Is `s` what the rank recorded itself: a part of one of its calls, or (`is_live` by name) a range that the program made? Else what
 * the framework does inside of a range of known category is of that one. */
static int is_double(struct around *a, const struct pp_thread *live, int is_live, struct pp_span *s)
{
	const struct pp_span *around = find_around(a, live, s);

	if (s->kind != PP_SPAN_RANGE)
		return 0;
	if (is_live || (around && around->kind == PP_SPAN_MPI))
		return 1;
	if (around && !s->category && s->range.origin != PP_ORIGIN_OPERATOR)
		s->category = around->category;
	return 0;
}

static void drop_doubles(const struct pp_capture *into, const struct pp_thread *live, const struct pp_capture *from,
                         struct pp_thread *t)
{
	uint32_t names = pp_intern_count(from->names), lives = pp_intern_count(into->names);
	uint32_t *id = calloc((size_t)names + 1, sizeof(*id));
	uint8_t *is_live = calloc((size_t)lives + 1, sizeof(*is_live));
	struct around around = {.depth = 0};
	size_t left = 0;

	for (size_t i = 0; is_live && i < live->spans; i++)
		if (live->span[i].kind == PP_SPAN_RANGE)
			is_live[live->span[i].name] = 1;
	for (size_t i = 0; id && is_live && i < t->spans; i++) {
		struct pp_span *s = &t->span[i];
		size_t length;
		const char *text;

		if (!id[s->name]) {
			text = pp_intern_text(from->names, s->name, &length);
			id[s->name] = pp_intern_put(into->names, text, length);
		}
		if (!is_double(&around, live, id[s->name] < lives && is_live[id[s->name]], s))
			t->span[left++] = *s;
	}
	if (id && is_live)
		t->spans = left;
	free(id);
	free(is_live);
}

/* Leaves only what the rank's own records do not have: what the rank is, and when it recorded, is as they say. */
static void prepare(const struct pp_capture *into, const struct pp_rank *live, struct pp_capture *from)
{
	struct pp_rank *r = from->rank;

	for (size_t t = 0; t < r->threads; t++) {
		uint32_t tid = r->thread[t].device ? 0 : take_tid(from->names, &r->thread[t]);

		r->thread[t].tid = tid ? tid : r->thread[t].tid;
		r->thread[t].is_main = 0;
		for (size_t k = 0; k < live->threads && !r->thread[t].device; k++)
			if (live->thread[k].tid == r->thread[t].tid && !live->thread[k].device)
				drop_doubles(into, &live->thread[k], from, &r->thread[t]);
	}
	r->trace = (struct pp_trace_metadata){.bytes = 0};
	r->records = 0;
	r->remarks = 0;
	r->size = live->size;
	r->open_tick = live->open_tick;
	r->horizon = live->horizon;
	r->recorded_from = live->recorded_from;
	r->recorded_to = live->recorded_to;
	from->ranks_asked = into->ranks_asked;
	from->epoch_realtime_ns = 0;
}

static int join_file(const struct pp_framework_traces *w, const char *path, const struct file *f, struct pp_capture *capture,
                     struct found *found)
{
	struct pp_trace_options how = {.rank = f->rank, .without_steps = 1};
	const struct pp_rank *live = pp_capture_rank(capture, f->rank);
	double error = error_of(w, f);
	struct pp_capture from = {.names = NULL};
	struct pp_trace_glance glance;
	struct pp_err err = {""};
	struct line line = {.tick = (int64_t)f->begin, .by_ns = f->end_ns - f->begin_ns, .by_ticks = (int64_t)(f->end - f->begin)};
	int rc = error < 0 ? pp_err_set(&err, -1, "the wall clock was set in the window") : pp_trace_glance(path, &glance, &err);

	if (!rc)
		rc = pp_trace_read(path, &glance, &how, &from, &err);
	if (!rc && !from.epoch_realtime_ns)
		rc = pp_err_set(&err, -1, "its file has no date");
	if (!rc && live) {
		found->events += from.rank->trace.events;
		found->error_ns = error > found->error_ns ? error : found->error_ns;
		line.ns = f->begin_ns - from.epoch_realtime_ns;
		pp_rank_map_times(from.rank, &(struct pp_time_mapper){.map = to_ticks, .context = &line});
		prepare(capture, live, &from);
		rc = pp_capture_join(capture, &from, &err);
	}
	if (rc)
		snprintf(found->why, sizeof(found->why), "%.159s", err.text);
	pp_capture_release(&from);
	return rc;
}

static void take(const struct pp_framework_traces *w, const char *path, const struct file *f, struct pp_capture *capture,
                 struct found *found)
{
	FILE *text;

	if (!strcmp(f->suffix, "part")) {
		found->late++;
	} else if (!strcmp(f->suffix, "failed")) {
		found->lacking++;
		text = pp_spool_open_text(path);
		if (text && !fgets(found->why, sizeof(found->why), text))
			found->why[0] = '\0';
		if (text)
			fclose(text);
	} else if (join_file(w, path, f, capture, found)) {
		found->lacking++;
	} else {
		found->files++;
	}
}

static void say(const struct found *f, struct pp_warnings *to)
{
	if (f->files)
		pp_warnings_add(
		        to, "--framework-trace: %" PRIu64 " events of %zu file%s, whose times are within %.1f us of the rank's own",
		        f->events, f->files, f->files == 1 ? "" : "s", f->error_ns / 1000);
	if (f->lacking)
		pp_warnings_add(to, "--framework-trace: %zu file%s missing: %s", f->lacking, f->lacking == 1 ? " is" : "s are",
		                f->why);
	if (f->late)
		pp_warnings_add(
		        to,
		        "--framework-trace: %zu file%s did not come in %d s: the rank ended, or another window holds its profiler",
		        f->late, f->late == 1 ? "" : "s", WAIT_MS / 1000);
}

void pp_framework_traces_join(const struct pp_framework_traces *w, struct pp_capture *capture)
{
	char spool[PP_SPOOL_PATH], path[PATH];
	const char *ring = pp_rings_path(w->rings, 0), *slash = strrchr(ring, '/');
	int64_t deadline = pp_now_ms() + WAIT_MS;
	struct found found = {.files = 0};
	struct dirent *e;
	struct file f;
	DIR *d;

	if (!slash || snprintf(spool, sizeof(spool), "%.*s", (int)(slash - ring), ring) >= (int)sizeof(spool))
		return;
	while (is_coming(w, spool) && pp_now_ms() < deadline)
		pp_nap_ms(TURN_MS);
	d = opendir(spool);
	while (d && (e = readdir(d)))
		if (parse(e->d_name, &f) && is_in_window(w, &f) && ring_of(w, &f)) {
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
			take(w, path, &f, capture, &found);
		}
	if (d)
		closedir(d);
	say(&found, w->warnings);
}
