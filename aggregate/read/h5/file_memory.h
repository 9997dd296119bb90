/* What a pod.h5 holds, in memory: its page can be made without reading the file back. In: attributes, groups, columns, in the order
 * of the file. Out: the calls of file.h, by pp_h5_file_over(). One thread. Filled by aggregate/write/h5. */
#pragma once

#include "aggregate/read/h5/file_column.h"

struct pp_dataset;
struct pp_h5_memory;

struct pp_h5_memory_column {
	struct pp_h5_file_column column;
	/* Makes the values when they are asked for: column->data, from malloc(). 0 or -ENOMEM. NULL: the column has them. */
	int (*make)(const void *context, struct pp_h5_file_column *column);
	const void *context;
};

struct pp_h5_memory *pp_h5_memory_new(void); /* NULL: no memory */
/* With all columns and what they own. NULL is nothing. */
void pp_h5_memory_free(struct pp_h5_memory *memory);

/* Attributes of /. Each call here returns 0 or -ENOMEM. */
int pp_h5_memory_text(struct pp_h5_memory *memory, const char *name, const char *text);
int pp_h5_memory_int(struct pp_h5_memory *memory, const char *name, int64_t value);
int pp_h5_memory_real(struct pp_h5_memory *memory, const char *name, double value);
int pp_h5_memory_group(struct pp_h5_memory *memory, const char *name);
/* Into the last group. The column's values are the memory's from now on, also on failure. */
int pp_h5_memory_column(struct pp_h5_memory *memory, const struct pp_h5_memory_column *column);
/* What the columns' contexts need, from malloc(): freed with the memory, and on failure at once. NULL is nothing. */
int pp_h5_memory_own(struct pp_h5_memory *memory, void *p);
/* The dataset of which all of it is, borrowed. */
void pp_h5_memory_of(struct pp_h5_memory *memory, const struct pp_dataset *dataset);
const struct pp_dataset *pp_h5_memory_dataset(const struct pp_h5_memory *memory);
int pp_h5_memory_has_group(const struct pp_h5_memory *memory, const char *name);

/* NULL: there is none of this name and kind. */
const char *pp_h5_memory_get_text(const struct pp_h5_memory *memory, const char *name);
const int64_t *pp_h5_memory_get_int(const struct pp_h5_memory *memory, const char *name);
const double *pp_h5_memory_get_real(const struct pp_h5_memory *memory, const char *name);
/* The i-th name of a group, NULL past the last; `group` NULL: the groups. */
const char *pp_h5_memory_name(const struct pp_h5_memory *memory, const char *group, size_t i);
const struct pp_h5_memory_column *pp_h5_memory_get(const struct pp_h5_memory *memory, const char *group, const char *variable);
