/* Rank 0 under podprof doctor --clock. Called by doctor_clock.c. */
#pragma once

#include "launchers/doctor/doctor_clock_run.h"

/* Waits for the hosts, leads their comparison and prints it; the exit code. Errors are printed. */
int pp_doctor_clock_lead(struct pp_doctor_run *r);
