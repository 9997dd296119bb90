/* Checks options of `podprof run` against each other before anything is started. Called by cmd_run.c. */
#pragma once

#include "launchers/options/options.h"

/* --delay, --duration, --at, --signal. Returns an exit code, or -1: all is well, options of the environment that cannot be followed
 * are at their default. speaks: this process prints for all. */
int pp_run_check_times(struct pp_options *options, int speaks);
