/* podprof's own communicator and what it carries: the invitation from rank 0's keeper to those of other hosts, and the agreement
 * on windows (struct pp_coord_ops). In: MPI_Init and MPI_Finalize of pmpi_init.c, polls of pmpi_source.h. Out: the collector's
 * coordinator.
 *
 * Three operations are blocking, all inside MPI_Init, which all ranks call: dup, one allreduce, and one broadcast if the job has
 * several keepers. A rank that fails takes part in all of them, and then all leave together. After that nothing waits before
 * MPI_Finalize.
 *
 * Where it calls MPI: MPI_THREAD_MULTIPLE: on any thread that is not inside an MPI call. SERIALIZED: only where the application
 * has just called MPI. FUNNELED and SINGLE: on the thread that called MPI_Init. A signal handler must mark no step while a
 * request is pending: libmpi allocates memory. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct pp_mpi_thread;

/* Not 0: an operation is pending. */
extern _Atomic uint32_t pp_coord_busy __attribute__((visibility("hidden")));
/* Around the real MPI_Init, under the thread's guard. records: this process is the rank. */
void pp_coord_before(void);
void pp_coord_start_all(int records);
/* Before the real MPI_Finalize, under the thread's guard. */
void pp_coord_stop_all(void);
/* Inside an MPI call of the application, before the real one, under the thread's guard; errno kept. */
void pp_coord_poll(struct pp_mpi_thread *t) __attribute__((cold));
/* In a forked child. */
void pp_coord_abandon(void);
