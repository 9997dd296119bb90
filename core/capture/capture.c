/* What holds for a whole capture and for each of its ranks; see capture.h. Called by aggregate/read and the keeper. */
#include "core/capture/capture.h"

#include "core/capture/thread.h"

void pp_rank_list_others(struct pp_rank *rank)
{
	for (size_t t = 0; t < rank->threads; t++)
		pp_thread_list_others(&rank->thread[t]);
}
