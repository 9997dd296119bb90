/* Planes of devices in an XSpace file, and memory that was allocated on devices. In: ranks' streams, launches, allocations. Out:
 * XPlanes and XLines, streamed. Called by xspace.c and xspace_rank.c. */
#pragma once

#include "aggregate/write/xspace/xspace_line.h"

/* Planes that the devices of these ranks (indexes into capture->rank) need. */
size_t pp_xfile_device_count(const struct pp_xfile *f, const size_t *rank, size_t ranks);
/* Writes them. One shows the steps of the rank with index `steps_of`, if that is one: xprof takes steps from devices where a file
 * has some. */
int pp_xfile_devices(struct pp_xfile *f, const size_t *rank, size_t ranks, size_t steps_of, struct pp_err *err);
/* A line of the open plane with the rank's calls of allocators, where it has some. */
void pp_xfile_allocations(struct pp_xfile *f, const struct pp_rank *r, const struct pp_xplaced *p, size_t steps);
