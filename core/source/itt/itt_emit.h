/* From an ITT call to a record; shared by itt_tasks.c and itt_counters.c. In: ITT's handles. Out: records, by source/emit.h. */
#pragma once

#include "core/source/emit.h"
#include "core/source/itt/itt_abi.h"
#include "core/source/itt/itt_names.h"

enum pp_itt_call {
#define PP_ITT(function) PP_ITT_CALL_##function,
#include "core/source/itt/itt_call.def"
#undef PP_ITT
	PP_ITT_CALLS
};

/* Our functions, NULL where the other file has it, and the chained collector's (the same for every static copy; NULL without). */
extern const pp_itt_function pp_itt_task_handlers[PP_ITT_CALLS] __attribute__((visibility("hidden")));
extern const pp_itt_function pp_itt_counter_handlers[PP_ITT_CALLS] __attribute__((visibility("hidden")));
extern _Atomic pp_itt_function pp_itt_next[PP_ITT_CALLS] __attribute__((visibility("hidden")));

/* The chained collector's function beside our on_...(), which has its type. */
#define THEIRS(f) ((__typeof__(&on_##f))atomic_load_explicit(&pp_itt_next[PP_ITT_CALL_##f], memory_order_relaxed))
#define HANDLER(f) [PP_ITT_CALL_##f] = (pp_itt_function)on_##f
