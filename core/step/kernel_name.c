/* Looks for the words of kernel_rules.def in a name; see kernel_name.h. Called once per name. */
#include "core/step/kernel_name.h"

#include <stdlib.h>
#include <string.h>

enum property { PRECISION, TENSOR_CORE, ACTIVITY };
enum { READ_MOST = 4096, QUALIFIED_MOST = 256 };

enum { PRECISION_16 = PP_PRECISION_16, PRECISION_32 = PP_PRECISION_32 };
enum { TENSOR_CORE_NO = PP_TENSOR_CORE_NO, TENSOR_CORE_YES = PP_TENSOR_CORE_YES };
enum {
	ACTIVITY_COLLECTIVE = PP_DEVICE_COLLECTIVE,
	ACTIVITY_HOST_TO_DEVICE = PP_DEVICE_HOST_TO_DEVICE,
	ACTIVITY_DEVICE_TO_HOST = PP_DEVICE_DEVICE_TO_HOST,
	ACTIVITY_DEVICE_TO_DEVICE = PP_DEVICE_DEVICE_TO_DEVICE,
	ACTIVITY_SET = PP_DEVICE_SET,
};

static const struct word {
	const char *text;
	enum property property;
	int value, is_begin;
} words[] = {
#define PP_KERNEL_WORD(property, value, text) {text, property, property##_##value, 0},
#define PP_KERNEL_BEGIN(property, value, text) {text, property, property##_##value, 1},
#include "core/step/kernel_rules.def"

#include "core/capture/span.h"
#include "core/ring/record.h"
#undef PP_KERNEL_WORD
#undef PP_KERNEL_BEGIN
};

enum kind { /* what a row of communication.def says */
	    LOCAL = PP_DEVICE_KERNEL,
	    COLLECTIVE = PP_DEVICE_COLLECTIVE,
	    WAIT = PP_DEVICE_WAIT,
	    UNSURE = PP_DEVICE_UNSURE
};

static const struct family {
	const char *pattern;
	enum kind kind;
} families[] = {
#define PP_COMMUNICATION(value, text) {text, value},
#define PP_COMMUNICATION_HINT(text)
#define PP_COMMUNICATION_OPERATOR(text)
#include "core/step/communication.def"
#undef PP_COMMUNICATION
#undef PP_COMMUNICATION_HINT
};

static const char *const hints[] = {
#define PP_COMMUNICATION(value, text)
#define PP_COMMUNICATION_HINT(text) text,
#include "core/step/communication.def"
#undef PP_COMMUNICATION_HINT
#undef PP_COMMUNICATION_OPERATOR
};

static const char *const operators[] = {
#define PP_COMMUNICATION_HINT(text)
#define PP_COMMUNICATION_OPERATOR(text) text,
#include "core/step/communication.def"
#undef PP_COMMUNICATION
#undef PP_COMMUNICATION_HINT
#undef PP_COMMUNICATION_OPERATOR
};

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static int is_at(const char *text, const char *word)
{
	while (*word && (*word == '?' || lower(*text) == lower(*word))) {
		text++;
		word++;
	}
	return !*word;
}

static int is_in(const struct word *w, const char *name, size_t length)
{
	size_t n = strlen(w->text);

	length = length < READ_MOST ? length : READ_MOST;
	if (length < n)
		return 0;
	for (size_t i = 0; i <= (w->is_begin ? 0 : length - n); i++)
		if (is_at(name + i, w->text))
			return 1;
	return 0;
}

/* Pairs of neighbours in a name: most words have one that the name does not have. Several pairs share a bit. */
struct pairs {
	uint64_t bit[64];
};

static unsigned bit_of(const char *at)
{
	return ((unsigned)lower(at[0]) & 63) * 64 | ((unsigned)lower(at[1]) & 63);
}

static void collect(struct pairs *p, const char *name, size_t length)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i + 1 < length && i + 1 < READ_MOST; i++)
		p->bit[bit_of(name + i) / 64] |= UINT64_C(1) << bit_of(name + i) % 64;
}

static int may_have(const struct pairs *p, const char *word)
{
	for (; word[0] && word[1]; word++)
		if (word[0] != '?' && word[1] != '?' && !(p->bit[bit_of(word) / 64] >> bit_of(word) % 64 & 1))
			return 0;
	return 1;
}

/* 0: no row says it. */
static int find(enum property property, const char *name, size_t length)
{
	struct pairs pairs;

	collect(&pairs, name, length);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].property == property && may_have(&pairs, words[i].text) && is_in(&words[i], name, length))
			return words[i].value;
	return 0;
}

enum pp_precision pp_kernel_precision(const char *name, size_t length)
{
	return (enum pp_precision)find(PRECISION, name, length);
}

enum pp_tensor_core pp_kernel_tensor_core(const char *name, size_t length)
{
	return (enum pp_tensor_core)find(TENSOR_CORE, name, length);
}

/* Name with namespaces, without the rest: "a::f" of "void a::(anonymous namespace)::f<int>(float)". `last`: its last part. */
struct qualified {
	char text[QUALIFIED_MOST];
	const char *last;
};

static void qualify(const char *name, size_t length, struct qualified *q)
{
	static const char anonymous[] = "(anonymous namespace)::";
	size_t n = 0;
	int depth = 0;

	q->last = q->text;
	for (size_t i = 0; i < length && i < READ_MOST && n + 1 < QUALIFIED_MOST; i++) {
		if (!depth && name[i] == '(') {
			if (length - i < sizeof(anonymous) || memcmp(name + i, anonymous, sizeof(anonymous) - 1) != 0)
				break;
			i += sizeof(anonymous) - 2;
		} else if (name[i] == '<')
			depth++;
		else if (name[i] == '>' && depth)
			depth--;
		else if (!depth && name[i] == ' ') { /* the type that it returns is over */
			n = 0;
			q->last = q->text;
		} else if (!depth) {
			q->text[n++] = name[i];
			if (name[i] == ':')
				q->last = q->text + n;
		}
	}
	q->text[n] = '\0';
}

/* "*" is any text, "$" the end. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern has stars */
static int is_like(const char *text, const char *pattern)
{
	for (; *pattern && *pattern != '*'; pattern++)
		if (*pattern == '$')
			return !*text;
		else if (*text++ != *pattern)
			return 0;
	if (!*pattern)
		return 1;
	for (; *text; text++)
		if (is_like(text, pattern + 1))
			return 1;
	return 0;
}

static int is_of(const struct family *f, const struct qualified *q, const char *name, size_t length)
{
	const char *last = strchr(f->pattern, '~');

	if (*f->pattern == '=')
		return strlen(f->pattern + 1) == length && !memcmp(f->pattern + 1, name, length);
	if (!last)
		return is_like(q->text, f->pattern);
	return q->last - q->text >= last - f->pattern && !strncmp(q->text, f->pattern, (size_t)(last - f->pattern)) &&
	       is_like(q->last, last + 1);
}

static const struct family *family_of(const struct qualified *q, const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (is_of(&families[i], q, name, length))
			return &families[i];
	return NULL;
}

static int has_hint(const struct qualified *q)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		for (const char *at = q->text; *at; at++)
			if (is_at(at, hints[i]))
				return 1;
	return 0;
}

static enum pp_device_activity activity_of(const char *name, size_t length, int *ret_local)
{
	struct qualified q;
	const struct family *f;
	int by_begin;

	qualify(name, length, &q);
	f = family_of(&q, name, length);
	*ret_local = f && f->kind == LOCAL;
	if (f)
		return (enum pp_device_activity)f->kind;
	by_begin = find(ACTIVITY, name, length);
	return by_begin || !has_hint(&q) ? (enum pp_device_activity)by_begin : PP_DEVICE_UNSURE;
}

enum pp_device_activity pp_kernel_activity(const char *name, size_t length)
{
	int is_local;

	return activity_of(name, length, &is_local);
}

int pp_operator_communicates(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (length >= strlen(operators[i]) && !memcmp(name, operators[i], strlen(operators[i])))
			return 1;
	return 0;
}

/* Room for the id, and for as many more. */
static int make_room(struct pp_kernel_cache *c, uint32_t id)
{
	uint32_t room = id < UINT32_MAX / 2 - 64 ? 2 * id + 64 : 0;
	uint8_t *more = room ? realloc(c->known, room) : NULL;

	if (!more)
		return -1;
	memset(more + c->room, 0, room - c->room);
	c->known = more;
	c->room = room;
	return 0;
}

struct pp_kernel_kind pp_kernel_cached(struct pp_kernel_cache *c, uint32_t id, const char *name, size_t length)
{
	enum { KNOWN = 0x80, PRECISION_AT = 4, VALUE = 7, IS_LOCAL = 8 };
	uint8_t code = id < c->room ? c->known[id] : 0;

	if (!code) {
		int is_local, activity = (int)activity_of(name, length, &is_local);

		code = (uint8_t)(KNOWN | pp_kernel_precision(name, length) << PRECISION_AT | activity | (is_local ? IS_LOCAL : 0));
		if (id < c->room || !make_room(c, id))
			c->known[id] = code;
	}
	return (struct pp_kernel_kind){
	        .activity = code & VALUE, .precision = code >> PRECISION_AT & VALUE, .is_local = (code & IS_LOCAL) != 0};
}

void pp_kernel_cache_release(struct pp_kernel_cache *c)
{
	free(c->known);
	*c = (struct pp_kernel_cache){.known = NULL};
}
