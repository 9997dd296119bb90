/* The keeper's end of a ring file: maps it and reads what every thread has committed, by the protocol of ring_file.h. In: a
 * ring file, none of which is trusted (its process may be killed or hostile; it may be truncated at any time). Out: spans of
 * committed records. One thread at a time; tests run it in the process that records. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "core/ring/ring_file.h"

struct pp_drain;

enum pp_drain_flags {
	PP_DRAIN_PRIVATE = 1, /* leave the file unchanged (salvage): chunks are read, but not returned */
};

struct pp_drain_sink {
	void *context;
	/* Required. `count` consecutive records of one chunk; a record and its TEXT records are in one call. The memory is
	 * shared with the writer: read each value once. */
	void (*records)(void *context, uint32_t slot, const struct pp_record *record, uint32_t count);
	/* Optional. The slot's thread has ended and all of it is read: later records are another thread's. */
	void (*ended)(void *context, uint32_t slot);
};

/* -EAGAIN: shorter than its header says, or not complete yet; -EPROTO: not a ring file of this version. */
int pp_drain_open(const char *path, int flags, struct pp_drain **ret_drain, struct pp_err *err);
void pp_drain_close(struct pp_drain *d);
const struct pp_ring_header *pp_drain_header(const struct pp_drain *d);
/* Of the header as opened: in range, whatever the file holds now. */
void pp_drain_rank(const struct pp_drain *d, int32_t *ret_rank, int32_t *ret_size);
/* Sets `bits` of pp_ring_header.flags to `value`; the rank's process reads them. */
void pp_drain_set_flags(struct pp_drain *d, uint32_t bits, uint32_t value);

/* Hands out what is there now; returns the number of records. Always terminates, whatever the file holds. */
uint64_t pp_drain_run(struct pp_drain *d, const struct pp_drain_sink *sink);
/* With PP_DRAIN_PRIVATE: this process lets go of the pages of chunks, which the file keeps. */
void pp_drain_drop_pages(struct pp_drain *d);
/* Faults of the file so far: chunk numbers, counts or links that no collector writes. */
uint64_t pp_drain_faults(const struct pp_drain *d);
/* Records that another keeper had taken out of the file before this one opened it, and had not finalised. */
uint64_t pp_drain_gone(const struct pp_drain *d);
/* Everything taken so far, except the last `held` records, is in a session or not wanted. */
void pp_drain_finalise(struct pp_drain *d, uint64_t held);
/* Threads that lost later records because the file was truncated. */
uint64_t pp_drain_cut(const struct pp_drain *d);
/* Used share of the chunks that the rank may have, in percent, as of the last run. */
int pp_drain_fill(const struct pp_drain *d);
