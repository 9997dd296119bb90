/* Reads a flat JSON object, strictly: a line cut short is an error; see member.h. */
#include "aggregate/fleet/member.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16, NUMBER = 64 };

static int is_one_of(const char *set, char c)
{
	return c && strchr(set, c);
}

static void blanks(struct pp_members *m)
{
	while (m->at < m->end && is_one_of(" \t\r\n", *m->at))
		m->at++;
}

static int is_next(struct pp_members *m, char c)
{
	blanks(m);
	if (m->at == m->end || *m->at != c)
		return 0;
	m->at++;
	return 1;
}

static int hex(const char *at, uint32_t *ret_code)
{
	uint32_t code = 0;

	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *found = at[i] ? strchr(digits, at[i] | ' ') : NULL;

		if (!found || (at[i] < '0') || (at[i] > '9' && at[i] < 'A'))
			return -EINVAL;
		code = code << 4 | (uint32_t)(found - digits);
	}
	*ret_code = code;
	return 0;
}

/* UTF-8 of a code below 0x10000; halves of a pair become '?', as names of hosts and jobs have none. */
static size_t encode(uint32_t code, char to[3])
{
	if (code < 0x80 || (code >= 0xd800 && code < 0xe000)) {
		to[0] = (char)(code && code < 0x80 ? code : '?');
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	to[0] = (char)(0xe0 | code >> 12);
	to[1] = (char)(0x80 | (code >> 6 & 0x3f));
	to[2] = (char)(0x80 | (code & 0x3f));
	return 3;
}

/* Behind a backslash. Returns the bytes written, or -EINVAL. */
static int escape(struct pp_members *m, char to[3])
{
	static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	const char *found = m->at < m->end && *m->at ? strchr(from, *m->at) : NULL;
	uint32_t code;

	if (found) {
		m->at++;
		to[0] = plain[found - from];
		return 1;
	}
	if (m->end - m->at < 5 || *m->at != 'u' || hex(m->at + 1, &code))
		return -EINVAL;
	m->at += 5;
	return (int)encode(code, to);
}

/* Behind the opening quote. */
static int text(struct pp_members *m, char *to, size_t size)
{
	size_t n = 0;

	while (m->at < m->end && *m->at != '"') {
		char bytes[3];
		int count = 1;

		bytes[0] = *m->at++;
		if ((unsigned char)bytes[0] < ' ')
			return -EINVAL;
		if (bytes[0] == '\\')
			count = escape(m, bytes);
		if (count < 0 || n + (size_t)count >= size)
			return -EINVAL;
		memcpy(to + n, bytes, (size_t)count);
		n += (size_t)count;
	}
	to[n] = '\0';
	return is_next(m, '"') ? 0 : -EINVAL;
}

/* An object or array, behind its first byte: texts in it are read, the rest only counted. */
static int skip(struct pp_members *m)
{
	int depth = 1;

	while (depth && m->at < m->end) {
		char c = *m->at++;

		if (c == '"' && text(m, m->text, sizeof(m->text)))
			return -EINVAL;
		depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		if (depth > DEPTH)
			return -EINVAL;
	}
	m->kind = PP_MEMBER_OTHER;
	return depth ? -EINVAL : 0;
}

static int word(struct pp_members *m)
{
	char bytes[NUMBER], *end;
	size_t n = 0;

	while (m->at < m->end && n + 1 < sizeof(bytes) && !is_one_of(",} \t\r\n", *m->at))
		bytes[n++] = *m->at++;
	bytes[n] = '\0';
	m->kind = !strcmp(bytes, "null") ? PP_MEMBER_NULL : PP_MEMBER_OTHER;
	if (m->kind == PP_MEMBER_NULL || !strcmp(bytes, "true") || !strcmp(bytes, "false"))
		return 0;
	m->kind = PP_MEMBER_NUMBER;
	m->number = strtod(bytes, &end);
	return n && !*end && strspn(bytes, "0123456789+-.eE") == n && isfinite(m->number) ? 0 : -EINVAL;
}

static int value(struct pp_members *m)
{
	blanks(m);
	if (m->at == m->end)
		return -EINVAL;
	if (is_next(m, '"')) {
		m->kind = PP_MEMBER_TEXT;
		return text(m, m->text, sizeof(m->text));
	}
	return is_next(m, '{') || is_next(m, '[') ? skip(m) : word(m);
}

void pp_members_begin(struct pp_members *m, const char *bytes, size_t length)
{
	m->at = bytes;
	m->end = bytes + length;
	m->begun = 0;
}

int pp_members_next(struct pp_members *m)
{
	int first = !m->begun;

	if (first && !is_next(m, '{'))
		return -EINVAL;
	m->begun = 1;
	if (is_next(m, '}')) {
		blanks(m);
		return m->at == m->end ? 0 : -EINVAL;
	}
	if (!first && !is_next(m, ','))
		return -EINVAL;
	if (!is_next(m, '"') || text(m, m->name, sizeof(m->name)) || !is_next(m, ':') || value(m))
		return -EINVAL;
	return 1;
}
