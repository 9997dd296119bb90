/* Writes memory of a rank's process and its children as a counter of the plane. Called by xspace_rank.c. */
#include "aggregate/write/xspace/xspace_rank.h"

void pp_xfile_memory(struct pp_xfile *f, const struct pp_rank *r)
{
	uint64_t line;

	if (!r->memories)
		return;
	line = pp_xfile_line(f, "_counters_");
	for (size_t i = 0; i < r->memories; i++) {
		const struct pp_memory *m = &r->memory[i];
		struct pp_xevent e = {.metadata = pp_xnames_event(&f->names, PP_XNAME_MEMORY, (uint64_t)(uint32_t)r->rank),
		                      .offset_ps = pp_xfile_ps(m->time)};

		pp_xfile_uint(&e, PP_XSTAT_RSS, m->rss);
		if (m->pss_present)
			pp_xfile_uint(&e, PP_XSTAT_PSS, m->pss);
		pp_xfile_uint(&e, PP_XSTAT_CHILDREN_RSS, m->children_rss);
		pp_xstream_event(&f->stream, &e);
	}
	pp_xstream_end(&f->stream, line);
}
