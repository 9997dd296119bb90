/* Steps of a job that marks none, while it runs: the pattern of the collectives on MPI_COMM_WORLD moves the window.
 * In: collectives of libpodprof-mpi.so, by podprof_collector.collective. Out: step edges, STEP_BEGIN records that say so.
 *
 * Only where --step-rule collectives asks for it, which is the same on all ranks: whether a rank has marks or ranges of its own,
 * which are trusted more, no other rank knows. Only MPI_COMM_WORLD: MPI gives no order between communicators. The first real
 * mark switches it off for good. MPI allows one collective at a time on a communicator; where two threads come at once all the
 * same, it is switched off. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t pp_pattern_on __attribute__((visibility("hidden")));

/* At the claim, where asked for. */
void pp_pattern_start(void);
void pp_pattern_stop(void);
/* A collective on MPI_COMM_WORLD has returned. call: row of mpi/pmpi_call.def. root: -1 none. bytes: max(sent, received). */
void pp_pattern_collective(uint16_t call, int32_t root, uint64_t bytes, int failed);
