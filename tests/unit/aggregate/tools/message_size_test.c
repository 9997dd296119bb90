/* /message_size of made-up jobs: which operations count, in which row, and their bandwidth. */
#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/tools.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { US = 1000, MS = 1000 * US };

struct result {
	struct pp_dataset d;
	struct pp_table table[PP_TABLES];
	const struct pp_row_message_size *row;
	size_t rows;
};

static void run(struct result *r)
{
	struct pp_err err = {""};

	pp_dataset_tables(&r->d, r->table);
	CHECK_INT(pp_tool_message_size(&r->d, r->table, &err), 0);
	r->row = r->table[PP_TABLE_message_size].row;
	r->rows = r->table[PP_TABLE_message_size].rows;
}

static void end(struct result *r)
{
	struct pp_intern *names = (struct pp_intern *)r->d.names;

	pp_dataset_take_tables(&r->d, r->table);
	pp_dataset_release(&r->d);
	pp_intern_free(names);
}

static void check_row(const struct result *r, size_t i, const char *name, int32_t ranks, uint64_t from, uint64_t occurrences)
{
	CHECK(i < r->rows);
	if (i >= r->rows)
		return;
	CHECK_STR(pp_operation_name(r->row[i].operation), name);
	CHECK_INT(r->row[i].ranks, ranks);
	CHECK_INT(r->row[i].from_bytes, from);
	CHECK_INT(r->row[i].occurrences, occurrences);
}

TEST(rows)
{
	static const int32_t pair[] = {1, 3};
	struct pp_made_job m;
	struct result r;
	uint64_t part;

	pp_made_begin(&m, 4, 2, 0, 1);
	part = pp_made_communicator(&m, "part", pair, 2);
	pp_made_collective(&m, 1, "MPI_Allreduce", 1024, 1 * MS);
	pp_made_collective(&m, 1, "MPI_Allreduce", 2047, 1 * MS); /* the same size class, the next is another one */
	pp_made_collective(&m, 1, "MPI_Allreduce", 1500, 3 * MS);
	pp_made_collective(&m, 1, "MPI_Allreduce", 2048, 1 * MS);
	pp_made_collective(&m, part, "MPI_Allreduce", 1024, 1 * MS);
	pp_made_collective(&m, 1, "MPI_Bcast", 1, 1 * US);
	pp_made_collective(&m, 1, "MPI_Barrier", 0, 1 * MS); /* no bytes */
	pp_made_message(&m, 0, 1, 5, 1000000, 2 * MS, 0);
	r.d = pp_made_end(&m);
	run(&r);
	CHECK_INT(r.rows, 5);
	check_row(&r, 0, "MPI_Send", 2, 1 << 19, 1);
	for (size_t i = 0; i < r.rows; i++) {
		const struct pp_row_message_size *row = &r.row[i];

		if (row->occurrences == 3) {
			check_row(&r, i, "MPI_Allreduce", 4, 1024, 3);
			check_row(&r, i + 1, "MPI_Allreduce", 4, 2048, 1);
			check_row(&r, i - 1, "MPI_Allreduce", 2, 1024, 1);
			CHECK_INT(row->bytes, 1024 + 2047 + 1500);
			CHECK_INT(row->duration_ns, 5 * MS);
			CHECK_INT(row->busbw_least, 750000);   /* 1500 bytes in 3 ms, times 2 (n - 1) / n */
			CHECK_INT(row->busbw_median, 1536000); /* 1024 in 1 ms */
			CHECK_INT(row->busbw_most, 3070500);   /* 2047 in 1 ms */
		} else if (!strcmp(pp_operation_name(row->operation), "MPI_Send")) {
			CHECK_INT(row->busbw_median, 500000000);
		}
	}
	end(&r);
}

/* The mean of the middle two. */
TEST(median)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 4, 2, 0, 1);
	pp_made_collective(&m, 1, "MPI_Bcast", 1000, 1 * US);
	pp_made_collective(&m, 1, "MPI_Bcast", 1000, 4 * US);
	r.d = pp_made_end(&m);
	run(&r);
	CHECK_INT(r.rows, 1);
	CHECK(r.rows && r.row->busbw_median == 625e6);
	end(&r);
}

/* What is not known counts nowhere: below the clock's error, clocks not joined, numbers that are none. */
TEST(unknown)
{
	struct pp_made_job m;
	struct result r;

	pp_made_begin(&m, 4, 2, 0, 1);
	m.bound_ns = 2 * MS;
	for (int i = 0; i < 6; i++)
		pp_made_collective(&m, 1, "MPI_Allreduce", 1024, (i ? 3 : 1) * MS);
	r.d = pp_made_end(&m);
	r.d.collective[1].bound_ns = INT64_MAX;
	r.d.collective[2].busbw = 0;
	r.d.collective[3].busbw = 0.0 / (r.d.collective[2].busbw + 0.0);
	r.d.collective[4].end_ns = INT64_MIN;
	run(&r);
	CHECK_INT(r.rows, 1);
	CHECK(r.rows && r.row->occurrences == 1);
	end(&r);
}

int main(void)
{
	rows();
	median();
	unknown();
	return test_end();
}
