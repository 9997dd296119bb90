/* Requests captures on signals to ranks, and reports the keeper's own requests; see request_own.h. */
#include "aggregate/keeper/capture/request_own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/capture/request_ranks.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/spool/control.h"

enum { SIGNAL_STEPS = 10 };

#define SIGNAL_NS INT64_C(2000000000)

int pp_own_ask(struct pp_requests *r, const struct pp_capture_request *request)
{
	for (int i = PP_REQUEST_CLIENTS; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state != PP_CLIENT_FREE && r->client[i].request.by == request->by)
			return -EBUSY;
	for (int i = PP_REQUEST_CLIENTS; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state == PP_CLIENT_FREE) {
			r->client[i] =
			        (struct pp_client){.fd = -1, .state = PP_CLIENT_QUEUED, .order = ++r->orders, .request = *request};
			return 0;
		}
	return -EBUSY;
}

void pp_own_check(struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_capture_request request = {.by = PP_BY_SIGNAL, .kind = PP_CAPTURE_REQUEST_DURATION, .amount = SIGNAL_NS};
	const struct pp_pod_rank *rank;
	uint64_t signals = 0;
	size_t elsewhere = 0;

	for (size_t i = 0; i < pp_rings_count(job->rings); i++)
		signals += pp_ring_signals(pp_rings_header(job->rings, i));
	rank = pp_pod_ranks(r->pod, &elsewhere);
	for (size_t i = 0; i < elsewhere; i++)
		signals += rank[i].signals;
	if (signals <= r->signals)
		return;
	if (pp_requests_highest(r, job->view) != INT64_MIN) {
		request.kind = PP_CAPTURE_REQUEST_STEPS;
		request.amount = SIGNAL_STEPS;
	}
	/* A signal to all ranks is one request, and so are signals that arrive while one is served. */
	if (pp_own_ask(r, &request))
		pp_keeper_log("signal: one capture by it goes on already");
	else
		pp_keeper_log("signal: %" PRIu64 " so far", signals);
	r->signals = signals;
}

void pp_own_done(struct pp_requests *r, const struct pp_forked_answer *a)
{
	struct pp_requests_own *o = &r->own[r->active->request.by - PP_BY_SIGNAL];

	if (a->code || !a->message.session[0]) {
		pp_own_failed(r, a->code ? a->err.text : a->text);
		return;
	}
	o->captured++;
	if (!o->first[0]) {
		snprintf(o->first, sizeof(o->first), "%s", a->message.session);
		snprintf(o->moved, sizeof(o->moved), "%s", a->message.moved);
	}
	if (!strcmp(o->moved, a->message.moved))
		snprintf(o->last, sizeof(o->last), "%s", a->message.session);
	snprintf(o->what, sizeof(o->what), "%s", a->message.what);
}

void pp_own_failed(struct pp_requests *r, const char *why)
{
	struct pp_requests_own *o = &r->own[r->active->request.by - PP_BY_SIGNAL];

	if (!o->failed++)
		snprintf(o->why, sizeof(o->why), "%.*s", (int)strcspn(why, "\n"), why);
}

static size_t say(const struct pp_requests_own *o, enum pp_capture_request_by by, const char *logdir, char *text, size_t size)
{
	const char *name = by == PP_BY_TRIGGER ? "--trigger" : pp_capture_request_by_name(by);
	size_t n = 0;

	if (o->moved[0])
		logdir = o->moved;
	if (o->captured == 1)
		n = (size_t)snprintf(text, size, "\n%s captured by %s: %s/podprof/%s", o->what, name, logdir, o->first);
	else if (o->captured)
		n = (size_t)snprintf(text, size, "\n%d windows captured by %s: %s/podprof/%s to %s", o->captured, name, logdir,
		                     o->first, o->last);
	if (o->failed && n < size)
		n += (size_t)snprintf(text + n, size - n, "\n%d capture%s by %s failed: %s", o->failed, o->failed == 1 ? "" : "s",
		                      name, o->why);
	return n < size ? n : size - 1;
}

void pp_own_message(const struct pp_requests *r, const char *logdir, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (int by = PP_BY_SIGNAL; by <= PP_BY_API; by++)
		n += say(&r->own[by - PP_BY_SIGNAL], (enum pp_capture_request_by)by, logdir, text + n, size - n);
}
