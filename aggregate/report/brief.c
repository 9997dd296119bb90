/* Facts, answer and summary of one session for `podprof report`; see brief.h. Called by launchers/cmd_report.c. */
#include "aggregate/report/brief.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/read/h5/file.h"
#include "aggregate/read/h5/file_dataset.h"
#include "aggregate/read/h5/forked_work.h"
#include "aggregate/report/report.h"
#include "aggregate/tools/answer.h"
#include "aggregate/tools/finding_word.h"
#include "aggregate/tools/recommend.h"
#include "aggregate/tools/sums.h"
#include "aggregate/write/text/text.h"
#include "core/base/forked.h"
#include "core/base/known.h"
#include "core/base/why.h"
#include "core/step/category.h"

enum { SCHEMA = 2, SECOND = 1000000000 };

static const uint64_t tables = UINT64_C(1) << PP_TABLE_window | PP_RECOMMEND_TABLES | PP_POD_TABLES;

/* Why there is this session: a request, the options that bound it, or nothing: the whole job. */
static void why_of(const struct pp_dataset *d, char *text, size_t size)
{
	static const char *const bounds[] = {"--steps", "--every", "--delay", "--duration", "--at", "--keep", "--step-rule"};
	static const char *const origins[][2] = {{"capture", "podprof capture: "},
	                                         {"file", "request file: "},
	                                         {"signal", "signal: "},
	                                         {"trigger", "trigger: "},
	                                         {"code", "via API: "}};
	const char *by = d->windows ? d->window->by : "";

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++)
		if (!strcmp(by, origins[i][0])) {
			snprintf(text, size, "%s%s", origins[i][1], d->window->request);
			return;
		}
	for (const char *word = d->options; *word; word += strcspn(word, " "), word += strspn(word, " "))
		for (size_t i = 0, n; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
			n = strlen(bounds[i]);
			if (!strncmp(word, bounds[i], n) && word[n] == '=' && strlen(text) < size)
				snprintf(text + strlen(text), size - strlen(text), "%s%s %.*s", text[0] ? " " : "", bounds[i],
				         (int)strcspn(word + n + 1, " "), word + n + 1);
		}
	if (!text[0])
		snprintf(text, size, "whole job");
}

static void date_of(const struct pp_dataset *d, char *text, size_t size)
{
	struct tm tm;

	if (!d->epoch_realtime_ns) { /* analysed from a file without one */
		snprintf(text, size, "no date");
		return;
	}
	pp_local_time((time_t)((d->epoch_realtime_ns + d->window_begin_ns) / SECOND), &tm);
	strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm);
}

static void brief_of(const struct pp_dataset *d, const struct pp_answer *a, struct pp_brief *b)
{
	date_of(d, b->date, sizeof(b->date));
	snprintf(b->command, sizeof(b->command), "%s", d->command);
	b->ranks_asked = d->ranks_asked;
	b->ranks_delivered = d->ranks_delivered;
	b->step_count = d->steps;
	if (d->ranks_delivered == d->ranks_asked)
		snprintf(b->ranks, sizeof(b->ranks), "%d", d->ranks_asked);
	else
		snprintf(b->ranks, sizeof(b->ranks), "%d of %d", d->ranks_delivered, d->ranks_asked);
	if (d->steps == 1 && !strncmp(d->step_rule, "window", 6))
		snprintf(b->steps, sizeof(b->steps), "1 window");
	else if (!d->steps)
		snprintf(b->steps, sizeof(b->steps), "none");
	else
		pp_text_steps(d, b->steps, sizeof(b->steps));
	if (!strncmp(b->steps, "step", 4)) { /* "step 7", "steps 5..9" */
		size_t begin = strcspn(b->steps, " ") + 1;

		memmove(b->steps, b->steps + begin, strlen(b->steps + begin) + 1);
	}
	why_of(d, b->why, sizeof(b->why));
	snprintf(b->verdict, sizeof(b->verdict), "%s", a->bottleneck);
	b->has_finding = a->finding != NULL;
	if (a->finding)
		b->finding = *a->finding;
}

struct work {
	const char *pod_path;
	struct pp_brief *brief; /* shared with the child; NULL: write to fd */
	int fd, is_summary;     /* else JSON */
};

/* A finding's members, of an object that stays open; null where it has none. */
static void open_finding(struct pp_json *j, const char *name, const struct pp_row_finding *f)
{
	const int names = f && (pp_finding_names_ranks(f) || f->finding_ranks == 1);

	pp_json_open(j, name);
	pp_json_add_text(j, "kind", f ? pp_finding_word(f->kind) : "none");
	pp_json_add_int(j, "rank", names ? f->finding_worker : INT64_MIN);
	pp_json_add_int(j, "ranks", f && f->finding_ranks ? f->finding_ranks : INT64_MIN);
	pp_json_add_text(j, "who", f && f->who[0] ? f->who : NULL);
	pp_json_add_int(j, "hosts", f && f->finding_hosts ? f->finding_hosts : INT64_MIN);
	pp_json_add_text(j, "host_list", f && f->finding_host_list[0] ? f->finding_host_list : NULL);
	pp_json_add_text(j, "category", f && f->finding_reason ? pp_reason_name(f->finding_reason) : NULL);
	if (f && f->kind == PP_FINDING_LINK) {
		pp_json_add_int(j, "from_rank", f->finding_worker);
		pp_json_add_int(j, "to_rank", f->finding_peer);
	}
	if (!f)
		return;
	pp_json_add_int(j, "gain_ns", f->finding_gain_ns);
	pp_json_add_int(j, "more_ns", f->more_ns);
	pp_json_add_int(j, "steps", f->finding_steps);
	pp_json_add_int(j, "of_steps", f->of_steps);
	pp_json_add_int(j, "first_step", f->finding_first);
	pp_json_add_int(j, "period", f->finding_period ? f->finding_period : INT64_MIN);
	pp_json_add_text(j, "next", f->finding_next);
}

static void put_findings(struct pp_json *j, const struct pp_dataset *d)
{
	pp_json_open_list(j, "findings");
	for (size_t i = 0; i < d->findings; i++) {
		open_finding(j, NULL, &d->finding[i]);
		pp_json_add_text(j, "text", d->finding[i].finding);
		pp_json_close(j);
	}
	pp_json_close(j);
}

/* The row of /blame of the first finding; null: it has none. */
static void put_blame(struct pp_json *j, const struct pp_pod_lines *l, int64_t steps)
{
	const struct pp_row_blame *b = l->blame_row;

	if (!b || !steps) {
		pp_json_add_null(j, "blame");
		return;
	}
	pp_json_open(j, "blame");
	pp_json_add_int(j, "rank", b->worker);
	pp_json_add_text(j, "reason", pp_reason_name(b->reason));
	if (b->reason == PP_REASON_LINK)
		pp_json_add_int(j, "from_rank", b->peer);
	pp_json_add_int(j, "blame_ns", pp_known_mean(b->blame_ns, steps));
	pp_json_add_int(j, "clock_error_ns", b->error_ns / steps);
	pp_json_add_int(j, "steps", b->steps);
	pp_json_close(j);
}

/* Of the usual steps; null where none is known. */
static void put_efficiency(struct pp_json *j, const struct pp_row_efficiency *e)
{
	if (!e) {
		pp_json_add_null(j, "efficiency");
		return;
	}
	pp_json_open(j, "efficiency");
	pp_json_add_int(j, "steps", e->of_steps);
	pp_json_add_int(j, "ranks", e->of_ranks);
	pp_json_add_int(j, "device_ranks", e->of_devices);
	pp_json_add_int(j, "time_ns", e->time_ns);
	pp_json_add_int(j, "useful_ns", e->useful_ns);
	pp_json_add_int(j, "most_useful_ns", e->most_useful_ns);
	pp_json_add_int(j, "most_useful_rank", e->most_useful_worker);
	pp_json_add_int(j, "ideal_ns", e->ideal_ns);
	pp_json_add_real(j, "parallel", e->parallel);
	pp_json_add_real(j, "load_balance", e->load_balance);
	pp_json_add_real(j, "communication", e->communication);
	pp_json_add_real(j, "serialisation", e->serialisation);
	pp_json_add_real(j, "transfer", e->transfer);
	pp_json_close(j);
}

static void put_pod(struct pp_json *j, const struct pp_row_finding *f, const struct pp_pod_lines *l, int64_t steps)
{
	const struct pp_row_advice *a = l->advice_row;

	put_blame(j, l, steps);
	if (l->what_if[0]) {
		pp_json_open(j, "what_if");
		pp_json_add_text(j, "what", l->what_if);
		pp_json_add_int(j, "before_ns", f->usual_ns);
		pp_json_add_int(j, "after_ns", f->usual_ns - f->finding_gain_ns);
		pp_json_add_int(j, "gain_ns", f->finding_gain_ns);
		pp_json_close(j);
	} else {
		pp_json_add_null(j, "what_if");
	}
	put_efficiency(j, l->efficiency_row);
	if (a) {
		pp_json_open(j, "advice");
		pp_json_add_text(j, "rule", a->rule);
		pp_json_add_int(j, "cost_ns", a->cost_ns);
		pp_json_add_text(j, "evidence", a->evidence);
		pp_json_add_text(j, "advice", a->advice);
		pp_json_add_int(j, "more", (int64_t)l->more);
		pp_json_close(j);
	} else {
		pp_json_add_null(j, "advice");
	}
}

static void put_answer(struct pp_json *j, const struct pp_answer *a)
{
	open_finding(j, "verdict", a->finding);
	pp_json_add_text(j, "text", a->bottleneck);
	pp_json_close(j);
	pp_json_open_list(j, "qualifiers");
	for (size_t i = 0; i < a->qualifiers; i++)
		pp_json_add_text(j, NULL, a->qualifier[i]);
	pp_json_close(j);
	pp_json_add_int(j, "qualifiers_more", (int64_t)a->more);
	pp_json_add_text(j, "straggler", a->straggler);
	pp_json_add_text(j, "next", a->next);
	pp_json_add_int(j, "gain_rank", a->gain_rank < 0 ? INT64_MIN : a->gain_rank);
	pp_json_add_int(j, "gain_ns", a->gain_rank < 0 ? INT64_MIN : a->gain_ns);
}

static void put_categories(struct pp_json *j, const int64_t *ns, int64_t steps)
{
	pp_json_open(j, "categories");
	for (int c = 1; c <= PP_CATEGORIES; c++)
		pp_json_add_int(j, pp_category_name(c), pp_known_or(pp_known_mean(ns[c], steps), 0));
	pp_json_close(j);
}

static void put_ranks(struct pp_json *j, const struct pp_dataset *d, const struct pp_sums *s)
{
	pp_json_open_list(j, "rank");
	for (size_t w = 0; w < d->workers; w++) {
		int64_t steps = s->worker_steps[w];

		pp_json_open(j, NULL);
		pp_json_add_int(j, "rank", d->worker[w].rank);
		pp_json_add_text(j, "host", d->worker[w].host);
		pp_json_add_text(j, "status", d->worker[w].status);
		pp_json_add_text(j, "coordinates", d->worker[w].coordinates);
		pp_json_add_int(j, "steps", steps);
		pp_json_add_int(j, "step_ns", pp_known_mean(s->worker_ns[w][0], steps));
		pp_json_add_int(j, "wait_ns", pp_known_mean(s->worker_wait_ns[w], steps));
		pp_json_add_int(j, "kept_others_waiting_ns", s->worker_kept_ns[w]);
		put_categories(j, s->worker_ns[w], steps);
		pp_json_close(j);
	}
	pp_json_close(j);
}

/* What recording takes in the ranks, mean per step and rank; null: unknown. */
static void put_recording(struct pp_json *j, struct pp_recording r)
{
	int is_known = r.ns > 0;

	pp_json_add_int(j, "recording_ns", is_known ? llround(r.ns) : INT64_MIN);
	pp_json_add_int(j, "records_per_step", is_known ? (int64_t)(r.records + 0.5) : INT64_MIN);
}

static void put_session(FILE *to, const char *path, const struct pp_dataset *d, const struct pp_sums *s, const struct pp_answer *a)
{
	struct pp_json json = {.to = to}, *j = &json;
	struct pp_brief b = {""};

	brief_of(d, a, &b);
	pp_json_open(j, NULL);
	pp_json_add_int(j, "schema", SCHEMA);
	pp_json_add_text(j, "session", d->session);
	pp_json_add_text(j, "path", path);
	pp_json_add_text(j, "date", b.date);
	pp_json_add_int(j, "begin_s", (d->epoch_realtime_ns + d->window_begin_ns) / SECOND);
	pp_json_add_text(j, "job", d->job);
	pp_json_add_text(j, "command", d->command);
	pp_json_add_text(j, "options", d->options);
	pp_json_add_text(j, "captured", b.why);
	pp_json_add_int(j, "ranks", d->ranks_asked);
	pp_json_add_int(j, "ranks_delivered", d->ranks_delivered);
	pp_json_add_int(j, "hosts", (int64_t)pp_dataset_hosts(d));
	pp_json_add_int(j, "steps", (int64_t)d->steps);
	pp_json_add_text(j, "step_numbers", b.steps);
	pp_json_add_text(j, "step_rule", d->step_rule);
	pp_json_add_real(j, "step_confidence", d->step_confidence);
	pp_json_add_text(j, "step_parts", d->step_parts);
	put_answer(j, a);
	put_findings(j, d);
	put_pod(j, a->finding, &a->pod, (int64_t)d->steps);
	pp_json_add_text(j, "level", a->level[0] ? a->level : NULL);
	pp_json_add_int(j, "usual_steps", (int64_t)a->usual_steps);
	pp_json_add_int(j, "step_median_ns", d->steps ? a->usual_ns : INT64_MIN);
	pp_json_add_int(j, "step_half_iqr_ns", d->steps ? a->spread_ns : INT64_MIN);
	pp_json_add_int(j, "step_longest_ns", d->steps ? s->longest_ns : INT64_MIN);
	pp_json_add_int(j, "step_longest", d->steps ? d->step[s->longest_step].number : INT64_MIN);
	pp_json_add_int(j, "wait_ns", pp_known_mean(s->wait_ns, s->cells));
	pp_json_add_int(j, "transfer_ns", pp_known_mean(s->transfer_ns, s->cells));
	put_categories(j, s->sum_ns, s->cells);
	pp_json_add_int(j, "clock_error_ns", d->pair_bound_ns ? d->pair_bound_ns : INT64_MIN);
	pp_json_add_int(j, "keeper_cpu_ns", d->keeper_cpu_ns);
	put_recording(j, pp_sums_recording(d, s));
	put_ranks(j, d, s);
	pp_json_close(j);
	fputc('\n', to);
}

static int answer(const struct work *w, const struct pp_dataset *d, struct pp_err *err)
{
	struct pp_answer *a = calloc(1, sizeof(*a));
	char *path = realpath(w->pod_path, NULL), *logdir = pp_report_logdir(w->pod_path), *slash;
	struct pp_sums s;
	FILE *to = NULL;
	int rc = a ? pp_sums_of(d, &s) : -ENOMEM;

	if (rc) {
		pp_err_set(err, rc, "no memory for '%s'", w->pod_path);
		goto free_texts;
	}
	slash = path ? strrchr(path, '/') : NULL;
	if (slash)
		*slash = '\0'; /* the session's directory */
	rc = pp_answer_of(d, &s, logdir, a);
	if (rc) {
		pp_err_set(err, rc, "no memory for '%s'", w->pod_path);
	} else if (w->brief) {
		brief_of(d, a, w->brief);
	} else {
		to = fdopen(dup(w->fd), "w");
		if (to)
			put_session(to, path ? path : w->pod_path, d, &s, a);
		if (!to || fclose(to))
			rc = pp_err_set(err, -EIO, "cannot print the session: no memory");
	}
	pp_sums_release(&s);
free_texts:
	free(logdir);
	free(path);
	free(a);
	return rc;
}

static int summary(const struct work *w, const struct pp_dataset *d, struct pp_err *err)
{
	char *logdir = pp_report_logdir(w->pod_path);
	int copy = dup(w->fd), rc;
	FILE *to = copy < 0 ? NULL : fdopen(copy, "w");

	rc = to ? pp_text_write(d, logdir, to) : -ENOMEM;
	if (!to && copy >= 0)
		close(copy);
	if (to && fclose(to) && !rc)
		rc = -EIO;
	free(logdir);
	return rc ? pp_err_set(err, rc, "cannot print the summary: %s", pp_why(-rc)) : 0;
}

/* Runs in a child: HDF5 can crash or hang on a damaged file. */
static int work(void *context, struct pp_err *err)
{
	const struct work *w = context;
	struct pp_h5_file *h5;
	struct pp_dataset d;
	int rc = pp_h5_file_open(w->pod_path, &h5, err);

	if (rc)
		return rc;
	rc = pp_h5_file_dataset(h5, w->is_summary ? UINT64_MAX : tables, &d, err);
	if (!rc) {
		rc = w->is_summary ? summary(w, &d, err) : answer(w, &d, err);
		if (w->brief)
			snprintf(w->brief->previous, sizeof(w->brief->previous), "%s", pp_h5_file_attribute(h5, "previous"));
		pp_dataset_release(&d);
	}
	pp_h5_file_close(h5);
	return rc;
}

int pp_brief_read(const char *pod_path, struct pp_brief *ret_brief, struct pp_err *err)
{
	struct pp_brief *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct work w = {.pod_path = pod_path, .brief = shared, .fd = -1};
	int rc;

	if (shared == MAP_FAILED)
		return pp_err_set(err, -ENOMEM, "no memory to read '%s'", pod_path);
	rc = pp_forked_read(pod_path, work, &w, err);
	if (!rc)
		*ret_brief = *shared;
	munmap(shared, sizeof(*shared));
	return rc;
}

int pp_brief_json(const char *pod_path, FILE *to, struct pp_err *err)
{
	struct work w = {.pod_path = pod_path, .fd = memfd_create("podprof-json", MFD_CLOEXEC)};
	int rc;

	if (w.fd < 0)
		return pp_err_set(err, -errno, "cannot print the session: %s", pp_why(errno));
	rc = pp_forked_read(pod_path, work, &w, err);
	if (!rc)
		pp_forked_print(w.fd, to);
	close(w.fd);
	return rc;
}

int pp_brief_summary(const char *pod_path, FILE **ret_text, struct pp_err *err)
{
	struct work w = {.pod_path = pod_path, .fd = memfd_create("podprof-summary", MFD_CLOEXEC), .is_summary = 1};
	FILE *text;
	int rc;

	if (w.fd < 0)
		return pp_err_set(err, -errno, "cannot print the summary: %s", pp_why(errno));
	rc = pp_forked_read(pod_path, work, &w, err);
	text = rc || lseek(w.fd, 0, SEEK_SET) ? NULL : fdopen(w.fd, "r");
	if (!text) {
		close(w.fd);
		return rc ? rc : pp_err_set(err, -ENOMEM, "cannot print the summary: no memory");
	}
	*ret_text = text;
	return 0;
}

void pp_brief_row_json(const struct pp_brief *b, const char *session, const char *path, const char *error, struct pp_json *j)
{
	pp_json_open(j, NULL);
	pp_json_add_text(j, "session", session);
	pp_json_add_text(j, "path", path);
	if (*error) {
		pp_json_add_text(j, "error", error);
	} else {
		pp_json_add_text(j, "date", b->date);
		pp_json_add_text(j, "command", b->command);
		pp_json_add_int(j, "ranks", b->ranks_asked);
		pp_json_add_int(j, "ranks_delivered", b->ranks_delivered);
		pp_json_add_int(j, "steps", (int64_t)b->step_count);
		pp_json_add_text(j, "step_numbers", b->steps);
		pp_json_add_text(j, "captured", b->why);
		open_finding(j, "verdict", b->has_finding ? &b->finding : NULL);
		pp_json_add_text(j, "text", b->verdict);
		pp_json_close(j);
		if (b->previous[0])
			pp_json_add_text(j, "restart_of", b->previous);
	}
	pp_json_close(j);
}
