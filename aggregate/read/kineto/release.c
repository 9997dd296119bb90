/* Frees a store; see release.h. Called by kineto.c and ranks.c. */
#include "aggregate/read/kineto/release.h"

#include <stdlib.h>

#include "core/capture/span.h"

void pp_kineto_release(struct kineto_store *s)
{
	for (size_t t = 0; t < s->tracks; t++) {
		free(s->track[t].span);
		free(s->track[t].open);
	}
	free(s->track);
	free(s->by_key.place);
	free(s->label);
	pp_launch_release(&s->launches);
	pp_kernel_cache_release(&s->kernels);
	pp_kernel_texts_release(&s->texts);
	free(s->device);
	free(s->allocation);
	free(s->collective);
	free(s->foreign);
	free(s->is_profiler);
	free(s->worker);
	pp_intern_free(s->names);
	pp_intern_free(s->payloads);
	*s = (struct kineto_store){0};
}
