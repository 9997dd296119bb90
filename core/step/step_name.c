/* Splits names of ranges into what repeats and what numbers it; see step_name.h. */
#include "core/step/step_name.h"

#include <string.h>
#include <strings.h>

#include "core/ring/intern.h"

enum { STEM_MOST = 512, DIGITS_MOST = 18 }; /* bytes of a name whose inner numbers are left out; digits of a number */

struct row {
	const char *begin, *inside, *name; /* name: of an iteration; NULL: a part */
	int is_numbered;
	const char *context, *generation;
};

static const struct row rows[] = {
#define PP_ITERATION(begin, inside, name, is_numbered, context, generation) {begin, inside, name, is_numbered, context, generation},
#define PP_PART(begin, inside) {begin, inside, NULL, 0, "", ""},
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

/* Is the number that touches the word above 0? Behind it where it ends in '_', else before it. */
static int has_some(const char *text, size_t length, const char *word)
{
	const size_t n = strlen(word);
	const char *at = memmem(text, length, word, n);
	const int is_behind = word[n - 1] == '_';
	const char *digit = at ? is_behind ? at + n : at - 1 : NULL;

	for (; digit && digit >= text && digit < text + length && is_digit(*digit); digit += is_behind ? 1 : -1)
		if (*digit != '0')
			return 1;
	return 0;
}

/* SGLang's ForwardMode. */
static enum pp_step_kind kind_of_word(const char *text, size_t length)
{
	static const struct {
		const char *word;
		enum pp_step_kind kind;
	} words[] = {{"DECODE", PP_STEP_DECODE}, {"EXTEND", PP_STEP_PREFILL}, {"MIXED", PP_STEP_MIXED}};
	size_t n = 0;

	while (n < length && text[n] != ' ' && text[n] != ']')
		n++;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (n == strlen(words[i].word) && !memcmp(text, words[i].word, n))
			return words[i].kind;
	return PP_STEP_OTHER;
}

static enum pp_step_kind kind_of(const struct row *row, const char *text, size_t length)
{
	const size_t begin = strlen(row->begin);
	int context, generation;

	if (!row->context[0])
		return kind_of_word(text + begin, length - begin);
	context = has_some(text, length, row->context);
	generation = has_some(text, length, row->generation);
	return context && generation ? PP_STEP_MIXED : context ? PP_STEP_PREFILL : generation ? PP_STEP_DECODE : PP_STEP_OTHER;
}

const char *pp_step_kind_name(int kind)
{
	static const char *const name[PP_STEP_KINDS] = {"", "prefill", "decode", "mixed", "other", "request"};

	return kind > 0 && kind < PP_STEP_KINDS ? name[kind] : "";
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
			name.kind = (uint8_t)kind_of(row, text, length);
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
