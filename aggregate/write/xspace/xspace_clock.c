/* Writes the clock of an XSpace plane's times, and their error. Called by xspace.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/write/xspace/xspace_rank.h"

enum { STAT_ID = 1, STAT_TEXT = 5 };

static void put_text(struct pp_xfile *f, enum pp_xstat_id id, const char *text)
{
	uint64_t stat = pp_xstream_begin(&f->stream, PP_XPLANE_STATS);

	pp_xstream_varint(&f->stream, STAT_ID, id);
	pp_xstream_text(&f->stream, STAT_TEXT, text, strlen(text));
	pp_xstream_end(&f->stream, stat);
}

static void describe(const struct pp_dataset *d, const struct pp_worker *w, char *text, size_t size)
{
	const struct pp_host_clock *c = w->host_clock ? &d->host_clock[w->host_clock - 1] : NULL;

	if (!c)
		snprintf(text, size, "not known: nobody watched it");
	else if (c->bound_ns == PP_BOUND_UNKNOWN)
		snprintf(text, size, "not joined with rank 0's: times of other hosts cannot be compared");
	else if (!c->hops)
		snprintf(text, size, "job time: rank 0's clock");
	else
		snprintf(text, size, "joined: compared with '%s', %" PRId32 " hop%s from rank 0's clock", c->parent, c->hops,
		         c->hops == 1 ? "" : "s");
}

/* The worst of the file's ranks. */
void pp_xfile_clock(struct pp_xfile *f, const size_t *rank, size_t ranks)
{
	const struct pp_dataset *d = f->out->dataset;
	const struct pp_worker *worst = NULL;
	struct pp_xstat bound = {.id = PP_XSTAT_CLOCK_BOUND, .kind = PP_XSTAT_INT};
	char text[256];

	for (size_t i = 0; d && i < ranks; i++) {
		size_t w = pp_dataset_worker(d, f->out->capture->rank[rank[i]].rank);

		if (w != SIZE_MAX && (!worst || d->worker[w].bound_ns > worst->bound_ns || !d->worker[w].host_clock))
			worst = &d->worker[w];
	}
	if (!worst)
		return;
	describe(d, worst, text, sizeof(text));
	put_text(f, PP_XSTAT_CLOCK, text);
	bound.i = worst->bound_ns;
	if (worst->host_clock && worst->bound_ns != PP_BOUND_UNKNOWN)
		pp_xstream_stat(&f->stream, PP_XPLANE_STATS, &bound);
}
