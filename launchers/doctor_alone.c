/* The rows of podprof doctor about other hosts, where messages between them are not built. Called by cmd_doctor.c. */
#include "launchers/doctor.h"

void pp_doctor_hosts(const struct pp_options *options)
{
	(void)options;
	pp_doctor_row("hosts", PP_DOCTOR_LIMITED, "sudo apt-get install libzmq3-dev && cmake -S . -B build && cmake --build build",
	              "podprof was built without libzmq: each host of a job has a session of its own");
}
