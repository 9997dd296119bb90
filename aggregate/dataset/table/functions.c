/* Functions that descriptions name; see functions.h. Called through the descriptions. */
#include "aggregate/dataset/table/functions.h"

#include "aggregate/dataset/order.h"
#include "aggregate/dataset/table/table_list.h"
#include "core/ring/record.h"

const char *pp_op_check(const void *row)
{
	const struct pp_row_op *op = row;

	return op->category < 1 || op->category > PP_CATEGORIES ? "a category" : NULL;
}

const char *pp_op_type_text(const void *row, const struct pp_intern *names, size_t *ret_length)
{
	const char *name = pp_intern_text(names, ((const struct pp_row_op *)row)->name, ret_length);

	*ret_length = pp_op_type(name, *ret_length);
	return name;
}

const char *pp_source_name(int source)
{
	static const char *const name[] = {[PP_SOURCE_API] = "API",
	                                   [PP_SOURCE_NVTX] = "NVTX",
	                                   [PP_SOURCE_MPI] = "MPI",
	                                   [PP_SOURCE_ITT] = "ITT",
	                                   [PP_SOURCE_SHIM] = "shim"};

	return source >= 0 && (size_t)source < sizeof(name) / sizeof(name[0]) ? name[source] : "";
}
