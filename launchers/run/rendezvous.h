/* The rendezvous point of a job's hosts, as podprof run sees it: what PODPROF_MEETING is to be, what it was.
 * Called by cmd_run.c and cmd_arrive.c. In: the command, the launcher's variables, files of the spool
 * (keeper/net/rendezvous_point.h). */
#pragma once

#include "core/base/err.h"

#define PP_RENDEZVOUS_VARIABLE "PODPROF_MEETING"

/* Ask the spool's keeper for a rendezvous point, started or not. `nested`: that of a podprof run around us is as good. */
void pp_rendezvous_want(const char *spool, int nested);
/* What it has made: the variable's value, to be freed; NULL: there is none, `err` says why. Waits 2 s at most. */
char *pp_rendezvous_wait(const char *spool, struct pp_err *err);
/* Hand what our environment says to the spool's keeper, which is not started yet: it has no environment of the job. 1: done; 0:
 * there is nothing to hand on, or another rank has done it. */
int pp_rendezvous_pass(const char *spool);
