/* One process of podprof doctor --clock, as doctor_clock.c, doctor_clock_lead.c and doctor_clock_follow.c share it. No functions.
 * */
#pragma once

#include <stdint.h>

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/spool/job.h"
#include "core/base/opt.h"
#include "launchers/doctor/doctor_clock_rendezvous.h"

struct pp_doctor_run {
	struct pp_job job;
	struct pp_wire_doctor_host self;
	struct pp_clock_pair first; /* at the begin */
	struct pp_settings settings;
	struct pp_doctor_rendezvous rendezvous;
	struct pp_pod *pod;            /* without a job: it has the hosts and the comparisons of their clocks */
	int64_t began_ms, patience_ms; /* for hosts to connect and to answer */
	int64_t duration_ms;
	int json;
};
