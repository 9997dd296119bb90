/* The description of the job's values: members of pp_dataset in job.def. See describe_job.h. */
#include "aggregate/dataset/describe_job.h"

#include "aggregate/dataset/table/functions.h"

enum { RANKS_MOST = 1 << 17 };

static const char *pp_job_check(const void *row)
{
	const struct pp_dataset *d = row;

	return d->ranks_asked < 0 || d->ranks_asked > RANKS_MOST ? "the number of ranks" : NULL;
}

#undef PP_TABLE_LIST
#define PP_TABLE_LIST "aggregate/dataset/table/job.def"
#define PP_TABLE_DESC pp_job_desc
#define PP_TABLE_ROW(name) struct pp_dataset
#include "aggregate/dataset/table/describe.h"

struct pp_table pp_dataset_record(struct pp_dataset *d)
{
	return (struct pp_table){.desc = pp_job_desc(0), .row = d, .rows = 1};
}
