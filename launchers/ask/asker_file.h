/* Asking by a request file. Called by asker.c. */
#ifndef PP_LAUNCHERS_ASK_ASKER_FILE_H
#define PP_LAUNCHERS_ASK_ASKER_FILE_H

#include "launchers/ask/asker.h"

int pp_asker_file(const struct pp_asker *job, const struct pp_wish *wish, void (*progress)(const char *what), char **ret_answer,
                  struct pp_err *err);
/* "wait ..." lines are shown and taken away; returns the bytes that are left. asker.c */
size_t pp_asker_waits(char *text, size_t used, void (*progress)(const char *what));

#endif
