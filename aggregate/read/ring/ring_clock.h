/* Which rings count the same ticks. In: their headers. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/ring_file.h"

/* Name of a clock domain that all keepers make alike: pp_rank.clock, the fields that pp_rings_same_clock() compares. Without a boot
 * id `name` stays as it is: the ring matches no other host's. */
void pp_rings_name_clock(const char *boot_id, const char *timens, uint32_t tick_kind, char *name, size_t size);
/* Do they count the same ticks? Processor counters: equal boot ids; RAW: equal time namespaces too. */
int pp_rings_same_clock(const struct pp_ring_header *a, const struct pp_ring_header *b);
