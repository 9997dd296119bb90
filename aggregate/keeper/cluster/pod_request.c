/* Sends the leader's request to ranks of other hosts, and passes lines between the leader and clients of other hosts. Called by
 * pod.c and request.c. */
#include "aggregate/keeper/cluster/pod_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/cluster/pod_clock.h"
#include "aggregate/keeper/cluster/pod_cut.h"
#include "aggregate/keeper/cluster/pod_state.h"
#include "aggregate/spool/control.h"

enum { REQUEST_OVER = 100 }; /* not an enum pp_ask_kind: no further request comes */

void pp_pod_take_request(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_request *t = &m->request;
	struct pp_control *c = p->o.control;

	(void)peer;
	if (t->kind == REQUEST_OVER && !pp_step_windows_many(&p->o.settings->windows))
		pp_pod_drop(p->o.job, 0);
	/* The rings hold records of a capture that was cancelled, or whose share was sent. */
	if (p->is_done && t->kind <= PP_ASK_NOW &&
	    (t->kind != PP_ASK_NOTHING || p->request.kind == PP_ASK_STEPS || p->request.kind == PP_ASK_AGREE))
		pp_job_drop_all(p->o.job);
	p->is_done |= t->kind == REQUEST_OVER;
	p->news = 1;
	if (t->kind > PP_ASK_NOW)
		return;
	p->request.number = t->number;
	p->request.kind = (enum pp_ask_kind)t->kind;
	p->request.first = t->first;
	p->request.last = t->last;
	p->request.level = t->level;
	if (c)
		pp_control_ring(c, t->number, t->kind, t->first, t->last, t->level);
}

void pp_pod_ring_request(struct pp_pod *p)
{
	uint32_t number = p->request.number ? p->request.number : PP_POD_ALONE_REQUESTS;

	if (p->o.control)
		pp_control_ring(p->o.control, number, p->request.kind, p->request.first, p->request.last, p->request.level);
}

static struct pp_wire request_message(const struct pp_pod *p)
{
	struct pp_wire m = {.kind = PP_WIRE_REQUEST};

	m.request = (struct pp_wire_request){p->request.number, (uint32_t)p->request.kind, p->request.first, p->request.last,
	                                     p->request.level};
	return m;
}

void pp_pod_resend_request(struct pp_pod *p, int peer)
{
	struct pp_wire m = request_message(p);

	if (p->request.number)
		pp_net_send(p->star.net, peer, &m, NULL);
}

void pp_pod_send_request(struct pp_pod *p, uint32_t number, enum pp_ask_kind kind, int64_t first, int64_t last, uint32_t level)
{
	if (!p || p->session[0]) /* without the leader: its last request is the one to go on from */
		return;
	p->request.number = number;
	p->request.kind = kind;
	p->request.first = first;
	p->request.last = last;
	p->request.level = level;
	p->request.sent_us = pp_pod_now_us();
	if (kind != PP_ASK_NOTHING)
		pp_pod_clock_want(p);
	for (size_t i = 0; p->state == PP_POD_LISTENING && i < p->peers; i++)
		if (p->peer[i].joined && !p->peer[i].gone)
			pp_pod_resend_request(p, (int)i);
}

void pp_pod_send_over(struct pp_pod *p)
{
	struct pp_wire m = {.kind = PP_WIRE_REQUEST, .request.kind = REQUEST_OVER};

	for (size_t i = 0; p && p->state == PP_POD_LISTENING && i < p->peers; i++)
		if (p->peer[i].joined && !p->peer[i].gone)
			pp_net_send(p->star.net, (int)i, &m, NULL);
}

void pp_pod_take_line(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_text *w = &m->text;
	struct pp_pod_client_line *to = &p->queue[p->queued];

	if (p->queued == PP_POD_QUEUE) {
		pp_keeper_log("words of a client elsewhere are lost: too many at a time");
		return;
	}
	*to = (struct pp_pod_client_line){.peer = peer, .client = w->client, .ended = w->ended};
	snprintf(to->text, sizeof(to->text), "%.*s", (int)(w->size < sizeof(to->text) ? w->size : sizeof(to->text) - 1), w->text);
	p->queued++;
	p->news = 1;
}

int pp_pod_next_line(struct pp_pod *p, struct pp_pod_client_line *ret_line)
{
	if (!p || !p->queued)
		return 0;
	*ret_line = p->queue[0];
	memmove(p->queue, p->queue + 1, --p->queued * sizeof(p->queue[0]));
	return 1;
}

static int send_line(struct pp_pod *p, int peer, uint32_t client, int ended, const char *text)
{
	struct pp_wire m = {.kind = PP_WIRE_CLIENT_TEXT};

	m.text = (struct pp_wire_text){client, ended, text, strlen(text)};
	return pp_net_send(p->star.net, peer, &m, NULL) ? -ENOTCONN : 0;
}

int pp_pod_ask(struct pp_pod *p, uint32_t client, const char *line)
{
	return p && p->state == PP_POD_JOINED ? send_line(p, 0, client, 0, line) : -ENOTCONN;
}

void pp_pod_forget(struct pp_pod *p, uint32_t client)
{
	if (p && p->state == PP_POD_JOINED)
		send_line(p, 0, client, 1, "");
}

void pp_pod_answer(struct pp_pod *p, const struct pp_pod_client_line *line)
{
	if (p && p->state == PP_POD_LISTENING)
		send_line(p, line->peer, line->client, line->ended, line->text);
}
