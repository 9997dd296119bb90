/* Text of a capture, for golden tests: a line per rank, thread, span and row of a side array. Names are texts, so that captures
 * with other ids are equal. In: a capture. Out: lines in their order. */
#pragma once

#include <stdio.h>

struct pp_capture;

/* Writes to `to`, whose errors are the caller's to look for. */
void pp_capture_dump(const struct pp_capture *c, FILE *to);
