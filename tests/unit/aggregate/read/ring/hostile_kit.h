/* What must hold of a capture that was read from a ring file of any content. Used by rings_hostile_test.c and fuzz_ring.c. */
#pragma once

#include "aggregate/analyze/build.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/read/torch/c10d.h"
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/clock/clock_map.h"
#include "tests/test.h"

static inline void hostile_order(const struct pp_capture *c)
{
	for (size_t t = 0; t < c->rank[0].threads; t++)
		for (size_t i = 0; i < c->rank[0].thread[t].spans; i++) {
			const struct pp_span *s = &c->rank[0].thread[t].span[i];

			if (s->end < s->begin || (i && (s->begin < s[-1].begin || (s->begin == s[-1].begin && s->end > s[-1].end))))
				CHECK(0);
		}
}

/* All that a keeper does with what it has read; `logdir`: where it writes the files, NULL: it does not. */
static inline void hostile_analyse(struct pp_capture *c, const char *logdir)
{
	struct pp_clock_map clock = {.tick0 = 1000, .num = 1};
	struct pp_steps steps;
	struct pp_attr attr;
	struct pp_dataset d;
	struct pp_err err = {""};
	struct pp_dataset_input in = {.capture = c, .steps = &steps, .attr = &attr, .bound_ns = 2};
	struct pp_output out = {.capture = c, .steps = &steps, .attr = &attr, .dataset = &d, .logdir = logdir, .session = "s"};

	pp_clock_map_rank(&clock, &c->rank[0]);
	CHECK_INT(pp_c10d_convert(c, &err), 0);
	hostile_order(c);
	CHECK_INT(pp_steps_find(c, 0, 0, &steps, &err), 0);
	CHECK_INT(pp_attr_rank(&c->rank[0], 0, &steps, 1, c->names, PP_ATTR_KEEP_ALL, &attr, &err), 0);
	CHECK_INT(pp_dataset_build(&in, &d, &err), 0);
	for (size_t i = 0; i < d.steps; i++) {
		int64_t sum = 0;

		for (int k = 1; k <= PP_CATEGORIES; k++)
			sum += d.cell[i].exclusive_ns[k];
		CHECK_INT(sum, d.cell[i].step_ns);
	}
	for (size_t i = 0; i < d.processes; i++)
		CHECK(d.process[i].cpu_user_ns >= 0 && d.process[i].cpu_system_ns >= 0);
	if (logdir) {
		CHECK_INT(pp_output_make_dirs(&out, &err), 0);
		for (size_t i = 0; pp_writer_list[i]; i++)
			CHECK_INT(pp_writer_list[i]->write(&out, &err), 0);
		CHECK_STR(err.text, "");
	}
	pp_dataset_release(&d);
	pp_attr_release(&attr);
	pp_steps_release(&steps);
}
