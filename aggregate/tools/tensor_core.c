/* Rules by which names tell of tensor cores; see tensor_core.h. Called by kernel_stats.c. */
#include "aggregate/tools/tensor_core.h"

#include <string.h>
#include <strings.h>

#include "aggregate/dataset/order.h"
#include "core/step/category.h"

/* Operators of dense products, as words of the operator's own name (core/step/category.h cuts them). */
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
/* Instructions of tensor cores, their shapes, and what libraries call such kernels. */
static const char *const used[] = {"s884", "h884", "i884", "s1688", "h1688", "i1688",    "16816",    "hmma",
                                   "imma", "bmma", "dmma", "xmma",  "gmma",  "tensorop", "tensor_op"};
/* Kernels on ordinary arithmetic units. */
static const char *const unused[] = {"simt",          "_sgemm_", "ffma",   "elementwise_kernel",
                                     "reduce_kernel", "softmax", "memset", "memcpy"};

static int has_one(const char *name, const char *const *part, size_t parts)
{
	for (size_t i = 0; i < parts; i++)
		if (strcasestr(name, part[i]))
			return 1;
	return 0;
}

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

enum pp_tensor_core pp_tensor_core_used(const char *kernel, size_t length)
{
	if (!length)
		return PP_TENSOR_CORE_UNKNOWN;
	if (has_one(kernel, used, sizeof(used) / sizeof(used[0])))
		return PP_TENSOR_CORE_YES;
	return has_one(kernel, unused, sizeof(unused) / sizeof(unused[0])) ? PP_TENSOR_CORE_NO : PP_TENSOR_CORE_UNKNOWN;
}
