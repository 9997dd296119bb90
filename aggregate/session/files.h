/* What every session needs once its dataset is there: a directory of its own, the tools' tables, the files. In: a dataset. Out:
 * files under logdir. Called by session.c (rings) and analyze.c (files of other profilers). */
#pragma once

#include "aggregate/session/message.h"
#include "aggregate/write/writer.h"

enum { PP_SESSION_PATH = 4400 };

/* Makes logdir/podprof/NAME with a new name: a second session in one second gets "-2". */
int pp_files_claim(const char *logdir, const char *wanted, char *name, size_t size, struct pp_err *err);
/* Removes directories of a session without files; an empty one would look like a session. */
void pp_files_unclaim(const struct pp_output *out);
/* Removes the session's files, too. */
void pp_files_remove(const struct pp_output *out);
/* CPU time of this process so far, and its memory, into the dataset; `with_children`: also of those that have ended. */
void pp_files_cost(struct pp_dataset *d, int with_children);
/* Runs the tools. A tool without memory leaves out its tables only, with a warning. */
void pp_files_tools(struct pp_dataset *d);
/* Runs the writers with one of these flags. A failing one does not stop the others. Fails where none could write, with the first
 * one's error. *ret_pod: pod.h5 exists. */
int pp_files_write(const struct pp_output *out, unsigned which, struct pp_message *message, int *ret_pod, struct pp_err *err);
