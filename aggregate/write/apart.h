/* A piece of work in a process of its own, for libraries that may crash when the machine has no more. Called by hdf5.c. */
#ifndef PP_WRITE_APART_H
#define PP_WRITE_APART_H

#include "core/base/err.h"

/* work(context, err) in a forked child, on a copy of this process's memory: only files and its error come back. 0, -errno of
 * work(), or -EIO where the child was ended by a signal. Where no child can be made, work() runs here. */
int pp_apart(int (*work)(void *context, struct pp_err *err), void *context, struct pp_err *err);

#endif
