/* Clients of `podprof capture` at a keeper that does not lead: it passes their lines on, and the leader serves them. See
 * request.h and pod.h. Called by request.c and request_socket.c. */
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/capture/request_private.h"
#include "aggregate/keeper/capture/request_socket.h"
#include "aggregate/keeper/capture/slow.h"
#include "aggregate/keeper/cluster/pod.h"
#include "core/base/now.h"

void pp_requests_say_elsewhere(struct pp_client *c, const char *text, int ended)
{
	size_t left = strlen(text);

	do {
		struct pp_pod_client_line line = {.peer = c->peer, .client = c->number, .ended = ended};
		size_t n = left < sizeof(line.text) - 1 ? left : sizeof(line.text) - 1;

		memcpy(line.text, text, n);
		pp_pod_answer(c->pod, &line);
		text += n;
		left -= n;
	} while (left);
}

void pp_requests_pass_on(struct pp_requests *r, struct pp_client *c, const char *line)
{
	c->number = (uint32_t)++r->orders;
	c->state = PP_CLIENT_PASSED_ON;
	if (!pp_pod_ask(r->pod, c->number, line))
		return;
	pp_client_say(c, "failed\nthe keeper of rank 0's host, which decides, is not reached: %s", pp_pod_why(r->pod));
	pp_client_leave(c);
}

/* FOLLOWER. Passes the leader's line on to the client unchanged. */
static void relay(struct pp_requests *r, const struct pp_pod_client_line *line)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++) {
		struct pp_client *c = &r->client[i];

		if (c->state != PP_CLIENT_PASSED_ON || c->number != line->client)
			continue;
		if (line->text[0])
			pp_client_say(c, "%s", line->text);
		if (line->ended)
			pp_client_leave(c);
	}
}

/* LEADER. */
static void serve(struct pp_requests *r, const struct pp_pod_client_line *line)
{
	struct pp_client one = {.fd = -1, .elsewhere = 1, .peer = line->peer, .number = line->client, .pod = r->pod};

	if (!strncmp(line->text, PP_SLOW_PREFIX, strlen(PP_SLOW_PREFIX))) {
		r->slow_more += r->slow[0] != '\0';
		if (!r->slow[0])
			snprintf(r->slow, sizeof(r->slow), "%.255s", line->text);
		return;
	}
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++) {
		struct pp_client *c = &r->client[i];

		if (c->state != PP_CLIENT_FREE && c->elsewhere && c->peer == line->peer && c->number == line->client) {
			c->gone |= line->ended;
			return;
		}
	}
	for (int i = 0; i < PP_REQUEST_CLIENTS && !line->ended; i++)
		if (r->client[i].state == PP_CLIENT_FREE) {
			r->client[i] = one;
			pp_client_take(r, &r->client[i], line->text, PP_BY_CAPTURE);
			return;
		}
	if (line->ended)
		return;
	pp_client_say(&one, "failed\n%d captures are asked for already. Try again when one is done", PP_REQUEST_CLIENTS);
	pp_client_leave(&one);
}

int pp_requests_pod(struct pp_requests *r)
{
	int follows = pp_pod_role(r->pod) == PP_POD_FOLLOWER;
	struct pp_pod_client_line line;

	if (follows) {
		uint32_t waited[PP_REQUEST_SLOTS];

		for (int i = 0; i < PP_REQUEST_SLOTS; i++)
			waited[i] = r->client[i].state == PP_CLIENT_PASSED_ON ? r->client[i].number : 0;
		pp_requests_listen(r, pp_now_ms());
		for (int i = 0; i < PP_REQUEST_SLOTS; i++)
			if (waited[i] && r->client[i].state != PP_CLIENT_PASSED_ON)
				pp_pod_forget(r->pod, waited[i]);
	}
	for (int i = 0; i < PP_REQUEST_SLOTS && !follows; i++)
		if (r->client[i].state == PP_CLIENT_PASSED_ON) {
			pp_client_say(&r->client[i], "failed\nthe keeper of rank 0's host is lost: %s", pp_pod_why(r->pod));
			pp_client_leave(&r->client[i]);
		}
	while (pp_pod_next_line(r->pod, &line))
		if (follows)
			relay(r, &line);
		else
			serve(r, &line);
	return follows;
}
