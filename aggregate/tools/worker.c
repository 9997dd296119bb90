/* Fills what all parts together say of workers: how steps were found, whose clock it is, and /input. Called by tools.c. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "aggregate/tools/tools.h"

static int fill_input(const struct pp_dataset *in, struct pp_table *input)
{
	for (size_t w = 0; w < in->workers; w++) {
		struct pp_row_input *row = pp_table_add(input);

		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_input){in->worker[w].rank, in->worker[w].loader_samples,
		                             in->worker[w].loader_samples ? in->worker[w].loader_busy : (double)NAN};
	}
	return 0;
}

int pp_tool_worker(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_row_worker *worker = tables[PP_TABLE_worker].row;
	int has_input = 0;

	for (size_t w = 0; w < in->workers; w++) {
		snprintf(worker[w].step_rule, sizeof(worker[w].step_rule), "%s", in->step_rule);
		worker[w].step_confidence = in->step_confidence;
		worker[w].worker_host = (int32_t)worker[w].host_clock - 1;
		has_input |= worker[w].loader_samples > 0;
	}
	if (has_input && fill_input(in, &tables[PP_TABLE_input]))
		return pp_err_set(err, -ENOMEM, "no memory for the data loaders");
	return 0;
}
