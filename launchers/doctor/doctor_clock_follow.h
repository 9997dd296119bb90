/* A host other than rank 0's under podprof doctor --clock. Called by doctor_clock.c. */
#pragma once

#include "launchers/doctor/doctor_clock_run.h"

/* Finds rank 0's host and obeys it until it ends; the exit code. Errors are printed. */
int pp_doctor_clock_follow(struct pp_doctor_run *r);
