/* How a keeper comes to life: what its process must be before it works. In: any parent's habits. Out: a quiet process. */
#pragma once

#include "core/base/err.h"

/* Start one, detached, if none holds the spool; returns when it does and its control page exists, or after 2 s.
 * podprof_exe: absolute path of podprof. The calling process has one thread. */
int pp_keeper_start(const char *spool, const char *podprof_exe, struct pp_err *err);

/* Low priority, easily killed, every CPU of the cpuset. What the system refuses is logged and left. */
void pp_keeper_detach_from_parent(void);
/* After new rings: off the CPUs that ranks are bound to, where others are left. Unbound ranks leave it on all. */
struct pp_spool_view;
void pp_keeper_make_room(const struct pp_spool_view *v);
/* Ranks fill their rings faster than we read: back to the priority of the ranks, once. */
void pp_keeper_hurry(void);
