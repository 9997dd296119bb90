/* Which operators may use tensor cores; see tensor_core.h. Called by kernel_stats.c. */
#include "aggregate/tools/tensor_core.h"

#include "aggregate/dataset/order.h"
#include "core/step/name_match.h"

/* Operators of dense products, as words of the operator's own name (core/step/name_match.h cuts them). */
static const char *const product[] = {"mat mul*",
                                      "matmul*",
                                      "conv",
                                      "conv1d*",
                                      "conv2d*",
                                      "conv3d*",
                                      "conv transpose*",
                                      "convolution*",
                                      "conv general*",
                                      "einsum",
                                      "dot",
                                      "dot general",
                                      "mm",
                                      "addmm",
                                      "bmm",
                                      "baddbmm",
                                      "linear",
                                      "scaled mm",
                                      "cudnn rnn*",
                                      "cudnnrnn*",
                                      "lstm*",
                                      "gru*",
                                      "scaled dot product*",
                                      "flash attention*",
                                      "efficient attention*"};

enum pp_tensor_core pp_tensor_core_eligible(const char *op, size_t length)
{
	size_t at = pp_op_tensorflow_type(op, length);

	if (!length)
		return PP_TENSOR_CORE_UNKNOWN;
	for (size_t i = length; i-- > at && !at;) /* a scope is no operator */
		if (op[i] == '/')
			at = i + 1;
	for (size_t i = 0; i < sizeof(product) / sizeof(product[0]); i++)
		if (pp_name_has_words(product[i], op + at, length - at))
			return PP_TENSOR_CORE_YES;
	return PP_TENSOR_CORE_NO;
}
