/* Which rings count the same ticks. In: their headers. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/ring_file.h"

/* Name of a clock domain that all keepers make alike: pp_rank.clock, the fields that pp_rings_same_clock() compares. Without a boot
 * id `name` stays as it is: the ring matches no other host's. */
void pp_rings_name_clock(const char *boot_id, const char *timens, uint32_t tick_kind, char *name, size_t size);
/* No good record of the ring is earlier, but those of devices, whose clocks have errors: the start of its process. At least 1: no
 * record has no time. Of rings that do not say their start: as long before the ring was made as a first call may take. */
pp_tick pp_ring_earliest(const struct pp_ring_header *h);
/* Do they count the same ticks? Processor counters: equal boot ids; RAW: equal time namespaces too. */
int pp_rings_same_clock(const struct pp_ring_header *a, const struct pp_ring_header *b);
