/* Input format 2: a XSpace file. In: bytes. Out: a pp_capture; see aggregate/read/trace.h. Called by aggregate/read/trace.c. */
#pragma once

#include <stddef.h>

#include "aggregate/read/trace_options.h"
#include "core/capture/capture.h"

/* Begin of a warning in files that podprof writes: of the file in xprof, and so not passed on. */
#define PP_XSPACE_STEPS_OF "xprof shows the steps of rank "

/* Sets rank, world, is_podprof and host from the first bytes, unpacked, where they tell. Returns 1 where they are of this format.
 * */
int pp_xspace_glance(const void *bytes, size_t size, struct pp_trace_glance *ret_glance);
/* As pp_trace_read(). */
int pp_xspace_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                   struct pp_capture *ret_capture, struct pp_err *err);
