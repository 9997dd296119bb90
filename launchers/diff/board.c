/* Writes what the page of a comparison draws, as JSON; see board.h. */
#include "launchers/diff/board.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/data/evidence.h"
#include "aggregate/write/json.h"
#include "core/base/compare.h"

/* From left to right, as the bars of report.html are stacked; waiting is last. */
static const int order[] = {PP_DIFF_STEP, 1, 2, 4, 5, 6, 8, 10, 3, 7, 9, PP_DIFF_WAITED};

_Static_assert(PP_CATEGORIES == 10, "order[] has each category");

enum { COLUMNS = sizeof(order) / sizeof(order[0]) };

struct score {        /* how much a rank changed: the largest change of a part beyond its noise */
	int is_named; /* it changed more than the other ranks of its role */
	double by;
	size_t rank;
};

PP_COMPARE(by_change, struct score, PP_DOWN(is_named) ?: PP_DOWN(by) ?: PP_UP(rank))

struct board {
	const struct pp_diff *d;
	const struct pp_diff_run *a, *b;
	struct score *score; /* [ranks], most changed first */
	double *value;       /* [ranks] of the one column that is written */
	size_t ranks;        /* that are written */
};

static void key(FILE *to, const char *name)
{
	fprintf(to, ",\"%s\":", name);
}

static char letter_of(const struct pp_diff_run *run, size_t i)
{
	const struct pp_series *s = &run->course;

	if (run->is_usual[i] == PP_DIFF_USUAL)
		return PP_REGIME_USUAL;
	if (i < s->onset)
		return PP_REGIME_BEFORE;
	if (i < s->start_ups)
		return PP_REGIME_START;
	if (s->rare == PP_RARE_PERIODIC && s->period && i % s->period == s->first_rare % s->period)
		return PP_REGIME_PERIODIC;
	return s->rare == PP_RARE_START_UP ? PP_REGIME_START : PP_REGIME_ODD;
}

/* Of two steps in one bin the rarer kind is shown. */
static char rarer(char x, char y)
{
	static const char rarest[] = {PP_REGIME_ODD, PP_REGIME_PERIODIC, PP_REGIME_START, PP_REGIME_BEFORE, PP_REGIME_USUAL, '\0'};

	return (char)(strchr(rarest, x) < strchr(rarest, y) ? x : y);
}

/* Number of the longest step of each bin, its time, and the rarest kind. */
static int put_steps(FILE *to, const struct pp_diff *d, const struct pp_diff_run *run)
{
	const double *slowest = run->series + d->shared->groups * PP_DIFF_QUANTITIES * run->d.steps;
	const size_t bins = run->steps < PP_DIFF_BOARD_STEPS ? run->steps : PP_DIFF_BOARD_STEPS;
	int64_t *number = calloc(bins + 1, sizeof(*number)), *ns = calloc(bins + 1, sizeof(*ns));
	char *letter = calloc(bins + 1, 1);
	int rc = number && ns && letter ? 0 : -ENOMEM;

	for (size_t bin = 0; !rc && bin < bins; bin++) {
		size_t longest = bin * run->steps / bins;

		letter[bin] = PP_REGIME_USUAL;
		for (size_t i = longest; i < (bin + 1) * run->steps / bins; i++) {
			longest = slowest[i] > slowest[longest] ? i : longest;
			letter[bin] = rarer(letter[bin], letter_of(run, i));
		}
		number[bin] = run->d.step[run->step[longest]].number;
		ns[bin] = slowest[longest] < (double)PP_JSON_EXACT ? (int64_t)slowest[longest] : INT64_MIN;
	}
	if (!rc) {
		key(to, "regime");
		pp_json_text(to, letter);
		key(to, "number");
		rc = pp_json_ints(to, number, bins);
	}
	if (!rc) {
		key(to, "ns");
		rc = pp_json_ints(to, ns, bins);
	}
	free(letter);
	free(ns);
	free(number);
	return rc;
}

static int put_run(FILE *to, const struct pp_diff *d, size_t r)
{
	const struct pp_diff_run *run = &d->run[r];
	const struct pp_series *s = &run->course;
	size_t count[128] = {0};
	static const char kinds[] = {PP_REGIME_START, PP_REGIME_BEFORE, PP_REGIME_USUAL, PP_REGIME_PERIODIC, PP_REGIME_ODD, '\0'};
	int rc;

	fprintf(to, "{\"run\":\"%c\"", (char)('A' + r));
	key(to, "steps");
	pp_json_int(to, (int64_t)run->steps);
	key(to, "usual_ns");
	pp_json_real(to, d->step[r].usual);
	key(to, "change");
	pp_json_int(to, s->onset ? run->d.step[run->step[s->onset]].number : INT64_MIN);
	for (size_t i = 0; i < run->steps; i++)
		count[(int)letter_of(run, i)]++;
	key(to, "count");
	for (const char *k = kinds; *k; k++)
		fprintf(to, "%s\"%c\":%zu", k == kinds ? "{" : ",", *k, count[(int)*k]);
	fputc('}', to);
	rc = put_steps(to, d, run);
	fputc('}', to);
	return rc;
}

static double change_of(const struct board *x, size_t rank, int q)
{
	const struct pp_noise_middle *a = &x->a->own[rank][q], *b = &x->b->own[rank][q];

	return a->steps && b->steps ? b->usual - a->usual : (double)NAN;
}

/* What a change that counts is more than: by the rule that names ranks, without the spread of the ranks, which the reader sees.
 * NaN: there are too few steps. */
static double noise_of(const struct board *x, size_t rank, int q)
{
	const struct pp_noise_middle *a = &x->a->own[rank][q], *b = &x->b->own[rank][q];
	const double least = fmax(x->d->least, pp_diff_last(x->d)->cores);

	if (a->steps < PP_NOISE_STEPS || b->steps < PP_NOISE_STEPS)
		return (double)NAN;
	return fmax(least, fmax(pp_noise_half(a, b, x->d->shared->ranks * (PP_DIFF_LATE + 1)), fmax(a->floor, b->floor)));
}

static void sort(struct board *x)
{
	const size_t ranks = x->d->shared->ranks;

	for (size_t i = 0; i < ranks; i++) {
		x->score[i] = (struct score){0, -INFINITY, i};
		for (int k = 0; k < COLUMNS; k++) {
			const double by = fabs(change_of(x, i, order[k])), noise = noise_of(x, i, order[k]);

			if (!isnan(by))
				x->score[i].by = fmax(x->score[i].by, by - (isnan(noise) ? 0 : noise));
		}
	}
	for (size_t i = 0; i < x->d->ranks; i++) {
		const size_t rank = pp_diff_shared_find(x->d->shared, 1, x->d->rank[i].rank);

		if (rank != SIZE_MAX)
			x->score[rank].is_named = 1;
	}
	if (ranks)
		qsort(x->score, ranks, sizeof(*x->score), by_change);
}

/* A part that no rank has in either run is no column; one that is unknown everywhere is, if the other run has it. */
static int is_used(const struct board *x, int q)
{
	for (size_t i = 0; i < x->d->shared->ranks; i++)
		if (x->a->own[i][q].usual > 0 || x->b->own[i][q].usual > 0)
			return 1;
	return 0;
}

static const char *name_of(const struct board *x, int q)
{
	return q == PP_DIFF_WAITED                                                 ? "waiting"
	       : q == PP_CATEGORY_HOST_COMMUNICATION && is_used(x, PP_DIFF_WAITED) ? "transfer"
	                                                                           : pp_diff_quantity_name(q);
}

static int put_values(FILE *to, const struct board *x, const char *name, int q)
{
	for (size_t i = 0; i < x->ranks; i++) {
		const size_t rank = x->score[i].rank;
		const struct pp_noise_middle *a = &x->a->own[rank][q], *b = &x->b->own[rank][q];

		x->value[i] = *name == 'n'   ? noise_of(x, rank, q)
		              : *name == 'a' ? (a->steps ? a->usual : (double)NAN)
		                             : (b->steps ? b->usual : (double)NAN);
		x->value[i] = round(x->value[i]);
	}
	key(to, name);
	return pp_json_reals(to, x->value, x->ranks);
}

static int put_columns(FILE *to, const struct board *x)
{
	int rc = 0;

	key(to, "column");
	for (int k = 0; k < COLUMNS && !rc; k++) {
		const int q = order[k];

		if (k && !is_used(x, q))
			continue;
		fputs(k ? ",{\"name\":" : "[{\"name\":", to);
		pp_json_text(to, name_of(x, q));
		rc = put_values(to, x, "a_ns", q);
		rc = rc ?: put_values(to, x, "b_ns", q);
		rc = rc ?: put_values(to, x, "noise_ns", q);
		fputc('}', to);
	}
	fputc(']', to);
	return rc;
}

static int put_ranks(FILE *to, const struct board *x)
{
	const struct pp_diff_shared *s = x->d->shared;
	int64_t *number = calloc(x->ranks + 1, sizeof(*number));
	int rc = number ? 0 : -ENOMEM;

	for (int other = 0; other < 2 && !rc; other++) {
		for (size_t i = 0; i < x->ranks; i++)
			number[i] = (other ? s->other : s->rank)[x->score[i].rank];
		key(to, other ? "other_rank" : "rank");
		rc = pp_json_ints(to, number, x->ranks);
	}
	free(number);
	return rc;
}

int pp_diff_board(const struct pp_diff *d, FILE *to)
{
	const size_t ranks = d->shared->ranks;
	struct board x = {.d = d,
	                  .a = &d->run[0],
	                  .b = &d->run[d->runs - 1],
	                  .score = calloc(ranks + 1, sizeof(*x.score)),
	                  .value = calloc(ranks + 1, sizeof(*x.value)),
	                  .ranks = ranks < PP_DIFF_BOARD_RANKS ? ranks : PP_DIFF_BOARD_RANKS};
	const size_t left = d->runs > PP_DIFF_BOARD_RUNS ? d->runs - PP_DIFF_BOARD_RUNS : 0;
	int rc = x.score && x.value ? 0 : -ENOMEM;

	fprintf(to, "{\"runs_left\":%zu,\"ranks\":%zu,\"runs\":[", left, ranks);
	for (size_t r = 0; r < d->runs && !rc; r++) {
		if (r && r <= left)
			continue;
		fputs(r ? "," : "", to);
		rc = put_run(to, d, r);
	}
	fputc(']', to);
	if (!rc) {
		sort(&x);
		rc = put_ranks(to, &x);
	}
	rc = rc ?: put_columns(to, &x);
	fputs("}\n", to);
	free(x.value);
	free(x.score);
	return rc;
}
