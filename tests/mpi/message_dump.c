/* Prints the pairs of messages that podprof makes of an event file: the innermost ranges around a send and around its receive, and
 * the counts. message_dump FILE; called by messages.py. */
#include <inttypes.h>
#include <stdio.h>

#include "aggregate/analyze/message.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

static const char *range_around(const struct pp_capture *c, const struct pp_message_end *at)
{
	const struct pp_rank *r = &c->rank[at->rank];
	const struct pp_span *end = &r->thread[at->thread].span[at->span];
	int64_t begin = end->begin, best = INT64_MIN;
	uint32_t name = 0;

	for (size_t t = 0; t < r->threads; t++) {
		if (end->kind == PP_SPAN_MPI && t != at->thread) /* requests have lines of their own */
			continue;
		for (size_t i = 0; i < r->thread[t].spans; i++) {
			const struct pp_span *s = &r->thread[t].span[i];

			if (s->kind != PP_SPAN_RANGE || s->begin > begin || s->end < begin || s->begin < best)
				continue;
			best = s->begin;
			name = s->name;
		}
	}
	return pp_intern_text(c->names, name, NULL);
}

int main(int argc, char **argv)
{
	struct pp_trace_options options = {.rank = 0};
	struct pp_trace_glance glance;
	struct pp_messages m;
	struct pp_capture c;
	struct pp_err err;

	if (argc != 2 || pp_trace_glance(argv[1], &glance, &err) || pp_trace_read(argv[1], &glance, &options, &c, &err) ||
	    pp_messages_match(&c, NULL, &m, &err)) {
		fprintf(stderr, "%s\n", argc == 2 ? err.text : "usage: message_dump FILE");
		return 1;
	}
	for (size_t i = 0; i < m.pairs; i++) {
		printf("PAIR %s <", range_around(&c, &m.pair[i].to));
		printf(" %s\n", range_around(&c, &m.pair[i].from));
	}
	printf("COUNT %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", m.pairs, m.sends,
	       m.receives, m.uncertain, m.unmatched, m.twice, m.too_early, m.other_size);
	pp_messages_release(&m);
	pp_capture_release(&c);
	return 0;
}
