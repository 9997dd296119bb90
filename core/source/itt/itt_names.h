/* ITT's strings and counters. In: ITT calls, any thread. Out: handles for the application, texts.
 * Bounded, and never freed: a handle stays valid for the life of the process, in forked children too. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/lazy.h"
#include "core/source/itt/itt_abi.h"

enum {
	PP_ITT_NAMES = 16384,        /* strings that are kept; further ones live in scratch handles */
	PP_ITT_SUFFIXED = 1024,      /* of these, names with a suffix that differs per call */
	PP_ITT_NAME_LONGEST = 4096,  /* bytes of one that is kept */
	PP_ITT_ARENA_BYTES = 4 << 20 /* for all of them */
};

enum { PP_ITT_NO_END = -1 };

struct pp_itt_name { /* a string that is kept; a counter is the one of its name */
	/* First: its address is the application's handle. extra1: call number of torch.distributed that is named so, 0: none;
	 * PP_ITT_NO_END: such a range may end on another thread. */
	struct pp_itt_string handle;
	uint64_t hash;
	uint32_t length;
	_Atomic uint32_t type;  /* enum pp_itt_type, of a counter */
	_Atomic uint64_t value; /* of a counter: its count; a double's bits where that is its type */
	char text[];
};
_Static_assert(sizeof(struct pp_itt_name) == 64, "the text begins a line");

extern void *_Atomic pp_itt_arena __attribute__((visibility("hidden"))); /* NULL before the first name; see lazy.h */

/* Handle of a text. Known ones cost no lock, allocation or system call. A text that is not kept gets a temporary handle, valid
 * until this thread has made four more. NULL for NULL. */
struct pp_itt_string *pp_itt_string_create(const char *text);
/* The kept name of "domain/name" (domain "" or NULL: "name"); NULL: there is no room for it. */
struct pp_itt_name *pp_itt_counter_create(const char *domain, const char *name, int type);

static inline int pp_itt_is_interned(const void *handle)
{
	return (uintptr_t)handle - (uintptr_t)pp_lazy_had(&pp_itt_arena) < PP_ITT_ARENA_BYTES;
}

/* extra1 of a kept name; 0 of others. */
static inline int pp_itt_place(const struct pp_itt_string *handle)
{
	return __builtin_expect(pp_itt_is_interned(handle), 1) ? handle->extra1 : 0;
}

static inline const char *pp_itt_text(const struct pp_itt_string *handle, size_t *ret_length)
{
	const char *text;

	if (__builtin_expect(pp_itt_is_interned(handle), 1)) {
		const struct pp_itt_name *n = (const struct pp_itt_name *)handle;

		*ret_length = n->length;
		return n->text;
	}
	text = handle && handle->text ? handle->text : "";
	*ret_length = strlen(text);
	return text;
}
