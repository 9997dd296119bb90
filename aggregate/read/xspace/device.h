/* Texts of device planes: copied bytes, how a kernel was launched, the device. Called by activity.c and xspace.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Bytes in memcpy_details; 0: it has none. */
uint64_t pp_xdevice_bytes(const char *text, size_t length);
/* Index + 1 into the rank's launches, of kernel_details; an occupancy there goes before `occupancy` (percent; -1: unknown). 0: no
 * memory, which is noted. */
uint32_t pp_xdevice_launch(struct pp_xread *x, const char *details, size_t length, double occupancy);
/* Adds the plane's device to the rank, unless it has one of that number. */
void pp_xdevice_add(struct pp_xread *x, struct pp_xplane *p);
