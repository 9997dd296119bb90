/* Fills /input_stage and /input_wait: where input takes its time, and how long steps wait for it. Called by tools.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/table/word.h"
#include "aggregate/tools/sums.h"
#include "aggregate/tools/tools.h"
#include "core/base/wrap.h"

enum { MODERATELY = 5, HIGHLY = 20 }; /* percent of step time, as xprof */

struct stage {
	uint64_t count;
	int64_t total_ns, self_ns;
};

static int add_stages(const struct stage *stage, int32_t worker, struct pp_table *to)
{
	int64_t all = 0;

	for (int c = 1; c <= PP_INPUT_CATEGORIES; c++)
		all = pp_wrap_plus(all, stage[c].self_ns);
	for (int c = 1; c <= PP_INPUT_CATEGORIES; c++) {
		struct pp_row_input_stage *row;

		if (!stage[c].count)
			continue;
		row = pp_table_add(to);
		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_input_stage){.worker = worker,
		                                   .category = (int8_t)c,
		                                   .count = stage[c].count,
		                                   .total_ns = stage[c].total_ns,
		                                   .self_ns = stage[c].self_ns,
		                                   .percent = pp_sums_percent(stage[c].self_ns, all)};
	}
	return 0;
}

static int fill_stages(const struct pp_dataset *in, struct pp_table *to)
{
	struct stage(*of)[PP_INPUT_CATEGORIES + 1] = calloc(in->workers + 1, sizeof(*of)); /* last: all workers */
	int rc = of ? 0 : -ENOMEM;

	for (size_t i = 0; i < in->input_ops && !rc; i++) {
		const struct pp_row_input_op *op = &in->input_op[i];
		size_t worker = pp_dataset_worker(in, op->worker);

		for (int all = 0; all < 2 && worker != SIZE_MAX; all++) {
			struct stage *stage = &of[all ? in->workers : worker][op->category];

			stage->count += op->count;
			stage->total_ns = pp_wrap_plus(stage->total_ns, op->total_ns);
			stage->self_ns = pp_wrap_plus(stage->self_ns, op->self_ns);
		}
	}
	if (!rc)
		rc = add_stages(of[in->workers], -1, to);
	for (size_t w = 0; w < in->workers && !rc; w++)
		rc = add_stages(of[w], in->worker[w].rank, to);
	free(of);
	return rc;
}

static int fill_waits(const struct pp_dataset *in, struct pp_table *to)
{
	for (size_t s = 0; s < in->steps; s++) {
		const struct pp_row_cell *cell = &in->cell[s * in->workers];
		struct pp_row_input_wait row = {.step = in->step[s].number, .least_ns = INT64_MAX, .most_ns = -1}, *to_row;
		int64_t sum = 0, n = 0;

		for (size_t w = 0; w < in->workers; w++) {
			int64_t ns = cell[w].exclusive_ns[PP_CATEGORY_INPUT];

			if (!cell[w].present)
				continue;
			sum = pp_wrap_plus(sum, ns);
			n++;
			row.least_ns = ns < row.least_ns ? ns : row.least_ns;
			if (ns <= row.most_ns)
				continue;
			row.most_ns = ns;
			row.worker = in->worker[w].rank;
		}
		if (!n)
			continue;
		row.mean_ns = sum / n;
		to_row = pp_table_add(to);
		if (!to_row)
			return -ENOMEM;
		*to_row = row;
	}
	return 0;
}

int pp_tool_input_stage(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_row_input_bound *bound = NULL;
	int64_t all_ns = 0, input_ns = 0;
	int rc = 0;

	for (size_t i = 0; i < in->steps * in->workers; i++) {
		const struct pp_row_cell *cell = &in->cell[i];

		all_ns = pp_wrap_plus(all_ns, cell->present ? cell->step_ns : 0);
		input_ns = pp_wrap_plus(input_ns, cell->present ? cell->exclusive_ns[PP_CATEGORY_INPUT] : 0);
	}
	if (in->input_ops)
		rc = fill_stages(in, &tables[PP_TABLE_input_stage]);
	if (!rc && input_ns)
		rc = fill_waits(in, &tables[PP_TABLE_input_wait]);
	if (!rc && all_ns) {
		bound = pp_table_add(&tables[PP_TABLE_input_bound]);
		rc = bound ? 0 : -ENOMEM;
	}
	if (bound) {
		bound->input_percent = pp_sums_percent(input_ns, all_ns);
		bound->input_bound = (int8_t)((bound->input_percent >= MODERATELY) + (bound->input_percent >= HIGHLY));
	}
	return rc ? pp_err_set(err, rc, "no memory for the stages of input") : 0;
}
