/* The keeper's end of a ring file: maps it and walks what every thread has committed, by the protocol of ring_file.h.
 * In: a ring file, nothing of which is believed (its process may be killed, or hostile; it may be cut short at any time).
 * Out: spans of committed records.
 * One thread at a time; may live in the guest's own process (tests). */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "core/ring/ring_file.h"

struct pp_drain;

enum pp_drain_flags {
	PP_DRAIN_PRIVATE = 1, /* leave the file as it is (salvage): chunks are read, but not given back */
};

struct pp_drain_sink {
	void *context;
	/* Required. `count` records of one chunk that follow each other; a record and its TEXT records are in one span.
	 * The memory is shared with the writer: read each value once. */
	void (*records)(void *context, uint32_t slot, const struct pp_record *record, uint32_t count);
	/* Optional. The slot's thread is over and all is read: records that come later are another thread's. */
	void (*ended)(void *context, uint32_t slot);
};

/* -EAGAIN: shorter than its header says, or not complete yet; -EPROTO: not a ring file of this version. */
int pp_drain_open(const char *path, int flags, struct pp_drain **ret_drain, struct pp_err *err);
void pp_drain_close(struct pp_drain *d);
const struct pp_ring_header *pp_drain_header(const struct pp_drain *d);
/* Of the header as it was opened: in its range, whatever stands there now. */
void pp_drain_rank(const struct pp_drain *d, int32_t *ret_rank, int32_t *ret_size);
/* Sets `bits` of pp_ring_header.flags to `value`; the rank's process reads them. */
void pp_drain_set_flags(struct pp_drain *d, uint32_t bits, uint32_t value);

/* Hand out what is there now; returns how many records. Ends always, whatever the file holds. */
uint64_t pp_drain_run(struct pp_drain *d, const struct pp_drain_sink *sink);
/* Faults of the file seen so far: chunk numbers, counts or links that no guest writes. */
uint64_t pp_drain_faults(const struct pp_drain *d);
/* Records that another keeper had taken out of the file before this one opened it, and had not settled. */
uint64_t pp_drain_gone(const struct pp_drain *d);
/* What was taken so far is in a session, or not wanted, but for the last `kept` records. */
void pp_drain_finalise(struct pp_drain *d, uint64_t kept);
/* Threads whose later records are gone because the file was cut short. */
uint64_t pp_drain_cut(const struct pp_drain *d);
/* Used share of the chunks it may have, in percent, as the last run found it. */
int pp_drain_fill(const struct pp_drain *d);
