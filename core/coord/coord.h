/* How ranks agree on the step a window begins with, where they can do it among themselves: one operation a request, none without
 * one. Given by libpodprof-mpi.so (podprof_collector.coordinate); used by core/window. Nothing here blocks or fails the job. */
#pragma once

#include <stdint.h>

struct pp_coord_ops {
	const char *name; /* "mpi" */
	/* Take part in request `number` with the step that this rank is in. 0: begun; -EAGAIN: not from this thread or not
	 * here, ask again at the next look; -EPIPE: there is no agreement any more (a rank has finalised). */
	int (*ask)(uint32_t number, int64_t step);
	/* 1: every rank has said its step, *ret_step is the highest; 0: not yet, or a newer request has taken its place;
	 * -EAGAIN: ask again; -EPIPE: it will not come. */
	int (*answer)(uint32_t number, int64_t *ret_step);
};
