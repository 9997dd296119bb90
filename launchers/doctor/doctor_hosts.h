/* Transports between ranks and hosts of a job, for podprof doctor. In a build without libzmq doctor_alone.c is in place of
 * doctor_hosts.c. Called by cmd_doctor.c. */
#pragma once

#include "launchers/options/options.h"

/* Adds rows of the transports, and of what prevents better ones. */
void pp_doctor_hosts(const struct pp_options *options);
