/* The table of steps of all ranks. In: each rank's marks. Out: pp_steps. Called by step_mark.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_marks;
struct pp_steps;

/* Fill numbers, cells and edge steps of `s` from the marks of all ranks: [first, last), or where last <= first all that are
 * complete on every rank that has any. -ENOMEM. */
int pp_step_table_fill(const struct pp_marks *list, size_t ranks, int64_t first, int64_t last, struct pp_steps *s);
