/* The end of reading. In: all rings, drained. Out: one pp_capture in ticks. */
#pragma once

#include "aggregate/read/ring/rings.h"

/* Once, at the end; only pp_rings_header(), pp_rings_count() and pp_rings_free() may follow. Closes open ranges at the last tick
 * (flag CUT_END), sorts spans and moves everything into ret_capture. Two rings of one rank (the claim passed on) become threads
 * of one rank. */
int pp_rings_finish(struct pp_rings *r, struct pp_capture *ret_capture, struct pp_err *err);
