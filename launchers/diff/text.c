/* Writes a comparison as text: the result, then what changed; see diff.h. Tables are in text_tables.c. */
#include "launchers/diff/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/text/text.h"
#include "core/base/forked.h"
#include "launchers/diff/text_tables.h"

enum { MOST_RANKS = 6 };

static int64_t whole(double ns)
{
	return fabs(ns) < 9e18 ? (int64_t)llround(ns) : 0;
}

const char *pp_diff_word(enum pp_noise_word word)
{
	static const char *const words[] = {"undecided", "undecided", "no_difference", "longer", "shorter"};

	return words[word];
}

static char letter(size_t run)
{
	return (char)('A' + run);
}

/* Also a copy of it elsewhere. */
static int is_same_session(const struct pp_dataset *a, const struct pp_dataset *b)
{
	return a->session[0] && !strcmp(a->session, b->session) && a->epoch_realtime_ns == b->epoch_realtime_ns &&
	       a->window_begin_ns == b->window_begin_ns && a->window_end_ns == b->window_end_ns && a->workers == b->workers;
}

void pp_diff_sentence(const struct pp_diff *d, char *text, size_t size)
{
	const struct pp_noise *n = &pp_diff_last(d)->step;
	char a = letter(0), b = letter(d->runs - 1), by[32], of[PP_TEXT_UNIT], cores[PP_TEXT_UNIT];
	double percent = n->a > 0 ? 100 * (n->b - n->a) / n->a : 0;

	pp_diff_signed(by, n->b - n->a);
	pp_text_time(of, whole(n->a));
	if (is_same_session(&d->run[0].d, &d->run[d->runs - 1].d))
		snprintf(text, size, "%c and %c are the same session, %s: there is nothing to compare", a, b, d->run[0].d.session);
	else if (n->word == PP_NOISE_UNDECIDED)
		snprintf(text, size,
		         "undecided: a session has less than %d steps. %c against %c: %s per step (%+.1f %% of %c's step, %s)",
		         PP_NOISE_STEPS, b, a, by, percent, a, of);
	else if (n->word == PP_NOISE_CORES)
		snprintf(text, size,
		         "undecided: %c against %c: %s per step (%+.1f %% of %c's step, %s). Ranks that were ready without "
		         "a core explain up to %s of it",
		         b, a, by, percent, a, of, pp_text_time(cores, whole(pp_diff_last(d)->cores)));
	else if (n->word == PP_NOISE_SAME)
		snprintf(text, size, "no difference between %c and %c: %s per step (%+.1f %% of %c's step, %s) is within the noise",
		         a, b, by, percent, a, of);
	else
		snprintf(text, size, "%c is %s than %c: %s per step (%+.1f %% of %c's step, %s)", b,
		         n->word == PP_NOISE_LONGER ? "slower" : "faster", a, by, percent, a, of);
}

static void write_check(const struct pp_diff *d, const struct pp_diff_check *c, FILE *to)
{
	static const char *const why[] = {
	        [PP_DIFF_CHECK_PASSED] = "passed", [PP_DIFF_CHECK_FAILED] = "failed", [PP_DIFF_CHECK_UNDECIDED] = "undecided"};
	enum pp_noise_word word = pp_diff_last(d)->step.word;

	if (c->word == PP_DIFF_CHECK_NONE)
		return;
	fprintf(to, "  Check:      --fail-above %g%%: %s: ", c->limit_percent, why[c->word]);
	if (c->word == PP_DIFF_CHECK_UNDECIDED)
		fputs(word == PP_NOISE_CORES ? "the ranks lacked cores\n" : "too few steps\n", to);
	else if (word == PP_NOISE_SAME)
		fprintf(to, "the difference of %+.1f %% is within the noise\n", c->percent);
	else
		fprintf(to, "the difference of %+.1f %% is significant and %s the limit\n", c->percent,
		        c->percent > c->limit_percent ? "above" : "not above");
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

/* "rank 3: Host compute +4.02 ms per step (60.5 us to 4.08 ms); each other rank waits +4.0 ms longer for it" */
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
	fprintf(to, "  %-11s rank %" PRId32 ": ", label, d->rank[first].rank);
	if (main)
		fprintf(to, "%s %s per step (%s to %s)", pp_diff_quantity_name(main->quantity),
		        pp_diff_signed(by, main->b - main->a), pp_text_time(a, whole(main->a)), pp_text_time(b, whole(main->b)));
	if (others)
		fprintf(to, ", and %zu other categor%s", others, others == 1 ? "y" : "ies");
	if (late)
		fprintf(to, "%seach other rank waits for it %s per step (%s to %s)", main ? "; " : "",
		        pp_diff_signed(by, late->b - late->a), pp_text_time(a, whole(late->a)), pp_text_time(b, whole(late->b)));
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
		fprintf(to, "  Ranks:      none changed other than the ranks of its role (%zu compared)\n", d->shared->ranks);
}

/* What the sessions do not share is not compared. */
static void write_shared(const struct pp_diff *d, FILE *to)
{
	int differs = 0;

	for (size_t r = 0; r < d->runs; r++)
		differs |= d->run[r].d.workers != d->shared->ranks;
	if (differs)
		fprintf(to, "  Compared:   only the %zu rank%s that delivered data in every session\n", d->shared->ranks,
		        d->shared->ranks == 1 ? "" : "s");
	if (d->shared->ranks_left)
		fprintf(to, "  Compared:   categories of the first %d roles; %zu ranks have another role, or none\n",
		        PP_DIFF_ROLES_MOST, d->shared->ranks_left);
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
		fprintf(to, "  %-11s rank %" PRId32 ", %s: each other rank waits %s per step because of it (%s to %s)\n",
		        i ? "" : "Causes:", d->cause[i].rank, d->cause[i].reason, pp_diff_signed(by, d->cause[i].b - d->cause[i].a),
		        pp_text_time(a, whole(d->cause[i].a)), pp_text_time(b, whole(d->cause[i].b)));
	if (d->causes > MOST_RANKS)
		fprintf(to, "  %-11s and %zu more, see --json or --html\n", "", d->causes - MOST_RANKS);
}

void pp_diff_text(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to)
{
	const struct pp_noise *n = &pp_diff_last(d)->step;
	char text[400], low[32], high[32], floor[PP_TEXT_UNIT];

	write_runs(d, to);
	pp_diff_sentence(d, text, sizeof(text));
	fprintf(to, "\n  Result:     %s\n", text);
	if (n->word != PP_NOISE_UNDECIDED)
		fprintf(to, "  Evidence:   99 %% interval of the difference %s to %s; noise floor %s\n",
		        pp_diff_signed(low, n->low), pp_diff_signed(high, n->high), pp_text_time(floor, whole(n->floor)));
	write_check(d, check, to);
	write_environment(d, to);
	write_shared(d, to);
	write_ranks(d, to);
	write_causes(d, to);
	pp_diff_text_tables(d, to);
}
