/* The usual step of at most ten ranks as a table. In: the first screen and its dataset. Out: HTML. Pure. Used by plain.c. */
#pragma once

#include <stdio.h>

#include "aggregate/report/data/first.h"

enum { PP_PLAIN_RANKS = 10 };

/* Late ranks first, then those with most and least of the quantity that shows the sentence; small pods in order of rank. session: a
 * word for a command. 0, or -ENOMEM. */
int pp_plain_table(const struct pp_dataset *d, const struct pp_first *f, const char *session, FILE *to);
