/* Sessions of rings made by hand: one step, from records to the dataset and its tools. Used by tests of devices. */
#pragma once

#include "aggregate/analyze/build.h"
#include "aggregate/tools/tools.h"
#include "tests/unit/aggregate/read/ring/device_kit.h"
#include "tests/unit/aggregate/read/ring/rings_kit.h"

enum { MADE_RANKS = 4, CUPTI = 1, MAIN = 10, STEP = 3, STEP_BEGIN = 1500, STEP_END = 9000 };

struct made {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[MADE_RANKS];
	struct pp_dataset d;
};

/* The rings, whose step ends here, and what becomes of them; the tick is the job's nanosecond. */
static inline void finish(struct maker *m, size_t ranks, struct made *made)
{
	struct pp_rings *r = pp_rings_new(64 << 20);
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};
	struct pp_dataset_input in = {.capture = &made->capture,
	                              .steps = &made->steps,
	                              .attr = made->attr,
	                              .session = "s",
	                              .job = "j",
	                              .command = "c",
	                              .options = "o"};

	memset(made, 0, sizeof(*made));
	for (size_t i = 0; i < ranks; i++) {
		maker_step(&m[i], 0, PP_RECORD_STEP_END, STEP_END, STEP);
		CHECK_INT(pp_rings_open(r, m[i].path, &err), 0);
		while (pp_rings_drain(r, i, NULL))
			;
	}
	CHECK_INT(pp_rings_finish(r, &made->capture, &err), 0);
	pp_rings_free(r);
	for (size_t i = 0; i < ranks; i++)
		maker_close(&m[i]);
	CHECK_INT(pp_steps_find(&made->capture, 0, 0, &made->steps, &err), 0);
	for (size_t i = 0; i < ranks; i++)
		CHECK_INT(pp_attr_rank(&made->capture.rank[i], i, &made->steps, ranks, made->capture.names, PP_ATTR_KEEP_ALL,
		                       &made->attr[i], &err),
		          0);
	CHECK_INT(pp_dataset_build(&in, &made->d, &err), 0);
	CHECK_STR(err.text, "");
	pp_dataset_tables(&made->d, table);
	CHECK_INT(pp_tool_all_reduce(&made->d, table, &err), 0);
	made->d.all_reduce = table[PP_TABLE_all_reduce].row;
	made->d.all_reduces = table[PP_TABLE_all_reduce].rows;
}

static inline void drop(struct made *made)
{
	pp_dataset_release(&made->d);
	for (size_t i = 0; i < made->capture.ranks; i++)
		pp_attr_release(&made->attr[i]);
	pp_steps_release(&made->steps);
	pp_capture_release(&made->capture);
}

static inline int warned(const struct pp_dataset *d, const char *text)
{
	for (size_t i = 0; i < d->warnings; i++)
		if (strstr(d->warning[i].warning, text))
			return 1;
	return 0;
}
