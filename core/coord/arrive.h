/* Where the rank's spool is on this host, and how it comes to be where no podprof run was: the outer process of the job ran on
 * another host, or the keeper of an earlier program of this job has ended. Called by collector.c at the claim.
 * In: PODPROF_SPOOL, PODPROF_JOB, PODPROF_PROGRAM. Out: a spool directory; podprof itself makes it and starts its keeper. */
#pragma once

#include <stddef.h>

/* 1: `ret_spool` is the directory to use, which may be missing all the same (then the claim says so); 0: podprof is not around us.
 * local_rank: others give the first rank of the host a moment to do it for all; -1 unknown. Waits a few seconds at most. */
int pp_arrive(int local_rank, char *ret_spool, size_t size);
