/* Way in number one: ring files. In: records (core/ring/drain). Out: pp_capture (spans in ticks).
 * Names are interned and ranges paired while draining, so that closing a window only reads finished spans. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/ring/ring_file.h"
#include "core/step/span.h"

struct pp_rings; /* all rings of one spool */

/* `buffer` is the window buffer in bytes: when the spans of all ranks pass it, the oldest are evicted (whole
 * blocks, horizon moves). */
struct pp_rings *pp_rings_new(size_t buffer);
void pp_rings_free(struct pp_rings *r);
/* Map a ring file (header checked: magic, version, byte order, size). -EAGAIN: not complete yet. */
int pp_rings_open(struct pp_rings *r, const char *path, struct pp_err *err);
/* Rings opened from now on are left as they are on disk (salvage). */
void pp_rings_private(struct pp_rings *r);
/* Rings of processes that are no ranks: another one is surer to be that rank, or they took themselves for the only one of a job of
 * several. They have started the ranks, or help one. Again after rings were opened: the others may come later. */
void pp_rings_exclude(struct pp_rings *r);
/* A rank that ends waits for its files. One whose parent (or a process above that) is a rank too does not: that one waits for them,
 * and perhaps for its child before. Looked at once, when the rank ends. */
void pp_rings_let_go(struct pp_rings *r, size_t index);
int pp_rings_is_excluded(const struct pp_rings *r, size_t index);
uint64_t pp_rings_records(const struct pp_rings *r); /* drained so far, of all rings */
size_t pp_rings_count(const struct pp_rings *r);
const struct pp_ring_header *pp_rings_header(const struct pp_rings *r, size_t index);
/* Read what is there of ring `index`; returns the records read; *ret_fill is its used share of its limit in
 * percent (may be NULL). */
uint64_t pp_rings_drain(struct pp_rings *r, size_t index, int *ret_fill);
/* Every ring until nothing more comes, 8 rounds at most: ranks may go on recording. */
void pp_rings_drain_all(struct pp_rings *r);
/* Ticks of ring `index` before which spans were evicted; INT64_MIN: none were. */
int64_t pp_rings_horizon(const struct pp_rings *r, size_t index);
/* How many steps of ring `index` have ended so far; the n-th of them, from 0. NULL: not yet, or more than PP_STEPS_ENDED ago. */
uint64_t pp_rings_steps(const struct pp_rings *r, size_t index);
const struct pp_step_ended *pp_rings_step(const struct pp_rings *r, size_t index, uint64_t n);
/* Records begin in the middle of what threads do: a range that ends without a begin is no fault of the program. */
void pp_rings_begin_within(struct pp_rings *r);
uint64_t pp_rings_bytes(const struct pp_rings *r); /* memory held */
/* Of all rings that count as the first one does: when one was opened, or recorded something first; 0: there is none. */
int64_t pp_rings_first_tick(const struct pp_rings *r);
/* Once, at the end; then only pp_rings_header(), pp_rings_count() and pp_rings_free() may follow. Open ranges are closed at the
 * last tick (flag CUT_END), spans are sorted, everything moves into ret_capture. Two rings of one rank (the claim passed on): spans
 * of both, as threads of one rank. */
int pp_rings_finish(struct pp_rings *r, struct pp_capture *ret_capture, struct pp_err *err);
/* Its spans, wherever they are from. */
void pp_thread_release(struct pp_thread *thread);
void pp_capture_release(struct pp_capture *c);

/* A clock domain in words that all keepers have alike: pp_rank.clock. Nothing where there is no boot id: it is like no other. */
void pp_rings_name_clock(const char *boot_id, const char *timens, uint32_t tick_kind, char *name, size_t size);
