/* Writes the first screen of a comparison's page as plain HTML; see screen.h. */
#include "launchers/diff/screen.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "aggregate/report/data/plain_text.h"
#include "aggregate/write/text/text.h"
#include "core/base/forked.h"
#include "launchers/diff/sections.h"
#include "launchers/diff/text.h"
#include "launchers/diff/text_tables.h"

enum { MOST_RUNS = 6, TEXT = 512 };

struct fact {
	char value[64], remark[256];
};

static char letter(size_t run)
{
	return (char)('A' + run);
}

static void put_run(const struct pp_diff_run *run, size_t r, FILE *to)
{
	const struct pp_dataset *s = &run->d;
	char date[32] = "no date", steps[128] = "", program[128], text[TEXT];
	struct tm tm;

	pp_text_program(s->command, program, sizeof(program));
	pp_text_steps(s, steps, sizeof(steps));
	if (s->epoch_realtime_ns) {
		pp_local_time((time_t)((double)s->epoch_realtime_ns / 1e9 + (double)s->window_begin_ns / 1e9), &tm);
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	}
	fprintf(to, "<span><b>%c</b> ", letter(r));
	pp_plain_text(to, run->given);
	snprintf(text, sizeof(text), ": %s, %" PRId32 " of %" PRId32 " rank%s, %s, %s", program, s->ranks_delivered, s->ranks_asked,
	         s->ranks_asked == 1 ? "" : "s", steps, date);
	pp_plain_text(to, text);
	fputs("</span>\n", to);
}

void pp_diff_screen_job(const struct pp_diff *d, FILE *to)
{
	const size_t left = d->runs > MOST_RUNS ? d->runs - MOST_RUNS : 0;

	for (size_t r = 0; r < d->runs; r++)
		if (!r || r > left)
			put_run(&d->run[r], r, to);
		else if (r == 1)
			fprintf(to, "<span>%zu more</span>\n", left);
}

/* Nothing can be said: why. */
static int is_undecided(const struct pp_diff *d, const struct pp_noise *n, const char *what, struct fact *f)
{
	char why[PP_DIFF_WHY], by[32];

	if (n->word >= PP_NOISE_SAME)
		return 0;
	snprintf(f->value, sizeof(f->value), "undecided");
	pp_diff_why(d, n, why);
	snprintf(f->remark, sizeof(f->remark), "%s: %s; %s", what, pp_diff_signed(by, n->b - n->a), why);
	return 1;
}

static void say_change(const struct pp_diff *d, struct fact *f)
{
	const struct pp_noise *n = &pp_diff_last(d)->step;
	char by[32], low[32], high[32];

	if (is_undecided(d, n, "measured", f))
		return;
	if (n->word == PP_NOISE_SAME)
		snprintf(f->value, sizeof(f->value), "no difference");
	else
		snprintf(f->value, sizeof(f->value), "%s (%+.1f %%)", pp_diff_signed(by, n->b - n->a),
		         n->a > 0 ? 100 * (n->b - n->a) / n->a : 0);
	snprintf(f->remark, sizeof(f->remark), "99 %% interval %s to %s, per %sstep of the slowest rank",
	         pp_diff_signed(low, n->low), pp_diff_signed(high, n->high), pp_diff_last(d)->is_short ? "short " : "");
}

static void say_floor(const struct pp_diff *d, struct fact *f)
{
	const struct pp_noise *n = &pp_diff_last(d)->step;
	char time[PP_TEXT_UNIT];

	if (n->word == PP_NOISE_FEW || n->word == PP_NOISE_UNKNOWN) {
		snprintf(f->value, sizeof(f->value), "unknown");
		snprintf(f->remark, sizeof(f->remark), "a session has less than %d usual steps", PP_NOISE_STEPS);
		return;
	}
	snprintf(f->value, sizeof(f->value), "%s", pp_diff_time(time, n->floor));
	snprintf(f->remark, sizeof(f->remark), "a difference of %s is found in 9 of 10 pairs", pp_diff_time(time, n->power));
}

/* The category of all ranks that changed most; if none did, the undecided one that may have. */
static void say_category(const struct pp_diff *d, struct fact *f)
{
	const struct pp_noise *all = pp_diff_last(d)->group[0];
	char by[32], a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	int most = 0, open = 0;

	for (int q = 1; q <= PP_CATEGORIES; q++) {
		const double size = fabs(all[q].b - all[q].a);

		if (all[q].word > PP_NOISE_SAME && (!most || size > fabs(all[most].b - all[most].a)))
			most = q;
		if (all[q].word < PP_NOISE_SAME && (!open || size > fabs(all[open].b - all[open].a)) && !isnan(size) &&
		    fmax(all[q].a, all[q].b) > 0)
			open = q;
	}
	if (pp_diff_run_is_same(&d->run[0], &d->run[d->runs - 1])) /* whatever its noise is */
		open = 0;
	if (!most && open && is_undecided(d, &all[open], pp_diff_quantity_name(open), f))
		return;
	if (most) {
		snprintf(f->value, sizeof(f->value), "%s", pp_diff_quantity_name(most));
		snprintf(f->remark, sizeof(f->remark), "%s per step: %s in %c, %s in %c, mean of the ranks",
		         pp_diff_signed(by, all[most].b - all[most].a), pp_diff_time(a, all[most].a), 'A',
		         pp_diff_time(b, all[most].b), letter(d->runs - 1));
	} else {
		snprintf(f->value, sizeof(f->value), "none");
		snprintf(f->remark, sizeof(f->remark), "no category changed by more than its noise");
	}
}

static void say_ranks(const struct pp_diff *d, struct fact *f)
{
	const struct pp_diff_rank *first = d->rank;
	char by[32];

	if (!d->shared->ranks) {
		snprintf(f->value, sizeof(f->value), "unknown");
		snprintf(f->remark, sizeof(f->remark), "no rank is in all sessions");
	} else if (pp_diff_last(d)->step.word == PP_NOISE_FEW) {
		snprintf(f->value, sizeof(f->value), "undecided");
		snprintf(f->remark, sizeof(f->remark), "a session has less than %d usual steps", PP_NOISE_STEPS);
	} else if (!d->ranks) {
		snprintf(f->value, sizeof(f->value), "none");
		snprintf(f->remark, sizeof(f->remark), "none of %zu more than the other ranks of its role", d->shared->ranks);
	} else {
		if (d->ranks_changed == 1)
			snprintf(f->value, sizeof(f->value), "rank %" PRId32, first->rank);
		else
			snprintf(f->value, sizeof(f->value), "%zu of %zu", d->ranks_changed, d->shared->ranks);
		snprintf(f->remark, sizeof(f->remark), "rank %" PRId32 ": %s %s per step", first->rank,
		         first->quantity == PP_DIFF_LATE ? "mean wait of the other ranks for it"
		                                         : pp_diff_quantity_name(first->quantity),
		         pp_diff_signed(by, first->b - first->a));
	}
}

static void put_check(const struct pp_diff *d, const struct pp_diff_check *c, FILE *to)
{
	static const char *const word[] = {
	        [PP_DIFF_CHECK_PASSED] = "passed", [PP_DIFF_CHECK_FAILED] = "failed", [PP_DIFF_CHECK_UNDECIDED] = "undecided"};

	if (c->word == PP_DIFF_CHECK_NONE)
		return;
	fprintf(to, "\n<p id=\"check\">--fail-above %g %%: <b%s>%s</b> (%c against A: %+.1f %%)</p>", c->limit_percent,
	        c->word == PP_DIFF_CHECK_FAILED ? " class=\"bad\"" : "", word[c->word], letter(d->runs - 1), c->percent);
}

void pp_diff_screen_head(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to)
{
	static const struct {
		const char *name;
		void (*say)(const struct pp_diff *d, struct fact *f);
	} fact[] = {{"Change", say_change},
	            {"Noise floor", say_floor},
	            {"Changed most", say_category},
	            {"Ranks that changed", say_ranks}};
	char text[PP_DIFF_SENTENCE], sentence[PP_DIFF_SENTENCE + 2];

	pp_diff_sentence(d, text, sizeof(text));
	snprintf(sentence, sizeof(sentence), "%c%s.", toupper((unsigned char)text[0]), text + 1);
	pp_diff_put(to, "h1", sentence);
	fputs("\n<dl class=\"facts\">", to);
	for (size_t i = 0; i < sizeof(fact) / sizeof(fact[0]); i++) {
		struct fact f = {"", ""};

		fact[i].say(d, &f);
		fputs("\n<div>", to);
		pp_diff_put(to, "dt", fact[i].name);
		pp_diff_put(to, "dd", f.value);
		pp_diff_put(to, "dd class=\"n\"", f.remark);
		fputs("</div>", to);
	}
	fputs("\n</dl>", to);
	put_check(d, check, to);
}
