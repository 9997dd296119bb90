/* Any table of the dataset as a group of pod.h5. In: a table and its description. Out: variables. Called by hdf5.c. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/write/h5/hdf5_file.h"

enum { PP_H5_TABLE_DIMS = 64 };

/* A column as a row of the layout, which borrows `dims`. 0: it is in no file. */
int pp_h5_table_row(const struct pp_table_desc *d, const struct pp_column *c, char dims[PP_H5_TABLE_DIMS],
                    struct pp_h5_row *ret_row);
/* Into the group that is begun, its tables that have rows, and all its grids, which have the steps and workers of `d`. */
void pp_h5_put_tables(struct pp_h5 *h, const struct pp_table *table, size_t tables, const struct pp_dataset *d);
/* Every group that has rows. */
void pp_h5_write_groups(struct pp_h5 *h, const struct pp_table *table, size_t tables, const struct pp_dataset *d);
