/* Input format 3: a Kineto file. In: bytes. Out: a pp_capture; see aggregate/read/trace.h. Called by aggregate/read/trace.c. */
#pragma once

#include <stddef.h>

#include "aggregate/read/trace_options.h"
#include "core/capture/capture.h"

/* As pp_trace_read(). */
int pp_kineto_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                   struct pp_capture *ret_capture, struct pp_err *err);
