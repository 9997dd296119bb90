/* Runs work in a child process, for libraries that may crash without memory or space, or on a damaged file.
 * Called by hdf5.c, and by readers of pod.h5: report.c, file_attribute.c. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "core/base/err.h"

/* work(context, err) in a forked child, on a copy of this process's memory: it returns only files and its error. 0, -errno of
 * work(), or -EIO where the child was ended by a signal. Where no child can be made, work() runs here. */
int pp_forked_work(int (*work)(void *context, struct pp_err *err), void *context, struct pp_err *err);

/* The same for work that reads the untrusted file `path`: the child prints nothing, and is killed after a time that grows with
 * the file's size. -EINVAL: it crashed, -ETIMEDOUT: it was killed, both with an error that names the file; -EAGAIN or -ENOMEM
 * where no child can be made: then nothing is read. */
int pp_forked_read(const char *path, int (*work)(void *context, struct pp_err *err), void *context, struct pp_err *err);
/* The same for work that reads so many bytes of other files too. */
int pp_forked_read_more(const char *path, uint64_t bytes, int (*work)(void *context, struct pp_err *err), void *context,
                        struct pp_err *err);
/* Copies what the child wrote into the memory file `fd`, from its begin. */
void pp_forked_print(int fd, FILE *to);
