/* Fills missing and absent of /quality: ranks that did not deliver, groups that are not in the file. Called by tools.c, last. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/tools/tools.h"
#include "core/base/known.h"

static int add_missing(struct pp_table *missing, int32_t rank, const char *status)
{
	struct pp_row_missing *row = pp_table_add(missing);

	if (!row)
		return -ENOMEM;
	row->missing = rank;
	snprintf(row->missing_reason, sizeof(row->missing_reason), "%s", status + (strncmp(status, "missing: ", 9) ? 0 : 9));
	return 0;
}

/* Ranks that were asked for and have no worker, or one whose status says missing. */
static int fill_missing(const struct pp_dataset *in, struct pp_table *missing)
{
	int64_t rank = 0;
	int rc = 0;

	for (size_t w = 0; w <= in->workers && !rc; w++) {
		const struct pp_row_worker *worker = w < in->workers ? &in->worker[w] : NULL;

		for (; rank < in->ranks_asked && (!worker || rank < worker->rank) && !rc; rank++)
			rc = add_missing(missing, (int32_t)rank, "nothing of it was found");
		if (worker && pp_worker_is_missing(worker) && !rc)
			rc = add_missing(missing, worker->rank, worker->status);
		if (worker && rank <= worker->rank)
			rank = (int64_t)worker->rank + 1;
	}
	return rc;
}

static int add_absent(struct pp_table *absent, const char *group, const char *why)
{
	struct pp_row_absent *row = pp_table_add(absent);

	if (!row)
		return -ENOMEM;
	snprintf(row->absent, sizeof(row->absent), "%s", group);
	snprintf(row->absent_reason, sizeof(row->absent_reason), "%s", why);
	return 0;
}

/* Is there a cell whose rank may have waited, without a record that tells it? */
static int is_waiting_unknown(const struct pp_dataset *d)
{
	size_t i = 0;

	while (i < d->steps * d->workers && (!d->cell[i].present || pp_is_known(d->cell[i].wait_ns)))
		i++;
	return i < d->steps * d->workers;
}

static int fill_absent(const struct pp_dataset *in, const struct pp_table *tables, struct pp_table *absent)
{
	const char *group, *why, *before = "";
	int rc = 0;

	for (int id = 0; id < PP_TABLES && !rc; id++) {
		for (size_t k = 0; (group = pp_table_group(tables[id].desc, k, &why)) && !rc; k++) {
			if (!why[0] || pp_tables_have(tables, PP_TABLES, group) || !strcmp(group, before))
				continue;
			if (id == PP_TABLE_op && pp_dataset_ops_cut(in))
				why = "no range is whole: none was seen both to begin and to end in the window";
			if (!strcmp(why, pp_table_desc(PP_TABLE_blame)->absent) && is_waiting_unknown(in))
				why = "no rank is known to have waited for another one, and of some steps this is unknown";
			if (id == PP_TABLE_what_if && is_waiting_unknown(in))
				why = "no replayed change is known to make the steps shorter: who waits for whom is partly unknown";
			rc = add_absent(absent, before = group, why);
		}
	}
	return rc;
}

int pp_tool_absent(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	int rc = fill_missing(in, &tables[PP_TABLE_missing]);

	if (!rc)
		rc = fill_absent(in, tables, &tables[PP_TABLE_absent]);
	return rc ? pp_err_set(err, rc, "no memory for what is missing") : 0;
}
