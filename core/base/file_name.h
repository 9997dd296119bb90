/* The last part of a path. Pure. */
#pragma once

#include <string.h>

/* Behind the last '/' of `path`, within it. */
static inline const char *pp_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
