/* The rendezvous point of a job's hosts, for podprof run: makes and passes on the value of PODPROF_MEETING. Called by cmd_run.c
 * and cmd_arrive.c. In: the command, the launcher's variables, files of the spool (keeper/net/rendezvous_point.h). */
#pragma once

#include "core/base/err.h"

#define PP_RENDEZVOUS_VARIABLE "PODPROF_MEETING"

/* Requests a rendezvous point from the spool's keeper, running or not. `nested`: that of an outer podprof run is used if there
 * is one. */
void pp_rendezvous_want(const char *spool, int nested);
/* Waits at most 2 s for the variable's value, to be freed; NULL: there is none, `err` says why. */
char *pp_rendezvous_wait(const char *spool, struct pp_err *err);
/* Passes our environment's value to the spool's keeper, before it starts without the job's environment. 1: done; 0: there is
 * none, or another rank has done it. */
int pp_rendezvous_pass(const char *spool);
