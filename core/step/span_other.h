/* Lists the spans of a thread that are no ranges. Most spans are ranges, and most passes look for calls, steps or counters.
 * In: spans in their order. Out: pp_thread.other. Kept true by those who change spans: aggregate/read. */
#pragma once

#include "core/step/span.h"

/* Call it again after spans were added, moved or changed their kind. Without memory there is no list, and passes visit all. */
void pp_thread_list_others(struct pp_thread *thread);
void pp_rank_list_others(struct pp_rank *rank);
