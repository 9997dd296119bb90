/* For golden tests of tools: a capture made by hand becomes a dataset with all tables, and tables become a text. Steps 0 to 5 of
 * 1000 ns from 1000 on; 0 and 5 are edges. */
#pragma once

#include "aggregate/analyze/build.h"
#include "aggregate/dataset/table/table_text.h"
#include "aggregate/tools/tools.h"
#include "core/capture/thread.h"
#include "tests/golden.h"
#include "tests/unit/capture.h"

enum { KIT_RANKS = 2, KIT_STEPS = 6 };

struct kit {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[KIT_RANKS];
	struct pp_dataset d;
	char *text;
	size_t size;
	FILE *to;
};

static inline int64_t kit_at(int64_t step)
{
	return 1000 + step * 1000;
}

static inline void kit_begin(struct kit *k)
{
	*k = (struct kit){.capture = make_capture(KIT_RANKS)};
	for (size_t r = 0; r < KIT_RANKS; r++) {
		k->capture.rank[r].step_marks = 1;
		k->capture.rank[r].records = 1;
		for (int64_t s = 0; s < KIT_STEPS; s++)
			add_step(&k->capture, r, s, kit_at(s), kit_at(s) + 1000);
	}
}

static inline int kit_compare(const void *a, const void *b)
{
	const struct pp_span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

static inline void kit_end(struct kit *k)
{
	struct pp_dataset_input in = {.capture = &k->capture,
	                              .steps = &k->steps,
	                              .attr = k->attr,
	                              .asked_first = 1,
	                              .asked_last = KIT_STEPS - 1,
	                              .bound_ns = 2};
	struct pp_err err = {""};

	for (size_t r = 0; r < KIT_RANKS; r++)
		for (size_t t = 0; t < k->capture.rank[r].threads; t++)
			qsort(k->capture.rank[r].thread[t].span, k->capture.rank[r].thread[t].spans, sizeof(struct pp_span),
			      kit_compare);
	CHECK_INT(pp_steps_find(&k->capture, 1, KIT_STEPS - 1, &k->steps, &err), 0);
	for (size_t r = 0; r < KIT_RANKS; r++)
		CHECK_INT(pp_attr_rank(&k->capture.rank[r], r, &k->steps, KIT_RANKS, k->capture.names, PP_ATTR_KEEP_ALL,
		                       &k->attr[r], &err),
		          0);
	CHECK_INT(pp_dataset_build(&in, &k->d, &err), 0);
	CHECK_INT(pp_tools_run(&k->d, &err), 0);
	k->to = open_memstream(&k->text, &k->size);
}

static inline void kit_table(struct kit *k, int id)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(&k->d, table);
	fprintf(k->to, "%s\n", pp_table_desc(id)->name);
	pp_table_csv(&table[id], k->d.names, k->to);
}

static inline void kit_check(struct kit *k, const char *golden, int update)
{
	fclose(k->to);
	test_golden(golden, update, k->text);
	free(k->text);
	pp_dataset_release(&k->d);
	for (size_t r = 0; r < KIT_RANKS; r++)
		pp_attr_release(&k->attr[r]);
	pp_steps_release(&k->steps);
	free_capture(&k->capture);
}
