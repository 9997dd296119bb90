/* Lists the spans that are no ranges, and frees them all; see thread.h. Called by aggregate/read. */
#include "core/capture/thread.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "core/base/grow.h"

void pp_thread_list_others(struct pp_thread *thread)
{
	uint32_t *list = NULL;
	size_t n = 0, room = 0;

	free(thread->other);
	thread->other = NULL;
	thread->others = 0;
	if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_RANGE)))
		return; /* the list would have all */
	for (size_t i = 0; i < thread->spans; i++) {
		uint32_t *more;

		if (thread->span[i].kind == PP_SPAN_RANGE)
			continue;
		more = i < UINT32_MAX ? pp_grow(list, n, &room, sizeof(*more)) : NULL;
		if (!more) {
			free(list);
			return;
		}
		list = more;
		list[n++] = (uint32_t)i;
	}
	thread->other = list;
	thread->others = n;
}

void pp_thread_release(struct pp_thread *thread)
{
	if (thread->mapped)
		munmap(thread->span, thread->mapped);
	else
		free(thread->span);
	free(thread->other);
	thread->span = NULL;
	thread->other = NULL;
	thread->spans = thread->mapped = thread->others = 0;
}
