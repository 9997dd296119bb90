/* One attribute of an untrusted pod.h5. Called where a session is only named. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"

/* A text attribute of / of any file, damaged ones too: HDF5 opens it in a child, see forked_work.h. "" where there is none. */
int pp_h5_file_read_attribute(const char *path, const char *attribute, char *ret_text, size_t size, struct pp_err *err);
