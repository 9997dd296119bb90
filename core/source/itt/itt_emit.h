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
/* on_name(): `what` is done, then the chained collector's function is called. WANTED: while something records; AT: so, with the
 * `tick` of a call that has a time, unless that is by a clock that we know nothing of. */
#define THEN_THEIRS(name, params, args, what)                                                                                      \
	static void on_##name params                                                                                               \
	{                                                                                                                          \
		what;                                                                                                              \
		if (__builtin_expect(THEIRS(name) != NULL, 0))                                                                     \
			THEIRS(name) args;                                                                                         \
	}
#define WANTED_THEN_THEIRS(name, params, args, what) THEN_THEIRS(name, params, args, if (pp_emit_wanted()) what)
#define AT_THEN_THEIRS(name, params, args, what)                                                                                   \
	THEN_THEIRS(name, params, args, pp_tick tick; if (pp_emit_wanted() && (tick = when(clock_domain, timestamp))) what)
#define HANDLER(f) [PP_ITT_CALL_##f] = (pp_itt_function)on_##f
