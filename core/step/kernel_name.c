/* Looks for the words of kernel_rules.def in a name; see kernel_name.h. Called once per name. */
#include "core/step/kernel_name.h"

#include <stdlib.h>
#include <string.h>

enum property { PRECISION, TENSOR_CORE, ACTIVITY };
enum { READ_MOST = 4096 };

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

/* 0: no row says it. */
static int find(enum property property, const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].property == property && is_in(&words[i], name, length))
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

enum pp_device_activity pp_kernel_activity(const char *name, size_t length)
{
	return (enum pp_device_activity)find(ACTIVITY, name, length);
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
	enum { KNOWN = 0x80, PRECISION_AT = 4, VALUE = 7 };
	uint8_t code = id < c->room ? c->known[id] : 0;

	if (!code) {
		code = (uint8_t)(KNOWN | pp_kernel_precision(name, length) << PRECISION_AT | pp_kernel_activity(name, length));
		if (id < c->room || !make_room(c, id))
			c->known[id] = code;
	}
	return (struct pp_kernel_kind){.activity = code & VALUE, .precision = code >> PRECISION_AT & VALUE};
}

void pp_kernel_cache_release(struct pp_kernel_cache *c)
{
	free(c->known);
	*c = (struct pp_kernel_cache){.known = NULL};
}
