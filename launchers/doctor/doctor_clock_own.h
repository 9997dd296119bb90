/* A host's own clock for podprof doctor --clock. Called by doctor_clock.c and doctor_alone.c. */
#pragma once

#include "aggregate/keeper/net/net.h"
#include "aggregate/spool/job.h"

/* Describes this host and measures its clock, some 10 ms; addresses and port stay empty. */
void pp_doctor_host_read(const struct pp_job *job, struct pp_wire_doctor_host *ret_host);
