/* Rank 0 prints the keeper's sentences while the job runs, for the keeper has no stderr of the job. Called at step marks and
 * where a thread's ring begins its next chunk. In: the keeper's control page. Out: lines on stderr. Any thread. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/ring/ring_file.h"

/* The keeper's count of sentences, and the count of those printed. On ranks other than 0 the first never changes. */
extern const _Atomic uint32_t *pp_notice_count __attribute__((visibility("hidden")));
extern _Atomic uint32_t pp_notice_printed __attribute__((visibility("hidden")));

/* At the claim of rank 0. control: NULL where there is no keeper; it stays mapped for life. say: prints a line, on any thread. */
void pp_notice_start(const struct pp_control *control, void (*say)(const char *text));
/* Prints the last sentence, once, whichever threads find it. errno is kept. A forked child has its parent's state. */
void pp_notice_print(void) __attribute__((cold));

static inline int pp_notice_is_new(void)
{
	return atomic_load_explicit(pp_notice_count, memory_order_relaxed) !=
	       atomic_load_explicit(&pp_notice_printed, memory_order_relaxed);
}
