/* What is in use of a device's memory after each allocation. In: a rank's allocations, with what their pools report. Out: the same,
 * counted. Internal to aggregate/read. */
#pragma once

struct pp_rank;

/* Puts allocations in order of time, and counts what is in use after each. 0, or -ENOMEM: they are as they were. */
int pp_device_count_memory(struct pp_rank *rank);
