/* Functions that descriptions name. In: a row. Out: its fault (NULL: none), or a text shown for it. One more is
 * pp_category_name(). */
#pragma once

#include <stddef.h>

#include "core/ring/intern.h"
#include "core/step/category.h"
#include "core/step/classify.h"
#include "core/step/step_name.h"

/* Faults of rows from elsewhere. */
const char *pp_worker_check(const void *row);
const char *pp_cell_check(const void *row);
const char *pp_op_check(const void *row);

/* Texts of a row, valid as long as `names`. */
const char *pp_op_type_text(const void *row, const struct pp_intern *names, size_t *ret_length);
const char *pp_op_stat_type_text(const void *row, const struct pp_intern *names, size_t *ret_length);

/* Names of numbers, static; "" for one that has none. */
const char *pp_input_category_name(int category);
const char *pp_tf_data_class_name(int class);
/* Of /memory_timeline and /memory_peak. */
const char *pp_allocator_action_name(int action);
const char *pp_memory_kind_name(int kind);
/* As pp_category_name(), and the step itself for 0. */
const char *pp_step_category_name(int category);

/* The same of PP_SOURCE_, PP_SIDE_, PP_DEVICE_ and PP_PRECISION_. */
const char *pp_source_name(int source);
const char *pp_side_name(int side);
const char *pp_activity_name(int activity);
const char *pp_precision_name(int precision);

/* The same of a number of core/call/mpi_call.h; of /budget PP_BUDGET_OTHER too. */
const char *pp_operation_name(int call);
enum { PP_BUDGET_OTHER = 4095 }; /* operation of /budget: none */
const char *pp_budget_operation_name(int call);
enum { PP_NCCL_SEVERAL = 16 };
/* Of core/source/nccl_how.def; "" for 0. */
const char *pp_nccl_algorithm_name(int algorithm);
const char *pp_nccl_protocol_name(int protocol);
/* Of index 0 1 2 ..: category 1 2 3 .., enum pp_loss. */
const char *pp_category_label(int place);
const char *pp_loss_label(int place);
/* "Input", "time between steps", "unknown reason". */
const char *pp_reason_name(int reason);
