/* Step marks of podprof.h (api.c) and of the shim in Python (shim.c). Any thread. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/tick.h"

/* 1 once the program itself has marked a step. */
extern _Atomic uint32_t pp_api_is_marked __attribute__((visibility("hidden")));

/* The step begins at `tick`, which is not in the future; 0: now. Windows switch now. */
void pp_api_step_begin(int64_t number, pp_tick tick);
/* The open step ends at `tick`; 0: now. */
void pp_api_step_end(pp_tick tick);
