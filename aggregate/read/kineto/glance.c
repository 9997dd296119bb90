/* Recognises Kineto files by their first bytes; see kineto.h. Called by aggregate/read/trace.c. */
#include "aggregate/read/kineto/glance.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/read/kineto/number.h"
#include "core/base/utf8.h"

struct head {
	const char *text;
	size_t length;
};

/* What follows `"key":`; empty where it is not there. */
static struct head after(struct head in, const char *key)
{
	const char *at = in.text, *end = in.text + in.length;
	size_t length = strlen(key);

	while ((at = memmem(at, (size_t)(end - at), key, length))) {
		at += length;
		while (at < end && kineto_is_blank(*at))
			at++;
		if (at == end || *at != ':')
			continue;
		at++;
		while (at < end && kineto_is_blank(*at))
			at++;
		return (struct head){at, (size_t)(end - at)};
	}
	return (struct head){end, 0};
}

static int32_t number(struct head in, const char *key)
{
	struct head value = after(in, key);
	size_t n = 0;
	int64_t number;

	if (value.length && *value.text == '"') /* a text with a number, as pp_kineto_integer() takes it in events */
		value = (struct head){value.text + 1, value.length - 1};
	while (n < value.length && value.text[n] >= '0' && value.text[n] <= '9')
		n++;
	if (!n || n == value.length || pp_kineto_integer(value.text, n, &number) || number > PP_TRACE_RANKS_MOST)
		return -1;
	return (int32_t)number;
}

/* Plain text only: others than names of hosts do not replace the file's name. */
static void take_host(struct head all, struct pp_trace_glance *g)
{
	struct head value = after(all, "\"host_name\"");
	const char *end = value.length > 1 && *value.text == '"' ? memchr(value.text + 1, '"', value.length - 1) : NULL;
	size_t length = end ? (size_t)(end - value.text) - 1 : 0;

	if (!length || length >= sizeof(g->host) || memchr(value.text + 1, '\\', length) || !pp_utf8_good(value.text + 1, length))
		return;
	snprintf(g->host, sizeof(g->host), "%.*s", (int)length, value.text + 1);
	g->says_host = 1;
}

/* Length of the object that begins there; all of it where its end is not there. Braces in texts are not expected. */
static size_t object_length(struct head in)
{
	int depth = 0;

	for (size_t i = 0; i < in.length; i++) {
		depth += in.text[i] == '{';
		depth -= in.text[i] == '}';
		if (depth <= 0)
			return i + 1;
	}
	return in.length;
}

int pp_kineto_glance(const void *bytes, size_t size, struct pp_trace_glance *ret_glance)
{
	static const char *const keys[] = {"\"traceEvents\"", "\"schemaVersion\"", "\"distributedInfo\"", "\"ph\""};
	struct head all = {bytes, size}, info;
	int known = 0;

	if (size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3))
		all = (struct head){all.text + 3, size - 3};
	while (all.length && kineto_is_blank(*all.text))
		all = (struct head){all.text + 1, all.length - 1};
	if (!all.length || (*all.text != '{' && *all.text != '['))
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		known |= after(all, keys[i]).length > 0;
	if (!known)
		return 0;
	info = after(all, "\"distributedInfo\"");
	info.length = object_length(info);
	ret_glance->rank = number(info, "\"rank\"");
	ret_glance->world = number(info, "\"world_size\"");
	if (ret_glance->world >= 0 && ret_glance->rank >= ret_glance->world)
		ret_glance->rank = ret_glance->world = -1;
	take_host(all, ret_glance);
	return 1;
}
