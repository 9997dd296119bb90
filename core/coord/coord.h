/* How ranks agree on the first step of a window, where they can do it among themselves: one operation per request, otherwise
 * none. Given by libpodprof-mpi.so (podprof_collector.coordinate); used by core/window. Nothing here blocks or fails the job. */
#pragma once

#include <stdint.h>

struct pp_coord_ops {
	const char *name; /* "mpi" */
	/* Joins request `number` with the step that this rank is in. 0: begun; -EAGAIN: not from this thread or not here, ask
	 * again at the next poll; -EPIPE: no agreement is possible any more (a rank has finalised). */
	int (*ask)(uint32_t number, int64_t step);
	/* 1: every rank has joined, *ret_step is the highest step; 0: not yet, or a newer request replaced it; -EAGAIN: ask
	 * again; -EPIPE: there will be no answer. */
	int (*answer)(uint32_t number, int64_t *ret_step);
};
