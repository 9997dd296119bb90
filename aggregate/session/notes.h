/* Sentences for /quality, and the status of ranks. In: headers of rings, beside the capture. Out: the capture's statuses, warnings.
 * Called by close.c; whoever reads rings adds sentences of its own. */
#pragma once

#include "aggregate/read/ring/rings.h"

enum { PP_WARNINGS = 32 };

struct pp_notes { /* sentences for /quality */
	char text[PP_WARNINGS][256];
	const char *list[PP_WARNINGS + 1]; /* NULL-terminated */
	int count;
};

void pp_notes_add(struct pp_notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Status of the rank whose ring this is: pp_rank.status. */
typedef const char *pp_status_of(const struct pp_ring_header *h, const struct pp_rank *rank);

/* After pp_rings_finish(): status of every rank, and the warnings that headers give. */
void pp_notes_of_rings(const struct pp_rings *r, struct pp_capture *c, pp_status_of *status_of, struct pp_notes *n);
