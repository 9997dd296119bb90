/* A line on stderr out of a process that is not ours. Called by core/collector.c. */
#pragma once

#include <stddef.h>

/* Whoever reads stderr may be slow, stopped or gone: the line is left out then, and no signal comes of it. errno is kept. */
void pp_line_write(const char *line, size_t length);
