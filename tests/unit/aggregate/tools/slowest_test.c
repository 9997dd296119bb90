/* /slowest of a dataset made by hand. slowest_test GOLDEN [--update]. */
#include "aggregate/dataset/table/table_text.h"
#include "aggregate/tools/tools.h"
#include "tests/golden.h"

/* [steps][workers]; 0: the rank has no such step. */
static const int64_t step_ns[5][4] = {
        {100, 100, 130, 100}, /* rank 5 */
        {90, 80, 70, 60},     /* an even number of ranks: the median lies between two */
        {50, 0, 0, 70},       /* two ranks */
        {0, 40, 0, 0},        /* one rank: no row */
        {20, 20, 20, 20},     /* all alike: the lowest rank, by 0 */
};

int main(int argc, char **argv)
{
	struct pp_row_worker worker[4] = {{.rank = 0}, {.rank = 1}, {.rank = 5}, {.rank = 7}};
	struct pp_row_step number[5] = {{10}, {11}, {12}, {14}, {15}};
	struct pp_row_cell cell[5][4] = {0};
	struct pp_dataset d = {.worker = worker, .workers = 4, .step = number, .steps = 5, .cell = cell[0]};
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; i < 20; i++)
		cell[i / 4][i % 4] = (struct pp_row_cell){.step_ns = step_ns[i / 4][i % 4], .present = step_ns[i / 4][i % 4] > 0};
	pp_dataset_tables(&d, table);
	CHECK_INT(pp_tool_slowest(&d, table, &err), 0);
	pp_table_csv(&table[PP_TABLE_slowest], d.names, f);
	fclose(f);
	test_golden(argv[1], argc > 2, text);
	free(text);
	free(table[PP_TABLE_slowest].row);
	return test_end();
}
