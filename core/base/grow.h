/* Lists that grow by doubling: what a loop appends costs a bounded number of copies. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "core/base/huge.h"

/* The list with room for one more behind its `n` rows of `size` bytes. NULL: no memory, and the list is as it was. */
static inline void *pp_grow(void *list, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *grown = n < *room ? list : realloc(list, more * size);

	if (grown && n == *room) {
		pp_huge_advise(grown, more * size);
		*room = more;
	}
	return grown;
}

/* Gives `list`, whose `room` counts, room for one more behind its `n` rows. 0; -1: no memory, and the list is as it was. */
#define PP_GROW(list, n, room)                                                                                                     \
	__extension__({                                                                                                            \
		void *pp_grown = pp_grow((list), (n), &(room), sizeof(*(list)));                                                   \
                                                                                                                                   \
		if (pp_grown)                                                                                                      \
			(list) = pp_grown;                                                                                         \
		pp_grown ? 0 : -1;                                                                                                 \
	})

/* Makes room for `room` rows in `list`: for lists that seldom grow, since each call may copy. 0; -1: no memory, and the list is as
 * it was. */
#define PP_RESIZE(list, room)                                                                                                      \
	__extension__({                                                                                                            \
		void *pp_resized = realloc((list), (room) * sizeof(*(list)));                                                      \
                                                                                                                                   \
		if (pp_resized)                                                                                                    \
			(list) = pp_resized;                                                                                       \
		pp_resized ? 0 : -1;                                                                                               \
	})
