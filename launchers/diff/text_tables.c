/* Tables of a comparison as text: step time and categories, collectives, operators; see diff.h. Called by text.c. */
#include "launchers/diff/text_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/write/text/text.h"
#include "aggregate/write/text/text_print.h"
#include "aggregate/write/text/text_table.h"

enum { BAR = 20, NAME = 34, MOST_ROWS = 8 };

const char *pp_diff_time(char text[PP_TEXT_UNIT], double ns)
{
	if (isnan(ns)) {
		snprintf(text, PP_TEXT_UNIT, "unknown");
		return text;
	}
	return pp_text_time(text, fabs(ns) < 9e18 ? (int64_t)llround(ns) : 0);
}

const char *pp_diff_signed(char text[32], double ns)
{
	char number[PP_TEXT_UNIT];

	snprintf(text, 32, "%s%s", ns > 0 ? "+" : "", pp_diff_time(number, ns));
	return text;
}

/* Of the largest change. pp_text_print() leaves it out of a pipe. */
static void bar(double part, FILE *to)
{
	int n = isnan(part) ? 0 : (int)(fmin(fabs(part), 1) * BAR + 0.5);

	fputc('|', to);
	for (int i = 0; i < BAR; i++)
		fputc(i < n ? '#' : ' ', to);
	fputs("| ", to);
}

static const char *verdict(enum pp_noise_word word)
{
	return word == PP_NOISE_UNKNOWN  ? "unknown"
	       : word < PP_NOISE_SAME    ? "undecided"
	       : word == PP_NOISE_SAME   ? "-"
	       : word == PP_NOISE_LONGER ? "longer"
	                                 : "shorter";
}

static void put_name(const char *name, int columns, FILE *to)
{
	fputs("  ", to);
	fprintf(to, "%*s ", columns - pp_text_name(name, columns, to), "");
}

/* One quantity in two runs. */
static void write_pair_row(const char *name, const struct pp_noise *n, double largest, FILE *to)
{
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT], by[32], low[32], high[32], floor[PP_TEXT_UNIT];

	put_name(name, NAME, to);
	bar(largest > 0 ? (n->b - n->a) / largest : 0, to);
	fprintf(to, "%9s %9s %10s  %-9s", pp_diff_time(a, n->a), pp_diff_time(b, n->b), pp_diff_signed(by, n->b - n->a),
	        verdict(n->word));
	if (n->word == PP_NOISE_FEW || n->word == PP_NOISE_UNKNOWN)
		fputs("\t\n", to);
	else
		fprintf(to, "\t%s to %s; floor %s\n", pp_diff_signed(low, n->low), pp_diff_signed(high, n->high),
		        pp_diff_time(floor, n->floor));
}

/* Did a role change in it other than all ranks did? What all ranks have in common stands with all ranks. */
static int is_of_role(const struct pp_noise *role, const struct pp_noise *all)
{
	return role->word > PP_NOISE_SAME && fabs((role->b - role->a) - (all->b - all->a)) > role->floor;
}

/* Does any pair differ in it, or is it a notable part of the step? That waiting is unknown is to be said. */
static int is_notable(const struct pp_diff *d, size_t group, int quantity)
{
	const struct pp_noise *step = &d->first[0].group[group][PP_DIFF_STEP];

	for (size_t r = 0; r + 1 < d->runs; r++) {
		const struct pp_noise *n = &d->first[r].group[group][quantity], *all = &d->first[r].group[0][quantity];
		const struct pp_noise *before = d->runs > 2 ? &d->before[r].group[group][quantity] : n;
		const struct pp_noise *all_before = d->runs > 2 ? &d->before[r].group[0][quantity] : all;

		if (group && (is_of_role(n, all) || is_of_role(before, all_before)))
			return 1;
		if (!group && quantity == PP_DIFF_WAIT && n->word == PP_NOISE_UNKNOWN)
			return 1;
		if (!group && (n->word > PP_NOISE_SAME || before->word > PP_NOISE_SAME || fmax(n->a, n->b) * 1000 > step->a))
			return 1;
	}
	return 0;
}

static void write_role(const struct pp_diff *d, size_t group, FILE *to)
{
	const struct pp_diff_group *g = &d->shared->group[group];

	if (g->role < 0)
		fprintf(to, "\n  All ranks%s%s", d->shared->left[0][0] || d->shared->left[1][0] ? " of each session" : ": ",
		        d->shared->left[0][0] || d->shared->left[1][0] ? "" : g->ranks_text);
	else
		fprintf(to, "\n  Role %" PRId32 ": ranks %s", g->role, g->ranks_text);
	if (g->why[0])
		fprintf(to, " (%s)", g->why);
	fputs(". Mean of the ranks, of usual steps\n", to);
}

static void write_left(const struct pp_diff *d, size_t left, FILE *to)
{
	if (left)
		fprintf(to, "  %zu row%s not shown: below 0.1 %% of the step%s (--json and --html have all)\n", left,
		        left == 1 ? "" : "s", d->shared->groups > 1 ? ", or roles that changed as all ranks did" : "");
}

static void write_two(const struct pp_diff *d, FILE *to)
{
	const struct pp_diff_pair *p = pp_diff_last(d);
	double largest = fabs(p->step.b - p->step.a);
	size_t left = 0;

	for (size_t g = 0; g < d->shared->groups; g++)
		for (int q = 0; q < PP_DIFF_QUANTITIES; q++)
			largest = fmax(largest, fabs(p->group[g][q].b - p->group[g][q].a));
	fprintf(to, "\n  %-*s ", NAME, "Usual step");
	bar(0, to); /* an empty one, so that the heads stay above their columns */
	fprintf(to, "%9s %9s %10s  %-9s\t99 %% interval\n", "A", "B", "B - A", "B is");
	write_pair_row("Step time (slowest rank)", &p->usual, largest, to);
	if (p->is_short)
		write_pair_row("  a quarter of short steps", &p->step, largest, to);
	for (size_t g = 0; g < d->shared->groups; g++) {
		int shown = 0;

		for (int q = 0; q < PP_DIFF_QUANTITIES; q++) {
			char name[64];

			if (!is_notable(d, g, q)) {
				left += fmax(p->group[g][q].a, p->group[g][q].b) > 0;
				continue;
			}
			if (!shown++)
				write_role(d, g, to);
			snprintf(name, sizeof(name), "%s%s",
			         q == PP_DIFF_WAIT || q == PP_DIFF_TRANSFER ? "    of communication: " : "  ",
			         q == PP_DIFF_STEP ? "Step" : pp_diff_quantity_name(q));
			write_pair_row(name, &p->group[g][q], largest, to);
		}
	}
	write_left(d, left, to);
}

/* "4.08 ms* (+4.02 ms)": a run's value, a star where it differs from A, and its change where it differs from the run before. */
static void put_cell(const struct pp_noise *first, const struct pp_noise *before, FILE *to)
{
	char a[PP_TEXT_UNIT], by[32], text[80];

	if (!before)
		snprintf(text, sizeof(text), "%s", pp_diff_time(a, first->a));
	else if (before->word > PP_NOISE_SAME)
		snprintf(text, sizeof(text), "%s%s (%s)", pp_diff_time(a, first->b), first->word > PP_NOISE_SAME ? "*" : "",
		         pp_diff_signed(by, before->b - before->a));
	else
		snprintf(text, sizeof(text), "%s%s", pp_diff_time(a, first->b), first->word > PP_NOISE_SAME ? "*" : "");
	fprintf(to, " %21s", text);
}

static void write_trend_steps(const struct pp_diff *d, FILE *to)
{
	char a[PP_TEXT_UNIT], h[PP_TEXT_UNIT], by[32];

	fprintf(to, "\n  %-4s %6s %10s %12s  %-22s %-22s\n", "run", "steps", "step time", "99 % +-", "against the run before",
	        "against A");
	for (size_t r = 0; r < d->runs; r++) {
		double usual = d->step[r].usual;

		fprintf(to, "  %-4c %6zu %10s %12s", (char)('A' + r), d->step[r].steps, pp_diff_time(a, usual),
		        d->half[r] > 0 ? pp_diff_time(h, d->half[r]) : "unknown");
		for (int k = 0; r && k < 2; k++) {
			const struct pp_noise *n = k ? &d->first[r - 1].step : &d->before[r - 1].step;
			char text[64];

			snprintf(text, sizeof(text), "%s %s", pp_diff_signed(by, n->b - n->a),
			         n->word == PP_NOISE_SAME ? "(noise)" : verdict(n->word));
			fprintf(to, "  %-22s", text);
		}
		fputc('\n', to);
	}
	fputs("  +-: half of the 99 % interval of the usual step time of the slowest rank\n", to);
}

static void write_trend(const struct pp_diff *d, FILE *to)
{
	size_t left = 0;

	write_trend_steps(d, to);
	for (size_t g = 0; g < d->shared->groups; g++) {
		int shown = 0;

		for (int q = 0; q < PP_DIFF_QUANTITIES; q++) {
			if (!is_notable(d, g, q)) {
				left += d->first[0].group[g][q].a > 0;
				continue;
			}
			if (!shown++) {
				write_role(d, g, to);
				fprintf(to, "  %-*s", 20, "");
				for (size_t r = 0; r < d->runs; r++)
					fprintf(to, " %21c", (char)('A' + r));
				fputc('\n', to);
			}
			fprintf(to, "  %-20s", pp_diff_quantity_name(q));
			for (size_t r = 0; r < d->runs; r++)
				put_cell(&d->first[r ? r - 1 : 0].group[g][q], r ? &d->before[r - 1].group[g][q] : NULL, to);
			fputc('\n', to);
		}
	}
	fputs("  *: significant against A; (change): significant against the run before\n", to);
	write_left(d, left, to);
}

static void put_rate(const struct pp_noise *n, FILE *to)
{
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	if (n->a > 0 || n->b > 0)
		fprintf(to, "\tbusbw %s/s to %s/s%s", pp_text_bytes(a, (uint64_t)n->a), pp_text_bytes(b, (uint64_t)n->b),
		        n->word == PP_NOISE_LONGER    ? ", higher"
		        : n->word == PP_NOISE_SHORTER ? ", lower"
		                                      : "");
	else
		fputs("\t", to);
}

/* What a run does not have takes no time there. */
static void put_times(const struct pp_diff_operation *o, const struct pp_noise *n, FILE *to)
{
	const double first = o->count_a > 0 ? n->a : 0, last = o->count_b > 0 ? n->b : 0;
	char a[PP_TEXT_UNIT], by[32];

	fprintf(to, " %9s %10s%c", pp_diff_time(a, first), pp_diff_signed(by, last - first), n->word > PP_NOISE_SAME ? '*' : ' ');
}

/* Of the last run against the first one. */
static void write_operations(const struct pp_diff *d, FILE *to)
{
	size_t changed = 0, shown = 0;

	for (size_t i = 0; i < d->operations; i++)
		changed += (size_t)pp_diff_operation_changed(&d->operation[i]);
	if (!d->operations)
		return;
	if (!changed) {
		fprintf(to, "\n  Collectives: no difference (%zu kind%s, by call and size of the communicator)\n", d->operations,
		        d->operations == 1 ? "" : "s");
		return;
	}
	fprintf(to,
	        "\n  Collectives that changed, usual value of an operation and rank (*: significant)\n  %-*s %9s %11s %9s %11s\n",
	        NAME, "call, ranks, operations per step", "wait", "change", "transfer", "change");
	for (size_t i = 0; i < d->operations && shown < MOST_ROWS; i++) {
		const struct pp_diff_operation *o = &d->operation[i];
		char name[PP_DIFF_NAME + 96];

		if (!pp_diff_operation_changed(o))
			continue;
		if (!o->count_a != !o->count_b)
			snprintf(name, sizeof(name), "%s, %" PRIu32 ", only in %c", o->name, o->size_a + o->size_b,
			         o->count_a > 0 ? 'A' : (char)('A' + d->runs - 1));
		else if (o->size_a != o->size_b)
			snprintf(name, sizeof(name), "%s, %" PRIu32 " to %" PRIu32 ", %.3g to %.3g", o->name, o->size_a, o->size_b,
			         o->count_a, o->count_b);
		else
			snprintf(name, sizeof(name), "%s, %" PRIu32 ", %.3g to %.3g", o->name, o->size_a, o->count_a, o->count_b);
		put_name(name, NAME, to);
		put_times(o, &o->wait, to);
		put_times(o, &o->transfer, to);
		put_rate(&o->busbw, to);
		fputc('\n', to);
		shown++;
	}
	if (changed > shown || changed < d->operations)
		fprintf(to, "  %zu more changed, %zu did not\n", changed - shown, d->operations - changed);
	if (d->operations_left)
		fprintf(to, "  %zu kinds were not compared: at most %d are\n", d->operations_left, PP_DIFF_OPERATIONS_MOST);
}

static void write_ops(const struct pp_diff *d, FILE *to)
{
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT], by[32];

	if (!d->ops) {
		if (d->ops_below)
			fprintf(to, "  Operators: none of %zu changed by more than the noise floor of the step\n", d->ops_below);
		return;
	}
	fprintf(to, "\n  %-*s %9s %9s %10s\tcalls per step and rank\n", NAME, "Operators, mean of all steps", "A",
	        d->runs > 2 ? "last" : "B", "change");
	for (size_t i = 0; i < d->ops && i < MOST_ROWS; i++) {
		const struct pp_diff_op *o = &d->op[i];

		put_name(o->name, NAME, to);
		fprintf(to, " %9s %9s %10s\t%.3g to %.3g%s\n", pp_diff_time(a, o->a), pp_diff_time(b, o->b),
		        pp_diff_signed(by, o->b - o->a), o->calls_a, o->calls_b, o->side == PP_SIDE_DEVICE ? ", device" : "");
	}
	if (d->ops > MOST_ROWS)
		fprintf(to, "  and %zu more\n", d->ops - MOST_ROWS);
	fputs("  Only sums over all steps are known of operators: listed is what changed by more than the noise floor of the step",
	      to);
	fprintf(to, "; %zu changed by less\n", d->ops_below);
}

void pp_diff_text_tables(const struct pp_diff *d, FILE *to)
{
	if (d->runs > 2)
		write_trend(d, to);
	else
		write_two(d, to);
	write_operations(d, to);
	write_ops(d, to);
}
