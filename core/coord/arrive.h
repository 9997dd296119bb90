/* Finds the rank's spool on this host, or has podprof make one where no podprof run was: the outer process of the job ran on
 * another host, or the keeper of an earlier program of this job has ended. Called by collector.c at the claim. In:
 * PODPROF_SPOOL, PODPROF_JOB, PODPROF_PROGRAM. Out: a spool directory; podprof itself makes it and starts its keeper. */
#pragma once

#include <stddef.h>

/* 1: `ret_spool` is the directory to use; it may be missing, then the claim reports that. 0: the job does not run under
 * podprof. local_rank: other ranks first give the first rank of the host time to make it for all; -1 unknown. Waits a few
 * seconds at most. */
int pp_arrive(int local_rank, char *ret_spool, size_t size);
