/* Removal of what dead jobs left on this node. Called by podprof run of rank 0 or without ranks. */
#pragma once

/* Removes what dead jobs left beside `spool`: without rings after an hour, with rings that were not salvaged after a week.
 * Returns how many. */
int pp_spool_sweep(const char *spool);
