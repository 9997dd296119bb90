/* The name of a host's XSpace file. Called by what looks for it. */
#pragma once

#include <stddef.h>

/* The name of a host's XSpace file without ".xplane.pb" or "-rank0007.xplane.pb". */
void pp_xspace_stem(const char *name, char *stem, size_t size);
