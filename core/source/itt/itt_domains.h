/* ITT's domains, and the map of a chained collector's handles to ours. In: ITT calls, any thread. Out: handles, rows of the ring.
 * Bounded, and never freed: a handle stays valid for the life of the process, in forked children too. */
#pragma once

#include <stdint.h>

#include "core/source/itt/itt_abi.h"

/* The domain of that name, made at its first call under a lock. `theirs`: the chained collector's handle, which is mapped and
 * returned; NULL: ours is. NULL only for two NULLs. Keeps errno. */
struct pp_itt_domain *pp_itt_domain_create(const char *name, struct pp_itt_domain *theirs);
/* Row of the domain in the ring; a new domain gets one. A domain of ours costs no lock. */
uint16_t pp_itt_domain_index(const struct pp_itt_domain *domain);

/* Map a chained collector's handle to `value`; get: NULL if never put, or if the map was full. No lock. */
void pp_itt_map_put(const void *handle, void *value);
void *pp_itt_map_get(const void *handle);

/* Resets the lock in a forked child: its holder is gone. */
void pp_itt_domains_child(void);
