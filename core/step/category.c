/* Tables of categories and of name rules; see category.h and docs/steps.md. Called by step_attr, writers and readers. */
#include "core/step/category.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/grow.h"
#include "core/base/why.h"

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

static struct name_rule *users_rule; /* [users_rules] of pp_category_rules_load(); each owns its words */
static size_t users_rules;

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

/* " iterator get next " from "IteratorGetNext"; with blanks at both ends, so that each word is between blanks. In a
 * rule, '*' is a letter. */
static void cut_words(const char *name, size_t length, int is_rule, char *words)
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

int pp_name_has_words(const char *rule, const char *name, size_t length)
{
	char words[2 * NAME_BYTES + 3];

	cut_words(name, length < NAME_BYTES ? length : NAME_BYTES, 0, words);
	return rule_matches(rule, words);
}

size_t pp_category_operator_type(const char *name, size_t length)
{
	const char *colon = length ? memchr(name, ':', length) : NULL; /* an empty name may be NULL */
	const char *slash = colon ? memrchr(name, '/', (size_t)(colon - name)) : NULL;
	size_t at = colon ? (size_t)(colon - name) + 1 : 0;

	if (!slash && (!colon || at >= length || name[at] != '_'))
		return 0;
	for (size_t i = at; i < length; i++)
		if (!is_upper((unsigned char)name[i]) && !is_lower((unsigned char)name[i]) && !is_digit((unsigned char)name[i]) &&
		    name[i] != '_')
			return 0;
	return at < length ? at : (size_t)(slash - name) + 1;
}

enum pp_category pp_category_of_name(const char *name, size_t length, int *ret_default)
{
	char words[2 * NAME_BYTES + 3];
	size_t type;

	length = length < NAME_BYTES ? length : NAME_BYTES;
	cut_words(name, length, 0, words);
	for (size_t i = 0; i < users_rules; i++) {
		if (rule_matches(users_rule[i].words, words)) {
			*ret_default = 0;
			return users_rule[i].category;
		}
	}
	type = pp_category_operator_type(name, length); /* its path has names of layers, such as attention/output */
	if (type)
		cut_words(name + type, length - type, 0, words);
	for (size_t i = 0; i < sizeof(name_rules) / sizeof(name_rules[0]); i++) {
		if (rule_matches(name_rules[i].words, words)) {
			*ret_default = 0;
			return name_rules[i].category;
		}
	}
	*ret_default = !type; /* an operator of a framework computes */
	return PP_CATEGORY_HOST_COMPUTE;
}

void pp_category_rules_release(void)
{
	for (size_t i = 0; i < users_rules; i++)
		free((char *)users_rule[i].words);
	free(users_rule);
	users_rule = NULL;
	users_rules = 0;
}

/* Without blanks at both ends. */
static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && strchr(" \t\r\n", end[-1]))
		end--;
	*end = '\0';
	return text + strspn(text, " \t\r\n");
}

/* 0: no category has this name. */
static enum pp_category category_of_text(const char *text)
{
	for (int id = 1; id <= PP_CATEGORIES; id++)
		if (!strcasecmp(text, names[id]))
			return (enum pp_category)id;
	return PP_CATEGORY_BY_NAME;
}

/* Is each '*' the end of a word with something before it? `words` has blanks at both ends. */
static int has_good_stars(const char *words)
{
	for (const char *at = strchr(words, '*'); at; at = strchr(at + 1, '*'))
		if (at[-1] == ' ' || at[1] != ' ')
			return 0;
	return 1;
}

static int add_rule(const char *words, enum pp_category category)
{
	struct name_rule *rule;

	if (PP_RESIZE(users_rule, users_rules + 1))
		return -ENOMEM;
	rule = &users_rule[users_rules];
	*rule = (struct name_rule){.category = category};
	rule->words = strndup(words + 1, strlen(words) - 2); /* less the blanks at both ends */
	if (!rule->words)
		return -ENOMEM;
	users_rules++;
	return 0;
}

/* 0, or -errno with the sentence's end in `why`. */
static int load_line(char *line, char *why, size_t size)
{
	char words[2 * NAME_BYTES + 3], *equals, *name;
	enum pp_category category;

	line[strcspn(line, "#")] = '\0';
	line = trim(line);
	if (!*line)
		return 0;
	equals = strrchr(line, '=');
	if (!equals) {
		snprintf(why, size, "'%.60s' has no '='. Write WORDS = CATEGORY, for example 'fetch shard* = Input'", line);
		return -EINVAL;
	}
	*equals = '\0';
	name = trim(equals + 1);
	line = trim(line);
	category = category_of_text(name);
	if (!category) {
		snprintf(why, size, "unknown category: '%.60s'. Choose one of:", name);
		for (int id = 1; id <= PP_CATEGORIES; id++)
			snprintf(why + strlen(why), size - strlen(why), "%s %s", id > 1 ? "," : "", names[id]);
		return -EINVAL;
	}
	if (strlen(line) >= NAME_BYTES) {
		snprintf(why, size, "more than %d bytes before '='", NAME_BYTES - 1);
		return -EINVAL;
	}
	cut_words(line, strlen(line), 1, words);
	if (!words[1]) {
		snprintf(why, size, "no word before '='. Write WORDS = CATEGORY, for example 'fetch shard* = Input'");
		return -EINVAL;
	}
	if (!has_good_stars(words)) {
		snprintf(why, size, "'*' in '%.60s' is not at the end of a word. Write it behind the begin of a word: 'fetch*'",
		         line);
		return -EINVAL;
	}
	return add_rule(words, category);
}

int pp_category_rules_load(const char *path, struct pp_err *err)
{
	char *line = NULL, why[400] = "no memory";
	size_t room = 0, number = 0;
	FILE *f = fopen(path, "re");
	int rc = 0;
	ssize_t n;

	pp_category_rules_release();
	if (!f)
		return pp_err_set(err, -errno, "cannot read the rules '%s': %s", path, pp_why(errno));
	while (!rc && (errno = 0, n = getline(&line, &room, f)) >= 0) {
		number++;
		if (strlen(line) == (size_t)n) {
			rc = load_line(line, why, sizeof(why));
			continue;
		}
		snprintf(why, sizeof(why), "a zero byte. A file of rules is text");
		rc = -EINVAL;
	}
	if (!rc && ferror(f))
		rc = pp_err_set(err, errno ? -errno : -EIO, "cannot read the rules '%s': %s", path, pp_why(errno));
	else if (rc)
		pp_err_set(err, rc, "cannot use the rules '%s': line %zu: %s", path, number, why);
	free(line);
	fclose(f);
	if (rc)
		pp_category_rules_release();
	return rc;
}
