/* Says the first finding in one sentence; see fact.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/report/data/fact.h"
#include "aggregate/tools/finding_word.h"
#include "core/base/units.h"
#include "core/base/utf8.h"

static int is_inner(char c) /* of a character of several bytes */
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void pp_sentence_units(const char *text, char *to, size_t size)
{
	const char *at = text;
	size_t used = 0;

	for (; *at && used + 4 < size; at++) {
		const int is_number = at > text && at[-1] >= '0' && at[-1] <= '9';
		const int is_end = is_number && !strncmp(at, " us", 3) && !strchr("abcdefghijklmnopqrstuvwxyz_0123456789", at[3]);

		if (is_end || (is_number && !strcmp(at, " us"))) {
			used += (size_t)snprintf(to + used, size - used, " \u00b5");
			at++;
		} else if (!strncmp(at, "<= ", 3)) {
			used += (size_t)snprintf(to + used, size - used, "\u2264");
			at++;
		} else {
			to[used++] = *at;
		}
	}
	for (int is_cut = is_inner(*at); is_cut && used; used--)
		is_cut = is_inner(to[used - 1]);
	to[used] = '\0';
}

static void capitalise(char *text)
{
	if (text[0] >= 'a' && text[0] <= 'z')
		text[0] = (char)(text[0] - 'a' + 'A');
}

void pp_sentence_whole(const char *finding, char *to, size_t size)
{
	char text[PP_BOTTLENECK_TEXT + 32];

	snprintf(text, sizeof(text), "%s%s", strncmp(finding, "unknown", 7) ? "" : "The bottleneck is ", finding);
	capitalise(text);
	pp_sentence_units(text, to, size);
}

const char *pp_sentence_kind(int kind, char *to, size_t size)
{
	snprintf(to, size, "%s", pp_finding_word(kind));
	for (char *at = to; (at = strchr(at, '_'));)
		*at = kind == PP_FINDING_ONE_OFF || kind == PP_FINDING_START_UP ? '-' : ' ';
	return to;
}

/* As much of a text as has room: whole sentences, or else whole parts of the first one. */
static void cut(char *text, size_t most)
{
	size_t end = 0;

	if (strlen(text) <= most)
		return;
	for (const char *at = text; (at = strstr(at, ". ")) && (size_t)(at - text) <= most; at++)
		end = (size_t)(at - text);
	for (const char *at = text; !end && (at = strpbrk(at, ",;:")) && (size_t)(at - text) <= most; at++)
		if (!strstr(at + 1, ", ") || (size_t)(strstr(at + 1, ", ") - text) > most)
			end = (size_t)(at - text);
	text[end ? end : (size_t)pp_utf8_fit(text, (int)most)] = '\0';
}

/* " in 27 of 27 usual steps", " from step 30 on" */
static void say_when(const struct pp_row_finding *f, char *to, size_t size)
{
	if (f->kind == PP_FINDING_SUDDEN)
		snprintf(to, size, " from step %" PRId64 " on", f->finding_first);
	else if (f->kind == PP_FINDING_GROWING)
		snprintf(to, size, " more from step to step");
	else if (f->of_steps > 1)
		snprintf(to, size, " in %" PRIu32 " of %" PRIu32 " usual steps", f->finding_steps, f->of_steps);
	else
		snprintf(to, size, " in the step");
}

/* "4.08 ms longer in Host compute" */
static void say_more(const struct pp_row_finding *f, char *to, size_t size)
{
	const char *latest = f->finding_ranks > 1 ? "the latest " : "";
	char ns[PP_TEXT_UNIT];

	pp_text_time(ns, f->more_ns);
	if (f->finding_reason <= 0 || f->finding_reason > PP_CATEGORIES)
		snprintf(to, size, "%s%s longer%s", latest, ns,
		         f->finding_reason == PP_REASON_BETWEEN_STEPS ? " between steps" : "");
	else
		snprintf(to, size, "%s%s longer in %s%s", latest, ns, pp_reason_name(f->finding_reason),
		         f->finding_reason == PP_CATEGORY_OTHER ? " (sleep, Python, unmarked code)" : "");
}

static void say_ranks(const struct pp_row_finding *f, char *to, size_t size)
{
	const char *are = f->finding_ranks > 1 ? "are" : "is";
	char more[96], when[64];

	say_more(f, more, sizeof(more));
	say_when(f, when, sizeof(when));
	if (f->kind == PP_FINDING_PHASE)
		snprintf(to, size, "%s delay%s the others: %s, before calls that no other rank makes", f->who,
		         f->finding_ranks > 1 ? "" : "s", more);
	else if (f->kind == PP_FINDING_NOISE)
		snprintf(to, size, "%s %s late%s, partly for lack of a core: %s than the median of the others", f->who, are, when,
		         more);
	else
		snprintf(to, size, "%s %s late%s: %s than the median of the other ranks", f->who, are, when, more);
}

void pp_sentence_of(const struct pp_answer *a, char to[PP_SENTENCE_TEXT])
{
	static const char none[] = ". " PP_FINDING_NO_WAIT;
	const struct pp_row_finding *f = a->finding;
	const size_t length = strlen(a->bottleneck), end = sizeof(none) - 1;
	char text[PP_SENTENCE_TEXT];

	if (f && pp_finding_names_ranks(f))
		say_ranks(f, text, sizeof(text));
	else if (f && f->kind == PP_FINDING_CATEGORY && length > end && !strcmp(a->bottleneck + length - end, none))
		snprintf(text, sizeof(text), "No bottleneck between ranks: %.*s", (int)(length - end), a->bottleneck);
	else
		snprintf(text, sizeof(text), "%s%s", strncmp(a->bottleneck, "unknown", 7) ? "" : "The bottleneck is ",
		         a->bottleneck);
	capitalise(text);
	cut(text, PP_SENTENCE_MOST);
	pp_sentence_units(text, to, PP_SENTENCE_TEXT);
}
