/* The end of reading. In: a kineto_store. Out: a capture. Called by kineto.c. */
#pragma once

#include "aggregate/read/kineto/state.h"

/* Makes the capture of everything; the store can only be released after it. 0, -ENOMEM, or -ENODATA:
 * no event has a time. */
int pp_kineto_finish(struct kineto_store *s, const struct pp_trace_glance *glance, int32_t number, const char *path,
                     struct pp_capture *ret_capture);
