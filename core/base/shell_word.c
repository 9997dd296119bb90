/* Quotes words of a shell; see shell_word.h. Called by keeper and command line. */
#include "core/base/shell_word.h"

#include <stdio.h>
#include <string.h>

char *pp_shell_word(const char *path, char *to, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@%,=-";
	const int quoted = !*path || path[strspn(path, plain)] != '\0';
	size_t at = (size_t)snprintf(to, size, "%s", quoted ? "'" : "");

	for (; *path && at + 6 < size; path++)
		at += (size_t)snprintf(to + at, size - at, *path == '\'' ? "'\\''" : "%c", *path);
	snprintf(to + at, size - at, "%s", quoted ? "'" : "");
	if (*path)
		*to = '\0';
	return to;
}
