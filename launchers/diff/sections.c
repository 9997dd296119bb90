/* Writes the sections of a comparison's page, each with its finding; see sections.h. */
#include "launchers/diff/sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "aggregate/report/data/fact.h"
#include "aggregate/report/data/plain_text.h"
#include "aggregate/write/text/text.h"
#include "launchers/diff/text.h"
#include "launchers/diff/text_tables.h"

enum { TEXT = 1024, LISTED = 3 };

void pp_diff_put(FILE *to, const char *tag, const char *text)
{
	char units[TEXT];

	pp_sentence_units(text, units, sizeof(units));
	fprintf(to, "<%s>", tag);
	pp_plain_text(to, units);
	fprintf(to, "</%.*s>", (int)strcspn(tag, " "), tag);
}

static void __attribute__((format(printf, 2, 3))) add(char line[TEXT], const char *fmt, ...)
{
	const size_t used = strlen(line);
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(line + used, TEXT - used, fmt, arguments);
	va_end(arguments);
}

static void steps_line(const struct pp_diff *d, char line[TEXT])
{
	char time[PP_TEXT_UNIT];

	for (size_t r = 0; r < d->runs; r++) {
		if (r && d->runs > 6 && r + 5 < d->runs)
			continue;
		add(line, "%s%c %s", r ? ", " : "", (char)('A' + r), pp_diff_time(time, d->step[r].usual));
		if (d->half[r] > 0 && d->runs == 2)
			add(line, " (99 %% \xc2\xb1 %s)", pp_diff_time(time, d->half[r]));
	}
	add(line, "; usual step of the slowest rank");
}

/* What of all ranks changed: at most a few names. */
static size_t add_changed(const struct pp_noise *all, char line[TEXT], size_t *ret_open)
{
	size_t changed = 0;
	char by[32];

	*ret_open = 0;
	for (int q = 1; q <= PP_CATEGORIES; q++) {
		*ret_open += all[q].word < PP_NOISE_SAME && fmax(all[q].a, all[q].b) > 0;
		if (all[q].word <= PP_NOISE_SAME)
			continue;
		if (changed++ < LISTED)
			add(line, "%s%s %s", changed > 1 ? ", " : "", pp_diff_quantity_name(q),
			    pp_diff_signed(by, all[q].b - all[q].a));
	}
	if (changed > LISTED)
		add(line, " and %zu more", changed - LISTED);
	return changed;
}

static void categories_line(const struct pp_diff *d, char line[TEXT])
{
	size_t open, changed = add_changed(pp_diff_last(d)->group[0], line, &open);

	if (!changed)
		add(line, "none changed by more than its noise");
	if (open && !pp_diff_run_is_same(&d->run[0], &d->run[d->runs - 1]))
		add(line, "%s%zu undecided", changed ? "; " : ", ", open);
}

static void jumps_line(const struct pp_diff *d, char line[TEXT])
{
	size_t jumps = 0;

	if (d->runs < 3)
		return;
	for (size_t r = 0; r + 1 < d->runs; r++)
		jumps += d->before[r].step.word > PP_NOISE_SAME;
	add(line, "the step time changed between %zu of %zu pairs of sessions that follow each other", jumps, d->runs - 1);
}

static void ranks_line(const struct pp_diff *d, char line[TEXT])
{
	if (!d->shared->ranks)
		return;
	if (!d->ranks)
		add(line, "none of %zu changed more than the other ranks of its role", d->shared->ranks);
	else
		add(line, "%zu of %zu changed more than the other ranks of their role, most rank %" PRId32, d->ranks_changed,
		    d->shared->ranks, d->rank[0].rank);
}

static void causes_line(const struct pp_diff *d, char line[TEXT])
{
	char by[32];

	if (d->causes)
		add(line, "rank %" PRId32 ", %s: the other ranks wait %s per step on average because of it", d->cause[0].rank,
		    d->cause[0].reason, pp_diff_signed(by, d->cause[0].b - d->cause[0].a));
	else if (d->run[0].d.blames && d->run[d->runs - 1].d.blames)
		add(line, "none changed by more than the noise floor of the step");
	if (d->causes > 1)
		add(line, ", and %zu more", d->causes - 1);
}

static void collectives_line(const struct pp_diff *d, char line[TEXT])
{
	const struct pp_diff_operation *first = NULL;
	size_t changed = 0;

	for (size_t i = 0; i < d->operations; i++) {
		const int is = pp_diff_operation_changed(&d->operation[i]);

		changed += (size_t)is;
		first = is && !first ? &d->operation[i] : first;
	}
	if (!d->operations)
		return;
	add(line, "%zu of %zu changed", changed, d->operations);
	if (first)
		add(line, ", first %s", first->name);
}

static void operators_line(const struct pp_diff *d, char line[TEXT])
{
	char by[32];

	if (d->ops)
		add(line, "%zu changed by more than the noise floor, most %s, %s per step and rank", d->ops, d->op[0].name,
		    pp_diff_signed(by, d->op[0].b - d->op[0].a));
	else if (d->ops_below)
		add(line, "none of %zu changed by more than the noise floor of the step", d->ops_below);
}

static void surroundings_line(const struct pp_diff *d, char line[TEXT])
{
	if (!d->environments)
		add(line, "all %zu facts that are compared are equal", d->environments_same);
	for (size_t i = 0; i < d->environments && i < LISTED; i++)
		add(line, "%s%s", i ? ", " : "differ: ", d->environment[i].what);
	if (d->environments > LISTED)
		add(line, " and %zu more", d->environments - LISTED);
}

void pp_diff_sections(const struct pp_diff *d, FILE *to)
{
	static const struct {
		const char *id, *name;
		void (*say)(const struct pp_diff *d, char line[TEXT]); /* nothing: there are no data */
	} section[] = {{"steps", "Step time", steps_line},
	               {"surroundings", "Surroundings", surroundings_line},
	               {"categories", "Categories", categories_line},
	               {"jumps", "Ups and downs", jumps_line},
	               {"ranks", "Ranks", ranks_line},
	               {"causes", "Causes of waiting", causes_line},
	               {"collectives", "Collectives", collectives_line},
	               {"operators", "Operators", operators_line}};
	char line[TEXT], absent[TEXT] = "";

	for (size_t i = 0; i < sizeof(section) / sizeof(section[0]); i++) {
		line[0] = '\0';
		section[i].say(d, line);
		if (!line[0] && section[i].say == jumps_line)
			continue;
		if (!line[0]) {
			add(absent, "%s%s", absent[0] ? ", " : "No data for: ", section[i].name);
			continue;
		}
		fprintf(to, "<details class=\"section\" id=\"%s\"><summary><b>%s</b> ", section[i].id, section[i].name);
		pp_diff_put(to, "span", line);
		fputs("</summary></details>\n", to);
	}
	if (absent[0])
		pp_diff_put(to, "p class=\"absent\"", absent);
}
