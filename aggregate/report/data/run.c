/* Writes the run, the verdict, sums, workers and steps. Called by report.c. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "aggregate/analyze/coverage.h"
#include "aggregate/report/data/page.h"
#include "aggregate/report/data/quartile.h"
#include "aggregate/tools/answer.h"
#include "core/base/known.h"
#include "core/base/wrap.h"

void pp_page_note(struct pp_page *p, const char *fmt, ...)
{
	va_list arguments;

	if (p->notes == PP_PAGE_NOTES)
		return;
	va_start(arguments, fmt);
	vsnprintf(p->note[p->notes++], sizeof(p->note[0]), fmt, arguments);
	va_end(arguments);
}

void pp_page_key(struct pp_page *p, const char *key, int first)
{
	if (!first)
		fputc(',', p->to);
	pp_json_text(p->to, key);
	fputc(':', p->to);
}

void pp_page_text(struct pp_page *p, const char *key, const char *text)
{
	pp_page_key(p, key, 0);
	pp_json_text(p->to, text);
}

void pp_page_int(struct pp_page *p, const char *key, int64_t value)
{
	pp_page_key(p, key, 0);
	pp_json_int(p->to, value);
}

static void put_ints(struct pp_page *p, const char *key, size_t n, int64_t (*get)(const struct pp_page *p, size_t i, int which),
                     int which)
{
	int64_t *value = malloc((n + 1) * sizeof(*value));

	if (!value && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the report");
	for (size_t i = 0; value && i < n; i++)
		value[i] = get(p, i, which);
	if (key)
		pp_page_key(p, key, 0);
	if ((!value || pp_json_ints(p->to, value, n)) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the report");
	free(value);
}

static void put_sum(struct pp_page *p)
{
	const struct pp_sums *t = &p->sum;

	pp_page_key(p, "sum", 0);
	fprintf(p->to, "{\"workers\":%zu,\"steps\":%zu", p->d.workers, p->d.steps);
	pp_page_int(p, "cells", t->cells);
	pp_page_int(p, "median_ns", t->median_ns);
	if (pp_sums_has_longest(&p->d, t)) {
		pp_page_int(p, "longest_step", p->d.step[t->longest_step].number);
		pp_page_int(p, "longest_ns", t->longest_ns);
	}
	pp_page_int(p, "all_ns", t->all_ns);
	pp_page_int(p, "wait_ns", t->wait_ns);
	pp_page_int(p, "transfer_ns", t->transfer_ns);
	pp_page_int(p, "bound_ns", p->d.pair_bound_ns);
	pp_page_key(p, "category", 0);
	pp_json_ints(p->to, t->sum_ns + 1, PP_CATEGORIES);
	fputc('}', p->to);
}

static void put_categories(struct pp_page *p)
{
	pp_page_key(p, "category", 0);
	fputc('[', p->to);
	for (int c = 1; c <= PP_CATEGORIES; c++) {
		fprintf(p->to, "%s{\"id\":%d", c > 1 ? "," : "", c);
		pp_page_text(p, "name", pp_category_name(c));
		pp_page_text(p, "colour", pp_category_colour(c));
		fputc('}', p->to);
	}
	fputc(']', p->to);
}

/* What the summary says at its top, in the same words. */
static void put_answer(struct pp_page *p)
{
	struct pp_recording recording = pp_sums_recording(&p->d, &p->sum);
	const struct pp_answer *a = &p->answer;

	pp_page_key(p, "answer", 0);
	fprintf(p->to, "{\"gain_rank\":%" PRId32, a->gain_rank);
	pp_page_int(p, "gain_ns", a->gain_ns);
	pp_page_text(p, "colour", p->first.findings ? p->first.evidence[0].colour : "step_ns");
	pp_page_int(p, "change", p->first.regimes.change);
	pp_page_int(p, "period", p->first.regimes.period);
	pp_page_text(p, "bottleneck", a->bottleneck);
	pp_page_text(p, "straggler", a->straggler);
	pp_page_text(p, "what_if", a->pod.what_if);
	pp_page_text(p, "efficiency", a->pod.efficiency);
	pp_page_text(p, "step", a->step);
	pp_page_int(p, "usual_steps", (int64_t)a->usual_steps);
	pp_page_int(p, "usual_ns", a->usual_ns);
	pp_page_int(p, "spread_ns", a->spread_ns);
	pp_page_text(p, "level", a->level);
	pp_page_text(p, "overhead", a->overhead);
	pp_page_int(p, "recording_ns", llround(recording.ns));
	pp_page_int(p, "records_per_step", (int64_t)(recording.records + 0.5));
	fputc('}', p->to);
}

void pp_page_run(struct pp_page *p)
{
	static const char *const text[] = {"session",   "job",        "command",         "options",
	                                   "step_rule", "step_parts", "podprof_version", "rendezvous"};
	static const char *const number[] = {"hosts",           "ranks_asked",   "ranks_delivered",   "epoch_realtime_ns",
	                                     "window_begin_ns", "window_end_ns", "steps_asked_first", "steps_asked_last",
	                                     "format_version"};
	char kept[PP_COVERAGE_TEXT], program[64];

	pp_page_key(p, "run", 1);
	fputs("{\"made_by\":\"" PODPROF_VERSION "\"", p->to);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		pp_page_text(p, text[i], pp_h5_file_attribute(p->h5, text[i]));
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		pp_page_int(p, number[i], pp_h5_file_attribute_int(p->h5, number[i], 0));
	pp_coverage_text(&p->d, kept, sizeof(kept));
	pp_page_text(p, "kept", kept);
	pp_text_program(p->d.command, program, sizeof(program));
	pp_page_text(p, "program", program);
	pp_page_key(p, "step_confidence", 0);
	pp_json_real(p->to, p->d.step_confidence);
	/* a double holds an epoch in ns only to 256 ns */
	pp_page_int(p, "window_begin_s", (p->d.epoch_realtime_ns + p->d.window_begin_ns) / 1000000000);
	fputc('}', p->to);
	put_answer(p);
	put_sum(p);
	put_categories(p);
}

#define WORKER_TEXTS(X) X(host) X(status) X(device) X(device_name) X(device_uuid) X(device_pci) X(coordinates) X(version) X(options)
#define WORKER_INTS(X) X(rank) X(local_rank) X(pid) X(domain) X(bound_ns) X(records) X(devices) X(role)

enum worker_sum { STEPS = -5, WAIT, TRANSFER, KEPT, KEPT_ERROR, STEP };

static int64_t worker_sum(const struct pp_page *p, size_t w, int which)
{
	int64_t sum = PP_UNKNOWN;

	if (which >= STEP)
		return p->sum.worker_ns[w][which];
	if (which == STEPS)
		return p->sum.worker_steps[w];
	if (which == WAIT)
		return p->sum.worker_wait_ns[w];
	if (which == KEPT || which == KEPT_ERROR)
		return which == KEPT ? p->sum.worker_kept_ns[w] : p->sum.worker_kept_error_ns[w];
	for (size_t s = 0; s < p->d.steps; s++) {
		const struct pp_row_cell *c = &p->d.cell[s * p->d.workers + w];

		pp_known_add(&sum, c->transfer_ns);
	}
	return sum;
}

/* In how many steps the others waited for this rank most. */
static void put_late_steps(struct pp_page *p)
{
	const struct pp_dataset *d = &p->d;
	int64_t *steps = calloc(d->workers + 1, sizeof(*steps));

	for (size_t i = 0; steps && i < d->workers; i++) {
		size_t w = pp_dataset_worker(d, d->late[i].rank);

		if (w != SIZE_MAX)
			steps[w] = d->late[i].steps;
	}
	pp_page_key(p, "late_steps", 0);
	if ((!steps || pp_json_ints(p->to, steps, d->workers)) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the report");
	free(steps);
}

static void put_categories_of(struct pp_page *p, size_t n)
{
	pp_page_key(p, "category", 0);
	fputc('[', p->to);
	for (int c = 1; c <= PP_CATEGORIES; c++) {
		if (c > 1)
			fputc(',', p->to);
		put_ints(p, NULL, n, worker_sum, c);
	}
	fputc(']', p->to);
}

#define GET_INT(member)                                                                                                            \
	static int64_t get_##member(const struct pp_page *p, size_t i, int which)                                                  \
	{                                                                                                                          \
		(void)which;                                                                                                       \
		return (int64_t)p->d.worker[i].member;                                                                             \
	}
WORKER_INTS(GET_INT)

void pp_page_workers(struct pp_page *p)
{
	const struct pp_dataset *d = &p->d;
	size_t n = d->workers;

	pp_page_key(p, "worker", 0);
	fprintf(p->to, "{\"n\":%zu", n);
#define PUT_TEXTS(member)                                                                                                          \
	pp_page_key(p, #member, 0);                                                                                                \
	for (size_t i = 0; i < n; i++) {                                                                                           \
		fputc(i ? ',' : '[', p->to);                                                                                       \
		pp_json_text(p->to, d->worker[i].member);                                                                          \
	}                                                                                                                          \
	fputs(n ? "]" : "[]", p->to);
#define PUT_INTS(member) put_ints(p, #member, n, get_##member, 0);
	WORKER_TEXTS(PUT_TEXTS)
	WORKER_INTS(PUT_INTS)
	put_ints(p, "steps", n, worker_sum, STEPS);
	put_ints(p, "step_ns", n, worker_sum, STEP);
	put_ints(p, "wait_ns", n, worker_sum, WAIT);
	put_ints(p, "transfer_ns", n, worker_sum, TRANSFER);
	put_ints(p, "kept_ns", n, worker_sum, KEPT);
	put_ints(p, "kept_error_ns", n, worker_sum, KEPT_ERROR);
	put_late_steps(p);
	put_categories_of(p, n);
	fputc('}', p->to);
}

enum step_value { COUNT, WORST, LATEST, LATEST_KEPT, STEP_WAIT, STEP_SUM, STEP_VALUES = STEP_SUM + PP_CATEGORIES + 1 };

/* value[n], few[n]: of the workers that have the step; sets v[enum step_value] and quartile[PP_QUARTILES] of step_ns. */
static void look_at_step(const struct pp_dataset *d, size_t s, int64_t *value, int64_t *few, int64_t *v, int64_t *quartile)
{
	const struct pp_row_cell *row = &d->cell[s * d->workers];
	int64_t most = -1, late = 0;
	size_t peers, n = 0;

	v[WORST] = v[LATEST] = -1;
	v[STEP_WAIT] = PP_UNKNOWN;
	for (size_t w = 0; w < d->workers; w++) {
		if (!row[w].present)
			continue;
		value[n++] = row[w].step_ns;
		pp_known_add(&v[STEP_WAIT], row[w].wait_ns);
		pp_wrap_add(&v[STEP_SUM], row[w].step_ns);
		for (int c = 1; c <= PP_CATEGORIES; c++)
			pp_wrap_add(&v[STEP_SUM + c], row[w].exclusive_ns[c]);
		if (row[w].step_ns > most) {
			most = row[w].step_ns;
			v[WORST] = (int64_t)w;
		}
		if (row[w].late_ns > late) {
			late = row[w].late_ns;
			v[LATEST] = (int64_t)w;
		}
	}
	v[COUNT] = (int64_t)n;
	if (n)
		pp_quartiles(value, n, few, quartile);
	peers = v[LATEST] < 0 ? 0 : pp_dataset_peers(d, (size_t)v[LATEST]);
	v[LATEST_KEPT] = peers ? late / (int64_t)peers : 0;
}

/* Of all steps, in one pass over the cells: value[step * STEP_VALUES + enum step_value], quartile[step * PP_QUARTILES + k]. */
static int look_at_steps(const struct pp_dataset *d, int64_t *value, int64_t *quartile)
{
	int64_t *ns = malloc((d->workers + 1) * sizeof(*ns)), *few = malloc((d->workers + 1) * sizeof(*few));
	const int rc = ns && few && value && quartile ? 0 : -ENOMEM;

	for (size_t s = 0; !rc && s < d->steps; s++)
		look_at_step(d, s, ns, few, &value[s * STEP_VALUES], &quartile[s * PP_QUARTILES]);
	free(ns);
	free(few);
	return rc;
}

static int64_t step_number(const struct pp_page *p, size_t s, int which)
{
	(void)which;
	return p->d.step[s].number;
}

/* Column k of a list of rows of so many values. */
static void put_of_steps(struct pp_page *p, const char *key, const int64_t *from, size_t values, size_t k)
{
	int64_t *value = malloc((p->d.steps + 1) * sizeof(*value));

	for (size_t s = 0; value && s < p->d.steps; s++)
		value[s] = from[s * values + k];
	if (key)
		pp_page_key(p, key, 0);
	if ((!value || pp_json_ints(p->to, value, p->d.steps)) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the report");
	free(value);
}

void pp_page_steps(struct pp_page *p)
{
	static const char *const key_of[PP_QUARTILES] = {"min_ns", "q25_ns", "median_ns", "q75_ns", "max_ns"};
	static const char *const key[] = {"worst", "latest", "kept_ns", "wait_ns", "step_ns"};
	int64_t *value = calloc(p->d.steps * STEP_VALUES + 1, sizeof(*value)),
	        *quartile = calloc(p->d.steps * PP_QUARTILES + 1, sizeof(*quartile));

	if (look_at_steps(&p->d, value, quartile)) {
		p->code = p->code ? p->code : pp_err_set(p->err, -ENOMEM, "no memory for the report");
		goto free_values;
	}
	pp_page_key(p, "step", 0);
	fprintf(p->to, "{\"n\":%zu", p->d.steps);
	put_ints(p, "number", p->d.steps, step_number, 0);
	pp_page_text(p, "regime", p->first.regimes.letter);
	put_of_steps(p, "count", value, STEP_VALUES, COUNT);
	for (size_t q = 0; q < PP_QUARTILES; q++)
		put_of_steps(p, key_of[q], quartile, PP_QUARTILES, q);
	for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
		put_of_steps(p, key[i], value, STEP_VALUES, WORST + i);
	pp_page_key(p, "category", 0);
	for (size_t c = 1; c <= PP_CATEGORIES; c++) {
		fputc(c > 1 ? ',' : '[', p->to);
		put_of_steps(p, NULL, value, STEP_VALUES, STEP_SUM + c);
	}
	fputs("]}", p->to);
free_values:
	free(value);
	free(quartile);
}
