/* MPI for podprof doctor: the wrappers that are installed, and the MPI of this node. Called by cmd_doctor.c. */
#pragma once

/* Which MPI a line of its mpirun --version names: 0 Open MPI, 1 MPICH or a relative, -1 none that podprof records. */
int pp_doctor_mpi_kind(const char *line);
/* Adds the rows. */
void pp_doctor_mpi(void);
