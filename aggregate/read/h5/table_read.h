/* Reads a table of pod.h5, of this podprof or of another version, by its description. In: an open file. Out: rows. One thread; as
 * file.h, by pp_forked_read() only. */
#pragma once

#include "aggregate/dataset/table/table.h"
#include "aggregate/read/h5/file.h"

/* Reads into the existing row of a record; what the file lacks keeps its value. */
int pp_h5_file_record(struct pp_h5_file *h5, struct pp_table *record, struct pp_err *err);
/* Columns that the file lacks are 0 in all rows, and their bit (1 << column) is set in *ret_missing; unknown columns are ignored.
 * A file without the group has no rows and lacks every column. Texts become ids of `names`. -EINVAL: values are out of range. */
int pp_h5_file_table(struct pp_h5_file *h5, const struct pp_table_desc *desc, struct pp_intern *names, struct pp_table *ret_table,
                     uint64_t *ret_missing, struct pp_err *err);
