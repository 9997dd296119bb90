/* Signals that programs leave to users, by name. In: text of --signal. Out: the number. Used by CLI and collector; no
 * allocation. */
#pragma once

#include "core/base/err.h"

/* "USR1", "USR2", "RTMIN", "RTMIN+3", "RTMAX-1", with or without "SIG" in front. -EINVAL with the sentence. */
int pp_signal_parse(const char *text, int *ret_number, struct pp_err *err);

/* "KILL" of SIGKILL; NULL: it has none. Static storage. As sigabbrev_np() of glibc 2.32, which is too new. */
const char *pp_signal_name(int number);
