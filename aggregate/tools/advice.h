/* What to do where devices, or what serves them, take most of the step: one sentence with the number that supports it. In: a
 * finished pp_dataset and its sums. Out: a part of "Next". Pure. Called by answer.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/table/table_list.h"

struct pp_dataset;
struct pp_sums;

/* The tables that it reads, besides the cells: bits of 1 << PP_TABLE_name. */
#define PP_ADVICE_TABLES                                                                                                           \
	(UINT64_C(1) << PP_TABLE_kernel | UINT64_C(1) << PP_TABLE_kernel_stat | UINT64_C(1) << PP_TABLE_precision |                \
	 UINT64_C(1) << PP_TABLE_op_stat | UINT64_C(1) << PP_TABLE_input_stage | UINT64_C(1) << PP_TABLE_all_reduce)

/* No rank delays the others, and this category is the largest. 0: there is nothing to say, `text` is untouched. */
int pp_advice_largest(const struct pp_dataset *d, const struct pp_sums *s, int category, const char *session, char *text,
                      size_t size);
/* One rank spends more in it than the others. 0 as above. */
int pp_advice_rank(const struct pp_dataset *d, int32_t rank, int category, const char *session, char *text, size_t size);
