/* The checks of podprof doctor, one unit each: doctor_node, doctor_hosts (in its place doctor_alone), doctor_gpu, doctor_tools and
 * doctor_probe. In: this node. Out: rows by doctor_row.h. Called by cmd_doctor.c. Private header of these units. One thread. */
#pragma once

#include "launchers/options/options.h"

/* Clock, spool, limits, the log directory that the options name; NULL: none. */
void pp_doctor_node(const struct pp_options *options);
/* Transports between ranks and hosts of a job, and what prevents better ones. */
void pp_doctor_hosts(const struct pp_options *options);
/* NVIDIA's driver, CUPTI and NCCL; options NULL: not what the user's Python has. */
void pp_doctor_gpu(const struct pp_options *options);
/* MPI, Python modules, HDF5, report, xprof. */
void pp_doctor_tools(void);
/* podprof's own files, then a job of one process, recorded by a keeper and read back. */
void pp_doctor_self(void);
