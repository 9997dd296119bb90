/* podprof doctor --clock: finds out this process's role among those that the launcher started, and runs it. Called by
 * cmd_doctor.c. */
#include "launchers/doctor/doctor_clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/base/opt.h"
#include "core/base/parse.h"
#include "launchers/cmd.h"

enum { PATIENCE_MS = 10000, PATIENCE_LEAST_MS = 200, DURATION_MS = 1000, DURATION_MOST_MS = 600000, GUARD_S = 60 };

static volatile sig_atomic_t is_ended;

static void on_end(int number)
{
	(void)number;
	is_ended = 1;
}

/* The launcher's library may wait forever for a dead server. */
static void on_alarm(int number)
{
	static const char said[] =
	        "podprof: cannot compare clocks: the launcher does not answer. Run podprof doctor --clock again.\n";

	(void)number;
	(void)!write(STDERR_FILENO, said, sizeof(said) - 1);
	_exit(PP_EXIT_FAILED);
}

int pp_doctor_clock_is_ended(void)
{
	return is_ended != 0;
}

void pp_doctor_clock_guard(int on)
{
	alarm(on ? GUARD_S : 0);
}

static void take_signals(void)
{
	struct sigaction end = {.sa_handler = on_end}, late = {.sa_handler = on_alarm};

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGALRM, &late, NULL);
}

static void read_options(const struct pp_options *options, struct pp_doctor_run *r)
{
	const char *silence = getenv("PODPROF_SILENCE_MS");
	int64_t value;

	r->patience_ms = PATIENCE_MS;
	if (silence && !pp_parse_int(silence, &value, NULL) && value >= PATIENCE_LEAST_MS && value <= PATIENCE_MS)
		r->patience_ms = value;
	r->duration_ms = DURATION_MS;
	if (options->source[PP_OPT_ID_DURATION] == PP_FROM_COMMAND_LINE) {
		value = options->job.duration.ns / 1000000;
		r->duration_ms = value < DURATION_MOST_MS ? value : DURATION_MOST_MS;
	}
	r->port_first = options->job.port.first;
	r->port_last = options->job.port.last;
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
	take_signals();
	pp_doctor_rendezvous_open(&r.rendezvous, &r.job, options);
	r.began_ms = pp_now_ms();
	if (!measures)
		code = PP_EXIT_OK;
	else
		code = r.job.rank ? pp_doctor_clock_follow(&r) : pp_doctor_clock_lead(&r);
	pp_doctor_rendezvous_close(&r.rendezvous);
	return code;
}
