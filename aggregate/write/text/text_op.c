/* Writes operators and the data loader into summary.txt. Called by text.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/order.h"
#include "aggregate/write/text/text.h"
#include "core/ring/intern.h"
#include "core/ring/utf8.h"

enum { MOST_OPS = 10, NAME_COLUMNS = 46 };

struct sum { /* an operator over all ranks: sums of each rank's mean per step */
	uint32_t name;
	double self_ns, calls;
	double most_ns;
	int32_t most_worker;
};

static int by_self(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Sums rows of one operator, which are adjacent. */
static size_t sum_ops(const struct pp_dataset *d, struct sum *sum)
{
	size_t n = 0;

	for (size_t i = 0; i < d->ops; i++) {
		const struct pp_row_op *op = &d->op[i];
		double ns = op->steps ? (double)op->self_ns / op->steps : 0;

		if (!i || !pp_op_is_same(op, op - 1))
			sum[n++] = (struct sum){.name = op->name, .most_ns = -1};
		sum[n - 1].self_ns += ns;
		sum[n - 1].calls += op->steps ? (double)op->calls / op->steps : 0;
		if (ns > sum[n - 1].most_ns) {
			sum[n - 1].most_ns = ns;
			sum[n - 1].most_worker = op->worker;
		}
	}
	return n;
}

static int columns_of(const char *text, int bytes)
{
	int columns = 0;

	for (int i = 0; i < bytes; i++)
		columns += (text[i] & 0xC0) != 0x80;
	return columns;
}

/* Pads by the width of the text, not by its bytes. Of a long name it shows both ends: only "_backward" may distinguish two. */
static void put_name(const struct pp_dataset *d, uint32_t name, FILE *to)
{
	size_t length;
	const char *text = pp_intern_text(d->names, name, &length), *rest;
	int is_cut = length > NAME_COLUMNS, bytes = pp_utf8_fit(text, is_cut ? NAME_COLUMNS / 2 - 1 : NAME_COLUMNS);

	for (rest = text + length - (is_cut ? NAME_COLUMNS / 2 - 1 : 0); is_cut && (*rest & 0xC0) == 0x80;)
		rest++;
	fprintf(to, "  %.*s%s%s%*s", bytes, text, is_cut ? ".." : "", rest,
	        NAME_COLUMNS - columns_of(text, bytes) - 2 * is_cut - columns_of(rest, (int)strlen(rest)), "");
}

static void put_op(const struct pp_dataset *d, const struct pp_text *t, const struct sum *s, double ranks, FILE *to)
{
	double mean = s->self_ns / ranks, calls = s->calls / ranks;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	put_name(d, s->name, to);
	fprintf(to, " %5.1f %% %9s %7.*f call%s", 100 * mean * (double)t->cells / (double)t->all_ns, pp_text_time(a, (int64_t)mean),
	        calls >= 99.95 || calls == (double)(int64_t)calls ? 0
	        : calls < 0.095                                   ? 3
	                                                          : 1,
	        calls, calls == 1 ? " " : "s");
	if (d->workers > 1)
		fprintf(to, "   most on rank %d, %s", s->most_worker, pp_text_time(b, (int64_t)s->most_ns));
	fputc('\n', to);
}

/* MPI calls alone are not listed: the breakdown has them. */
static int has_ranges(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->ops; i++)
		if (d->op[i].source != PP_SOURCE_MPI)
			return 1;
	return 0;
}

int pp_text_ops(const struct pp_dataset *d, const struct pp_text *t, FILE *to)
{
	const uint64_t cut = pp_dataset_ops_cut(d);
	struct sum *sum;
	double ranks = 0;
	size_t n;

	if (!t->cells || t->all_ns <= 0 || !has_ranges(d))
		return 0;
	sum = malloc((d->ops + 1) * sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	for (size_t w = 0; w < d->workers; w++)
		ranks += t->worker_steps[w] > 0;
	n = sum_ops(d, sum);
	qsort(sum, n, sizeof(*sum), by_self);
	fprintf(to, "\n  Top operators by time of their own on all threads, mean of a step over all ranks; %% of the step\n");
	for (size_t i = 0; i < n && i < MOST_OPS; i++)
		put_op(d, t, &sum[i], ranks, to);
	if (n > MOST_OPS)
		fprintf(to, "  and %zu more in pod.h5\n", n - MOST_OPS);
	if (cut)
		fprintf(to, "  %" PRIu64 " range%s not seen to begin or to end in the window %s in no row\n", cut,
		        cut == 1 ? " that was" : "s that were", cut == 1 ? "is" : "are");
	free(sum);
	return 0;
}

/* One line, where the framework's shim reports its data loader: what steps wait for, and whether its workers had time left. */
void pp_text_input(const struct pp_dataset *d, const struct pp_text *t, FILE *to)
{
	int64_t input = t->sum_ns[PP_CATEGORY_INPUT];
	size_t most = 0, loaders = 0;
	double busy = 0, most_ns = -1;
	char a[PP_TEXT_UNIT];

	for (size_t w = 0; w < d->workers; w++) {
		double ns = t->worker_steps[w] ? (double)t->worker_ns[w][PP_CATEGORY_INPUT] / (double)t->worker_steps[w] : -1;

		loaders += d->worker[w].loader_samples > 0;
		busy += d->worker[w].loader_busy;
		if (ns > most_ns) {
			most_ns = ns;
			most = w;
		}
	}
	if (!loaders || !input || t->all_ns <= 0)
		return;
	fprintf(to, "  Input: %.1f %% of the step", 100 * (double)input / (double)t->all_ns);
	if (d->workers > 1)
		fprintf(to, ", most on rank %d (%s)", d->worker[most].rank, pp_text_time(a, (int64_t)most_ns));
	fprintf(to, "; the data loader's workers are busy %.0f %% of the time", 100 * busy / (double)loaders);
	if (d->workers > 1 && d->worker[most].loader_samples)
		fprintf(to, ", on rank %d %.0f %%", d->worker[most].rank, 100 * d->worker[most].loader_busy);
	fputc('\n', to);
}
