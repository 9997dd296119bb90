/* Names as small numbers: an index from raw bytes to id. Called by aggregate/read and every reader of names. */
#include "core/ring/intern.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/map.h"
#include "core/base/utf8.h"

enum { ARENA_BYTES = 65536 };

struct arena {
	struct arena *next;
	size_t used, size;
	char bytes[];
};

struct key { /* raw bytes; several keys may have one id (invalid UTF-8 that reads the same) */
	uint64_t hash;
	const char *bytes;
	uint32_t length, id;
};

struct text {
	const char *bytes;
	size_t length;
};

struct pp_intern {
	struct key *key;
	size_t keys, keys_room;
	struct pp_map map; /* of keys */
	struct text *text;
	size_t texts, texts_room;
	struct arena *arena;
	uint64_t bytes /* of arenas */, limit;
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
	return h;
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

static uint64_t hash_of_key(const void *row)
{
	return ((const struct key *)row)->hash;
}

static int is_same(const void *row, const void *key)
{
	const struct key *a = row, *b = key;

	return a->hash == b->hash && a->length == b->length && !memcmp(a->bytes, b->bytes, b->length);
}

/* The place of its row; NULL: no memory. */
static inline uint32_t *place_of(struct pp_intern *t, const struct key *key)
{
	return pp_map_place(&t->map, t->key, t->keys, sizeof(*key), key, hash_of_key, is_same);
}

static int add_key(struct pp_intern *t, const struct key *key)
{
	uint32_t *place = place_of(t, key);
	struct key *more = place ? pp_grow(t->key, t->keys, &t->keys_room, sizeof(*key)) : NULL;

	if (!more)
		return -1;
	t->key = more;
	more[t->keys] = *key;
	*place = (uint32_t)++t->keys;
	return 0;
}

static int add_text(struct pp_intern *t, const char *bytes, size_t length)
{
	struct text *more = t->texts < UINT32_MAX ? pp_grow(t->text, t->texts, &t->texts_room, sizeof(*more)) : NULL;

	if (!more)
		return -1;
	t->text = more;
	more[t->texts++] = (struct text){bytes, length};
	return 0;
}

struct pp_intern *pp_intern_new(void)
{
	struct pp_intern *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->limit = UINT64_MAX;
	if (add_text(t, "", 0) || add_key(t, &(struct key){hash_of("", 0), "", 0, 0})) {
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
	free(t->map.place);
	free(t->text);
	free(t);
}

void pp_intern_limit(struct pp_intern *t, uint64_t bytes)
{
	t->limit = bytes;
}

/* The text is valid UTF-8 and new: its key and text are the same bytes. */
static uint32_t add_good(struct pp_intern *t, const struct key *key)
{
	const uint32_t id = (uint32_t)t->texts;
	char *copy = take(t, key->length + 1);

	if (!copy)
		return 0;
	memcpy(copy, key->bytes, key->length);
	copy[key->length] = '\0';
	if (add_text(t, copy, key->length))
		return 0;
	if (add_key(t, &(struct key){key->hash, copy, key->length, id})) {
		t->texts--;
		return 0;
	}
	return id;
}

/* Adds the raw bytes as one more key of their replacement text. */
/* NOLINTNEXTLINE(misc-no-recursion): once: the repaired text is good */
static uint32_t add_repaired(struct pp_intern *t, const struct key *key)
{
	size_t room = pp_utf8_repair(NULL, key->bytes, key->length);
	char *repaired = malloc(room + 1), *copy = take(t, key->length);
	uint32_t id = 0;

	if (repaired && copy) {
		pp_utf8_repair(repaired, key->bytes, key->length);
		memcpy(copy, key->bytes, key->length);
		id = pp_intern_put(t, repaired, room);
		if (id)
			add_key(t, &(struct key){key->hash, copy, key->length, id});
	}
	free(repaired);
	return id;
}

/* NOLINTNEXTLINE(misc-no-recursion): as add_repaired() */
uint32_t pp_intern_put(struct pp_intern *t, const char *text, size_t length)
{
	const struct key key = {hash_of(text, length), text, (uint32_t)length, 0};
	const uint32_t *place;

	if (length > UINT32_MAX / 4)
		return 0;
	place = place_of(t, &key);
	if (place && *place)
		return t->key[*place - 1].id;
	if (!place || pp_intern_bytes(t) + length > t->limit)
		return 0;
	return pp_utf8_good(text, length) ? add_good(t, &key) : add_repaired(t, &key);
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
	return (uint32_t)t->texts;
}

uint64_t pp_intern_bytes(const struct pp_intern *t)
{
	return t->bytes + t->keys_room * sizeof(*t->key) + t->texts_room * sizeof(*t->text) + t->map.places * sizeof(*t->map.place);
}
