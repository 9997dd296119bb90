/* Finds steps of a job that marks none, while it runs: the pattern of collectives on MPI_COMM_WORLD drives the window. In:
 * collectives of libpodprof-mpi.so, by podprof_collector.collective. Out: step edges, STEP_BEGIN records with that origin.
 * Only with --step-rule collectives, which all ranks have alike: no rank knows whether another one has marks or ranges, which
 * are trusted more. Only MPI_COMM_WORLD: MPI orders no calls between communicators. The first real mark switches it off for
 * good. MPI allows one collective at a time on a communicator; two threads inside at once switch it off too. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t pp_pattern_on __attribute__((visibility("hidden")));

/* At the claim, with --step-rule collectives. */
void pp_pattern_start(void);
/* For good; any thread, async-signal-safe. */
void pp_pattern_stop(void);
/* A collective on MPI_COMM_WORLD has returned. call: row of core/call/mpi_call.def. root: -1 none. bytes: max(sent, received). */
void pp_pattern_collective(uint16_t call, int32_t root, uint64_t bytes, int failed);
