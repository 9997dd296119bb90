/* What the tables of the pod say about a finding, as lines: the waiting that goes back to it, what the job would gain, what to do;
 * and how much of the step is useful. In: a finished
 * pp_dataset. Out: lines of summary.txt, of the page and of podprof report --json. Pure. Called by answer.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/table/table_list.h"

struct pp_dataset;

/* The tables that it reads: bits of 1 << PP_TABLE_name. */
#define PP_POD_TABLES                                                                                                              \
	(UINT64_C(1) << PP_TABLE_blame | UINT64_C(1) << PP_TABLE_finding | UINT64_C(1) << PP_TABLE_efficiency |                    \
	 UINT64_C(1) << PP_TABLE_advice)

enum { PP_POD_LINE = 640 };

struct pp_pod_lines { /* "": there is nothing to say */
	char what_if[PP_POD_LINE], advice[PP_POD_LINE], efficiency[PP_POD_LINE];
	/* The rows of the tables that they are about; NULL: there is none. */
	const struct pp_row_blame *blame_row;
	const struct pp_row_advice *advice_row;
	const struct pp_row_efficiency *efficiency_row; /* of the usual steps */
	size_t more;                                    /* rows of advice besides it */
};

/* finding: the first one, which the lines are about; NULL: there is none. */
void pp_pod_lines_of(const struct pp_dataset *d, const struct pp_row_finding *finding, struct pp_pod_lines *ret_lines);
