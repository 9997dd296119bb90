/* Merges consecutive unsuccessful polls (Test, Iprobe and their families) into one record. In: scope of a poll that found
 * nothing. Out: a record with the flag POLLS, `sequence` polls, first begin to last end.
 *
 * The record waits in the thread until another one of this thread is put, a poll comes late, it has become long, the thread
 * calls MPI while nothing is recorded, ends, or switches recording off. */
#pragma once

#include "mpi/pmpi_collector.h"

/* Two polls less than this apart are one wait: the program did nothing worth a record between them. */
enum { PP_POLL_GAP_NS = 5000, PP_POLL_LONGEST_NS = 10000000 };

/* Computes these times in ticks from two readings of both clocks; once, before recording. */
void pp_poll_start(pp_tick ticks, pp_tick raw_ns);
/* Puts the waiting record; on a thread that ends, or before recording goes off. */
void pp_poll_flush(void);
/* Puts the record of this thread's unsuccessful polls, of which there are some. Before every other record of the thread. */
void pp_poll_end(struct pp_mpi_thread *t);
/* Replaces pp_mpi_record(). */
void pp_poll(struct pp_mpi_scope *s, pp_tick end);
