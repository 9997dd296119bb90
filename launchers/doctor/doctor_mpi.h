/* MPI for podprof doctor: the wrappers that are installed, and the MPI of this node. Called by cmd_doctor.c. */
#pragma once

/* Adds the rows. */
void pp_doctor_mpi(void);
