/* Reads of files, as libpodprof-io.so counts them (core/io/io.h): in a rank while it records, in other processes always, for they
 * may make data for one. Called by shim.c on any thread. All are 0 where that library is not loaded, or before the start. */
#pragma once

#include <stdint.h>

/* From now on they are counted; now: a clock, ticks, called on any thread. 0: they cannot be. */
int pp_file_reads_start(uint64_t (*now)(void));
/* How many reads of files that returned data this thread has made, and this process. */
uint64_t pp_file_reads(void);
uint64_t pp_file_reads_of_all(void);
/* Time in them, ticks. */
uint64_t pp_file_read_ticks(void);
uint64_t pp_file_read_ticks_of_all(void);
