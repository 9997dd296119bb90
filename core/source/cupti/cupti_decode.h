/* From a buffer of CUPTI's records to records of the ring. In: buffers that CUPTI filled. Out: DEVICE* records of this thread's
 * ring, and counts of what is in none. Trusts no field: a stand-in or a damaged buffer may have said it. One thread. */
#pragma once

#include <stdint.h>

#include "core/source/cupti/cupti_abi.h"
#include "core/source/cupti/cupti_clock.h"
#include "core/source/cupti/cupti_due.h"
#include "core/source/cupti/cupti_names.h"

enum { PP_CUPTI_NUMBERS = 1024, PP_CUPTI_SYNCS = 64, PP_CUPTI_POOLS = 64 };

struct pp_cupti_call_row {
	const char *name; /* NULL: not recorded */
	uint8_t call;     /* enum pp_device_call */
};

struct pp_cupti_decode {
	const struct pp_cupti_api *api;
	struct pp_cupti_clock clock;
	struct pp_cupti_names names;
	struct pp_cupti_due due;
	struct pp_cupti_call_row call[2][PP_CUPTI_NUMBERS]; /* driver, runtime */
	struct {
		uint32_t correlation, stream, context;
	} sync[PP_CUPTI_SYNCS]; /* what the calls that wait for the device wait for, until their own record comes */
	struct {
		uint64_t address, size, threshold;
		uint32_t device, type; /* type 0: empty */
	} pool[PP_CUPTI_POOLS];        /* of memory: what the ring has of them. Of two that share a place, the last one */
	uint32_t own_tid;              /* its calls are not the application's */
	uint64_t untimed, unknown;     /* records: without a time, of an unknown form */
	uint64_t reversed;             /* whose end is before their begin */
	uint64_t of_other_clock;       /* whose times are no times of CUPTI's clock in the window */
	uint64_t late;                 /* came when recording was off */
	uint64_t records;              /* read */
};

/* Once: the table of calls. */
void pp_cupti_decode_init(struct pp_cupti_decode *d, const struct pp_cupti_api *api);
/* Is call `number` of driver (0) or runtime (1) recorded? */
int pp_cupti_decode_wants(const struct pp_cupti_decode *d, int runtime, uint32_t number);
/* `valid` bytes of `buffer` are filled. */
void pp_cupti_decode(struct pp_cupti_decode *d, uint8_t *buffer, size_t valid);
