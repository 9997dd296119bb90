/* Where a rank is, or was when it ended: its where-am-I lines, which are written outside windows too. In: a ring's header, of any
 * content. Out: the line, the communicator's row, a text. Called by finish.c and by aggregate/keeper. */
#pragma once

#include <stddef.h>

#include "core/ring/ring_file.h"

/* The line of the thread that is in MPI, the main thread first; else of the main thread, with the call of torch.distributed that
 * any thread is in, without its communicator; then `calls` counts those of NCCL too. With the highest step of all. */
struct pp_where pp_place_where(const struct pp_ring_header *h);
/* The row of a communicator in the header; 0: none. */
int pp_place_comm(const struct pp_ring_header *h, uint64_t id, struct pp_ring_comm *ret_row);
/* Row `index` of the header, of a communicator of NCCL; 0: it is none. */
int pp_place_nccl(const struct pp_ring_header *h, uint32_t index, struct pp_ring_comm *ret_row);
/* "in MPI_Allreduce number 812 of MPI_COMM_WORLD", "after ..."; "" where it made no MPI call, or is of an earlier podprof. */
void pp_place_text(const struct pp_ring_header *h, char *text, size_t size);
