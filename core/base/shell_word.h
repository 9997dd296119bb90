/* Words of a shell: users paste the commands that podprof prints. Any thread, no allocation. */
#pragma once

#include <stddef.h>

/* A path as one word, quoted where it has to be. Returns `to`; it is empty if the word does not fit: a cut one names
 * another file. */
char *pp_shell_word(const char *path, char *to, size_t size);
