/* A collective of XLA by the text of its instruction. Called by hlo_table.c. */
#pragma once

#include "aggregate/read/xspace/hlo.h"

/* Of "%all-reduce.3 = f32[8]{0} all-reduce(...), replica_groups=...". 1, and pp_hlo_release() frees it; 0: it is no collective, or
 * cannot be read; -ENOMEM. */
int pp_hlo_of_text(const char *text, size_t length, struct pp_hlo *ret_hlo);
