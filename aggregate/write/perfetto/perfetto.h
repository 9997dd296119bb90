/* A timeline as a Perfetto trace (protobuf). In: a timeline. Out: a file descriptor. */
#pragma once

#include "aggregate/timeline/timeline.h"

/* Writes all of it, at the speed of the descriptor. 0 or -errno; what is written before a failure is no whole trace. */
int pp_perfetto_write(const struct pp_timeline *t, int fd, struct pp_err *err);
