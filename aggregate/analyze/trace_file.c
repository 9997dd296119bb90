/* /trace_file: from which files of other profilers the ranks are. Called by build.c. */
#include <errno.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "core/base/known.h"
#include "core/capture/capture.h"
#include "core/ring/intern.h"

static uint32_t id_of(const struct pp_join *j, const char *text)
{
	return pp_intern_put(j->in->capture->names, text, strlen(text));
}

int pp_join_trace_files(struct pp_join *j)
{
	struct pp_table out = {.desc = pp_table_desc(PP_TABLE_trace_file)};
	int rc = 0;

	for (size_t r = 0; r < j->in->capture->ranks && !rc; r++) {
		const struct pp_rank *rank = &j->in->capture->rank[r];
		const struct pp_trace_metadata *t = &rank->trace;
		struct pp_row_trace_file *row;

		if (!t->file[0])
			continue;
		row = pp_table_add(&out);
		if (!row) {
			rc = -ENOMEM;
			break;
		}
		*row = (struct pp_row_trace_file){.worker = rank->rank,
		                                  .name = id_of(j, t->file),
		                                  .format = id_of(j, t->format),
		                                  .producer = id_of(j, t->producer),
		                                  .bytes = t->bytes,
		                                  .events = t->events,
		                                  .derived = t->derived,
		                                  .untimed = t->untimed,
		                                  .damaged = t->damaged,
		                                  .damaged_at = t->damaged_at,
		                                  .damage = id_of(j, t->damage),
		                                  .resolution_ns = t->resolution_ns > 0 ? t->resolution_ns : PP_UNKNOWN,
		                                  .says_host = (int8_t)(t->says_host != 0)};
	}
	j->d->trace_file = out.row;
	j->d->trace_files = out.rows;
	return rc;
}
