/* Reads rules of a user and finds the one for a name; see user_rules.h. Called by category.c and kernel_name.c. */
#include "core/step/user_rules.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/grow.h"
#include "core/base/why.h"
#include "core/step/category.h"
#include "core/step/name_match.h"

#define BIT(id) (1u << PP_CATEGORY_##id)
#define HOST                                                                                                                       \
	(BIT(HOST_COMPUTE) | BIT(KERNEL_LAUNCH) | BIT(INPUT) | BIT(OUTPUT) | BIT(COMPILATION) | BIT(OTHER) |                       \
	 BIT(HOST_COMMUNICATION))
#define DEVICE (BIT(DEVICE_COMPUTE) | BIT(DEVICE_TO_DEVICE) | BIT(DEVICE_COLLECTIVE))

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* editors write it before UTF-8 */

enum { ON_DEVICE = 1 << PP_ORIGINS };

/* What stands before a rule's colon. Without one, words are looked for in all ranges but frames. */
static const struct kind {
	const char *word;
	unsigned is_of;  /* bits by enum pp_origin; ON_DEVICE */
	unsigned may_be; /* bits by enum pp_category */
} kinds[] = {
        {"range", 1u << PP_ORIGIN_PROGRAM, HOST},   {"operator", 1u << PP_ORIGIN_OPERATOR, HOST},
        {"runtime", 1u << PP_ORIGIN_RUNTIME, HOST}, {"frame", 1u << PP_ORIGIN_PYTHON, HOST},
        {"library", 1u << PP_ORIGIN_LIBRARY, HOST}, {"kernel", ON_DEVICE, DEVICE},
};
static const struct kind any_range = {
        "range", 1u << PP_ORIGIN_PROGRAM | 1u << PP_ORIGIN_OPERATOR | 1u << PP_ORIGIN_RUNTIME | 1u << PP_ORIGIN_LIBRARY, HOST};

struct user_rule {
	const struct kind *kind;
	int is_words;  /* compare words, else all of the name with a glob */
	char *pattern; /* it owns it */
	int category;
};

static struct user_rule *users_rule; /* [users_rules] */
static size_t users_rules;

static int is_like(const struct user_rule *r, const char *name, size_t length)
{
	if (r->is_words)
		return pp_name_has_words(r->pattern, name, length);
	return r->kind->is_of == 1u << PP_ORIGIN_PYTHON ? pp_path_is_like(name, length, r->pattern)
	                                                : pp_name_is_like(name, length, r->pattern);
}

static int find(unsigned is_of, const char *name, size_t length)
{
	for (size_t i = 0; i < users_rules; i++)
		if (users_rule[i].kind->is_of & is_of && is_like(&users_rule[i], name, length))
			return users_rule[i].category;
	return PP_CATEGORY_BY_NAME;
}

int pp_user_rule_of_range(enum pp_origin origin, const char *name, size_t length)
{
	return find(1u << origin, name, length);
}

int pp_user_rule_of_kernel(const char *name, size_t length)
{
	return find(ON_DEVICE, name, length);
}

void pp_user_rules_release(void)
{
	for (size_t i = 0; i < users_rules; i++)
		free(users_rule[i].pattern);
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

/* A category's name, or its first words where no other begins so: "Device collective". 0: none. */
static int category_of_text(const char *text)
{
	const size_t length = strlen(text);
	int found = PP_CATEGORY_BY_NAME;

	for (int id = 1; id <= PP_CATEGORIES; id++) {
		const char *name = pp_category_name(id);

		if (!strcasecmp(text, name))
			return id;
		if (length && !strncasecmp(text, name, length) && name[length] == ' ')
			found = found ? -1 : id;
	}
	return found > 0 ? found : PP_CATEGORY_BY_NAME;
}

/* Is each '*' the end of a word with something before it? `words` has blanks at both ends. */
static int has_good_stars(const char *words)
{
	for (const char *at = strchr(words, '*'); at; at = strchr(at + 1, '*'))
		if (at[-1] == ' ' || at[1] != ' ')
			return 0;
	return 1;
}

static int add_rule(const struct user_rule *rule, const char *pattern, size_t length)
{
	if (PP_RESIZE(users_rule, users_rules + 1))
		return -ENOMEM;
	users_rule[users_rules] = *rule;
	users_rule[users_rules].pattern = strndup(pattern, length);
	if (!users_rule[users_rules].pattern)
		return -ENOMEM;
	users_rules++;
	return 0;
}

static int add_words(const struct user_rule *rule, const char *text, char *why, size_t size)
{
	char words[PP_NAME_WORDS];

	pp_name_words(text, strlen(text), 1, words);
	if (!words[1]) {
		snprintf(why, size, "no word before '='. Write WORDS = CATEGORY, for example 'fetch shard* = Input'");
		return -EINVAL;
	}
	if (!has_good_stars(words)) {
		snprintf(why, size, "'*' in '%.60s' is not at the end of a word. Write it behind the begin of a word: 'fetch*'",
		         text);
		return -EINVAL;
	}
	return add_rule(rule, words + 1, strlen(words) - 2); /* less the blanks at both ends */
}

/* "kernel:multimem*": the kind, and *text moves behind its colon. Names of functions have two colons: "torch::add". */
static const struct kind *take_kind(char **text)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const size_t length = strlen(kinds[i].word);

		if (strncmp(*text, kinds[i].word, length) || (*text)[length] != ':' || (*text)[length + 1] == ':')
			continue;
		*text = trim(*text + length + 1);
		return &kinds[i];
	}
	return NULL;
}

/* "op:my_ext::f" or "kernels:gemm*": the kind that was meant; NULL: none. Names may have a colon, too. */
static const char *likely_kind(const char *text)
{
	const size_t length = strcspn(text, ":");

	if (text[length] != ':' || text[length + 1] == ':' || length < 2)
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const size_t all = strlen(kinds[i].word);

		if ((length < all && !strncmp(text, kinds[i].word, length)) ||
		    (length == all + 1 && !strncmp(text, kinds[i].word, all) && text[all] == 's'))
			return kinds[i].word;
	}
	return NULL;
}

static void list_categories(unsigned may_be, char *why, size_t size)
{
	for (int id = 1, n = 0; id <= PP_CATEGORIES; id++)
		if (may_be >> id & 1)
			snprintf(why + strlen(why), size - strlen(why), "%s %s", n++ ? "," : "", pp_category_name(id));
}

/* The category of a rule's right side, if its kind may have it; 0 with a sentence. */
static int take_category(const struct kind *kind, const char *text, char *why, size_t size)
{
	const int category = category_of_text(text);

	if (category && kind->may_be >> category & 1)
		return category;
	if (category)
		snprintf(why, size, "%s %s cannot be '%s'. Choose one of:", *kind->word == 'o' ? "an" : "a", kind->word,
		         pp_category_name(category));
	else
		snprintf(why, size, "unknown category: '%.60s'. Choose one of:", text);
	list_categories(kind->may_be, why, size);
	return 0;
}

/* 0, or -errno with the sentence's end in `why`. */
static int load_line(char *line, char *why, size_t size)
{
	struct user_rule rule = {.kind = NULL};
	char *equals;

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
	line = trim(line);
	rule.kind = take_kind(&line);
	if (!rule.kind && likely_kind(line)) {
		snprintf(why, size, "'%.*s' is no kind. Write '%s:'", (int)strcspn(line, ":"), line, likely_kind(line));
		return -EINVAL;
	}
	rule.is_words = !rule.kind || rule.kind == &kinds[0];
	if (!rule.kind)
		rule.kind = &any_range;
	rule.category = take_category(rule.kind, trim(equals + 1), why, size);
	if (!rule.category)
		return -EINVAL;
	if (strlen(line) >= PP_NAME_BYTES) {
		snprintf(why, size, "more than %d bytes before '='", PP_NAME_BYTES - 1);
		return -EINVAL;
	}
	if (rule.is_words)
		return add_words(&rule, line, why, size);
	if (!*line) {
		snprintf(why, size,
		         "no name before '='. Write KIND:NAME = CATEGORY, for example 'kernel:multimem* = Device collective'");
		return -EINVAL;
	}
	return add_rule(&rule, line, strlen(line));
}

int pp_user_rules_load(const char *path, struct pp_err *err)
{
	char *line = NULL, why[400] = "no memory";
	size_t room = 0, number = 0;
	FILE *f = fopen(path, "re");
	int rc = 0;
	ssize_t n;

	pp_user_rules_release();
	if (!f)
		return pp_err_set(err, -errno, "cannot read the rules '%s': %s", path, pp_why(errno));
	while (!rc && (errno = 0, n = getline(&line, &room, f)) >= 0) {
		number++;
		if (strlen(line) == (size_t)n) {
			rc = load_line(line + (number == 1 && !strncmp(line, BYTE_ORDER_MARK, 3) ? 3 : 0), why, sizeof(why));
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
		pp_user_rules_release();
	return rc;
}
