/* What a keeper that follows a killed one knows of it, by the control page, and says of it. In: the page, how the other one died.
 * Out: where windows and requests go on; warnings and lines for rank 0. Called by keeper.c. */
#pragma once

#include "aggregate/keeper/capture/request.h"
#include "aggregate/keeper/capture/timed.h"
#include "aggregate/keeper/capture/windows.h"
#include "aggregate/keeper/guard.h"
#include "aggregate/session/warnings.h"

/* The control page: a new one, or that of the killed keeper. The guard learns of it. */
int pp_successor_page(const char *spool, const struct pp_death *d, struct pp_control **ret_control, struct pp_err *err);
/* Goes on where the killed keeper was: its windows stay written, what captures had begun is ended. The first keeper: nothing. */
void pp_successor_begin(const struct pp_death *d, struct pp_control *c, struct pp_windows *w, struct pp_timed *t,
                        struct pp_requests *r, struct pp_warnings *warnings);
/* For a successor of this keeper: which windows are closed. */
void pp_successor_mark(struct pp_control *c, const struct pp_windows *w, const struct pp_timed *t);
/* Adds to the message at the end that keepers were killed, and the sessions that they had written. */
void pp_successor_say(const struct pp_death *d, const struct pp_windows *w, const struct pp_windows_job *job, char *message,
                      size_t size);
