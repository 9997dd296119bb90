/* Writes a comparison as text: the result, then what changed; see diff.h. Tables are in text_tables.c. */
#include "launchers/diff/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/text/text.h"
#include "core/base/forked.h"
#include "launchers/diff/text_tables.h"

enum { MOST_RANKS = 6 };

const char *pp_diff_word(enum pp_noise_word word)
{
	return word == PP_NOISE_UNKNOWN  ? "unknown"
	       : word < PP_NOISE_SAME    ? "undecided"
	       : word == PP_NOISE_SAME   ? "no_difference"
	       : word == PP_NOISE_LONGER ? "longer"
	                                 : "shorter";
}

static char letter(size_t run)
{
	return (char)('A' + run);
}

/* How many steps at the end of a run are exceptional. */
static size_t ending(const struct pp_diff_run *run)
{
	size_t n = 0;

	while (n < run->steps && run->is_usual[run->steps - 1 - n] != PP_DIFF_USUAL)
		n++;
	return n;
}

void pp_diff_why(const struct pp_diff *d, const struct pp_noise *n, char text[PP_DIFF_WHY])
{
	const struct pp_diff_run *to = &d->run[d->runs - 1];
	char time[PP_TEXT_UNIT];

	if (n->word == PP_NOISE_FEW)
		snprintf(text, PP_DIFF_WHY, "a session has less than %d usual steps", PP_NOISE_STEPS);
	else if (n->word == PP_NOISE_ENDING)
		snprintf(text, PP_DIFF_WHY, "the last %zu steps of %c are longer than those before", ending(to),
		         letter(d->runs - 1));
	else if (n->word == PP_NOISE_CORES)
		snprintf(text, PP_DIFF_WHY, "ranks that were ready without a core explain up to %s of it",
		         pp_diff_time(time, pp_diff_last(d)->cores));
	else
		snprintf(text, PP_DIFF_WHY, "the noise can hide differences up to %s", pp_diff_time(time, n->power));
}

void pp_diff_sentence(const struct pp_diff *d, char *text, size_t size)
{
	const struct pp_noise *n = &pp_diff_last(d)->step;
	char a = letter(0), b = letter(d->runs - 1), by[32], of[PP_TEXT_UNIT], change[128], why[PP_DIFF_WHY];

	snprintf(change, sizeof(change), "%s per %sstep (%+.1f %% of %c's step, %s)", pp_diff_signed(by, n->b - n->a),
	         pp_diff_last(d)->is_short ? "short " : "", n->a > 0 ? 100 * (n->b - n->a) / n->a : 0, a, pp_diff_time(of, n->a));
	if (pp_diff_run_is_same(&d->run[0], &d->run[d->runs - 1]))
		snprintf(text, size, "%c and %c are the same session, %s: there is nothing to compare", a, b, d->run[0].d.session);
	else if (n->word < PP_NOISE_SAME) {
		pp_diff_why(d, n, why);
		snprintf(text, size, "undecided: %c against %c: %s; %s", b, a, change, why);
	} else if (n->word == PP_NOISE_SAME)
		snprintf(text, size, "no difference between %c and %c: %s is within the noise", a, b, change);
	else
		snprintf(text, size, "%c is %s than %c: %s", b, n->word == PP_NOISE_LONGER ? "slower" : "faster", a, change);
}

static void write_check(const struct pp_diff *d, const struct pp_diff_check *c, FILE *to)
{
	static const char *const word[] = {
	        [PP_DIFF_CHECK_PASSED] = "passed", [PP_DIFF_CHECK_FAILED] = "failed", [PP_DIFF_CHECK_UNDECIDED] = "undecided"};
	static const char *const why[] = {[PP_DIFF_WHY_STEPS] = "too few steps",
	                                  [PP_DIFF_WHY_NOISE] = "the noise can hide more than the limit",
	                                  [PP_DIFF_WHY_END] = "the last steps are longer",
	                                  [PP_DIFF_WHY_CORES] = "the ranks lacked cores"};

	if (c->word == PP_DIFF_CHECK_NONE)
		return;
	fprintf(to, "  Check:      --fail-above %g%%: %s: ", c->limit_percent, word[c->word]);
	if (c->word == PP_DIFF_CHECK_UNDECIDED)
		fprintf(to, "%s\n", why[c->why]);
	else if (pp_diff_last(d)->step.word <= PP_NOISE_SAME)
		fprintf(to, "the difference of %+.1f %% is within the noise\n", c->percent);
	else
		fprintf(to, "the difference of %+.1f %% is significant and %s the limit\n", c->percent,
		        c->percent > c->limit_percent ? "above" : "not above");
}

/* "B is longer from step 60 on (1.02 ms before, 2.04 ms from there on)": the usual steps are those after it. */
static void write_courses(const struct pp_diff *d, FILE *to)
{
	const char *label = "Changes:";

	for (size_t r = 0; r < d->runs; r++) {
		const struct pp_diff_run *run = &d->run[r];
		const struct pp_series *s = &run->course;
		char before[PP_TEXT_UNIT], level[PP_TEXT_UNIT];

		if (s->course == PP_COURSE_STEADY)
			continue;
		pp_diff_time(before, s->before);
		pp_diff_time(level, s->level);
		if (s->course == PP_COURSE_GROWING)
			fprintf(to, "  %-11s the steps of %c become %s, from %s to %s: all of them are compared\n", label,
			        letter(r), s->slope > 0 ? "longer" : "shorter", before, level);
		else
			fprintf(to,
			        "  %-11s the steps of %c are %s from step %" PRId64
			        " on, %s before and %s then: these are compared\n",
			        label, letter(r), s->level > s->before ? "longer" : "shorter",
			        run->d.step[run->step[s->onset]].number, before, level);
		label = "";
	}
}

static void write_exceptions(const struct pp_diff_run *run, FILE *to)
{
	static const char *const words[] = {
	        [PP_RARE_START_UP] = "at the begin", [PP_RARE_ONE_OFF] = "once", [PP_RARE_IRREGULAR] = "irregularly"};
	const struct pp_series *s = &run->course;
	char each[PP_TEXT_UNIT], cost[PP_TEXT_UNIT];

	if (s->rare == PP_RARE_NONE) {
		fputs("none", to);
		return;
	}
	fprintf(to, "%zu of %zu steps, ", s->rares, run->steps);
	if (s->rare == PP_RARE_PERIODIC)
		fprintf(to, "each %zu steps", s->period);
	else
		fputs(s->rare == PP_RARE_ONE_OFF && s->rares > 1 ? "one after the other" : words[s->rare], to);
	fprintf(to, ", %s longer each, %s per step of all", pp_diff_time(each, s->rare_each), pp_diff_time(cost, s->rare_cost));
	if (s->start_ups && s->rare != PP_RARE_START_UP)
		fprintf(to, ", and %zu at the begin", s->start_ups);
}

/* How often exceptional steps are, and how long. */
static void write_rares(const struct pp_diff *d, FILE *to)
{
	size_t any = 0;

	for (size_t r = 0; r < d->runs; r++)
		any += d->run[r].course.rare != PP_RARE_NONE;
	for (size_t r = 0; r < d->runs && any; r++) {
		fprintf(to, "  %-11s %c: ", r ? "" : "Exceptions:", letter(r));
		write_exceptions(&d->run[r], to);
		fprintf(to, "%s\n", d->chance[r] < 0.01 ? "; chance alone hardly makes that difference to A" : "");
	}
}

static void write_runs(const struct pp_diff *d, FILE *to)
{
	for (size_t r = 0; r < d->runs; r++) {
		const struct pp_dataset *s = &d->run[r].d;
		char date[32] = "no date", steps[128] = "", program[128];
		struct tm tm;

		pp_text_program(s->command, program, sizeof(program));
		pp_text_steps(s, steps, sizeof(steps));
		if (s->epoch_realtime_ns) {
			pp_local_time((time_t)((double)s->epoch_realtime_ns / 1e9 + (double)s->window_begin_ns / 1e9), &tm);
			strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
		}
		fprintf(to, "%c  %s  %" PRId32 " of %" PRId32 " ranks     %s     %s     session %s     %s\n", letter(r), program,
		        s->ranks_delivered, s->ranks_asked, steps, date, s->session, d->run[r].given);
	}
}

/* "rank 3: Host compute +4.02 ms per step (60.5 us to 4.08 ms); the other ranks wait for it +4.0 ms per step on average" */
static void write_rank(const struct pp_diff *d, size_t first, size_t rows, const char *label, FILE *to)
{
	const struct pp_diff_rank *main = NULL, *late = NULL;
	char by[32], a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	size_t others = 0;

	for (size_t i = first; i < first + rows; i++) {
		if (d->rank[i].quantity == PP_DIFF_LATE)
			late = &d->rank[i];
		else if (!main)
			main = &d->rank[i];
		else
			others++;
	}
	fprintf(to, "  %-11s rank %" PRId32, label, d->rank[first].rank);
	if (d->rank[first].other != d->rank[first].rank)
		fprintf(to, " (in %c %" PRId32 ")", letter(d->runs - 1), d->rank[first].other);
	fputs(": ", to);
	if (main)
		fprintf(to, "%s %s per step (%s to %s)", pp_diff_quantity_name(main->quantity),
		        pp_diff_signed(by, main->b - main->a), pp_diff_time(a, main->a), pp_diff_time(b, main->b));
	if (others)
		fprintf(to, ", and %zu other categor%s", others, others == 1 ? "y" : "ies");
	if (late)
		fprintf(to, "%sthe other ranks wait for it %s per step on average (%s to %s)", main ? "; " : "",
		        pp_diff_signed(by, late->b - late->a), pp_diff_time(a, late->a), pp_diff_time(b, late->b));
	fputc('\n', to);
}

static void write_ranks(const struct pp_diff *d, FILE *to)
{
	size_t shown = 0;

	for (size_t i = 0, rows; i < d->ranks; i += rows) {
		for (rows = 1; i + rows < d->ranks && d->rank[i + rows].rank == d->rank[i].rank;)
			rows++;
		if (shown++ < MOST_RANKS)
			write_rank(d, i, rows, i ? "" : "Ranks:", to);
	}
	if (shown > MOST_RANKS)
		fprintf(to, "  %-11s and %zu more, see --json or --html\n", "", shown - MOST_RANKS);
	if (!shown && d->shared->ranks > 1)
		fprintf(to, "  Ranks:      none changed more than the other ranks of its role (%zu compared)\n", d->shared->ranks);
}

/* What the sessions do not share is compared as a whole only. */
static void write_shared(const struct pp_diff *d, FILE *to)
{
	const struct pp_diff_shared *s = d->shared;

	for (int i = 0; i < 2; i++)
		if (s->left[i][0])
			fprintf(to, "  %-11s ranks %s of %c only as a part of all ranks: the other session does not have them\n",
			        "Compared:", s->left[i], letter(i ? d->runs - 1 : 0));
	if (s->ranks_left)
		fprintf(to, "  Compared:   categories of the first %d roles; %zu ranks have another role, or none\n",
		        PP_DIFF_ROLES_MOST, s->ranks_left);
}

static void write_environment(const struct pp_diff *d, FILE *to)
{
	if (!d->environments)
		fprintf(to, "  Equal:      command, hosts, ranks, devices, versions, options (%zu facts)\n", d->environments_same);
	for (size_t i = 0; i < d->environments; i++) {
		const struct pp_diff_environment *e = &d->environment[i];

		fprintf(to, "  %-11s %s: ", i ? "" : "Differs:", e->what);
		for (size_t r = 0; r < d->runs; r++) {
			if (r && !strcmp(e->value[r], e->value[r - 1]))
				continue;
			fprintf(to, "%s%c %s", r ? "; " : "", letter(r), e->value[r][0] ? e->value[r] : "unknown");
		}
		fputc('\n', to);
	}
}

static void write_causes(const struct pp_diff *d, FILE *to)
{
	char by[32], a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	for (size_t i = 0; i < d->causes && i < MOST_RANKS; i++)
		fprintf(to, "  %-11s rank %" PRId32 ", %s: the other ranks wait %s per step on average because of it (%s to %s)\n",
		        i ? "" : "Causes:", d->cause[i].rank, d->cause[i].reason, pp_diff_signed(by, d->cause[i].b - d->cause[i].a),
		        pp_diff_time(a, d->cause[i].a), pp_diff_time(b, d->cause[i].b));
	if (d->causes > MOST_RANKS)
		fprintf(to, "  %-11s and %zu more, see --json or --html\n", "", d->causes - MOST_RANKS);
}

void pp_diff_text(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to)
{
	const struct pp_noise *n = &pp_diff_last(d)->step;
	char text[PP_DIFF_SENTENCE], low[32], high[32], power[PP_TEXT_UNIT];

	write_runs(d, to);
	pp_diff_sentence(d, text, sizeof(text));
	fprintf(to, "\n  Result:     %s\n", text);
	if (n->word != PP_NOISE_FEW)
		fprintf(to, "  Evidence:   99 %% interval of the difference %s to %s; one of %s is found in 9 of 10 pairs\n",
		        pp_diff_signed(low, n->low), pp_diff_signed(high, n->high), pp_diff_time(power, n->power));
	write_check(d, check, to);
	write_courses(d, to);
	write_rares(d, to);
	write_environment(d, to);
	write_shared(d, to);
	write_ranks(d, to);
	write_causes(d, to);
	pp_diff_text_tables(d, to);
}
