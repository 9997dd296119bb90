/* Which sources exist; walked by collector.c. */
#include "core/source/source.h"

#include <stddef.h>

#define PP_SOURCE(symbol) extern const struct pp_source_ops pp_source_##symbol __attribute__((visibility("hidden")));
#include "core/source/source_list.def"
#undef PP_SOURCE

const struct pp_source_ops *const pp_source_list[] = {
#define PP_SOURCE(symbol) &pp_source_##symbol,
#include "core/source/source_list.def"
#undef PP_SOURCE
        NULL,
};
