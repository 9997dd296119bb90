/* A timeline as Trace Event Format (JSON), which chrome://tracing and others read. In: a timeline. Out: a file descriptor. */
#pragma once

#include "aggregate/timeline/timeline.h"

/* Writes all of it, compressed if `gzip`. 0 or -errno; what is written before a failure is no whole file. */
int pp_chrome_write(const struct pp_timeline *t, int fd, int gzip, struct pp_err *err);
