/* A session's timeline in the formats of other tools. In: a session's directory, options. Out: a file descriptor. Called by
 * cmd_export.c and view. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/rank_list.h"

enum pp_export_format { PP_EXPORT_PERFETTO, PP_EXPORT_CHROME, PP_EXPORT_FOLDED, PP_EXPORT_FORMATS };

struct pp_export_options {
	enum pp_export_format format;
	int is_plain;  /* CHROME: not compressed */
	int is_joined; /* FOLDED: the stacks of all ranks together */
	int64_t steps_first, steps_last, last_ns;
	struct pp_rank_list ranks; /* count 0: all */
	uint32_t categories;
};

struct pp_export_result { /* what was written */
	uint64_t events, flows, counters, stacks, ranks;
	char left[2048]; /* what was not: lines */
};

/* Writes the session to `fd`, in a child process, as HDF5 can crash on a damaged file. 0 or -errno with a sentence. */
int pp_export_write(const char *directory, const struct pp_export_options *o, int fd, struct pp_export_result *ret,
                    struct pp_err *err);
/* Bits of categories by their names, "Input,Host compute"; case does not matter. -EINVAL with the sentence. */
int pp_export_categories(const char *text, uint32_t *ret, struct pp_err *err);
