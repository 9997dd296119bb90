/* podprof doctor --clock: the hosts of a job find each other, compare their clocks in pairs as keepers do, and rank 0 prints the
 * result. In: the launcher's environment, UDP and TCP between the hosts. Out: stdout of rank 0. One thread per process, besides
 * those of the links. Every wait has a deadline. */
#pragma once

#include "launchers/options/options.h"

/* `podprof doctor --clock`; the exit code. */
int pp_doctor_clock(const struct pp_options *options, int json);
