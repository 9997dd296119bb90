/* The sums that /budget must have, whatever was recorded. Used by tests of datasets. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/table/functions.h"
#include "tests/test.h"

/* Parts of a row add up to its time, and all rows to what steps have exposed, to the ns. */
static inline void check_budget(const struct pp_dataset *d)
{
	int64_t wait = 0, transfer = 0, exposed = 0;

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_row_cell *cell = &d->cell[i];

		wait += cell->wait_ns;
		transfer += cell->transfer_ns;
		exposed += cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE] + cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION];
	}
	for (size_t i = 0; i < d->budgets; i++) {
		const struct pp_row_budget *row = &d->budget[i];
		int64_t shown = row->wait_ns + row->transfer_ns + row->unsplit_ns;

		CHECK_INT(row->hidden_ns + shown, row->time_ns);
		CHECK_INT(row->blocking_ns + row->not_blocking_ns + row->blocking_unknown_ns, shown);
		CHECK(row->hidden_ns >= 0 && row->wait_ns >= 0 && row->transfer_ns >= 0 && row->unsplit_ns >= 0);
		CHECK(row->blocking_ns >= 0 && row->not_blocking_ns >= 0 && row->blocking_unknown_ns >= 0);
		CHECK(!i || row[-1].operation < row->operation ||
		      (row[-1].operation == row->operation && row[-1].communicator < row->communicator) ||
		      row[-1].step < row->step);
		wait -= row->wait_ns;
		transfer -= row->transfer_ns;
		exposed -= shown;
	}
	CHECK_INT(wait, 0);
	CHECK_INT(transfer, 0);
	CHECK_INT(exposed, 0);
}

/* The operation's first row. */
static inline const struct pp_row_budget *budget_of(const struct pp_dataset *d, const char *operation)
{
	static const struct pp_row_budget none;

	for (size_t i = 0; i < d->budgets; i++)
		if (!strcmp(pp_budget_operation_name(d->budget[i].operation), operation))
			return &d->budget[i];
	CHECK(!"the operation has a row");
	return &none;
}
