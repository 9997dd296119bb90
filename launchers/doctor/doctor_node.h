/* Clock, spool, limits and log directory of this node, for podprof doctor. Called by cmd_doctor.c. */
#pragma once

#include "launchers/options/options.h"

/* Adds rows of the node; of the log directory that the options name, where they are not NULL. */
void pp_doctor_node(const struct pp_options *options);
