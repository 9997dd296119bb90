/* The spool: the directory of a job on one host, shared by its collectors, its keeper and the verbs. core/ring/ring_file.h lists
 * its files and says what collectors find in them; here are the names of files that only processes of podprof use. In: the path of
 * a spool. Out: its files. */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum { PP_SPOOL_PATH = 512 }; /* bytes of a spool's path */

/* podprof run made the log directory, which the keeper removes again where nothing was written into it. */
#define PP_SPOOL_MADE_LOGDIR "made-logdir"
#define PP_SPOOL_RULES "rules"       /* the file of --rules */
#define PP_SPOOL_SALVAGED "salvaged" /* names the session that salvage wrote */
#define PP_SPOOL_CLOCKS "clocks"     /* comparisons of the host's clock: keeper/clock/clock_file.h */

/* Opens a regular file to read; a pipe or a device in its place does not hang. NULL with errno. */
FILE *pp_spool_open_text(const char *path);
/* Writes a file of mode 0600, whatever the umask. `part`: a template of mkostemp(), which gets a name that no other process has:
 * ranks in containers may have one pid and one spool. 0, or -errno, also after the file was made. */
int pp_spool_write_part(char *part, const char *text, size_t length);
/* 1 for the first process of the job that calls it with this file name; the file stays. */
int pp_spool_is_first(const char *spool, const char *name);
/* 1: the spool was salvaged, and the session that it names exists. */
int pp_spool_salvaged(const char *spool, char *ret_session, size_t size);
/* How many ring files it has. */
int pp_spool_count_rings(const char *spool);
/* 1: a file of that name may be podprof's. */
int pp_spool_is_file_name(const char *name);
/* Removes a log directory that podprof run made and nothing was written into. */
void pp_spool_remove_logdir(const char *spool, const char *logdir);
/* Removes its files and the directory; what cannot be removed stays. */
void pp_spool_remove(const char *spool);
