/* Do processes of a spool still live? A rank may train on for weeks after its keeper died. In: run files, claims and headers of
 * rings. Out: whether one lives. */
#pragma once

enum pp_spool_processes {
	PP_PROCESSES_NONE,
	PP_PROCESSES_UNKNOWN, /* of another PID namespace, with no lock by which it could be seen */
	PP_PROCESSES_LIVE,
};

/* Processes that registered there or have a ring there. Of other PID namespaces only ranks are seen as live. */
enum pp_spool_processes pp_spool_processes(const char *spool);
