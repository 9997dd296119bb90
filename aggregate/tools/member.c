/* Fills the members of communicators as rows of one table. Called by tools.c. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "aggregate/tools/tools.h"

int pp_tool_member(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_row_communicator *c = tables[PP_TABLE_communicator].row;
	struct pp_table *members = &tables[PP_TABLE_member];

	for (size_t i = 0; i < in->communicators; i++) {
		c[i].member_first = members->rows;
		c[i].member_count = c[i].member ? c[i].size : 0;
		for (uint32_t k = 0; k < c[i].member_count; k++) {
			struct pp_row_member *row = pp_table_add(members);
			size_t w;

			if (!row)
				return pp_err_set(err, -ENOMEM, "no memory for the members of communicators");
			row->members = c[i].member[k];
			w = pp_dataset_worker(in, row->members);
			if (w != SIZE_MAX)
				memcpy(row->member_device, in->worker[w].device_uuid, sizeof(row->member_device));
		}
	}
	return 0;
}
