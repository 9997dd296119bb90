/* The status of a rank by how its process ended. In: a view of the spool. Out: text for pp_rank.status. Called by job.c. */
#pragma once

#include "aggregate/spool/view.h"

/* Writes the status; looks whether the process of an unfinished ring has ended. */
void pp_rank_end_status(struct pp_spool_view *v, size_t ring, char *text, size_t size);
