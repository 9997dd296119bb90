/* One host's clock in one window, as part of pp_dataset. In: the keeper's exchange and its readings of the wall
 * clock, in the host's ticks. Out: /clock of pod.h5, the clock's part of report and summary, bounds of comparisons, all in job ns.
 * Filled by the host's own keeper (session/clock_metadata.c), merged by rank 0's. Owns its memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/table/table_list.h"

#define PP_BOUND_UNKNOWN INT64_MAX

/* |error| of this host's time at job time `time_ns` against job time; PP_BOUND_UNKNOWN: not known. */
int64_t pp_host_clock_bound(const struct pp_row_host_clock *c, int64_t time_ns);
void pp_host_clock_release(struct pp_row_host_clock *c);
/* Fault of a row; NULL: none. */
const char *pp_host_clock_wrong(const void *row);
const char *pp_clock_sample_wrong(const void *row);
const char *pp_clock_stretch_wrong(const void *row);
const char *pp_clock_change_wrong(const void *row);
