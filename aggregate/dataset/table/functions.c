/* Functions that descriptions name; see functions.h. Called through the descriptions. */
#include "aggregate/dataset/table/functions.h"

#include "aggregate/dataset/order.h"
#include "aggregate/dataset/table/table_list.h"
#include "aggregate/dataset/table/word.h"
#include "core/call/mpi_call.h"
#include "core/capture/span.h"
#include "core/ring/record.h"

const char *pp_worker_check(const void *row)
{
	const struct pp_row_worker *w = row;

	if (w->rank < 0 || w->domain < -1)
		return "a rank";
	if (w->recorded_ns < 0 || w->kept_ns < 0 || w->kept_ns > w->recorded_ns)
		return "a share of the run";
	return w->own_bound_ns < 0 ? "a clock" : w->loader_busy < 0 || w->loader_busy > 1 ? "a share" : NULL;
}

const char *pp_cell_check(const void *row)
{
	const struct pp_row_cell *cell = row;

	return cell->bottleneck < 0 || cell->bottleneck > PP_CATEGORIES ? "a category" : NULL;
}

const char *pp_op_check(const void *row)
{
	const struct pp_row_op *op = row;

	return op->category < 1 || op->category > PP_CATEGORIES ? "a category" : NULL;
}

static const char *type_text(uint32_t id, int source, const struct pp_intern *names, size_t *ret_length)
{
	const char *name = pp_intern_text(names, id, ret_length);
	size_t at = source == PP_SOURCE_XSPACE ? pp_op_tensorflow_type(name, *ret_length) : 0;

	*ret_length = at ? *ret_length - at : pp_op_type(name, *ret_length);
	return name + at;
}

const char *pp_op_type_text(const void *row, const struct pp_intern *names, size_t *ret_length)
{
	const struct pp_row_op *op = row;

	return type_text(op->name, op->source, names, ret_length);
}

const char *pp_op_stat_type_text(const void *row, const struct pp_intern *names, size_t *ret_length)
{
	const struct pp_row_op_stat *op = row;

	return op->is_idle ? pp_intern_text(names, op->name, ret_length) : type_text(op->name, op->source, names, ret_length);
}

const char *pp_input_category_name(int category)
{
	static const char *const name[] = {[PP_INPUT_ON_DEMAND] = "reading on demand",
	                                   [PP_INPUT_IN_ADVANCE] = "reading in advance",
	                                   [PP_INPUT_PREPROCESSING] = "preprocessing",
	                                   [PP_INPUT_ENQUEUING] = "enqueuing to device",
	                                   [PP_INPUT_OTHER] = "other input"};

	return category > 0 && category <= PP_INPUT_CATEGORIES ? name[category] : "";
}

const char *pp_tf_data_class_name(int class)
{
	static const char *const name[] = {[PP_TF_DATA_UNKNOWN] = "unknown",
	                                   [PP_TF_DATA_ROOT] = "options of the pipeline",
	                                   [PP_TF_DATA_SOURCE] = "source",
	                                   [PP_TF_DATA_REMOTE_SOURCE] = "remote source",
	                                   [PP_TF_DATA_DATA_SERVICE] = "data service",
	                                   [PP_TF_DATA_PARALLELISABLE] = "transformation with a parallel form",
	                                   [PP_TF_DATA_PARALLEL] = "parallel transformation",
	                                   [PP_TF_DATA_SEQUENTIAL] = "sequential transformation",
	                                   [PP_TF_DATA_OTHER] = "other"};

	return class >= 0 && class < PP_TF_DATA_CLASSES ? name[class] : "";
}

const char *pp_allocator_action_name(int action)
{
	return action == 0 ? "allocation" : action == 1 ? "deallocation" : "";
}

const char *pp_memory_kind_name(int kind)
{
	static const char *const name[] = {[PP_MEMORY_ALLOCATION] = "allocation",
	                                   [PP_MEMORY_REST] = "rest",
	                                   [PP_MEMORY_EARLIER] = "earlier",
	                                   [PP_MEMORY_STACK] = "stack"};

	return kind >= 0 && (size_t)kind < sizeof(name) / sizeof(name[0]) ? name[kind] : "";
}

const char *pp_step_category_name(int category)
{
	return category ? pp_category_name(category) : "Step time";
}

const char *pp_source_name(int source)
{
	static const char *const name[] = {
	        [PP_SOURCE_API] = "API",       [PP_SOURCE_NVTX] = "NVTX",   [PP_SOURCE_MPI] = "MPI",
	        [PP_SOURCE_ITT] = "ITT",       [PP_SOURCE_SHIM] = "shim",   [PP_SOURCE_XSPACE] = "XSpace",
	        [PP_SOURCE_KINETO] = "Kineto", [PP_SOURCE_CUPTI] = "CUPTI", [PP_SOURCE_NCCL] = "NCCL",
	        [PP_SOURCE_PYTHON] = "Python"};

	return source >= 0 && (size_t)source < sizeof(name) / sizeof(name[0]) ? name[source] : "";
}

const char *pp_side_name(int side)
{
	return side == PP_SIDE_HOST ? "Host" : side == PP_SIDE_DEVICE ? "Device" : "";
}

const char *pp_activity_name(int activity)
{
	static const char *const name[] = {[PP_DEVICE_KERNEL] = "Kernel",
	                                   [PP_DEVICE_COLLECTIVE] = "Collective",
	                                   [PP_DEVICE_HOST_TO_DEVICE] = "Host to device",
	                                   [PP_DEVICE_DEVICE_TO_HOST] = "Device to host",
	                                   [PP_DEVICE_DEVICE_TO_DEVICE] = "Device to device",
	                                   [PP_DEVICE_SET] = "Set",
	                                   [PP_DEVICE_WAIT] = "Wait",
	                                   [PP_DEVICE_UNSURE] = "Communication unknown"};

	return activity >= 0 && (size_t)activity < sizeof(name) / sizeof(name[0]) ? name[activity] : "";
}

const char *pp_precision_name(int precision)
{
	return precision == PP_PRECISION_UNKNOWN ? "unknown"
	       : precision == PP_PRECISION_32    ? "32-bit"
	       : precision == PP_PRECISION_16    ? "16-bit"
	                                         : "";
}

const char *pp_operation_name(int call)
{
	return call >= 0 && pp_mpi_call_is_known((unsigned)call) ? pp_mpi_call_info((unsigned)call)->name : "";
}

const char *pp_budget_operation_name(int call)
{
	return call == PP_BUDGET_OTHER ? "other" : pp_operation_name(call);
}

const char *pp_nccl_algorithm_name(int algorithm)
{
	static const char *const name[] = {
#define PP_NCCL_ALGORITHM(value, name) [value] = (name),
#define PP_NCCL_PROTOCOL(value, name)
#include "core/source/nccl_how.def"
#undef PP_NCCL_ALGORITHM
#undef PP_NCCL_PROTOCOL
	        [PP_NCCL_SEVERAL] = "several"};

	return algorithm > 0 && (size_t)algorithm < sizeof(name) / sizeof(name[0]) && name[algorithm] ? name[algorithm] : "";
}

const char *pp_nccl_protocol_name(int protocol)
{
	static const char *const name[] = {
#define PP_NCCL_ALGORITHM(value, name)
#define PP_NCCL_PROTOCOL(value, name) [value] = (name),
#include "core/source/nccl_how.def"
#undef PP_NCCL_ALGORITHM
#undef PP_NCCL_PROTOCOL
	        [PP_NCCL_SEVERAL] = "several"};

	return protocol > 0 && (size_t)protocol < sizeof(name) / sizeof(name[0]) && name[protocol] ? name[protocol] : "";
}

const char *pp_category_label(int place)
{
	return pp_category_name(place + 1);
}

const char *pp_loss_label(int place)
{
	static const char *const name[] = {
#define PP_LOSS(symbol, column, what) #column,
#include "core/ring/loss.def"
#undef PP_LOSS
	};

	return name[place];
}

const char *pp_reason_name(int reason)
{
	return reason > PP_REASON_UNKNOWN && reason <= PP_CATEGORIES ? pp_category_name(reason)
	       : reason == PP_REASON_BETWEEN_STEPS                   ? "time between steps"
	       : reason == PP_REASON_LINK                            ? "slow link"
	                                                             : "unknown reason";
}
