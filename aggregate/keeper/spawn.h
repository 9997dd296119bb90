/* Starts a keeper and prepares its process. In: a parent with any priority, affinity and environment. Out: a detached
 * low-priority process. */
#pragma once

#include "core/base/err.h"

/* Start one, detached, if none holds the spool; returns when it does and its control page exists, when it has ended, or after 2 s.
 * podprof_exe: absolute path of podprof. The calling process has one thread. */
int pp_keeper_start(const char *spool, const char *podprof_exe, struct pp_err *err);

/* Lowers the priority, makes the OOM killer prefer this process, allows every CPU of the cpuset. What the system refuses is
 * logged and ignored. */
void pp_keeper_lower_priority(void);
/* After new rings: leaves the CPUs that ranks are bound to, where others are free. Unbound ranks change nothing. */
struct pp_spool_view;
/* Moves the keeper to the cores of its cpuset that no rank may use, where there are some. */
void pp_keeper_make_room(const struct pp_spool_view *v);
/* Ranks fill their rings faster than the keeper reads: raises the priority to that of the ranks, once. */
void pp_keeper_hurry(void);
/* Closes all descriptors from `first` on, between fork() and exec or the end. */
void pp_close_from(int first);
