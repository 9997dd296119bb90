/* NVIDIA's driver, CUPTI and NCCL, for podprof doctor. Called by cmd_doctor.c. */
#pragma once

#include "launchers/options/options.h"

/* Adds their rows; options NULL: not what the user's Python has. It may take a minute, as libraries may hang. */
void pp_doctor_gpu(const struct pp_options *options);
