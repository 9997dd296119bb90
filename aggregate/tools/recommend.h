/* What to do where devices, or what serves them, take most of the step: one sentence with the number that supports it. In: a
 * finished pp_dataset and its sums. Out: a part of "Next". Pure. Called by answer.c; what it looks at,
 * also by the rules of /advice. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/table/table_list.h"

struct pp_dataset;
struct pp_sums;

enum { PP_RECOMMEND_MANY_IDLE_PERCENT = 20, PP_RECOMMEND_MOSTLY_PERCENT = 50, PP_RECOMMEND_SMALL_MESSAGE = 1 << 20 };

struct pp_activity { /* of all ranks' devices, in their steps */
	uint64_t occurrences, bytes;
	int64_t ns;
};

/* enum pp_device_activity */
struct pp_activity pp_activity_of(const struct pp_dataset *d, int activity);
/* Share of the kernels' time of operators that could use tensor cores, in kernels that do not; in percent. */
double pp_recommend_idle_tensor_cores(const struct pp_dataset *d);
/* Share of a precision, in percent. */
double pp_recommend_precision(const struct pp_dataset *d, int precision);
/* The stage of copying to devices, if it takes most of the input operations' time, and `a`, the copies, at least half as long as
 * steps wait; else NULL. */
const struct pp_row_input_stage *pp_recommend_enqueues(const struct pp_dataset *d, const struct pp_sums *s,
                                                       const struct pp_activity *a);

/* The tables that it reads, besides the cells: bits of 1 << PP_TABLE_name. */
#define PP_RECOMMEND_TABLES                                                                                                        \
	(UINT64_C(1) << PP_TABLE_kernel | UINT64_C(1) << PP_TABLE_kernel_stat | UINT64_C(1) << PP_TABLE_precision |                \
	 UINT64_C(1) << PP_TABLE_op_stat | UINT64_C(1) << PP_TABLE_input_stage | UINT64_C(1) << PP_TABLE_input_bound |             \
	 UINT64_C(1) << PP_TABLE_all_reduce | UINT64_C(1) << PP_TABLE_gpu | UINT64_C(1) << PP_TABLE_device_speed)

/* No rank delays the others, and this category is the largest. 0: there is nothing to say, `text` is untouched. */
int pp_recommend_largest(const struct pp_dataset *d, const struct pp_sums *s, int category, const char *session, char *text,
                         size_t size);
/* One rank spends more in it than the others. 0 as above. */
int pp_recommend_rank(const struct pp_dataset *d, int32_t rank, int category, const char *session, char *text, size_t size);
