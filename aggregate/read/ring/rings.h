/* Input format 1: ring files. In: records (core/ring/drain). Out: pp_capture (spans in ticks). Names are interned and ranges
 * paired while draining, so that closing a window only reads finished spans. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/ring/ring_file.h"

struct pp_capture;
struct pp_step_ended;

struct pp_rings; /* all rings of one spool */
struct pp_drain;

/* `buffer` is the window buffer in bytes: beyond it the oldest spans of all ranks are evicted (whole blocks, horizon moves).
 * NULL: no memory. */
struct pp_rings *pp_rings_new(size_t buffer);
/* Closes all rings, and frees what pp_rings_finish() has not given away. */
void pp_rings_free(struct pp_rings *r);
/* Reads the records of a ring that is open: `drain` must live until the ring is taken out, or all are freed. */
int pp_rings_add(struct pp_rings *r, const char *path, struct pp_drain *drain, struct pp_err *err);
/* Rings opened after this call stay unchanged on disk (salvage). A record with a time to come is damaged, where the ring has this
 * host's clock. */
void pp_rings_private(struct pp_rings *r);
/* Excludes rings of processes that are no ranks: another process has stronger evidence for that rank, or they took themselves
 * for the only rank of a job that has several. They have started the ranks, or help one. Call it again after opening rings: the
 * other processes may come later. */
void pp_rings_exclude(struct pp_rings *r);
/* Lets a rank that ends go, if it must not wait for its files: a process above it is a rank too and waits for them, perhaps
 * after waiting for its child. Checked once, when the rank ends. */
void pp_rings_let_go(struct pp_rings *r, size_t index);
/* As pp_rings_exclude() decided last. */
int pp_rings_is_excluded(const struct pp_rings *r, size_t index);
uint64_t pp_rings_records(const struct pp_rings *r); /* drained so far, of all rings */
/* Takes ring `index` out, with what was drained from it; later rings move down by one. */
void pp_rings_take_out(struct pp_rings *r, size_t index);
/* As it was opened; valid until the ring is taken out. */
const char *pp_rings_path(const struct pp_rings *r, size_t index);
int64_t pp_rings_last_tick(const struct pp_rings *r, size_t index); /* of its records; INT64_MIN: there was none */
size_t pp_rings_count(const struct pp_rings *r); /* open ones, excluded or not: their indexes are 0 to this - 1 */
/* Of any content, and changed by its rank at any time; valid until the ring is taken out. */
const struct pp_ring_header *pp_rings_header(const struct pp_rings *r, size_t index);
/* Reads what is there of ring `index`; returns the number of records; *ret_fill is its used share of its limit in percent (may
 * be NULL). */
uint64_t pp_rings_drain(struct pp_rings *r, size_t index, int *ret_fill);
/* The ring's pages leave this process, where it is private: what was drained stays. */
void pp_rings_drop_pages(struct pp_rings *r, size_t index);
/* Drains every ring until it is empty, at most 8 rounds: ranks may go on recording. */
void pp_rings_drain_all(struct pp_rings *r);
/* Ticks of ring `index` before which spans were evicted; INT64_MIN: none were. */
int64_t pp_rings_horizon(const struct pp_rings *r, size_t index);
/* How many steps of ring `index` have ended so far; the n-th of them, from 0. NULL: not yet, or more than PP_STEPS_ENDED ago. */
uint64_t pp_rings_steps(const struct pp_rings *r, size_t index);
const struct pp_step_ended *pp_rings_step(const struct pp_rings *r, size_t index, uint64_t n);
/* Recording begins in the middle of the program: a range end without a begin is no fault. */
void pp_rings_begin_within(struct pp_rings *r);
uint64_t pp_rings_bytes(const struct pp_rings *r); /* memory held */
/* The earliest of all rings with the first one's tick kind: when it was opened, or its first record that is not before its process;
 * 0: there is none. */
int64_t pp_rings_first_tick(const struct pp_rings *r);
