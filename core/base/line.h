/* Writes a line on the application's stderr. Called by core/collector.c. */
#pragma once

#include <stddef.h>

/* Leaves the line out where the reader of stderr is slow, stopped or gone; raises no signal. errno is kept. */
void pp_line_write(const char *line, size_t length);
