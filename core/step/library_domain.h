/* Domains of NVTX and ITT that belong to a library, by core/step/library_domain.def.
 * In: a domain's name. Out: 0 or 1, from which the reader of rings has the origin of ranges. */
#pragma once

#include <stddef.h>

/* size: of the buffer that `name` is in; it need not be terminated. */
int pp_library_domain(const char *name, size_t size);
