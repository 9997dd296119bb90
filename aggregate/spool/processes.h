/* Do processes of a spool still live? A rank may train on for weeks after its keeper died. In: run files, claims and headers of
 * rings. Out: whether one lives. */
#pragma once

#include <stdint.h>

enum pp_spool_processes {
	PP_PROCESSES_NONE,
	PP_PROCESSES_UNKNOWN, /* of another PID namespace, with no lock by which it could be seen */
	PP_PROCESSES_LIVE,
};

/* One process. space: its PID namespace; 0: not known, taken for this one. */
enum pp_spool_processes pp_spool_process(int pid, uint32_t space);
/* Processes that registered there or have a ring there. Of other PID namespaces only ranks are seen as live. */
enum pp_spool_processes pp_spool_processes(const char *spool);
