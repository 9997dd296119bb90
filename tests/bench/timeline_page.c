/* Writes the page's timeline of a made-up session as JSON: timeline_page RANKS STEPS RANGES [EVENTS
 * [BYTES]]. Used by tests/report and tests/bench. */
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/report/data/page.h"
#include "aggregate/report/data/timeline.h"
#include "tests/bench/timeline_make.h"

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise)
{
	return argc > at ? strtoull(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	struct timeline_job job = {.ranks = (int)number(argc, argv, 1, 4),
	                           .steps = (int)number(argc, argv, 2, 10),
	                           .ranges = (int)number(argc, argv, 3, 20),
	                           .devices = 1};
	struct pp_page_limit limit = {SIZE_MAX, number(argc, argv, 4, PP_PAGE_TIMELINE_EVENTS),
	                              number(argc, argv, 5, PP_PAGE_TIMELINE_BYTES)};
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
