/* The keeper's lock, control page and log in a spool. In: the keeper's states. Out: what collectors and the CLI read. */
#pragma once

#include "core/base/err.h"
#include "core/ring/ring_file.h"

/* Descriptor of the locked keeper.lock, to be held for life; -EBUSY: another process holds it. */
int pp_keeper_lock(const char *spool, struct pp_err *err);

/* Makes <spool>/control (complete before it has its name) with state DRAINING and our pid. Called by the thread that lives as
 * long as the keeper. */
int pp_control_make(const char *spool, struct pp_control **ret_control, struct pp_err *err);
/* Makes that of a killed keeper ours, for which the ranks have it mapped; -ENOENT: there is none. */
int pp_control_take(const char *spool, struct pp_control **ret_control, struct pp_err *err);
/* In the guard: ranks see from now on whether it lives. Nothing, where the page is not this keeper's. */
void pp_control_guard(const char *spool, int keeper);
/* `message` is complete before the state is seen; NULL: leave it. */
void pp_control_set(struct pp_control *c, enum pp_keeper_state state, const char *message);
void pp_control_close(struct pp_control *c);

/* From here on stderr is keeper.log. Before it, and in salvage, nothing is logged: stderr is the user's. */
void pp_keeper_log_start(void);
/* One line with date and time. */
void pp_keeper_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
