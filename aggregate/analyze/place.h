/* The range in which a rank called an operation: the local work before it has that name. In: members of a join. Out: `place` of the
 * rows of /collective, and /place. Internal to aggregate/analyze; called by collective.c. */
#pragma once

struct pp_join;

/* Rows have the numbers of their members. -ENOMEM. */
int pp_places_fill(struct pp_join *j);
