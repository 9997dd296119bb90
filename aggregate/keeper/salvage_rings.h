/* The rings that a salvage reads. In: spools. Out: drained rings of one run, and which rings are left out. Called by salvage.c. */
#pragma once

#include <stdint.h>

#include "aggregate/keeper/records.h"

struct pp_salvaged { /* to be released: pp_records_release() */
	struct pp_spool_view view;
	struct pp_rings *rings; /* of the view */
	struct pp_warnings warnings;
};

struct pp_left_out {
	char text[2048]; /* a line for each of the first few, with a line feed before it */
	size_t rings, named;
	size_t for_memory; /* of these; the spool can be salvaged again */
};

/* Opens and drains the rings of all spools, one after another, and takes those of other runs out again (runs.h). Rings with which
 * the session would take more than `memory` bytes are left out, too. -ENOENT: none can be read; -ENOMEM: not even one fits;
 * -EEXIST: rings of two jobs, which cannot be separated. */
int pp_salvage_rings(struct pp_salvaged *s, char *const *spool, size_t spools, uint64_t memory, struct pp_left_out *ret_left,
                     struct pp_err *err);
/* Appends the lines to a message. */
void pp_left_out_say(const struct pp_left_out *left, char *message, size_t size);
