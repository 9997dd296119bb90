/* Separates the runs of a spool: a directory may hold rings of a requeued job's earlier run, of another boot, or of two spools
 * that were copied together. In: drained rings. Out: the run of each. Called by salvage_rings.c. */
#pragma once

#include "aggregate/read/ring/rings.h"

/* Fills run[], one for each ring, from 0, in the order in which they began; returns how many there are. Excluded rings have the
 * last. Rings whose processes lived at one time are of one run: a rank may have been started again meanwhile. Others are of one
 * run if no rank is in both, no more than a minute lies between, and their host has neither booted nor got another podprof.
 * -EEXIST: two processes were one rank at one time, so it has two jobs, which cannot be separated; the error names both. */
int pp_runs_find(const struct pp_rings *r, uint32_t *run, struct pp_err *err);
/* The run to salvage: that of most ranks; of equal ones the newest. */
uint32_t pp_runs_best(const struct pp_rings *r, const uint32_t *run, uint32_t runs);
