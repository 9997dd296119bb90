/* Which ranks are said to be missing: those that were asked for and came not, those whose status says so, and no others. */
#include <stdlib.h>

#include "aggregate/dataset/table/table_text.h"
#include "aggregate/tools/tools.h"
#include "core/base/known.h"
#include "tests/test.h"

static void check(const struct pp_dataset *d, const char *want)
{
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	pp_dataset_tables(d, table);
	CHECK_INT(pp_tool_absent(d, table, &err), 0);
	pp_table_csv(&table[PP_TABLE_missing], d->names, f);
	fclose(f);
	CHECK_STR(text, want);
	free(text);
	free(table[PP_TABLE_missing].row);
	free(table[PP_TABLE_absent].row);
}

#define HEADING "missing,missing_reason\n"

TEST(ranks)
{
	struct pp_row_worker worker[3] = {{.rank = 1}, {.rank = 3, .status = "missing: it was killed"}, {.rank = 5}};

	check(&(struct pp_dataset){.worker = worker, .workers = 3, .ranks_asked = 4},
	      HEADING "0,\"nothing of it was found\"\n2,\"nothing of it was found\"\n3,\"it was killed\"\n");
	check(&(struct pp_dataset){.worker = worker, .workers = 3}, HEADING "3,\"it was killed\"\n");
	check(&(struct pp_dataset){.ranks_asked = 1}, HEADING "0,\"nothing of it was found\"\n");
}

/* A share of another host may name any rank: nothing between it and the others is missing, nor behind the largest number. */
TEST(largest_rank)
{
	struct pp_row_worker worker[2] = {{.rank = 0}, {.rank = INT32_MAX}};

	check(&(struct pp_dataset){.worker = worker, .workers = 2, .ranks_asked = 2}, HEADING "1,\"nothing of it was found\"\n");
}

/* "No rank waited" only where the waiting of all cells is known. */
TEST(unknown_waiting)
{
	struct pp_row_step step = {.number = 0};
	struct pp_row_worker worker[2] = {{.rank = 0}, {.rank = 1}};
	struct pp_row_cell cell[2] = {{.present = 1}, {.wait_ns = PP_UNKNOWN}};
	const struct pp_dataset d = {.step = &step, .steps = 1, .worker = worker, .workers = 2, .cell = cell};
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};

	for (int known = 1; known >= 0; known--) {
		int found = 0;

		cell[0].wait_ns = known ? 0 : PP_UNKNOWN;
		pp_dataset_tables(&d, table);
		CHECK_INT(pp_tool_absent(&d, table, &err), 0);
		for (size_t i = 0; i < table[PP_TABLE_absent].rows; i++) {
			const struct pp_row_absent *row = (struct pp_row_absent *)table[PP_TABLE_absent].row + i;

			if (strcmp(row->absent, "blame") != 0 && strcmp(row->absent, "what_if") != 0)
				continue;
			found++;
			CHECK((strstr(row->absent_reason, "is known to") != NULL) == !known);
			CHECK((strstr(row->absent_reason, "unknown") != NULL) == !known);
		}
		CHECK_INT(found, 2);
		free(table[PP_TABLE_missing].row);
		free(table[PP_TABLE_absent].row);
	}
}

int main(void)
{
	ranks();
	largest_rank();
	unknown_waiting();
	return test_end();
}
