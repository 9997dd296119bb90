/* What a host reports of its clock under podprof doctor --clock. Called by doctor_clock_lead.c and doctor_clock_follow.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "launchers/doctor/doctor_clock_run.h"

enum pp_doctor_kind {
	PP_DOCTOR_REPORT = 1, /* rank 0's host: read your clocks, and report everything */
	PP_DOCTOR_SPARE,      /* rank 0's host: another process of that host measures */
};

/* Its clocks as they are now, and its tick's rate since the begin. */
void pp_doctor_read_clocks(const struct pp_doctor_run *r, struct pp_wire_doctor_reading *ret_reading);
/* What it has measured of the clock of the i-th host before it, with the reading that was taken last. 0: there are no more. */
int pp_doctor_measured(const struct pp_doctor_run *r, size_t i, const struct pp_wire_doctor_reading *read,
                       struct pp_wire_doctor_raw *ret_raw);
