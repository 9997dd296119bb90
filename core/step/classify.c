/* Tables of known names and of words, and which of them decides; see classify.h. Called by step_attr, readers and writers. */
#include "core/step/classify.h"

#include <string.h>

#include "core/step/category.h"
#include "core/step/name_match.h"
#include "core/step/user_rules.h"

struct word_rule {
	const char *words;
	enum pp_category category;
};

static const struct word_rule word_rules[] = {
#define PP_NAME_RULE(words, symbol) {words, PP_CATEGORY_##symbol},
#include "core/step/name_rules.def"
#undef PP_NAME_RULE
};

enum { PROGRAM = 1 << PP_ORIGIN_PROGRAM, OPERATOR = 1 << PP_ORIGIN_OPERATOR, RUNTIME = 1 << PP_ORIGIN_RUNTIME };
enum { PYTHON = 1 << PP_ORIGIN_PYTHON, LIBRARY = 1 << PP_ORIGIN_LIBRARY, CODE = PROGRAM | OPERATOR | LIBRARY };

static const struct known {
	const char *pattern;
	uint8_t origins; /* bits by enum pp_origin */
	uint8_t category;
} known_names[] = {
#define PP_KNOWN(origins, pattern, symbol) {pattern, origins, PP_CATEGORY_##symbol},
#include "core/step/known_names.def"
#undef PP_KNOWN
};

const char *pp_grounds_name(int by)
{
	static const char *const evidence[PP_GROUNDS] = {
	        [PP_BY_UNKNOWN] = "unknown", [PP_BY_RULE] = "rule",   [PP_BY_KIND] = "kind",       [PP_BY_LAUNCH] = "launch",
	        [PP_BY_NAME] = "name",       [PP_BY_WORDS] = "words", [PP_BY_NOTHING] = "nothing",
	};

	return by >= 0 && by < PP_GROUNDS ? evidence[by] : "";
}

static int is_of_type(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* "MatMul:MatMul", "ReadVariableOp_1:ReadVariableOp": TensorFlow's own name of an operator outside of any scope. */
static int is_named_by_type(const char *name, size_t colon, size_t length)
{
	const size_t type = length - colon - 1;

	return type && type <= colon && name[0] >= 'A' && name[0] <= 'Z' && !memcmp(name, name + colon + 1, type) &&
	       (type == colon || name[type] == '_');
}

size_t pp_category_operator_type(const char *name, size_t length)
{
	const char *colon = length ? memchr(name, ':', length) : NULL; /* an empty name may be NULL */
	const char *slash = colon ? memrchr(name, '/', (size_t)(colon - name)) : NULL;
	size_t at = colon ? (size_t)(colon - name) + 1 : 0;

	if (!slash && (!colon || at >= length || (name[at] != '_' && !is_named_by_type(name, at - 1, length))))
		return 0;
	for (size_t i = at; i < length; i++)
		if (!is_of_type(name[i]))
			return 0;
	return at < length ? at : (size_t)(slash - name) + 1;
}

/* 0: none. Names of files stand in frames of Python only, anywhere in the file system. */
static uint8_t known_category(enum pp_origin origin, const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(known_names) / sizeof(known_names[0]); i++) {
		const struct known *k = &known_names[i];

		if (!(k->origins >> origin & 1))
			continue;
		if (origin == PP_ORIGIN_PYTHON ? pp_path_is_like(name, length, k->pattern)
		                               : pp_name_is_like(name, length, k->pattern))
			return k->category;
	}
	return 0;
}

static uint8_t category_of_words(const char *name, size_t length)
{
	char words[PP_NAME_WORDS];

	pp_name_words(name, length, 0, words);
	for (size_t i = 0; i < sizeof(word_rules) / sizeof(word_rules[0]); i++)
		if (pp_words_match(word_rules[i].words, words))
			return (uint8_t)word_rules[i].category;
	return 0;
}

struct pp_class pp_category_of(enum pp_origin origin, const char *name, size_t length)
{
	const struct pp_class unknown = {PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
	                      computes = {PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND};
	uint8_t category;
	size_t type;

	length = length < PP_NAME_BYTES ? length : PP_NAME_BYTES;
	name = name ? name : "";
	category = (uint8_t)pp_user_rule_of_range(origin, name, length);
	if (category)
		return (struct pp_class){category, PP_BY_RULE};
	category = known_category(origin, name, length); /* "nccl:_all_gather_base" has no type */
	type = category || origin == PP_ORIGIN_PYTHON ? 0 : pp_category_operator_type(name, length);
	if (type) { /* its path has names of layers, such as attention/output */
		origin = PP_ORIGIN_OPERATOR;
		category = known_category(origin, name + type, length - type);
	}
	if (category)
		return (struct pp_class){category, PP_BY_NAME};
	if (origin == PP_ORIGIN_LIBRARY)
		return unknown;
	if (origin != PP_ORIGIN_PROGRAM)
		return computes;
	category = category_of_words(name, length);
	return category ? (struct pp_class){category, PP_BY_WORDS} : unknown;
}
