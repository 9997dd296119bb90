/* What a rank's devices ran, linked to the calls that launched it. In: a rank of all its rings, threads sorted. Internal to
 * aggregate/read. */
#pragma once

#include <stddef.h>

struct pp_rank;

/* Corrects the clocks of the devices of threads from that one on, which are of one ring; before readers that take their times.
 * 0, or -ENOMEM. */
int pp_device_clocks(struct pp_rank *rank, size_t first_thread);
/* Puts streams behind threads; gives spans of devices the thread and the range that launched them, launches their occupancy,
 * calls of copies their category, allocations their range and what was in use. 0, or -ENOMEM. */
int pp_device_link(struct pp_rank *rank);
