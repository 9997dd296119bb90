/* A piece of work in a process of its own, for libraries that may crash when the machine has no more, or when a file is damaged.
 * Called by hdf5.c, and by what reads pod.h5: report.c, pod_glance.c. */
#pragma once

#include "core/base/err.h"

/* work(context, err) in a forked child, on a copy of this process's memory: only files and its error come back. 0, -errno of
 * work(), or -EIO where the child was ended by a signal. Where no child can be made, work() runs here. */
int pp_forked_work(int (*work)(void *context, struct pp_err *err), void *context, struct pp_err *err);

/* The same for work that reads the file `path`, of which nothing is believed: the child prints nothing, and it is ended after
 * seconds that grow with the file's size. -EINVAL for a child that crashed, -ETIMEDOUT for one that had to be ended,
 * with a sentence that names the file; -EAGAIN or -ENOMEM where no child can be made: nothing is read here. */
int pp_forked_read(const char *path, int (*work)(void *context, struct pp_err *err), void *context, struct pp_err *err);
