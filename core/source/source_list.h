/* All sources: those of source_list.def in order, then those that another library has added. In: the life of the rank, by
 * collector.c and recording.c. Out: calls of the sources' ops (source.h), on the caller's thread. */
#pragma once

#include <stdint.h>

#include "core/source/source.h"

/* Adds the source of another library, which knows that this process is the rank and has started by itself; it stays valid for
 * life. A second time changes nothing. Any thread; no lock. 0, or -ENOSPC. */
int pp_source_add(const struct pp_source_ops *source);

/* At the claim, once; not for added sources. */
void pp_sources_start(void);
/* The other ops of struct pp_source_ops, in turn. */
void pp_sources_window(int on);
/* What the slowest of them needs before a window. */
int64_t pp_sources_warm_ms(void);
void pp_sources_flush(int64_t deadline_ms);
/* All of them, by that time (pp_now_ms()), in the same order. */
void pp_sources_window_over(int64_t deadline_ms);
void pp_sources_thread_end(void);
void pp_sources_stop(int64_t deadline_ms);
