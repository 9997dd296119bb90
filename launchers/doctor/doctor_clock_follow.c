/* A host other than rank 0's under podprof doctor --clock: follows rank 0's messages. Called by doctor_clock.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/now.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_clock.h"
#include "launchers/options/say.h"

enum { TRY_MS = 2000 /* an invitation that leads nowhere is a dead one's */, POLL_MS = 5, IDLE_MS = 200, LONGEST_MS = 120000 };

struct follow {
	struct pp_doctor_run *r;
	struct pp_net *net;
	struct pp_doctor_stars *stars;
	uint32_t index, hosts;
	int joined, lost, round, is_ended;
	char why[256];
};

static void sent_all(struct follow *f)
{
	struct pp_wire reading = {.kind = PP_WIRE_DOCTOR_READING}, raw = {.kind = PP_WIRE_DOCTOR_RAW};

	pp_doctor_stars_read(f->stars, &reading.doctor_reading);
	for (uint32_t i = 0; i < f->index && (i == 0 || f->hosts <= PP_DOCTOR_ALL_PAIRS); i++) {
		pp_doctor_stars_result(f->stars, i, &raw.doctor_raw);
		pp_net_send(f->net, 0, &raw, NULL);
	}
	pp_net_send(f->net, 0, &reading, NULL); /* last: everything was sent */
	f->is_ended = 1;
}

static void obey(struct follow *f, const struct pp_wire *m)
{
	const struct pp_wire_doctor_command *c = &m->doctor_command;
	struct pp_err err = {""};
	int rc = 0;

	if (m->kind == PP_WIRE_DOCTOR_HOST && f->hosts) {
		rc = pp_doctor_stars_parent(f->stars, &m->doctor_host, &err);
	} else if (m->kind != PP_WIRE_DOCTOR_COMMAND) {
		return;
	} else if (c->kind == PP_DOCTOR_PLACE && !f->hosts && c->hosts && c->hosts <= PP_DOCTOR_HOSTS) {
		f->index = c->index;
		f->hosts = c->hosts;
		rc = pp_doctor_stars_place(f->stars, c->index, c->hosts, c->key, &err);
	} else if (c->kind == PP_DOCTOR_READY) {
		pp_doctor_command(f->net, 0, PP_DOCTOR_READY);
	} else if (c->kind == PP_DOCTOR_ROUND && f->hosts) {
		pp_doctor_stars_begin(f->stars);
		f->round = 1;
	} else if (c->kind == PP_DOCTOR_SPARE) {
		f->is_ended = f->lost = 1;
	} else if (c->kind == PP_DOCTOR_REPORT && f->hosts) {
		sent_all(f);
	}
	if (rc && err.text[0])
		pp_say("host '%s': %s.", f->r->self.name, err.text);
}

static void take(struct follow *f, const struct pp_net_event *e)
{
	struct pp_wire here = {.kind = PP_WIRE_DOCTOR_HOST, .doctor_host = f->r->self};

	if (e->kind == PP_NET_JOINED) {
		f->joined = 1;
		pp_net_send(f->net, 0, &here, NULL);
	} else if (e->kind == PP_NET_MESSAGE) {
		obey(f, e->message);
	} else {
		f->lost = 1;
		snprintf(f->why, sizeof(f->why), "%s%s",
		         e->kind == PP_NET_LEFT || e->kind == PP_NET_REFUSED ? "rank 0's host reports: "
		                                                             : "no message from rank 0's host",
		         e->kind == PP_NET_LEFT && e->message      ? e->message->bye.reason
		         : e->kind == PP_NET_REFUSED && e->message ? e->message->hello_ack.refused
		                                                   : "");
	}
}

static void turn(struct follow *f)
{
	struct pp_net_event e;

	while (!f->lost && pp_net_next(f->net, f->round ? POLL_MS : IDLE_MS, &e) == 1)
		take(f, &e);
	if (f->round && pp_doctor_stars_run(f->stars)) {
		f->round = 0;
		pp_doctor_command(f->net, 0, PP_DOCTOR_ROUND);
	}
}

/* Serves until rank 0 ends it, or is lost. */
static void serve(struct follow *f)
{
	int64_t end = pp_now_ms() + LONGEST_MS + f->r->duration_ms;

	while (!f->lost && !pp_doctor_clock_is_ended() && pp_now_ms() < end)
		turn(f);
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
	char stale[PP_NET_KEY] = "";
	int rc;

	do {
		struct pp_net_event e;
		int64_t give_up;

		rc = pp_doctor_rendezvous_find(&f->r->rendezvous, stale[0] ? stale : NULL, end, err);
		if (rc)
			return rc;
		rc = pp_net_connect(&o, &f->r->rendezvous.invite, &f->net, err);
		if (rc)
			return rc;
		give_up = pp_now_ms() + TRY_MS < end && !f->r->rendezvous.by_launcher ? pp_now_ms() + TRY_MS : end;
		while (!f->joined && !f->lost && pp_now_ms() < give_up && !pp_doctor_clock_is_ended())
			if (pp_net_next(f->net, POLL_MS, &e) == 1)
				take(f, &e);
		if (f->joined || f->why[0])
			return f->joined ? 0 : pp_err_set(err, -ECONNREFUSED, "%s", f->why);
		pp_net_free(f->net);
		f->net = NULL;
		memcpy(stale, f->r->rendezvous.invite.server_public, sizeof(stale));
	} while (pp_now_ms() < end && !pp_doctor_clock_is_ended());
	return pp_err_set(err, -ETIMEDOUT, "rank 0's host does not answer at '%s'", f->r->rendezvous.invite.address[0]);
}

int pp_doctor_clock_follow(struct pp_doctor_run *r)
{
	struct follow f = {.r = r};
	struct pp_err err = {""};
	int rc;

	if (pp_doctor_stars_open(&r->self, r->port_first, r->port_last, &f.stars, &err)) {
		pp_say("the clock of host '%s' is not compared: %s.", r->self.name, err.text);
		return PP_EXIT_OK; /* rank 0 misses it and exits by 1; at one of ours mpirun would end it */
	}
	rc = join(&f, &err);
	if (!rc)
		serve(&f);
	else
		pp_say("the clock of host '%s' is not compared: %s.", r->self.name, err.text);
	if (!rc && !f.is_ended && !pp_doctor_clock_is_ended())
		pp_say("the clock of host '%s' is not compared: %s.", r->self.name, f.why[0] ? f.why : "rank 0 sent no reason");
	pp_net_free(f.net);
	pp_doctor_stars_free(f.stars);
	return rc || !f.is_ended ? PP_EXIT_FAILED : PP_EXIT_OK;
}
