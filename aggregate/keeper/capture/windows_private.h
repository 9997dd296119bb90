/* What the windows*.c files share; see windows.h. */
#ifndef PP_KEEPER_WINDOWS_PRIVATE_H
#define PP_KEEPER_WINDOWS_PRIVATE_H

#include "aggregate/keeper/capture/windows.h"

enum {
	PP_WINDOWS_LATE_MS = 60000,    /* a rank that stands in the window while the others have passed it */
	PP_WINDOWS_UNMARKED_MS = 5000, /* a rank that marks no step, or opens no window, where others do */
};

/* Fork the child of one window. `label`: as it is said where it fails. */
void pp_windows_start(struct pp_windows *w, const struct pp_windows_job *job, const struct pp_writing *writing, const char *label);
/* A window that nobody reached, by its name. */
void pp_windows_miss(struct pp_windows *w, const char *label);
/* Drop of a ring what no window that is not closed yet needs. end: of the one that was closed just now, on this ring; INT64_MAX: it
 * did not begin there, then the least of all counts. */
void pp_windows_drop(struct pp_windows *w, const struct pp_windows_job *job,
                     int64_t (*end)(const struct pp_ring_header *, uint64_t), uint64_t index);

/* 1: ranks of the job are on hosts whose keepers are not heard yet. */
int pp_windows_lack_ranks(const struct pp_windows_job *job);

/* windows_code.c. One turn: 1 while something goes on. */
int pp_windows_code_run(struct pp_windows *w, const struct pp_windows_job *job, int ending);
/* The least tick on this ring that a window of the program, begun and not closed, needs; INT64_MAX: none does. */
int64_t pp_windows_code_needs(const struct pp_windows *w, const struct pp_ring_header *h);

#endif
