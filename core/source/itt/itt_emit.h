/* The ITT calls that the collector handles: its functions (itt_calls.c) and a chained collector's. Used by itt_inject.c. */
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

/* Our functions, and the chained collector's (the same for every static copy; NULL without). */
extern const pp_itt_function pp_itt_handlers[PP_ITT_CALLS] __attribute__((visibility("hidden")));
extern _Atomic pp_itt_function pp_itt_next[PP_ITT_CALLS] __attribute__((visibility("hidden")));
