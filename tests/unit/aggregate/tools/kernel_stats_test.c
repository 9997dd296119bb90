/* /kernel_stats and /precision of rows made by hand, and what names tell of tensor cores. kernel_stats_test GOLDEN [--update]. */
#include <math.h>

#include "aggregate/dataset/table/table_text.h"
#include "aggregate/tools/tensor_core.h"
#include "aggregate/tools/tools.h"
#include "core/capture/span.h"
#include "tests/golden.h"

static uint32_t put(struct pp_intern *names, const char *text)
{
	return pp_intern_put(names, text, strlen(text));
}

TEST(names)
{
	static const struct {
		const char *name;
		enum pp_tensor_core want;
	} op[] = {{"", PP_TENSOR_CORE_UNKNOWN},
	          {"aten::addmm", PP_TENSOR_CORE_YES},
	          {"aten::_convolution", PP_TENSOR_CORE_YES},
	          {"aten::cudnn_convolution_backward", PP_TENSOR_CORE_YES},
	          {"gradients/conv1/Conv2DBackpropFilter:Conv2DBackpropFilter", PP_TENSOR_CORE_YES},
	          {"conv1/Relu:Relu", PP_TENSOR_CORE_NO},
	          {"jit(f)/jit(main)/dot_general", PP_TENSOR_CORE_YES},
	          {"jit(f)/conv/convert_element_type", PP_TENSOR_CORE_NO},
	          {"BatchMatMulV2", PP_TENSOR_CORE_YES},
	          {"aten::add_", PP_TENSOR_CORE_NO},
	          {"/", PP_TENSOR_CORE_NO}};

	for (size_t i = 0; i < sizeof(op) / sizeof(op[0]); i++) {
		if (pp_tensor_core_eligible(op[i].name, strlen(op[i].name)) != op[i].want)
			fprintf(stderr, "%s\n", op[i].name);
		CHECK_INT(pp_tensor_core_eligible(op[i].name, strlen(op[i].name)), op[i].want);
	}
}

static char *print(const struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	pp_dataset_tables(d, table);
	CHECK_INT(pp_tool_kernel_stats(d, table, &err), 0);
	pp_table_csv(&table[PP_TABLE_kernel_stat], d->names, f);
	pp_table_csv(&table[PP_TABLE_precision], d->names, f);
	fclose(f);
	free(table[PP_TABLE_kernel_stat].row);
	free(table[PP_TABLE_precision].row);
	return text;
}

int main(int argc, char **argv)
{
	struct pp_intern *id = pp_intern_new();
	const uint32_t gemm = put(id, "ampere_fp16_s16816gemm_128"), add = put(id, "elementwise_kernel"),
	               nccl = put(id, "ncclKernel_AllReduce"), copy = put(id, "Memcpy HtoD"), mm = put(id, "aten::mm"),
	               plus = put(id, "aten::add");
	/* In the order of keys, as a finished dataset has them. */
	struct pp_row_kernel kernel[] = {
	        {copy, 0, PP_DEVICE_HOST_TO_DEVICE, 0, .worker = 0, .occurrences = 2, .total_ns = 999, .min_ns = 1, .max_ns = 998},
	        {gemm, mm, 0, PP_PRECISION_16, 96, 0, 49152, 128, 1, 1, 64, 2, 1, 0, 5, 500, 90, 120, 0, 25},
	        {gemm, mm, 0, PP_PRECISION_16, 96, 0, 49152, 128, 1, 1, 64, 2, 1, 1, 5, 400, 70, 110, 0, 26},
	        {gemm, mm, 0, PP_PRECISION_16, 96, 0, 49152, 128, 1, 1, 128, 2, 1, 0, 1, 100, 100, 100, 0, -1},
	        {add, plus, 0, PP_PRECISION_32, 16, 0, 0, 256, 1, 1, 4, 1, 1, 1, 10, 100, 5, 20, 0, 100},
	        {add, 0, .worker = 1, .occurrences = 1, .total_ns = 100, .min_ns = 100, .max_ns = 100,
	         .occupancy_percent = (double)NAN},
	        {nccl, 0, PP_DEVICE_COLLECTIVE, .worker = 0, .occurrences = 1, .total_ns = 800, .min_ns = 800, .max_ns = 800},
	};
	struct pp_dataset d = {.names = id, .kernel = kernel, .kernels = 7}, none = {.names = id};
	char *text;

	names();
	text = print(&d);
	test_golden(argv[1], argc > 2, text);
	free(text);
	text = print(&none);
	CHECK(strchr(text, '\n') && !strstr(text, "\n1")); /* headings alone */
	free(text);
	pp_intern_free(id);
	return test_end();
}
