/* Compares names with rules: by words, and by globs; see name_match.h. Called once for each name. */
#include "core/step/name_match.h"

#include <string.h>

static int is_upper(unsigned char c)
{
	return c >= 'A' && c <= 'Z';
}

static int is_lower(unsigned char c)
{
	return c >= 'a' && c <= 'z';
}

static int is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* " iterator get next " from "IteratorGetNext"; with blanks at both ends, so that each word is between blanks. In a
 * rule, '*' is a letter. */
void pp_name_words(const char *name, size_t length, int is_rule, char *words)
{
	size_t n = 0;

	words[n++] = ' ';
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)name[i];
		unsigned char last = i ? (unsigned char)name[i - 1] : 0;
		unsigned char next = i + 1 < length ? (unsigned char)name[i + 1] : 0;
		int plain = is_upper(c) || is_lower(c) || is_digit(c) || c >= 0x80 || (is_rule && c == '*');

		if (!plain || (is_upper(c) && (is_lower(last) || (is_upper(last) && is_lower(next))))) {
			if (words[n - 1] != ' ')
				words[n++] = ' ';
		}
		if (plain)
			words[n++] = (char)(is_upper(c) ? c - 'A' + 'a' : c);
	}
	if (words[n - 1] != ' ')
		words[n++] = ' ';
	words[n] = '\0';
}

/* Does the rule's text match at `at`, the begin of a word? */
static int rule_at(const char *rule, const char *at)
{
	for (; *rule; rule++) {
		if (*rule == '*') {
			while (*at && *at != ' ')
				at++;
			continue;
		}
		if (*rule != *at++)
			return 0;
	}
	return *at == ' ';
}

int pp_words_match(const char *rule, const char *words)
{
	for (const char *at = words; at; at = strchr(at, ' ')) {
		at++; /* the blank in front of a word */
		if (!*at)
			break;
		if (*at == *rule && rule_at(rule, at))
			return 1;
	}
	return 0;
}

int pp_name_has_words(const char *rule, const char *name, size_t length)
{
	char words[PP_NAME_WORDS];

	pp_name_words(name, length < PP_NAME_BYTES ? length : PP_NAME_BYTES, 0, words);
	return pp_words_match(rule, words);
}

/* A star that does not fit takes one character more: as long as name and pattern together, at worst their product. */
int pp_name_is_like(const char *name, size_t length, const char *pattern)
{
	const char *star = NULL;
	size_t at = 0, star_at = 0;

	while (at < length) {
		if (*pattern == '*') {
			star = ++pattern;
			star_at = at;
		} else if (*pattern == name[at] && *pattern) {
			pattern++;
			at++;
		} else if (star) {
			pattern = star;
			at = ++star_at;
		} else {
			return 0;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

int pp_path_is_like(const char *name, size_t length, const char *pattern)
{
	if (pp_name_is_like(name, length, pattern))
		return 1;
	for (size_t i = 0; i + 1 < length; i++)
		if (name[i] == '/' && pp_name_is_like(name + i + 1, length - i - 1, pattern))
			return 1;
	return 0;
}
