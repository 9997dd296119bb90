/* The rows of podprof doctor: doctor_*.c finds them, cmd_doctor.c prints them. In: this node. Out: a row per check, on stdout as
 * it is found. One thread. */
#pragma once

#include <stddef.h>

#include "launchers/options/options.h"

enum pp_doctor_state { PP_DOCTOR_OK, PP_DOCTOR_LIMITED, PP_DOCTOR_NO };

/* Prints one row. `repair`: the command that repairs it; "" where the state is ok. */
void pp_doctor_row(const char *thing, enum pp_doctor_state state, const char *repair, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

/* First line of a command's output; 0 where it succeeded with output. */
int pp_doctor_line(const char *command, char *ret_line, size_t size);

/* A JSON text begins, rows follow. */
void pp_doctor_json_begin(void);
/* For Slurm's prolog: rows of what the node has. The job's user has another PATH, directory and options, so that what needs them is
 * left out. 0: one row is "no". */
int pp_doctor_of_node(void);
void pp_doctor_json_end(int green);

/* doctor_node.c: clock, spool, limits, the log directory that the options name; NULL: none. */
void pp_doctor_node(const struct pp_options *options);
/* doctor_hosts.c: transports between ranks and hosts of a job, and what prevents better ones. */
void pp_doctor_hosts(const struct pp_options *options);
/* doctor_gpu.c: NVIDIA's driver, CUPTI and NCCL; options NULL: not what the user's Python has. */
void pp_doctor_gpu(const struct pp_options *options);
/* doctor_tools.c: MPI, Python modules, HDF5, report, xprof. */
void pp_doctor_tools(void);
/* doctor_probe.c: podprof's own files, then a job of one process, recorded by a keeper and read back. */
void pp_doctor_self(void);
