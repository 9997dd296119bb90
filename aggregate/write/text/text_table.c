/* Writes the tables of summary.txt. Few rows on purpose: the dataset has the rest. Called by text.c. */
#include "aggregate/write/text/text_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/clock_text.h"
#include "aggregate/dataset/status.h"
#include "aggregate/tools/answer.h"
#include "aggregate/tools/sums.h"
#include "aggregate/tools/usual_step.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/utf8.h"
#include "core/base/wrap.h"
#include "core/ring/intern.h"
#include "core/step/classify.h"
#include "core/step/step_name.h"

enum { BAR = 30, MOST_WORKERS = 15, HOST_COLUMNS = 16, FREE_ROWS = 6, MOST_WARNINGS = 3, MOST_NAMES = 3 };

static const char *const loss_what[] = {
#define PP_LOSS(symbol, column, what) what,
#include "core/ring/loss.def"
#undef PP_LOSS
};

void pp_text_lost(const struct pp_dataset *d, FILE *to)
{
	uint64_t all = 0, by[PP_LOSSES] = {0}, records = 0;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	size_t worst = 0, ranks = 0;

	for (size_t w = 0; w < d->workers; w++) {
		uint64_t lost = 0;

		for (size_t c = 0; c < PP_LOSSES; c++) {
			by[c] += d->worker[w].dropped[c];
			lost += d->worker[w].dropped[c];
		}
		all += lost;
		ranks += lost > 0;
		records += d->worker[w].records;
	}
	if (!all) {
		fprintf(to, "  Records:    %s, none lost\n", pp_text_count(a, records));
		return;
	}
	for (size_t c = 1; c < PP_LOSSES; c++)
		if (by[c] > by[worst])
			worst = c;
	fprintf(to, "  Records:    %s, and %s lost on %zu of %zu ranks%s: %s\n", pp_text_count(b, records), pp_text_count(a, all),
	        ranks, d->workers, by[worst] == all ? "" : ", mostly", loss_what[worst]);
}

/* One line: the ranks with most memory. */
void pp_text_memory(const struct pp_dataset *d, FILE *to)
{
	const struct pp_row_memory *rss = d->memory, *children = d->memory;
	char a[PP_TEXT_UNIT];

	if (!d->memories)
		return;
	for (size_t i = 1; i < d->memories; i++) {
		if (d->memory[i].rss_bytes > rss->rss_bytes)
			rss = &d->memory[i];
		if (d->memory[i].children_rss_bytes > children->children_rss_bytes)
			children = &d->memory[i];
	}
	fprintf(to, "  Memory:     peak RSS %s", pp_text_bytes(a, rss->rss_bytes));
	if (d->workers > 1)
		fprintf(to, " (rank %d)", rss->worker);
	if (children->children_rss_bytes) {
		fprintf(to, ", of a rank's children %s", pp_text_bytes(a, children->children_rss_bytes));
		if (d->workers > 1)
			fprintf(to, " (rank %d)", children->worker);
	}
	fputc('\n', to);
}

/* " 2.00 MiB written (8.13 ms on rank 3, the most)," for one direction. */
static void moved(const struct pp_dataset *d, const char *what, int writes, FILE *to)
{
	size_t world = d->workers ? (size_t)d->worker[d->workers - 1].rank + 1 : 0, most = 0;
	int64_t *ns = calloc(world + 1, sizeof(*ns)); /* by rank, over all files */
	uint64_t bytes = 0;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	for (size_t i = 0; ns && i < d->files; i++) {
		const struct pp_row_file *f = &d->file[i];

		if (f->worker < 0 || (size_t)f->worker >= world)
			continue;
		ns[f->worker] += writes ? f->write_ns : f->read_ns;
		bytes += writes ? f->bytes_written : f->bytes_read;
		if (ns[f->worker] > ns[most])
			most = (size_t)f->worker;
	}
	if (ns && ns[most]) {
		fprintf(to, " %s %s (%s", pp_text_bytes(a, bytes), what, pp_text_time(b, ns[most]));
		if (d->workers > 1)
			fprintf(to, " on rank %zu, the most", most);
		fputs("),", to);
	}
	free(ns);
}

/* One line: what MPI I/O read and wrote. */
void pp_text_files(const struct pp_dataset *d, FILE *to)
{
	size_t names = 0;

	if (!d->files)
		return;
	for (size_t i = 0; i < d->files; i++)
		names += i == 0 || d->file[i].name != d->file[i - 1].name;
	fputs("  Files:     ", to);
	moved(d, "written", 1, to);
	moved(d, "read", 0, to);
	fprintf(to, " %zu file%s\n", names, names == 1 ? "" : "s");
}

/* One line: what requested this window, where it was not the command line; docs/capture.md. */
void pp_text_window(const struct pp_dataset *d, FILE *to)
{
	static const struct {
		const char *by, *text;
	} origin[] = {{"capture", "with 'podprof capture'"},
	              {"file", "with a request file"},
	              {"signal", "by a signal"},
	              {"trigger", "by --trigger"},
	              {"code", "via API"}};
	const struct pp_row_window *w = d->window;
	const char *by = d->windows ? w->by : "";
	int64_t most = INT64_MIN;
	char a[PP_TEXT_UNIT];

	if (!d->windows || !strcmp(w->by, "options"))
		return;
	for (size_t i = 0; i < d->windows; i++) {
		int64_t took;

		if (w[i].started_ns == PP_WINDOW_NEVER || w[i].asked_ns == PP_WINDOW_NEVER ||
		    __builtin_sub_overflow(w[i].started_ns, w[i].asked_ns, &took))
			continue;
		most = took > most ? took : most;
	}
	for (size_t i = 0; i < sizeof(origin) / sizeof(origin[0]); i++)
		if (!strcmp(w->by, origin[i].by))
			by = origin[i].text;
	fprintf(to, "  Window:     requested %s: %s", by, w->request);
	if (strcmp(w->channel, "none") && most >= 0)
		fprintf(to, ", started %s later on the last rank%s", pp_text_time(a, most), w->tries > 1 ? ", after a retry" : "");
	fputc('\n', to);
}

/* Median of the steps of a kind, of the slowest rank; their number and all their time in *ret_steps and *ret_ns. */
static double median_of_kind(const struct pp_dataset *d, int kind, double *room, size_t *ret_steps, int64_t *ret_ns)
{
	size_t n = 0;

	*ret_ns = 0;
	for (size_t s = 0; s < d->steps; s++) {
		int64_t most = -1;

		for (size_t w = 0; w < d->workers && d->step[s].kind == kind; w++)
			if (d->cell[s * d->workers + w].present && d->cell[s * d->workers + w].step_ns > most)
				most = d->cell[s * d->workers + w].step_ns;
		if (most < 0)
			continue;
		room[n++] = (double)most;
		*ret_ns = pp_wrap_plus(*ret_ns, most);
	}
	*ret_steps = n;
	return pp_series_median(room, n);
}

/* From the first begin to the last end of any rank. */
static int64_t time_of_all(const struct pp_dataset *d)
{
	int64_t begin = INT64_MAX, end = INT64_MIN;

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		if (!d->cell[i].present)
			continue;
		begin = d->cell[i].begin_ns < begin ? d->cell[i].begin_ns : begin;
		end = d->cell[i].end_ns > end ? d->cell[i].end_ns : end;
	}
	return end > begin ? pp_wrap_minus(end, begin) : 0;
}

void pp_text_kinds(const struct pp_dataset *d, FILE *to)
{
	double *room = calloc(d->steps + 1, sizeof(*room));
	int64_t ns[PP_STEP_KINDS] = {0}, sum = 0, all = time_of_all(d);
	size_t steps[PP_STEP_KINDS] = {0}, count = 0;
	double median[PP_STEP_KINDS] = {0};
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	const char *before = "  Iterations: ";

	for (int k = PP_STEP_NONE + 1; k < PP_STEP_KINDS && room; k++) {
		median[k] = median_of_kind(d, k, room, &steps[k], &ns[k]);
		sum = pp_wrap_plus(sum, ns[k]);
	}
	free(room);
	for (int k = PP_STEP_NONE + 1; k < PP_STEP_KINDS; k++) {
		if (!steps[k])
			continue;
		count += steps[k];
		fprintf(to, "%s%zu %s%s, median %s, %s of their time", before, steps[k], pp_step_kind_name(k),
		        k == PP_STEP_REQUEST && steps[k] > 1 ? "s" : "", pp_text_time(a, llround(median[k])),
		        pp_text_percent(b, pp_sums_percent(ns[k], sum)));
		before = "; ";
	}
	if (before[0] == ';')
		fprintf(to, "; between them %s, %s of the time: scheduling, and waiting for requests. %.3g per second\n",
		        pp_text_time(a, all > sum ? all - sum : 0),
		        pp_text_percent(b, pp_sums_percent(all > sum ? all - sum : 0, all)),
		        all > 0 ? 1e9 * (double)count / (double)all : 0);
}

/* The bar has a column of its own, so that a pipe can omit it (pp_text_print). */
static void bar(FILE *to, double share)
{
	int n = (int)(share * BAR / 100 + 0.5);

	fputc('|', to);
	for (int i = 0; i < BAR; i++)
		fputc(i < n ? '#' : ' ', to);
	fputc('|', to);
}

static int columns_of(const char *text, int bytes)
{
	int columns = 0;

	for (int i = 0; i < bytes; i++)
		columns += (text[i] & 0xC0) != 0x80;
	return columns;
}

/* Bytes of the head of a name with arguments of templates or functions, up to a whole one where one fits; 0: it has none. */
static int whole_arguments(const char *name, int most)
{
	const char *angle = strpbrk(name, "<(");
	int bytes = pp_utf8_fit(name, most - 2);

	if (!angle || angle - name >= bytes)
		return angle ? bytes : 0;
	while (!strchr("<>(), :", name[bytes - 1]))
		bytes--;
	return bytes;
}

/* Two dots are for what is left out: the end of arguments, whose begin tells more, else the middle. */
int pp_text_name(const char *name, int most, FILE *to)
{
	int whole = strlen(name) > (size_t)most ? whole_arguments(name, most) : 0;
	size_t length = strlen(name);
	int is_cut = length > (size_t)most, bytes = pp_utf8_fit(name, is_cut ? most / 2 - 1 : most);
	const char *rest = name + length - (is_cut ? most / 2 - 1 : 0);

	if (whole) {
		fprintf(to, "%.*s..", whole, name);
		return columns_of(name, whole) + 2;
	}
	while (is_cut && (*rest & 0xC0) == 0x80)
		rest++;
	fprintf(to, "%.*s%s%s", bytes, name, is_cut ? ".." : "", rest);
	return columns_of(name, bytes) + 2 * is_cut + columns_of(rest, (int)strlen(rest));
}

/* Names the step that moves the means but not the median. */
void pp_text_longest(const struct pp_dataset *d, const struct pp_sums *t, const struct pp_usual_steps *usual, FILE *to)
{
	char text[PP_TEXT_UNIT];

	if (!pp_sums_has_longest(d, t))
		return;
	fprintf(to, "  Slowest:    step %" PRId64 ", %s", d->step[t->longest_step].number, pp_text_time(text, t->longest_ns));
	if (usual->usual_ns > 0)
		fprintf(to, " (%.1fx the median)", (double)t->longest_ns / usual->usual_ns);
	fprintf(to, "; the means %sbelow include it\n", usual->is_usual[t->longest_step] ? "" : "of operators and kernels ");
}

/* What the ledger has is split into wait and transfer; other calls stand beside it. */
static void write_communication(const struct pp_sums *t, size_t steps, FILE *to)
{
	int64_t all = pp_wrap_plus(t->sum_ns[PP_CATEGORY_HOST_COMMUNICATION], t->sum_ns[PP_CATEGORY_DEVICE_COLLECTIVE]);
	int64_t rest = pp_wrap_minus(pp_wrap_minus(all, pp_known_or(t->wait_ns, 0)), pp_known_or(t->transfer_ns, 0));
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT], c[PP_TEXT_UNIT];

	if (all <= 0)
		return;
	fprintf(to, "  Exposed communication%s: ", steps > 1 ? " per step" : "");
	if (t->wait_ns > 0 || t->transfer_ns > 0)
		fprintf(to, "%s wait + %s transfer%s", pp_text_time(a, pp_known_mean(t->wait_ns, t->cells)),
		        pp_text_time(b, pp_known_mean(t->transfer_ns, t->cells)),
		        pp_sums_percent(rest, all) > 1 ? "; other calls " : "\n");
	if (pp_sums_percent(rest, all) > 1)
		fprintf(to, "%s (wait and transfer not separated)\n", pp_text_time(c, pp_known_mean(rest, t->cells)));
}

double pp_text_second(const struct pp_dataset *d, const struct pp_sums *t)
{
	static const char *const timed[] = {"duration", "last", "keep"};
	int is_timed = 0;

	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]) && d->windows; i++)
		is_timed |= !strcmp(d->window->kind, timed[i]);
	return is_timed && d->steps == 1 && !strncmp(d->step_rule, "window", 6) && t->all_ns > 0
	               ? 1e9 * (double)t->cells / (double)t->all_ns
	               : 0;
}

/* Of a step, or of a second where `second` is not 0. */
static int64_t each(int64_t ns, int64_t steps, double second)
{
	return second > 0 ? llround((double)pp_known_mean(ns, steps) * second) : pp_known_mean(ns, steps);
}

/* Where a hundredth or more lies behind the ends of steps. */
static void write_between(const struct pp_dataset *d, FILE *to)
{
	int64_t all = 0, between = 0, gaps = 0;
	char text[PP_TEXT_UNIT], share[PP_TEXT_UNIT];

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const int64_t ns = pp_usual_steps_time(d, i / d->workers, i % d->workers);

		if (ns <= d->cell[i].step_ns)
			continue;
		pp_wrap_add(&all, ns);
		pp_wrap_add(&between, pp_wrap_minus(ns, d->cell[i].step_ns));
		gaps++;
	}
	if (gaps && pp_sums_percent(between, all) >= 1)
		fprintf(to, "  Between steps: %s, %s of the time from one begin to the next. It is in no row of the tables\n",
		        pp_text_time(text, between / gaps), pp_text_percent(share, pp_sums_percent(between, all)));
}

void pp_text_breakdown(const struct pp_dataset *d, const struct pp_sums *t, int is_cut, FILE *to)
{
	const double second = pp_text_second(d, t);
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	if (!t->cells)
		return;
	if (second)
		fprintf(to, "\n  Exclusive time (mean per second%s; %% of the window)\n", d->workers > 1 ? " and rank" : "");
	else
		fprintf(to, "\n  Exclusive time (mean per %s%s; %% of the step)\n", is_cut ? "usual " : "",
		        d->workers <= 1 ? "step"
		        : d->steps > 1  ? "step and rank"
		                        : "rank");
	for (int c = 1; c <= PP_CATEGORIES; c++) {
		double share = pp_sums_percent(t->sum_ns[c], t->all_ns);
		size_t w = pp_sums_most(d, t, c);

		if (!t->sum_ns[c])
			continue;
		fprintf(to, "  %-30s ", pp_category_name(c));
		bar(to, share);
		fprintf(to, " %7s %9s", pp_text_percent(b, share), pp_text_time(a, each(t->sum_ns[c], t->cells, second)));
		if (d->workers > 1 && t->worker_steps[w])
			fprintf(to, "\tmost on rank %d, %s", d->worker[w].rank,
			        pp_text_time(b, each(t->worker_ns[w][c], t->worker_steps[w], second)));
		fputc('\n', to);
	}
	write_communication(t, d->steps, to);
	write_between(d, to);
}

struct row { /* a worker and its sort key */
	double key;
	size_t worker;
};

PP_COMPARE_BY_2(by_key, struct row, key, worker)

static int largest(const int64_t *ns)
{
	int best = 1;

	for (int c = 2; c <= PP_CATEGORIES; c++)
		if (ns[c] > ns[best])
			best = c;
	return best;
}

static void put_host(const char *host, FILE *to)
{
	fprintf(to, "%*s", HOST_COLUMNS - pp_text_name(host, HOST_COLUMNS, to), "");
}

static void write_worker(const struct pp_dataset *d, const struct pp_sums *t, int64_t steps, size_t w, FILE *to)
{
	const struct pp_row_worker *k = &d->worker[w];
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT], c[PP_TEXT_UNIT];
	int64_t n = t->worker_steps[w];
	int most = largest(t->worker_ns[w]);

	fprintf(to, "  %6d  ", k->rank);
	put_host(k->host, to);
	if (n)
		fprintf(to, " %5" PRId64 " %9s %9s %11s\t%s, %.0f %%", steps, pp_text_time(a, pp_known_mean(t->worker_ns[w][0], n)),
		        pp_text_time(b, pp_known_mean(t->worker_wait_ns[w], n)),
		        t->worker_kept_ns[w] <= t->worker_kept_error_ns[w] && t->worker_kept_ns[w] > 0
		                ? "tie"
		                : pp_text_time(c, t->worker_kept_ns[w]),
		        pp_category_name(most), pp_sums_percent(t->worker_ns[w][most], t->worker_ns[w][0]));
	else
		fprintf(to, " %5" PRId64 " %9s %9s %11s", steps, "-", "-", "-");
	if (strcmp(k->status, "delivered"))
		fprintf(to, "%s%.*s", n ? "; " : "\t", (int)strcspn(k->status, ":"), k->status);
	else if (k->coordinates[0])
		fprintf(to, "%s%s", n ? "; " : "\t", k->coordinates);
	fputc('\n', to);
}

/* Of the weakest evidence. */
static int64_t words_ns(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->evidences; i++)
		if (d->evidence[i].evidence == PP_BY_WORDS)
			return d->evidence[i].evidence_ns;
	return 0;
}

/* Where there is no room for all: ranks without data first, then those that kept the others waiting most. */
int pp_text_workers(const struct pp_dataset *d, const struct pp_sums *t, const struct pp_sums *u, const struct pp_answer *a,
                    FILE *to)
{
	struct row *row = malloc((d->workers + 1) * sizeof(*row));
	size_t most = MOST_WORKERS, n;

	/* PP_TEXT_LINES in all: each further row of the breakdown, caution, and line of memory, files or the slowest step takes
	 * one from here */
	most -= (d->memories > 0) + (d->files > 0) + (size_t)pp_sums_has_longest(d, t) + a->qualifiers + (a->command > 0) +
	        (words_ns(d) > 0);
	for (int c = 1, rows = 0; c <= PP_CATEGORIES; c++)
		if (t->sum_ns[c] && ++rows > FREE_ROWS)
			most--;
	n = d->workers < most ? d->workers : most;
	if (!row || !d->workers) {
		free(row);
		return row ? 0 : -ENOMEM;
	}
	for (size_t w = 0; w < d->workers; w++) {
		row[w].worker = w;
		row[w].key = t->worker_steps[w] ? -(double)u->worker_kept_ns[w] : -(double)INT64_MAX;
	}
	if (d->workers > n)
		qsort(row, d->workers, sizeof(*row), by_key);
	fprintf(to, "\n    rank  %-*s steps      step   waiting kept others\tlargest part of its step%s\n", HOST_COLUMNS, "host",
	        d->workers > n ? " (sorted by kept others)" : "");
	for (size_t i = 0; i < n; i++)
		write_worker(d, u, t->worker_steps[row[i].worker], row[i].worker, to);
	if (d->workers > n)
		fprintf(to, "  and %zu more: podprof report --table worker %s\n", d->workers - n, a->session);
	if (d->workers > 1)
		fputs("  kept others: mean time per step that each other rank waited for this rank\n", to);
	free(row);
	return 0;
}

static void write_words(const struct pp_dataset *d, const struct pp_sums *t, FILE *to)
{
	const int64_t ns = words_ns(d);
	char text[PP_TEXT_UNIT];

	if (ns)
		fprintf(to, "  By words:   %s of step time has its category only by words in names of ranges\n",
		        pp_text_percent(text, pp_sums_percent(ns, t->all_ns)));
}

static void write_defaults(const struct pp_dataset *d, const struct pp_sums *t, FILE *to)
{
	char text[PP_TEXT_UNIT];
	int64_t ns = 0;

	for (size_t i = 0; i < d->unclassifieds; i++)
		ns += d->unclassified[i].unclassified_ns;
	if (!ns)
		return;
	fprintf(to, "  Unknown:    %s of step time", pp_text_percent(text, pp_sums_percent(ns, t->all_ns)));
	if (d->events && d->event->events)
		fprintf(to, " and %s of events are",
		        pp_text_percent(text, 100 * (double)d->event->events_unclassified / (double)d->event->events));
	else
		fputs(" is", to);
	fputs(" in ranges of unknown category, counted as Host compute:", to);
	for (size_t i = 0; i < d->unclassifieds && i < MOST_NAMES; i++) {
		fputs(i ? ", \"" : " \"", to);
		pp_text_name(pp_intern_text(d->names, d->unclassified[i].unclassified, NULL), PP_TEXT_NAME, to);
		fputc('"', to);
	}
	if (d->unclassifieds > MOST_NAMES)
		fprintf(to, " and %zu more", d->unclassifieds - MOST_NAMES);
	fputc('\n', to);
}

/* Is the warning worth a line? A group without a source is absent in every run: pod.h5 says so. The clock has lines of its own,
 * and the answer names ranks, losses and collectives. */
static int is_news(const struct pp_dataset *d, const char *warning)
{
	static const char *const printed[] = {"unknown category",   " ranks are missing",         " records of ",
	                                      " clock domains",     "messages ended on",          "collective calls got data",
	                                      " collectives have ", "flight recorder had dropped"};
	char sentence[200];

	if ((warning[0] == '/' && strstr(warning, " is absent:")) || !strncmp(warning, PP_CLOCK_WARNING, strlen(PP_CLOCK_WARNING)))
		return 0;
	for (size_t i = 0; i < sizeof(printed) / sizeof(printed[0]); i++)
		if (strstr(warning, printed[i]))
			return 0;
	for (size_t n = 0; pp_status_sentence(d, n, sentence, sizeof(sentence)); n++)
		if (!strcmp(warning, sentence))
			return 0;
	return 1;
}

static void write_warnings(const struct pp_dataset *d, const char *session, FILE *to)
{
	size_t shown = 0;

	for (size_t i = 0; i < d->warnings; i++) {
		if (!is_news(d, d->warning[i].warning))
			continue;
		if (shown++ < MOST_WARNINGS)
			fprintf(to, "  Note:       %s\n", d->warning[i].warning);
	}
	if (shown > MOST_WARNINGS)
		fprintf(to, "  Note:       %zu more: podprof report --table warning %s\n", shown - MOST_WARNINGS, session);
}

void pp_text_quality(const struct pp_dataset *d, const struct pp_sums *t, const struct pp_answer *a, FILE *to)
{
	fprintf(to, "  Steps:      by rule %s (confidence %.2f of 1)%s%s\n", d->step_rule[0] ? d->step_rule : "none",
	        d->step_confidence, d->step_parts[0] ? ". Of each: " : "", d->step_parts);
	if (a->level[0])
		fprintf(to, "  Level:      %s\n", a->level);
	fprintf(to, "  Overhead:   %s\n", a->overhead);
	if (t->cells) {
		write_words(d, t, to);
		write_defaults(d, t, to);
	}
	write_warnings(d, a->session, to);
}
