/* A host other than rank 0's under podprof doctor --clock: describes itself, and at the end reports what its pod has measured.
 * Called by doctor_clock.c. */
#include "launchers/doctor/doctor_clock_follow.h"

#include <stdio.h>

#include "core/base/now.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_clock_report.h"
#include "launchers/doctor/doctor_clock_stop.h"
#include "launchers/options/say.h"

enum { SEARCH_MS = 20, LONGEST_MS = 120000 };

struct follow {
	struct pp_doctor_run *r;
	int64_t end_ms;
	int joined, is_over, is_spare, has_reported;
	char why[256];
};

static void report(struct follow *f)
{
	struct pp_wire reading = {.kind = PP_WIRE_DOCTOR_READING}, raw = {.kind = PP_WIRE_DOCTOR_RAW};

	pp_doctor_read_clocks(f->r, &reading.doctor_reading);
	for (size_t i = 0; pp_doctor_measured(f->r, i, &reading.doctor_reading, &raw.doctor_raw); i++)
		pp_pod_send(f->r->pod, 0, &raw);
	pp_pod_send(f->r->pod, 0, &reading); /* last: everything was sent */
	f->has_reported = 1;
}

static void lose(struct follow *f, const struct pp_net_event *e)
{
	f->is_over = 1;
	if (e->kind == PP_NET_LOST)
		snprintf(f->why, sizeof(f->why), "no message from rank 0's host");
	else
		snprintf(f->why, sizeof(f->why), "rank 0's host reports: %s",
		         !e->message                 ? ""
		         : e->kind == PP_NET_REFUSED ? e->message->hello_ack.refused
		                                     : e->message->bye.reason);
}

static void take(void *context, const struct pp_net_event *e)
{
	struct follow *f = context;
	struct pp_wire here = {.kind = PP_WIRE_DOCTOR_HOST, .doctor_host = f->r->self};

	if (e->kind == PP_NET_JOINED) {
		f->joined = 1;
		f->end_ms = pp_now_ms() + LONGEST_MS + f->r->duration_ms;
		pp_pod_send(f->r->pod, 0, &here);
	} else if (e->kind != PP_NET_MESSAGE) {
		if (f->joined ||
		    e->kind == PP_NET_REFUSED) /* else the invitation may be a killed process's, and another one come */
			lose(f, e);
	} else if (e->message->kind == PP_WIRE_DOCTOR_COMMAND && e->message->doctor_command.kind == PP_DOCTOR_SPARE) {
		f->is_over = f->is_spare = 1;
	} else if (e->message->kind == PP_WIRE_DOCTOR_COMMAND && e->message->doctor_command.kind == PP_DOCTOR_REPORT) {
		report(f);
	}
}

/* Until rank 0 ends it, or is lost, or is not found. */
static void serve(struct follow *f)
{
	struct pp_pod *pod = f->r->pod;

	pp_doctor_rendezvous_find(&f->r->rendezvous, pod, f->end_ms);
	while (!f->is_over && !pp_doctor_clock_is_ended() && pp_now_ms() < f->end_ms) {
		pp_pod_run(pod);
		if (!pp_pod_wait(pod, -1, pp_pod_pace(pod)))
			pp_nap_ms(SEARCH_MS);
	}
	if (!f->joined && !f->is_over)
		snprintf(f->why, sizeof(f->why), "%.250s", *pp_pod_why(pod) ? pp_pod_why(pod) : "rank 0's host does not answer");
}

int pp_doctor_clock_follow(struct pp_doctor_run *r)
{
	struct follow f = {.r = r, .end_ms = r->began_ms + r->patience_ms};
	struct pp_err err = {""};
	int is_good;

	if (pp_pod_begin(r->pod, 0, take, &f, &err)) {
		pp_say("the clock of host '%s' is not compared: %s.", r->self.name, err.text);
		return PP_EXIT_OK; /* rank 0 misses it and exits by 1; at one of ours mpirun would end it */
	}
	serve(&f);
	is_good = f.is_spare || f.has_reported;
	if (f.joined && *pp_pod_why(r->pod))
		pp_say("host '%s': %s.", r->self.name, pp_pod_why(r->pod));
	if (!is_good && !pp_doctor_clock_is_ended())
		pp_say("the clock of host '%s' is not compared: %s.", r->self.name, f.why[0] ? f.why : "rank 0 sent no reason");
	return is_good ? PP_EXIT_OK : PP_EXIT_FAILED;
}
