/* Puts two captures together. In: two captures in one kind of time: ticks of one clock, or job ns of one epoch. Out: one. Called by
 * readers of several sources of one rank. */
#pragma once

#include "core/base/err.h"

struct pp_capture;

/* Moves all of `from` into `into`; `from` is empty then. Ranks are matched by number, threads and streams by tid and device, in the
 * order of `into` with new ones behind; spans keep their order, and side arrays that of side.def. Texts are interned again, and
 * indices of messages, launches and threads follow their rows. Rows of one communicator, device or launch are one row, with what
 * `into` knows first. Losses and counts are sums; a rank's times widen, and a horizon stays unless the earlier capture covers it.
 * What the program and its end are is as the later capture has it where `into` does not know.
 * -ENOMEM: both are as they were, but for texts that `into` has interned. */
int pp_capture_join(struct pp_capture *into, struct pp_capture *from, struct pp_err *err);
