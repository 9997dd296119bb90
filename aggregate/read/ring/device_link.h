/* What a rank's devices ran, linked to the calls that launched it. In: a rank of all its rings, threads sorted. Internal to
 * aggregate/read. */
#pragma once

struct pp_rank;

/* Puts streams behind threads; gives spans of devices the thread and the range that launched them, launches their occupancy,
 * calls of copies their category, allocations their range and what was in use. 0, or -ENOMEM. */
int pp_device_link(struct pp_rank *rank);
