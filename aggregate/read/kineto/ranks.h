/* Which ranks a file has, and what of it is whose. In: a store and its processes. Out: a store for each rank. Internal to this
 * room. */
#pragma once

#include "aggregate/read/kineto/process.h"

enum { KINETO_RANKS_MOST = 1024 };

struct kineto_parts {
	struct kineto_store *part; /* [parts] by number; their names are the file's */
	int32_t *number;           /* [parts] of the rank in the file: as the file says, else from 0 */
	size_t parts;
	int is_own;    /* the file says the numbers */
	int is_shared; /* there are several: their names of threads are the file's */
};

/* Parts the store, which holds only its names and labels afterwards. A file of one rank has one part. 0, or -ENOMEM: what is in
 * ret_parts is to be released all the same. */
int pp_kineto_part(struct kineto_store *s, const struct kineto_processes *list, struct kineto_parts *ret_parts);
/* Frees the parts, without names. */
void pp_kineto_parts_release(struct kineto_parts *parts);
