/* `podprof report` of traces of other profilers: a session of them, made once. In: a file, or a directory with traces. Out: a log
 * directory with their session, made by `podprof analyze`; used again until a file or podprof changes. Called by cmd_report.c. */
#pragma once

#include <limits.h>

/* Is it a trace of another profiler, and in no session's directory? */
int pp_trace_cache_is_trace(const char *path);
/* 0, and *ret_logdir has the session: DIR.podprof beside the traces; `output`, where it is not NULL; a new temporary directory
 * where nothing can be written beside. PP_EXIT_PARTIAL: the same, but a file is damaged or could not be read. -1: there is no
 * trace, and nothing was printed. Else an exit code, after a line. What is written has a line on stderr. */
int pp_trace_cache_make(const char *given, const char *output, char ret_logdir[PATH_MAX]);
