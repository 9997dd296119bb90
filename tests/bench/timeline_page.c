/* Writes the page's timeline of a made-up session as JSON, or beside a real page's data: timeline_page RANKS STEPS RANGES [EVENTS
 * [BYTES]]. Used by tests/report and tests/bench. */
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/report/page.h"
#include "aggregate/report/page_timeline.h"
#include "tests/bench/timeline_make.h"

int main(int argc, char **argv)
{
	struct timeline_job job = {.ranks = argc > 1 ? atoi(argv[1]) : 4,
	                           .steps = argc > 2 ? atoi(argv[2]) : 10,
	                           .ranges = argc > 3 ? atoi(argv[3]) : 20,
	                           .devices = 1};
	struct pp_page_limit limit = {SIZE_MAX, argc > 4 ? strtoull(argv[4], NULL, 10) : PP_PAGE_TIMELINE_EVENTS,
	                              argc > 5 ? strtoull(argv[5], NULL, 10) : PP_PAGE_TIMELINE_BYTES};
	struct pp_timeline t;
	struct pp_err err;
	int code;

	job.late = job.ranks > 3 ? 3 : 0;
	timeline_make(&t, &job);
	code = pp_page_timeline_put(stdout, &t, &limit, &err);
	if (code)
		fprintf(stderr, "timeline_page: %s\n", err.text);
	pp_timeline_release(&t);
	return code ? 1 : 0;
}
