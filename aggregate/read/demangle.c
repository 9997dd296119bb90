/* Texts of kernels' names, not too long; see demangle.h. */
#include "aggregate/read/demangle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/demangle_parse.h"
#include "aggregate/read/demangle_room.h"
#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/ring/intern.h"

enum { HASH_BYTES = 19, TEXT_MOST = PP_DEMANGLED - 1 - HASH_BYTES, LEVELS = 6 };

/* Copies the text without template arguments below `levels` of them; its length, or more than `size`: it does not fit. */
static size_t squeeze(const char *text, size_t length, int levels, char *to, size_t size)
{
	size_t n = 0;
	int depth = 0;

	for (size_t i = 0; i < length; i++) {
		int is_operator = i && (text[i] == '<' || text[i] == '>') && (text[i - 1] == '-' || text[i - 1] == 'r');

		if (text[i] == '>' && !is_operator && depth)
			depth--;
		if (depth <= levels) {
			if (n == size)
				return size + 1;
			to[n++] = text[i];
		}
		if (text[i] != '<' || is_operator)
			continue;
		if (++depth == levels + 1) {
			if (size - n < 3)
				return size + 1;
			memcpy(to + n, "...", 3); /* NOLINT(bugprone-not-null-terminated-result): it has a length */
			n += 3;
		}
	}
	return n;
}

static size_t shorten(const char *text, size_t length, char *to)
{
	for (int levels = LEVELS; levels >= 0; levels--) {
		size_t n = squeeze(text, length, levels, to, TEXT_MOST);

		if (n <= TEXT_MOST)
			return n;
	}
	memcpy(to, text, TEXT_MOST);
	return TEXT_MOST;
}

/* "a::b<...>" of a name that begins with these parts; 0: with another thing. */
static size_t leading(const char *name, size_t length, char *to)
{
	size_t at = 2, n = 0;
	int is_nested;

	at += at < length && name[at] == 'L';
	is_nested = at < length && name[at] == 'N';
	at += (size_t)is_nested;
	while (is_nested && at < length && strchr("rVK", name[at]))
		at++;
	if (at + 1 < length && name[at] == 'S' && name[at + 1] == 't') {
		memcpy(to, "std", 3); /* NOLINT(bugprone-not-null-terminated-result): it has a length */
		n = 3;
		at += 2;
	}
	while (at < length && name[at] >= '0' && name[at] <= '9') {
		size_t bytes = 0;
		int is_anonymous;

		while (at < length && name[at] >= '0' && name[at] <= '9' && bytes < TEXT_MOST)
			bytes = bytes * 10 + (size_t)(name[at++] - '0');
		is_anonymous = bytes > 9 && length - at > 9 && !memcmp(name + at, "_GLOBAL_", 8) && name[at + 9] == 'N';
		if (!bytes || bytes > length - at || n + bytes + 32 > TEXT_MOST)
			return 0;
		n += (size_t)snprintf(to + n, TEXT_MOST - n, "%s%.*s", n ? "::" : "", is_anonymous ? 21 : (int)bytes,
		                      is_anonymous ? "(anonymous namespace)" : name + at);
		at += bytes;
		if (!is_nested)
			break;
	}
	if (n && at < length && name[at] == 'I') {
		memcpy(to + n, "<...>", 5); /* NOLINT(bugprone-not-null-terminated-result): it has a length */
		n += 5;
	}
	return n;
}

size_t pp_demangle(const char *name, size_t length, char text[PP_DEMANGLED])
{
	const char *found = NULL;
	char *room;
	size_t n = 0;

	if (length < 4 || memcmp(name, "_Z", 2) != 0 || memchr(name, 0, length))
		return 0;
	room = malloc(PP_DEMANGLE_ROOM);
	if (room)
		found = pp_demangle_parse(name, length, room, &n);
	if (found && n < PP_DEMANGLED) {
		memcpy(text, found, n);
		free(room);
		text[n] = '\0';
		return n;
	}
	n = found ? shorten(found, n, text) : leading(name, length, text);
	free(room);
	if (n)
		n += (size_t)snprintf(text + n, PP_DEMANGLED - n, " [%016" PRIx64 "]", pp_hash(PP_HASH_BEGIN, name, length));
	return n;
}

uint32_t pp_kernel_text(struct pp_kernel_texts *t, struct pp_intern *names, uint32_t id)
{
	char text[PP_DEMANGLED];
	const char *name;
	uint32_t of = id;
	size_t length;

	if (id < t->room && t->text[id])
		return t->text[id] - 1;
	name = pp_intern_text(names, id, &length);
	length = pp_demangle(name, length, text);
	if (length) {
		of = pp_intern_put(names, text, length);
		of = of ? of : id; /* no memory */
	}
	if (id >= t->room && id < UINT32_MAX / 2 - 64) {
		uint32_t room = 2 * id + 64;

		if (PP_RESIZE(t->text, room))
			return of;
		memset(t->text + t->room, 0, (room - t->room) * sizeof(*t->text));
		t->room = room;
	}
	if (id < t->room)
		t->text[id] = of + 1;
	return of;
}

void pp_kernel_texts_release(struct pp_kernel_texts *t)
{
	free(t->text);
	*t = (struct pp_kernel_texts){.text = NULL};
}
