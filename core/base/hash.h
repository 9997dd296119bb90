/* FNV-1a, 64 bits: names of files, rows of tables, identifiers that all ranks make alike. Not against an adversary. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PP_HASH_BEGIN 0xcbf29ce484222325u

static inline uint64_t pp_hash(uint64_t hash, const void *data, size_t length)
{
	for (const unsigned char *p = data; length--; p++)
		hash = (hash ^ *p) * 0x100000001b3u;
	return hash;
}

static inline uint64_t pp_hash_text(const char *text)
{
	return pp_hash(PP_HASH_BEGIN, text, strlen(text));
}
