/* Other software of this node, for podprof doctor. Called by cmd_doctor.c. */
#pragma once

/* Adds rows of NVTX, Python modules, HDF5, report and xprof. */
void pp_doctor_tools(void);
