/* What the tables of the pod say, as lines: who made others wait, in which pattern, what the job would gain, what to do. In: a
 * finished pp_dataset and its sums. Out: lines of summary.txt, of the page and of podprof report --json. Pure. Called by
 * answer.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/table/table_list.h"

struct pp_dataset;
struct pp_sums;

/* The tables that it reads: bits of 1 << PP_TABLE_name. */
#define PP_POD_TABLES                                                                                                              \
	(UINT64_C(1) << PP_TABLE_blame | UINT64_C(1) << PP_TABLE_straggler_class | UINT64_C(1) << PP_TABLE_what_if |               \
	 UINT64_C(1) << PP_TABLE_advice)

enum { PP_POD_LINE = 640 };

struct pp_pod_lines { /* "": there is nothing to say */
	char blame[PP_POD_LINE], pattern[PP_POD_LINE], what_if[PP_POD_LINE], advice[PP_POD_LINE];
	/* Rows of the tables that the lines are about; NULL where the line is empty. */
	const struct pp_row_blame *blame_row;
	const struct pp_row_straggler_class *class_row;
	const struct pp_row_what_if *what_if_row;
	const struct pp_row_advice *advice_row;
	size_t more; /* rows of advice besides it */
};

void pp_pod_lines_of(const struct pp_dataset *d, const struct pp_sums *s, struct pp_pod_lines *ret_lines);
/* "persistent rank": a class of /straggler. */
const char *pp_straggler_class_name(int class);
