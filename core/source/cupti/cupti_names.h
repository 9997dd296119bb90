/* Writes records that name kernels and launches by number. Numbers hold within a chunk of the ring, so they begin again with each
 * chunk. In: names as pointers that stay. Out: DEVICE_NAME, DEVICE_LAUNCH, then the record itself, all in one chunk. One thread. */
#pragma once

#include <stdint.h>

#include "core/ring/record.h"

enum { PP_CUPTI_NAME_SLOTS = 2048, PP_CUPTI_LAUNCH_WORDS = 9 };

struct pp_cupti_names {
	const struct pp_record *chunk; /* that the numbers are for */
	uint32_t epoch;                /* entries of other epochs are empty */
	uint32_t names, launches;      /* in this chunk */
	struct {
		const char *text;
		const struct pp_record *at; /* its record */
		uint32_t epoch, number;
	} name[PP_CUPTI_NAME_SLOTS];
	struct {
		uint32_t word[PP_CUPTI_LAUNCH_WORDS];
		uint32_t epoch, number;
	} launch[PP_CUPTI_NAME_SLOTS];
};

/* Writes `r`, whose numbers at *name_at and *launch_at (in r; NULL: none) are set here. text NULL: no name; launch NULL: none. */
void pp_cupti_write(struct pp_cupti_names *n, struct pp_record *r, uint32_t *name_at, const char *text, uint32_t *launch_at,
                    const struct pp_record_device_launch *launch);
