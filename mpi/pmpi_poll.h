/* Unsuccessful polls (Test, Iprobe and their families): those that follow each other at once become one record.
 * In: scope of a poll that found nothing. Out: a record with the flag POLLS, `sequence` polls, first begin to last end.
 *
 * A record waits in the thread until another one of this thread is put, a poll comes late, it has become long, the thread calls MPI
 * while nothing is recorded, ends, or switches recording off. */
#pragma once

#include "mpi/pmpi_source.h"

/* Two polls less apart are one wait: nothing worth a record of its own was done between them. */
enum { PP_POLL_APART_NS = 5000, PP_POLL_LONGEST_NS = 10000000 };

/* From two readings of both clocks, once, before recording: how many ticks these times are. */
void pp_poll_start(pp_tick ticks, pp_tick raw_ns);
/* On a thread that ends, or before recording goes off: put what waits. */
void pp_poll_flush(void);
/* In place of pp_mpi_record(). */
void pp_poll(struct pp_mpi_scope *s, pp_tick end);
