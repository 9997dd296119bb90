/* Writes the tables of summary.txt. Few rows on purpose: the dataset has the rest. Called by text.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/clock_text.h"
#include "aggregate/write/text/text.h"
#include "core/ring/intern.h"
#include "core/ring/utf8.h"

enum { BAR = 30, MOST_WORKERS = 11, FREE_ROWS = 6, MOST_WARNINGS = 3, MOST_NAMES = 3, FAR_FROM_MEDIAN = 2 };

static const char *const loss_what[] = {
#define PP_LOSS(symbol, column, what) what,
#include "core/ring/loss.def"
#undef PP_LOSS
};

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

void pp_text_lost(const struct pp_dataset *d, FILE *to)
{
	uint64_t all = 0, by[PP_LOSSES] = {0}, records = 0;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	size_t worst = 0, ranks = 0;

	for (size_t w = 0; w < d->workers; w++) {
		uint64_t lost = 0;

		for (size_t c = 0; c < PP_LOSSES; c++) {
			by[c] += d->worker[w].lost[c];
			lost += d->worker[w].lost[c];
		}
		all += lost;
		ranks += lost > 0;
		records += d->worker[w].records;
	}
	if (!all) {
		fprintf(to, "  Records   nothing lost of %s\n", pp_text_count(a, records));
		return;
	}
	for (size_t c = 1; c < PP_LOSSES; c++)
		if (by[c] > by[worst])
			worst = c;
	fprintf(to, "  Records   %s lost (%zu of %zu ranks), %s read; most: %s (%s)\n", pp_text_count(a, all), ranks, d->workers,
	        pp_text_count(b, records), loss_what[worst], by[worst] == all ? "all" : "see quality in pod.h5");
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
	fprintf(to, "  Memory    RSS at most %s", pp_text_bytes(a, rss->rss_bytes));
	if (d->workers > 1)
		fprintf(to, ", on rank %d", rss->worker);
	if (children->children_rss_bytes)
		fprintf(to, "; children of rank %d at most %s", children->worker, pp_text_bytes(a, children->children_rss_bytes));
	fputc('\n', to);
}

/* " 2.00 MiB written (8.13 ms at most, on rank 3)," for one direction. */
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
			fprintf(to, " at most, on rank %zu", most);
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
	fputs("  Files    ", to);
	moved(d, "written", 1, to);
	moved(d, "read", 0, to);
	fprintf(to, " %zu file%s\n", names, names == 1 ? "" : "s");
}

/* One line: what requested this window, where it was not the command line; docs/capture.md. */
void pp_text_window(const struct pp_dataset *d, FILE *to)
{
	const struct pp_row_window *w = d->window;
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
	fprintf(to, "  Window    %s, asked for by %s", w->request, w->by);
	if (strcmp(w->channel, "none") && most >= 0)
		fprintf(to, " through %s, begun %s later%s", w->channel, pp_text_time(a, most),
		        w->tries > 1 ? ", tried again" : "");
	fputc('\n', to);
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

static size_t worst_worker(const struct pp_dataset *d, const struct pp_text *t, int category)
{
	size_t worst = 0;
	double most = -1;

	for (size_t w = 0; w < d->workers; w++) {
		double mean = t->worker_steps[w] ? (double)t->worker_ns[w][category] / (double)t->worker_steps[w] : -1;

		if (mean > most) {
			most = mean;
			worst = w;
		}
	}
	return worst;
}

static int has_longest(const struct pp_dataset *d, const struct pp_text *t)
{
	return d->steps > 1 && t->longest_ns > FAR_FROM_MEDIAN * t->median_ns;
}

/* Names the step that moves the means but not the median. */
void pp_text_longest(const struct pp_dataset *d, const struct pp_text *t, FILE *to)
{
	char a[PP_TEXT_UNIT];

	if (!has_longest(d, t))
		return;
	fprintf(to, "  Longest   step %" PRId64 ", %s", d->step_number[t->longest_step], pp_text_time(a, t->longest_ns));
	if (t->median_ns > 0)
		fprintf(to, ", %.1f times the median", (double)t->longest_ns / (double)t->median_ns);
	fputs("; all means count it\n", to);
}

/* Only collectives are split into wait and transfer: other calls have a line of their own. */
static void write_communication(const struct pp_text *t, FILE *to)
{
	int64_t all = t->sum_ns[PP_CATEGORY_HOST_COMMUNICATION] + t->sum_ns[PP_CATEGORY_DEVICE_COLLECTIVE];
	int64_t rest = all - t->wait_ns - t->transfer_ns;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT], c[PP_TEXT_UNIT];

	if (all <= 0)
		return;
	fprintf(to, "  Communication that nothing hides: in collectives waiting %s, transfer %s a step",
	        pp_text_time(a, t->wait_ns / t->cells), pp_text_time(b, t->transfer_ns / t->cells));
	if (rest * 100 > all)
		fprintf(to, "; other calls %s, not split", pp_text_time(c, rest / t->cells));
	fputc('\n', to);
}

void pp_text_breakdown(const struct pp_dataset *d, const struct pp_text *t, FILE *to)
{
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	if (!t->cells)
		return;
	fprintf(to, "\n  Exclusive time, mean of a step over all ranks; %% of the step\n");
	for (int c = 1; c <= PP_CATEGORIES; c++) {
		double share = percent(t->sum_ns[c], t->all_ns);
		size_t w = worst_worker(d, t, c);

		if (!t->sum_ns[c])
			continue;
		fprintf(to, "  %-30s ", pp_category_name(c));
		bar(to, share);
		fprintf(to, " %5.1f %% %9s", share, pp_text_time(a, t->sum_ns[c] / t->cells));
		if (d->workers > 1 && t->worker_steps[w])
			fprintf(to, "   most on rank %d, %s", d->worker[w].rank,
			        pp_text_time(b, t->worker_ns[w][c] / t->worker_steps[w]));
		fputc('\n', to);
	}
	write_communication(t, to);
}

void pp_text_late(const struct pp_dataset *d, const struct pp_text *t, FILE *to)
{
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	int domains = pp_dataset_domains(d);
	size_t who, peers;
	int64_t mean, error;

	if (!t->cells || !d->late || d->workers < 2 || !d->late[0].wait_ns)
		return;
	who = pp_dataset_worker(d, d->late[0].rank);
	peers = who == SIZE_MAX ? 0 : pp_dataset_peers(d, who);
	if (!peers)
		return;
	/* waiting of the others for it, by step and waiting rank */
	mean = d->late[0].wait_ns / (int64_t)(d->steps * peers);
	error = (d->late[0].error_ns + (int64_t)(d->steps * peers) - 1) / (int64_t)(d->steps * peers);
	if (d->late[0].wait_ns <= d->late[0].error_ns) {
		fprintf(to, "  Who waited for whom: tie, %s %seach is below the clocks' bounds of +- %s\n", pp_text_time(a, mean),
		        d->steps > 1 ? "a step " : "", pp_text_time(b, error));
		return;
	}
	fprintf(to, "  Who waited for whom: the other ranks %swaited %s +- %s %seach for rank %d (%.0f %% of all waiting",
	        domains > 1 ? "of its clock " : "", pp_text_time(a, mean), pp_text_time(b, error), d->steps > 1 ? "a step " : "",
	        d->late[0].rank, percent(d->late[0].wait_ns, t->wait_ns));
	if (d->steps > 1)
		fprintf(to, "; in %" PRId64 " of %zu steps it cost most", d->late[0].steps, d->steps);
	fputs(")\n", to);
}

struct row { /* a worker and its sort key */
	double key;
	size_t worker;
};

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->worker < y->worker ? -1 : x->worker > y->worker;
}

static int largest(const int64_t *ns)
{
	int best = 1;

	for (int c = 2; c <= PP_CATEGORIES; c++)
		if (ns[c] > ns[best])
			best = c;
	return best;
}

static void write_worker(const struct pp_dataset *d, const struct pp_text *t, size_t w, FILE *to)
{
	const struct pp_worker *k = &d->worker[w];
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	int64_t n = t->worker_steps[w];
	int most = largest(t->worker_ns[w]);

	fprintf(to, "  %6d  %-16.16s", k->rank, k->host);
	if (n)
		fprintf(to, " %5" PRId64 " %9s %9s   %s, %.0f %%", n, pp_text_time(a, t->worker_ns[w][0] / n),
		        pp_text_time(b, t->worker_wait_ns[w] / n), pp_category_name(most),
		        percent(t->worker_ns[w][most], t->worker_ns[w][0]));
	else
		fprintf(to, " %5d %9s %9s  ", 0, "-", "-");
	if (strcmp(k->status, "delivered"))
		fprintf(to, "%s%.60s", n ? "; " : " ", k->status);
	fputc('\n', to);
}

/* The others wait for the rank that waits least: sorts by waiting, least first, after ranks that did not deliver. */
int pp_text_workers(const struct pp_dataset *d, const struct pp_text *t, FILE *to)
{
	struct row *row = malloc((d->workers + 1) * sizeof(*row));
	size_t most = MOST_WORKERS, n;

	/* 40 lines in all: each further row of the breakdown, and the lines of memory, files and the longest step, takes one
	 * from here */
	most -= (d->memories > 0) + (d->files > 0) + (size_t)has_longest(d, t);
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
		row[w].key = t->worker_steps[w] ? (double)t->worker_wait_ns[w] / (double)t->worker_steps[w] : -1;
	}
	if (d->workers > most)
		qsort(row, d->workers, sizeof(*row), by_key);
	fprintf(to, "\n    rank  host             steps      step   waiting   largest, of its step%s\n",
	        d->workers > n ? "   (least waiting first)" : "");
	for (size_t i = 0; i < n; i++)
		write_worker(d, t, row[i].worker, to);
	if (d->workers > n)
		fprintf(to, "  and %zu more in pod.h5\n", d->workers - n);
	free(row);
	return 0;
}

static void write_defaults(const struct pp_dataset *d, const struct pp_text *t, FILE *to)
{
	int64_t ns = 0;

	for (size_t i = 0; i < d->defaults; i++)
		ns += d->by_default[i].ns;
	if (!ns)
		return;
	fprintf(to, "  %.1f %% of all ranks' step time is host compute by the default rule alone:", percent(ns, t->all_ns));
	for (size_t i = 0; i < d->defaults && i < MOST_NAMES; i++) {
		const char *name = pp_intern_text(d->names, d->by_default[i].name, NULL);

		fprintf(to, "%s \"%.*s\"", i ? "," : "", pp_utf8_fit(name, 40), name);
	}
	if (d->defaults > MOST_NAMES)
		fprintf(to, " and %zu more", d->defaults - MOST_NAMES);
	fputc('\n', to);
}

/* Is the warning worth a line? A group without a source is absent in every run: pod.h5 says so. The clock has lines of its own. */
static int is_news(const char *warning)
{
	return !(warning[0] == '/' && strstr(warning, " is absent:")) && !strstr(warning, "by the default rule") &&
	       strncmp(warning, PP_CLOCK_WARNING, strlen(PP_CLOCK_WARNING)) != 0;
}

static void write_warnings(const struct pp_dataset *d, FILE *to)
{
	size_t shown = 0;

	for (size_t i = 0; i < d->warnings; i++) {
		if (!is_news(d->warning[i].text))
			continue;
		if (shown++ < MOST_WARNINGS)
			fprintf(to, "  %s\n", d->warning[i].text);
	}
	if (shown > MOST_WARNINGS)
		fprintf(to, "  and %zu more warnings in pod.h5\n", shown - MOST_WARNINGS);
}

void pp_text_quality(const struct pp_dataset *d, const struct pp_text *t, FILE *to)
{
	char a[PP_TEXT_UNIT];
	int64_t window = d->window_end_ns - d->window_begin_ns;

	fprintf(to, "  Quality   steps by rule: %s (confidence %.2f)   keeper %s CPU (%.1f %% of the window on one core)\n",
	        d->step_rule[0] ? d->step_rule : "none", d->step_confidence, pp_text_time(a, d->keeper_cpu_ns),
	        percent(d->keeper_cpu_ns, window));
	if (d->violations)
		fprintf(to,
		        "  %" PRIu64 " of %zu collectives end before their last arrival: the clocks are worse than their bound\n",
		        d->violations, d->collectives);
	if (t->cells)
		write_defaults(d, t, to);
	write_warnings(d, to);
}
