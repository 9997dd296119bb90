/* Reports for podprof doctor that messages between hosts are not built in. Called by cmd_doctor.c. */
#include "launchers/doctor/doctor_clock.h"
#include "launchers/doctor/doctor_clock_own.h"
#include "launchers/doctor/doctor_clock_print.h"
#include "launchers/doctor/doctor_hosts.h"
#include "launchers/doctor/doctor_row.h"

static const char repair[] = "sudo apt-get install libzmq3-dev && cmake -S . -B build && cmake --build build";
static const char missing[] = "podprof was built without libzmq: each host of a job writes a session of its own";

void pp_doctor_hosts(const struct pp_options *options)
{
	(void)options;
	pp_doctor_row("hosts", PP_DOCTOR_LIMITED, repair, "%s", missing);
}

int pp_doctor_clock(const struct pp_options *options, int json)
{
	struct pp_wire_doctor_host self;
	struct pp_job job;

	(void)options;
	pp_job_read(&job);
	if (job.rank > 0)
		return 0;
	pp_doctor_host_read(&job, &self);
	return pp_doctor_clock_print_alone(&self, missing, json);
}
