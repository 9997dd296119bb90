/* Describes communicators, windows and files to readers of rings: COMM records before the first record that names one, and rows of
 * the ring's header. In: struct pp_comm. Out: records of this thread. Any thread; without the collector nothing is written. */
#pragma once

#include "mpi/pmpi_comm_state.h"

/* Copies the name, of which it keeps 63 bytes, and describes c anew. */
void pp_comm_set_name(struct pp_comm *c, const char *name);
/* Describes it in the ring's header, where readers of a hung job find it, also while nothing is recorded. */
void pp_comm_describe(const struct pp_comm *c);
/* Puts the COMM records that are due; each once. */
void pp_comm_announce(struct pp_comm *c);
/* Puts that of the n world ranks from which this one receives in neighbourhood collectives. */
void pp_comm_announce_near(const struct pp_comm *c, const int32_t *world, uint32_t n);
