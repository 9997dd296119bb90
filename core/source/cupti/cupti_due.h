/* Launches whose records are due: which of the calls that launch kernels have no record of what they ran yet. In: CUPTI's numbers
 * of calls and records, in any order. Out: how many are missing. One thread. */
#pragma once

#include <stdint.h>

enum { PP_CUPTI_DUE_PLACES = 1 << 16, PP_CUPTI_CAPTURES = 8 };

struct pp_cupti_due {
	struct {
		uint64_t begin, end;  /* of the call, ns of CUPTI */
		uint32_t correlation; /* 0: empty. Of two that share a place, the newer one */
		uint32_t tid;         /* of the thread that called */
		uint8_t state;        /* bit 0: the call was seen, bit 1: a record of it */
	} place[PP_CUPTI_DUE_PLACES];
	struct {
		uint64_t begin, end;
	} capture[PP_CUPTI_CAPTURES]; /* into a graph: launches in it run nothing. end 0: it goes on */
	uint32_t captures;
	uint64_t complete; /* launches with a record, so far */
};

/* Forgets all. */
void pp_cupti_due_reset(struct pp_cupti_due *d);
/* A call of that thread that launches, and succeeded. A call of the runtime and the driver's inside are one launch: what it ran has
 * the number of one of them. */
void pp_cupti_due_call(struct pp_cupti_due *d, uint32_t correlation, uint32_t tid, uint64_t begin, uint64_t end);
/* What it ran has a record, with an end. */
void pp_cupti_due_record(struct pp_cupti_due *d, uint32_t correlation);
/* A thread begins to capture launches into a graph (is_end: has ended it). */
void pp_cupti_due_capture(struct pp_cupti_due *d, int is_end, uint64_t time);
/* Launches without a record. */
uint32_t pp_cupti_due_missing(const struct pp_cupti_due *d);
