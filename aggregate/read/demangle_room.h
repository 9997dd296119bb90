/* Where texts of a mangled name are made, and its simplest parts. In: the name as far as it is read. Out: pieces of the room.
 * Internal to demangle_parse.c. Nothing is added once the name is bad. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PP_DEMANGLE_ROOM = 1 << 19 };
enum { SUBSTITUTIONS = 1024, ARGUMENTS = 256, DEPTH_MOST = 128, PACK_MOST = 64 };

struct piece { /* of the room; split: where a pointer's * goes, for functions and arrays; 0: at the end */
	uint32_t from, length, split;
};

struct argument { /* of a template */
	struct piece text;
	uint32_t first, count; /* of a pack's members in `member` */
	int is_pack;
};

struct arguments {
	struct argument one[ARGUMENTS];
	uint32_t count;
};

struct parse {
	const char *at, *end;
	char *room;
	uint32_t used;
	struct piece substitution[SUBSTITUTIONS];
	uint32_t substitutions;
	struct piece member[ARGUMENTS];
	uint32_t members;
	struct arguments *arguments; /* what T_ means; NULL: nothing */
	int is_bad, depth, in_lambda;
	int pack_at; /* which member of a pack T_ means; -1: all of them */
	uint32_t pack_count;
	int saw_pack;
};

static inline struct piece bad(struct parse *p)
{
	p->is_bad = 1;
	p->at = p->end;
	return (struct piece){0};
}

static inline char peek(const struct parse *p)
{
	if (p->at < p->end)
		return *p->at;
	return '\0';
}

static inline char peek_2(const struct parse *p)
{
	if (p->end - p->at > 1)
		return p->at[1];
	return '\0';
}

static inline int take(struct parse *p, char c)
{
	if (peek(p) != c)
		return 0;
	p->at++;
	return 1;
}

static inline int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline void add(struct parse *p, const char *text, size_t length)
{
	if (p->is_bad || length > PP_DEMANGLE_ROOM - p->used) {
		bad(p);
		return;
	}
	memcpy(p->room + p->used, text, length);
	p->used += (uint32_t)length;
}

static inline void add_text(struct parse *p, const char *text)
{
	add(p, text, strlen(text));
}

static inline void add_piece(struct parse *p, struct piece x)
{
	add(p, p->room + x.from, x.length);
}

static inline struct piece since(struct parse *p, uint32_t from)
{
	struct piece x = {0};

	if (!p->is_bad) {
		x.from = from;
		x.length = p->used - from;
	}
	return x;
}

static inline struct piece constant(struct parse *p, const char *text)
{
	uint32_t from = p->used;

	add_text(p, text);
	return since(p, from);
}

static inline char last_of(const struct parse *p, struct piece x)
{
	if (x.length)
		return p->room[x.from + x.length - 1];
	return '\0';
}

static inline struct piece remember(struct parse *p, struct piece x)
{
	if (p->substitutions == SUBSTITUTIONS)
		return bad(p);
	p->substitution[p->substitutions++] = x;
	return x;
}

/* <a><between><b> */
static inline struct piece join(struct parse *p, struct piece a, const char *between, struct piece b)
{
	uint32_t from = p->used;

	add_piece(p, a);
	add_text(p, between);
	add_piece(p, b);
	return since(p, from);
}

static inline uint32_t number(struct parse *p)
{
	uint32_t n = 0;

	if (!is_digit(peek(p)))
		bad(p);
	while (is_digit(peek(p)) && n < 100000)
		n = n * 10 + (uint32_t)(*p->at++ - '0');
	return n;
}

/* [0-9A-Z]* _ : 0 for "_", else the number + 1 */
static inline uint32_t sequence(struct parse *p)
{
	uint32_t n = 0;
	int has = 0;

	for (char c = peek(p); (is_digit(c) || (c >= 'A' && c <= 'Z')) && n < 100000; c = peek(p)) {
		n = n * 36 + (uint32_t)(is_digit(c) ? c - '0' : c - 'A' + 10);
		has = 1;
		p->at++;
	}
	if (!take(p, '_'))
		bad(p);
	return n + (uint32_t)has;
}

static inline struct piece source_name(struct parse *p)
{
	static const char anonymous[] = "_GLOBAL_";
	uint32_t length = number(p), from = p->used;
	const char *text = p->at;

	if (p->is_bad || !length || length > (size_t)(p->end - p->at))
		return bad(p);
	p->at += length;
	if (length > sizeof(anonymous) && !memcmp(text, anonymous, sizeof(anonymous) - 1) && strchr("._$", text[8]) &&
	    text[9] == 'N')
		add_text(p, "(anonymous namespace)");
	else
		add(p, text, length);
	return since(p, from);
}
