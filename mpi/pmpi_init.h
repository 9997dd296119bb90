/* Begin and end of recording: with MPI_Init or the first session, with MPI_Finalize or the last session. In: wrappers of those. */
#pragma once

#include "mpi/pmpi_source.h"

/* After the real call, whose begin had these ticks, with the thread's guard up. session NULL: of MPI_Init. Returns rc. */
int pp_mpi_begun(struct pp_mpi_thread *t, enum pp_mpi_row call, const pp_tick begin[2], int rc, const pp_session *session);
/* After the real call of an end that succeeded. */
void pp_mpi_ended(void);
