/* podprof doctor --clock: finds out this process's role among those that the launcher started, and runs it. Called by
 * cmd_doctor.c. */
#include "launchers/doctor/doctor_clock.h"

#include <stdio.h>

#include "aggregate/keeper/net/star.h"
#include "core/base/now.h"
#include "core/base/opt.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_clock_follow.h"
#include "launchers/doctor/doctor_clock_lead.h"
#include "launchers/doctor/doctor_clock_own.h"
#include "launchers/doctor/doctor_clock_print.h"
#include "launchers/doctor/doctor_clock_stop.h"
#include "launchers/options/say.h"

enum { DURATION_MS = 1000, DURATION_MOST_MS = 600000 };

static void read_options(const struct pp_options *options, struct pp_doctor_run *r)
{
	int64_t value;

	r->patience_ms = pp_star_silence_ms();
	r->duration_ms = DURATION_MS;
	if (options->source[PP_OPT_ID_DURATION] == PP_FROM_COMMAND_LINE) {
		value = options->job.duration.ns / 1000000;
		r->duration_ms = value < DURATION_MOST_MS ? value : DURATION_MOST_MS;
	}
	r->settings = options->job;
	snprintf(r->settings.job, sizeof(r->settings.job), "doctor-%.100s", r->job.name);
}

static const char alone[] = "mpirun -n N --host A,B podprof doctor --clock compares several hosts";

static int alone_or(struct pp_doctor_run *r)
{
	char why[192];

	if (r->job.size <= 1) /* or a launcher that numbers ranks and does not count them */
		return r->job.rank > 0 ? PP_EXIT_OK : pp_doctor_clock_print_alone(&r->self, alone, r->json);
	if (r->job.local_size >= r->job.size || r->job.hosts == 1) {
		snprintf(why, sizeof(why), "%d ranks, one clock, nothing to compare. %s", r->job.size, alone);
		return r->job.rank ? PP_EXIT_OK : pp_doctor_clock_print_alone(&r->self, why, r->json);
	}
	return -1;
}

/* Takes its part, as the process of its host that measures. */
static int compare(struct pp_doctor_run *r)
{
	const struct pp_pod_options o = {
	        .spool = "", .settings = &r->settings, .clock = {r->self.boot_id, r->self.timens, r->self.tick_kind}};
	int code;

	if (pp_pod_new(&o, &r->pod)) {
		pp_say("cannot compare clocks: no memory.");
		return PP_EXIT_FAILED;
	}
	pp_clock_read_pair((enum pp_tick_kind)r->self.tick_kind, &r->first);
	code = r->job.rank ? pp_doctor_clock_follow(r) : pp_doctor_clock_lead(r);
	pp_pod_free(r->pod);
	return code;
}

int pp_doctor_clock(const struct pp_options *options, int json)
{
	struct pp_doctor_run r = {.began_ms = pp_now_ms(), .json = json};
	int code, measures;

	pp_job_read(&r.job);
	read_options(options, &r);
	measures = r.job.rank <= 0 || r.job.local_rank <= 0;
	if (measures)
		pp_doctor_host_read(&r.job, &r.self);
	code = measures || r.job.local_size >= r.job.size ? alone_or(&r) : -1;
	if (code >= 0)
		return code;
	pp_doctor_clock_take_signals();
	pp_doctor_rendezvous_open(&r.rendezvous, &r.settings);
	r.began_ms = pp_now_ms();
	code = measures ? compare(&r) : PP_EXIT_OK;
	pp_doctor_rendezvous_close(&r.rendezvous);
	return code;
}
