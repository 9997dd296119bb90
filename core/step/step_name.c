/* Splits names of ranges into what repeats and what numbers it; see step_name.h. */
#include "core/step/step_name.h"

#include <string.h>
#include <strings.h>

#include "core/ring/intern.h"

enum { STEM_MOST = 512, DIGITS_MOST = 18 }; /* bytes of a name whose inner numbers are left out; digits of a number */

struct row {
	const char *begin, *inside, *name; /* name: of an iteration; NULL: a part */
	int is_numbered;
};

static const struct row rows[] = {
#define PP_ITERATION(begin, inside, name, is_numbered) {begin, inside, name, is_numbered},
#define PP_PART(begin, inside) {begin, inside, NULL, 0},
#include "core/step/annotation.def"
#undef PP_PART
#undef PP_ITERATION
};

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static const struct row *row_of(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t begin = strlen(rows[i].begin), inside = strlen(rows[i].inside);

		if (length >= begin && !memcmp(text, rows[i].begin, begin) &&
		    (!inside || memmem(text + begin, length - begin, rows[i].inside, inside)))
			return &rows[i];
	}
	return NULL;
}

/* The number behind a separator at the end, without decoration. The stem's length; 0: there is none. */
static size_t split_end(const char *text, size_t length, int64_t *ret_number)
{
	size_t digits = 0;
	int64_t number = 0;

	while (length > 0 && strchr(" #=-*~|>", text[length - 1])) /* '\0' too */
		length--;
	while (digits < length && is_digit(text[length - 1 - digits]))
		digits++;
	if (digits == 0 || digits > DIGITS_MOST || digits == length || !strchr(" _#:=/-.", text[length - 1 - digits]))
		return 0;
	if (length > digits + 1 && text[length - 1 - digits] == '.' && is_digit(text[length - 2 - digits])) /* of a fraction */
		return 0;
	for (size_t i = length - digits; i < length; i++)
		number = number * 10 + (text[i] - '0');
	*ret_number = number;
	length -= digits;
	while (length > 0 && strchr(" _#:=/-.", text[length - 1]))
		length--;
	return length;
}

/* Each number that no letter touches becomes a #. Bytes written; 0: there is no such number, or no letter. */
static size_t drop_numbers(const char *text, size_t length, char *to)
{
	size_t n = 0, numbers = 0, letters = 0;

	for (size_t i = 0; i < length; n++) {
		size_t end = i;

		letters += is_letter(text[i]);
		while (end < length && is_digit(text[end]))
			end++;
		if (end > i && !(i && is_letter(text[i - 1])) && !(end < length && is_letter(text[end]))) {
			to[n] = '#';
			numbers++;
			i = end;
			continue;
		}
		for (to[n] = text[i++]; i < end; i++) /* a number in a word */
			to[++n] = text[i];
	}
	return numbers && letters ? n : 0;
}

static int has_word(const char *text, size_t length, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= length; i++)
		if (!strncasecmp(text + i, word, n))
			return 1;
	return 0;
}

static int says_step(const char *text, size_t length)
{
	return has_word(text, length, "step") || has_word(text, length, "iter") ||
	       (has_word(text, length, "batch") && !has_word(text, length, "micro"));
}

/* The first number in the name: of iterations it may be theirs. */
static int first_number(const char *text, size_t length, int64_t *ret_number)
{
	size_t i = 0, digits = 0;
	int64_t number = 0;

	while (i < length && !is_digit(text[i]))
		i++;
	for (; i < length && is_digit(text[i]) && digits < DIGITS_MOST; i++, digits++)
		number = number * 10 + (text[i] - '0');
	*ret_number = number;
	return digits > 0;
}

struct pp_step_name pp_step_name(struct pp_intern *names, uint32_t id)
{
	struct pp_step_name name = {.stem = id};
	size_t length, stem, bytes;
	const char *text = pp_intern_text(names, id, &length);
	const struct row *row = row_of(text, length);
	char without[STEM_MOST];

	if (row) {
		name.word = row->name ? PP_STEP_WORD_ITERATION : PP_STEP_WORD_PART;
		name.numbered = row->is_numbered && first_number(text, length, &name.number);
		if (row->name)
			name.stem = pp_intern_put(names, row->name, strlen(row->name)) ?: id;
		return name;
	}
	stem = split_end(text, length, &name.number);
	name.numbered = stem > 0;
	length = stem ? stem : length;
	bytes = length <= STEM_MOST ? drop_numbers(text, length, without) : 0;
	name.may_be_parts = (stem || bytes) && !says_step(text, length);
	if (!stem && !bytes)
		return name;
	name.stem = bytes ? pp_intern_put(names, without, bytes) : pp_intern_put(names, text, stem);
	if (!name.stem)
		name = (struct pp_step_name){.stem = id};
	return name;
}
