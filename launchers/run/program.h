/* Which file a word of a command line would start. */
#pragma once

#include <limits.h>

/* Looks for the command as a shell does: 0 and its file, or ENOENT or EACCES. */
int pp_program_find(const char *command, char file[PATH_MAX]);
