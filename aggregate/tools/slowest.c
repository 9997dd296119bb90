/* Fills /slowest: per step the rank whose step took longest. Called by tools.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "core/base/select.h"

int pp_tool_slowest(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	int64_t *ns = malloc((in->workers + 1) * sizeof(*ns));
	int rc = ns ? 0 : -ENOMEM;

	for (size_t s = 0; s < in->steps && !rc; s++) {
		const struct pp_row_cell *cell = &in->cell[s * in->workers];
		struct pp_row_slowest *row;
		size_t n = 0, slowest = 0;
		int64_t lower, upper;

		for (size_t w = 0; w < in->workers; w++) {
			if (!cell[w].present)
				continue;
			if (!n || cell[w].step_ns > cell[slowest].step_ns)
				slowest = w;
			ns[n++] = cell[w].step_ns;
		}
		if (n < 2)
			continue;
		upper = pp_select_int64(ns, n, n / 2);
		lower = n % 2 ? upper : pp_select_int64(ns, n / 2, (n - 1) / 2);
		row = pp_table_add(&tables[PP_TABLE_slowest]);
		if (!row) {
			rc = -ENOMEM;
			break;
		}
		row->step = in->step[s].number;
		row->worker = in->worker[slowest].rank;
		row->over_ns = cell[slowest].step_ns - (lower + upper) / 2;
	}
	free(ns);
	return rc ? pp_err_set(err, rc, "no memory for the slowest ranks") : 0;
}
