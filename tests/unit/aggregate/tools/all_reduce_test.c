/* /all_reduce of a dataset made by hand. all_reduce_test GOLDEN [--update]. */
#include "aggregate/dataset/table/table_text.h"
#include "aggregate/tools/tools.h"
#include "core/call/mpi_call.h"
#include "tests/golden.h"
#include "tests/unit/capture.h"

enum { ROWS = 5 };

/* Operation, communicator, sequence, bytes, ranks, last arrival, last exit, wait, transfer, bus bandwidth. */
static struct pp_row_collective row(const char *name, uint64_t comm, uint32_t sequence, uint64_t bytes, int32_t ranks, int64_t last,
                                    int64_t end, int64_t wait, int64_t transfer, double busbw)
{
	return (struct pp_row_collective){.operation = call_number(name),
	                                  .communicator = comm,
	                                  .sequence = sequence,
	                                  .bytes = bytes,
	                                  .ranks = ranks,
	                                  .last_ns = last,
	                                  .end_ns = end,
	                                  .wait_ns = wait,
	                                  .transfer_ns = transfer,
	                                  .busbw = busbw};
}

int main(int argc, char **argv)
{
	struct pp_row_collective c[ROWS] = {
	        row("MPI_Allreduce", 7, 1, 100, 4, 10, 30, 5, 80, 1e9),    row("MPI_Bcast", 7, 2, 8, 4, 40, 50, 0, 40, 0),
	        row("MPI_Allreduce", 7, 3, 300, 3, 50, 110, 15, 180, 2e9), row("MPI_Allreduce", 9, 0, 50, 2, 50, 110, 0, 0, 0),
	        row("MPI_Allreduce", 7, 0, 1, 2, 50, 50, 0, 0, 5e9),
	};
	struct pp_dataset d = {.collective = c, .collectives = ROWS};
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	c[3].bound_ns = INT64_MAX;          /* clocks are not joined */
	for (int i = 0; i < ROWS; i += 2) { /* on devices, of one algorithm and several protocols */
		c[i].device_ns = 100 + i;
		c[i].exposed_ns = i;
		c[i].device_ranks = 2;
		c[i].exposed_ranks = i > 0;
		c[i].algorithm = 2;
		c[i].protocol = (int8_t)(1 + i / 2);
		c[i].channels = 10 - i;
	}
	pp_dataset_tables(&d, table);
	CHECK_INT(pp_tool_all_reduce(&d, table, &err), 0);
	pp_table_csv(&table[PP_TABLE_all_reduce], d.names, f);
	fclose(f);
	test_golden(argv[1], argc > 2, text);
	free(text);
	free(table[PP_TABLE_all_reduce].row);
	return test_end();
}
