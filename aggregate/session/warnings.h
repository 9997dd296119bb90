/* Warnings for /quality. In: headers of rings, and the capture. Out: warnings. Called by close.c; callers add warnings of their
 * own. */
#pragma once

#include "aggregate/read/ring/rings.h"
#include "core/capture/capture.h"

enum { PP_WARNINGS = 32 };

struct pp_warnings { /* warnings for /quality */
	char text[PP_WARNINGS][256];
	const char *list[PP_WARNINGS + 1]; /* NULL-terminated */
	int count;
};

/* A longer text is cut; those beyond PP_WARNINGS are left out. */
void pp_warnings_add(struct pp_warnings *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Status of this ring's rank: pp_rank.status. */
typedef void pp_status_of(void *context, size_t ring, const struct pp_rank *rank, char *text, size_t size);

/* After pp_rings_finish(): the headers' warnings. */
void pp_warnings_of_rings(const struct pp_rings *r, struct pp_capture *c, struct pp_warnings *n);
