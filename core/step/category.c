/* Tables of categories and of name rules; see category.h and docs/steps.md. Called by step_attr, writers and readers. */
#include "core/step/category.h"

#include <string.h>

struct name_rule {
	const char *words;
	enum pp_category category;
};

static const struct name_rule name_rules[] = {
#define PP_NAME_RULE(words, symbol) {words, PP_CATEGORY_##symbol},
#include "core/step/name_rules.def"
#undef PP_NAME_RULE
};

static const char *const names[] = {
#define PP_CATEGORY(id, symbol, name, colour) [id] = (name),
#include "core/step/category.def"
#undef PP_CATEGORY
};

static const char *const colours[] = {
#define PP_CATEGORY(id, symbol, name, colour) [id] = (colour),
#include "core/step/category.def"
#undef PP_CATEGORY
};

enum { NAME_BYTES = 1000 }; /* of a longer name the rules match this much */

const char *pp_category_name(int id)
{
	return id >= 1 && id <= PP_CATEGORIES ? names[id] : "?";
}

const char *pp_category_colour(int id)
{
	return id >= 1 && id <= PP_CATEGORIES ? colours[id] : "#9AA0A6";
}

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

/* " iterator get next " from "IteratorGetNext"; with blanks at both ends, so that each word is between blanks. */
static void cut_words(const char *name, size_t length, char *words)
{
	size_t n = 0;

	words[n++] = ' ';
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)name[i];
		unsigned char last = i ? (unsigned char)name[i - 1] : 0;
		unsigned char next = i + 1 < length ? (unsigned char)name[i + 1] : 0;
		int plain = is_upper(c) || is_lower(c) || is_digit(c) || c >= 0x80;

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

static int rule_matches(const char *rule, const char *words)
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

enum pp_category pp_category_of_name(const char *name, size_t length, int *ret_default)
{
	char words[2 * NAME_BYTES + 3];

	cut_words(name, length < NAME_BYTES ? length : NAME_BYTES, words);
	for (size_t i = 0; i < sizeof(name_rules) / sizeof(name_rules[0]); i++) {
		if (rule_matches(name_rules[i].words, words)) {
			*ret_default = 0;
			return name_rules[i].category;
		}
	}
	*ret_default = 1;
	return PP_CATEGORY_HOST_COMPUTE;
}
