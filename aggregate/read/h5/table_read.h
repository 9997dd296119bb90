/* A table out of a pod.h5, by its description, of this podprof or of another version. In: an open file. Out: rows. One thread; as
 * pod.h, by pp_forked_read() only. */
#pragma once

#include "aggregate/dataset/table/table.h"
#include "aggregate/read/h5/pod.h"

/* Columns that the file lacks are 0 in all rows, and their bit (1 << column) is set in *ret_missing; columns that this podprof does
 * not know are not looked at. A file without the group has no rows and lacks every column. Texts become ids of `names`.
 * -EINVAL: what the file says cannot be. */
int pp_pod_file_table(struct pp_pod_file *pod, const struct pp_table_desc *desc, struct pp_intern *names,
                      struct pp_table *ret_table, uint64_t *ret_missing, struct pp_err *err);
