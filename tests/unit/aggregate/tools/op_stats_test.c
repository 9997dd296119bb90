/* /op_stats of rows made by hand. op_stats_test GOLDEN [--update]. */
#include "aggregate/dataset/table/table_text.h"
#include "aggregate/tools/tools.h"
#include "tests/golden.h"

static uint32_t put(struct pp_intern *names, const char *text)
{
	return pp_intern_put(names, text, strlen(text));
}

int main(int argc, char **argv)
{
	struct pp_intern *names = pp_intern_new();
	const uint32_t mm = put(names, "dense/MatMul:MatMul"), torch = put(names, "aten::mm"), idle = put(names, "Idle");
	/* In the order of names, as a finished dataset has them. */
	struct pp_row_op op[] = {
	        {.name = torch, .category = 4, .source = PP_SOURCE_NVTX, .worker = 0, .calls = 3, .total_ns = 300, .self_ns = 60},
	        {.name = torch, .category = 4, .source = PP_SOURCE_NVTX, .worker = 1, .calls = 1, .total_ns = 50, .self_ns = 40},
	        {.name = torch, .category = 6, .source = PP_SOURCE_API, .worker = 1, .calls = 2, .total_ns = 20, .self_ns = 20},
	        {.name = mm,
	         .category = 1,
	         .source = PP_SOURCE_XSPACE,
	         .side = 1,
	         .worker = 0,
	         .calls = 4,
	         .total_ns = 80,
	         .self_ns = 80},
	        {.name = mm, .category = 4, .source = PP_SOURCE_XSPACE, .worker = 0, .calls = 4, .total_ns = 200, .self_ns = 180},
	        {.name = 0,
	         .category = 1,
	         .source = PP_SOURCE_XSPACE,
	         .side = 1,
	         .worker = 0,
	         .calls = 1,
	         .total_ns = 20,
	         .self_ns = 20},
	};
	struct pp_row_op_idle none[] = {{.worker = 0, .side = 0, .name = idle, .idle_ns = 60, .step_ns = 500},
	                                {.worker = 0, .side = 1, .name = idle, .idle_ns = 400, .step_ns = 500},
	                                {.worker = 1, .side = 0, .name = idle, .idle_ns = 40, .step_ns = 500}};
	struct pp_row_kernel kernel[] = {{.op = mm, .name = put(names, "volta_h884gemm"), .total_ns = 45},
	                                 {.op = mm, .name = put(names, "volta_sgemm_128x64"), .total_ns = 15},
	                                 {.op = mm, .name = put(names, "own_kernel"), .total_ns = 20},
	                                 {.op = torch, .name = put(names, "own_kernel"), .total_ns = 20}};
	struct pp_dataset d = {.names = names, .op = op, .ops = 6, .op_idle = none, .op_idles = 3, .kernel = kernel, .kernels = 4};
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; i < 4; i++)
		kernel[i].activity = PP_DEVICE_KERNEL;
	pp_dataset_tables(&d, table);
	CHECK_INT(pp_tool_op_stats(&d, table, &err), 0);
	pp_table_csv(&table[PP_TABLE_op_stat], names, f);
	fclose(f);
	test_golden(argv[1], argc > 2, text);
	free(text);
	free(table[PP_TABLE_op_stat].row);
	pp_intern_free(names);
	return test_end();
}
