/* Domains of NVTX and ITT that belong to a library, by core/step/library_domain.def.
 * In: a domain's name. Out: a yes or no for the reader of rings, which step_range.c asks. */
#pragma once

#include <stddef.h>

/* size: of the buffer that `name` is in; it need not be terminated. */
int pp_library_domain(const char *name, size_t size);
