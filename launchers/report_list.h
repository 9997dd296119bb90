/* The table of `podprof report --list`, and what a word given to `podprof report` means. In: a log directory's sessions.
 * Out: lines or JSON on stdout. */
#pragma once

#include <limits.h>
#include <stdint.h>

struct pp_session_file {
	char name[NAME_MAX + 1];
	int64_t time_ns; /* when its summary was written */
};

/* Prints the sessions, the last of the array first, folded at `columns`; 0: whole lines. */
void pp_report_list(const char *logdir, const struct pp_session_file *session, long count, int columns);
/* The same as JSON. */
void pp_report_list_json(const char *logdir, const struct pp_session_file *session, long count);

/* Sessions with a summary, oldest first, to be freed. Returns how many, -errno where the directory cannot be read. */
long pp_report_sessions(const char *logdir, struct pp_session_file **ret_session);

/* What `given` means: a session's directory or a file in it, its name, LOGDIR/NAME, LOGDIR/podprof, or a log directory. Writes the
 * directory: the session's (returns 1) or the log directory (0). -errno after one error line. */
int pp_report_resolve(const char *given, char ret_path[PATH_MAX]);

/* The session that `given` means, of a log directory the newest. 0, or an exit code after one error line. */
int pp_report_find(const char *given, char ret_path[PATH_MAX]);
