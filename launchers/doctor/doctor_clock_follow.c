/* A host other than rank 0's under podprof doctor --clock: finds rank 0's host and passes its commands to doctor_clock_star.c.
 * Called by doctor_clock.c. */
#include "launchers/doctor/doctor_clock_follow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/now.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_clock_star.h"
#include "launchers/doctor/doctor_clock_stop.h"
#include "launchers/options/say.h"

enum { TRY_MS = 2000 /* an invitation that leads nowhere is a dead one's */, POLL_MS = 5, IDLE_MS = 200, LONGEST_MS = 120000 };

struct follow {
	struct pp_doctor_run *r;
	struct pp_doctor_star *star;
	int joined, is_lost, is_spare;
	char why[256];
};

static void answer(void *context, const struct pp_wire *m)
{
	struct follow *f = context;

	pp_net_send(f->r->star.net, 0, m, NULL);
}

static void take(struct follow *f, const struct pp_net_event *e)
{
	struct pp_wire here = {.kind = PP_WIRE_DOCTOR_HOST, .doctor_host = f->r->self};
	struct pp_err err = {""};

	if (e->kind == PP_NET_JOINED) {
		f->joined = 1;
		pp_net_send(f->r->star.net, 0, &here, NULL);
	} else if (e->kind != PP_NET_MESSAGE) {
		f->is_lost = 1;
		snprintf(f->why, sizeof(f->why), "%s%s",
		         e->kind == PP_NET_LEFT || e->kind == PP_NET_REFUSED ? "rank 0's host reports: "
		                                                             : "no message from rank 0's host",
		         e->kind == PP_NET_LEFT && e->message      ? e->message->bye.reason
		         : e->kind == PP_NET_REFUSED && e->message ? e->message->hello_ack.refused
		                                                   : "");
	} else if (e->message->kind == PP_WIRE_DOCTOR_COMMAND && e->message->doctor_command.kind == PP_DOCTOR_SPARE) {
		f->is_lost = f->is_spare = 1;
	} else if (pp_doctor_star_obey(f->star, e->message, &err) && err.text[0]) {
		pp_say("host '%s': %s.", f->r->self.name, err.text);
	}
}

/* Serves until rank 0 ends it, or is lost. */
static void serve(struct follow *f)
{
	int64_t end = pp_now_ms() + LONGEST_MS + f->r->duration_ms;
	struct pp_net_event e;

	while (!f->is_lost && !pp_doctor_clock_is_ended() && pp_now_ms() < end) {
		while (!f->is_lost && pp_net_next(f->r->star.net, pp_doctor_star_is_running(f->star) ? POLL_MS : IDLE_MS, &e) == 1)
			take(f, &e);
		pp_doctor_star_run(f->star);
	}
}

/* An invitation may be a killed process's: then it looks for another one. */
static int join(struct follow *f, struct pp_err *err)
{
	struct pp_net_options o = {.job = f->r->rendezvous.job,
	                           .host = f->r->self.name,
	                           .version = PODPROF_VERSION,
	                           .session = "",
	                           .dead_ms = f->r->patience_ms};
	int64_t end = f->r->began_ms + f->r->patience_ms;
	struct pp_star *star = &f->r->star;

	do {
		struct pp_net_invite found;
		struct pp_net_event e;
		int64_t give_up;
		int rc = pp_doctor_rendezvous_find(&f->r->rendezvous, star->stale_key, end, &found, err);

		if (!rc)
			rc = pp_star_call(star, &o, &found, err);
		explicit_bzero(&found, sizeof(found));
		if (rc)
			return rc;
		give_up = pp_now_ms() + TRY_MS < end && !f->r->rendezvous.by_launcher ? pp_now_ms() + TRY_MS : end;
		while (!f->joined && !f->is_lost && pp_now_ms() < give_up && !pp_doctor_clock_is_ended())
			if (pp_net_next(star->net, POLL_MS, &e) == 1)
				take(f, &e);
		if (f->joined || f->why[0])
			return f->joined ? 0 : pp_err_set(err, -ECONNREFUSED, "%s", f->why);
		pp_star_unreached(star);
	} while (pp_now_ms() < end && !pp_doctor_clock_is_ended());
	return pp_err_set(err, -ETIMEDOUT, "rank 0's host does not answer at '%s'", star->invite.address[0]);
}

int pp_doctor_clock_follow(struct pp_doctor_run *r)
{
	struct follow f = {.r = r};
	struct pp_err err = {""};
	const char *why = "";
	int is_good;

	if (pp_doctor_star_open(&r->self, r->port_first, r->port_last, answer, &f, &f.star, &err)) {
		pp_say("the clock of host '%s' is not compared: %s.", r->self.name, err.text);
		return PP_EXIT_OK; /* rank 0 misses it and exits by 1; at one of ours mpirun would end it */
	}
	if (join(&f, &err)) {
		is_good = 0;
		why = err.text;
	} else {
		serve(&f);
		is_good = f.is_spare || pp_doctor_star_has_reported(f.star);
		if (!is_good && !pp_doctor_clock_is_ended())
			why = f.why[0] ? f.why : "rank 0 sent no reason";
	}
	if (*why)
		pp_say("the clock of host '%s' is not compared: %s.", r->self.name, why);
	pp_star_close(&r->star);
	pp_doctor_star_free(f.star);
	return is_good ? PP_EXIT_OK : PP_EXIT_FAILED;
}
