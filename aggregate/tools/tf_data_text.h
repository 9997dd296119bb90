/* What is said of tf.data's pipelines: the slowest one, its bottleneck, and what to do about it, the same wherever it is said.
 * In: /tf_data_pipeline of a dataset. Out: a row, texts. Pure. Called by advice_input.c, answer.c, and by writers of text. */
#pragma once

#include <stddef.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/sums.h"

enum { PP_TF_DATA_TEXT = 512 };

/* The pipeline of hosts with the slowest call, of one rank or of all (-1); NULL: no call is slow. */
const struct pp_row_tf_data_pipeline *pp_tf_data_slowest(const struct pp_dataset *d, int32_t rank);
/* The same where steps wait for input, calls of such pipelines take at least half as long, and copies to devices are not most of
 * it: it is the cause then. */
const struct pp_row_tf_data_pipeline *pp_tf_data_cause(const struct pp_dataset *d, const struct pp_sums *s, int32_t rank);
/* "tf.data's pipeline Host:0 on rank 2: 3 of 10 calls are longer than 50 us, the slowest takes 15.8 ms; bottleneck ...".
 * Returns `text`. */
const char *pp_tf_data_say(const struct pp_dataset *d, const struct pp_row_tf_data_pipeline *p, char *text, size_t size);
/* What could not be tied, "" where all was. Returns `text`. */
const char *pp_tf_data_say_left_out(const struct pp_dataset *d, char *text, size_t size);
