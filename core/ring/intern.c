/* Names as small numbers: an open-addressed table from raw bytes to id. Called by aggregate/read and every reader of names. */
#include "core/ring/intern.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

enum { ARENA_BYTES = 65536, FIRST_KEYS = 1024 };

struct arena {
	struct arena *next;
	size_t used, size;
	char bytes[];
};

struct key {           /* raw bytes; several keys may have one id (invalid UTF-8 that reads the same) */
	uint64_t hash; /* 0: empty place */
	const char *bytes;
	uint32_t length, id;
};

struct text {
	const char *bytes;
	size_t length;
};

struct pp_intern {
	struct key *key;
	size_t keys, places; /* places: power of two, at most half full */
	struct text *text;
	uint32_t texts, texts_room;
	struct arena *arena;
	uint64_t bytes, limit;
};

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1342543de82ef95u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word(const char *p, size_t n)
{
	uint64_t w = 0;

	if (n >= 8) {
		memcpy(&w, p, 8);
	} else if (n >= 4) {
		uint32_t low, high;

		memcpy(&low, p, 4);
		memcpy(&high, p + n - 4, 4);
		w = low | (uint64_t)high << 32;
	} else if (n) {
		w = (uint8_t)p[0] | (uint64_t)(uint8_t)p[n / 2] << 8 | (uint64_t)(uint8_t)p[n - 1] << 16;
	}
	return w;
}

static inline uint64_t hash_of(const char *p, size_t length)
{
	uint64_t h = length;
	size_t n = length;

	for (; n > 16; n -= 16, p += 16)
		h = mix(word(p, 8) ^ h, word(p + 8, 8));
	if (n > 8)
		/* cppcheck-suppress pointerOutOfBoundsCond ; n bytes are left at p */
		h = mix(word(p, 8) ^ h, word(p + n - 8, 8));
	else
		h = mix(word(p, n) ^ h, length);
	return h ? h : 1;
}

static char *take(struct pp_intern *t, size_t n)
{
	struct arena *a = t->arena;
	char *p;

	if (!a || a->size - a->used < n) {
		size_t size = n > ARENA_BYTES ? n : ARENA_BYTES;

		a = malloc(sizeof(*a) + size);
		if (!a)
			return NULL;
		a->size = size;
		a->used = 0;
		/* A large text gets an arena of its own behind the current one, whose rest stays in use. */
		if (size > ARENA_BYTES && t->arena) {
			a->next = t->arena->next;
			t->arena->next = a;
		} else {
			a->next = t->arena;
			t->arena = a;
		}
		t->bytes += sizeof(*a) + size;
	}
	p = a->bytes + a->used;
	a->used += n;
	return p;
}

static int grow_keys(struct pp_intern *t)
{
	size_t places = t->places ? t->places * 2 : FIRST_KEYS;
	struct key *key = calloc(places, sizeof(*key));

	if (!key)
		return -1;
	for (size_t i = 0; i < t->places; i++) {
		size_t at = t->key[i].hash & (places - 1);

		if (!t->key[i].hash)
			continue;
		while (key[at].hash)
			at = (at + 1) & (places - 1);
		key[at] = t->key[i];
	}
	free(t->key);
	t->bytes += (places - t->places) * sizeof(*key);
	t->key = key;
	t->places = places;
	return 0;
}

static int add_key(struct pp_intern *t, uint64_t hash, const char *bytes, size_t length, uint32_t id)
{
	size_t at;

	if (2 * (t->keys + 1) > t->places && grow_keys(t))
		return -1;
	at = hash & (t->places - 1);
	while (t->key[at].hash)
		at = (at + 1) & (t->places - 1);
	t->key[at] = (struct key){hash, bytes, (uint32_t)length, id};
	t->keys++;
	return 0;
}

static const struct key *find(const struct pp_intern *t, uint64_t hash, const char *bytes, size_t length)
{
	for (size_t at = hash & (t->places - 1); t->key[at].hash; at = (at + 1) & (t->places - 1)) {
		const struct key *k = &t->key[at];

		if (k->hash == hash && k->length == length && !memcmp(k->bytes, bytes, length))
			return k;
	}
	return NULL;
}

static int add_text(struct pp_intern *t, const char *bytes, size_t length)
{
	if (t->texts == t->texts_room) {
		uint32_t room = t->texts_room ? t->texts_room * 2 : 256;
		struct text *text = realloc(t->text, room * sizeof(*text));

		if (!text)
			return -1;
		t->bytes += (room - t->texts_room) * sizeof(*text);
		t->text = text;
		t->texts_room = room;
	}
	t->text[t->texts++] = (struct text){bytes, length};
	return 0;
}

struct pp_intern *pp_intern_new(void)
{
	struct pp_intern *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->limit = UINT64_MAX;
	if (grow_keys(t) || add_text(t, "", 0) || add_key(t, hash_of("", 0), "", 0, 0)) {
		pp_intern_free(t);
		return NULL;
	}
	return t;
}

void pp_intern_free(struct pp_intern *t)
{
	if (!t)
		return;
	while (t->arena) {
		struct arena *next = t->arena->next;

		free(t->arena);
		t->arena = next;
	}
	free(t->key);
	free(t->text);
	free(t);
}

void pp_intern_limit(struct pp_intern *t, uint64_t bytes)
{
	t->limit = bytes;
}

/* The text is valid UTF-8 and new: its key and text are the same bytes. */
static uint32_t add_good(struct pp_intern *t, uint64_t hash, const char *text, size_t length)
{
	char *copy = take(t, length + 1);
	uint32_t id = t->texts;

	if (!copy)
		return 0;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (add_text(t, copy, length))
		return 0;
	if (add_key(t, hash, copy, length, id)) {
		t->texts--;
		return 0;
	}
	return id;
}

/* Adds the raw bytes as one more key of their replacement text. */
/* NOLINTNEXTLINE(misc-no-recursion): once: the repaired text is good */
static uint32_t add_repaired(struct pp_intern *t, uint64_t hash, const char *raw, size_t length)
{
	size_t room = pp_utf8_repair(NULL, raw, length);
	char *repaired = malloc(room + 1), *copy = take(t, length);
	uint32_t id = 0;

	if (repaired && copy) {
		pp_utf8_repair(repaired, raw, length);
		memcpy(copy, raw, length);
		id = pp_intern_put(t, repaired, room);
		if (id)
			add_key(t, hash, copy, length, id);
	}
	free(repaired);
	return id;
}

/* NOLINTNEXTLINE(misc-no-recursion): as add_repaired() */
uint32_t pp_intern_put(struct pp_intern *t, const char *text, size_t length)
{
	uint64_t hash = hash_of(text, length);
	const struct key *k = find(t, hash, text, length);

	if (k)
		return k->id;
	if (length > UINT32_MAX / 4 || t->bytes + length > t->limit)
		return 0;
	return pp_utf8_good(text, length) ? add_good(t, hash, text, length) : add_repaired(t, hash, text, length);
}

const char *pp_intern_text(const struct pp_intern *t, uint32_t id, size_t *ret_length)
{
	const struct text *x = &t->text[id < t->texts ? id : 0];

	if (ret_length)
		*ret_length = x->length;
	return x->bytes;
}

uint32_t pp_intern_count(const struct pp_intern *t)
{
	return t->texts;
}

uint64_t pp_intern_bytes(const struct pp_intern *t)
{
	return t->bytes;
}
