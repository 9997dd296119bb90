/* Calls, goodbyes and invitations that lead nowhere; see star.h. Called by pod.c and pod_transport.c. */
#include "aggregate/keeper/net/star.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/now.h"

enum {
	SILENCE_MS = 10000,
	SILENCE_LEAST_MS = 100,
	POLL_MS = 5,
	STALE_PART = 5,  /* of the silence: before the first call after one that failed; twice that before the next, and so on */
	STALE_MOST = 60, /* silences, at most */
};

int64_t pp_star_silence_ms(void)
{
	const char *text = getenv("PODPROF_SILENCE_MS");
	int64_t ms = text ? strtoll(text, NULL, 10) : 0;

	return ms >= SILENCE_LEAST_MS && ms <= SILENCE_MS ? ms : SILENCE_MS;
}

static void set_stale(struct pp_star *s)
{
	int again = !strcmp(s->stale_key, s->invite.server_public);
	int64_t silence = pp_star_silence_ms(), ms = again ? 2 * s->stale_ms : silence / STALE_PART;

	snprintf(s->stale_key, sizeof(s->stale_key), "%s", s->invite.server_public);
	s->stale_ms = ms < STALE_MOST * silence ? ms : STALE_MOST * silence;
	s->stale_until_ms = pp_now_ms() + s->stale_ms;
}

int pp_star_call(struct pp_star *s, const struct pp_net_options *o, const struct pp_net_invite *found, struct pp_err *err)
{
	int rc;

	pp_star_close(s);
	s->invite = *found;
	rc = pp_net_connect(o, &s->invite, &s->net, err);
	if (rc)
		set_stale(s);
	return rc;
}

void pp_star_unreached(struct pp_star *s)
{
	set_stale(s);
	pp_star_close(s);
}

int pp_star_is_stale(const struct pp_star *s, const struct pp_net_invite *found)
{
	return s->stale_key[0] && !strcmp(found->server_public, s->stale_key) && pp_now_ms() < s->stale_until_ms;
}

void pp_star_leave(struct pp_star *s, const char *reason, int64_t most_ms)
{
	const int64_t end = pp_now_ms() + most_ms;
	struct pp_wire m = {.kind = PP_WIRE_BYE, .bye.reason = reason};
	struct pp_net_event e;
	int sent = 0;

	if (!s->net)
		return;
	pp_net_beat(s->net); /* acknowledges what has arrived first */
	for (int i = 0; i < PP_NET_PEERS; i++)
		sent += !pp_net_send(s->net, i, &m, NULL);
	while (sent && pp_net_unsent(s->net) && pp_now_ms() < end)
		pp_net_next(s->net, POLL_MS, &e);
	pp_star_close(s);
}

void pp_star_close(struct pp_star *s)
{
	pp_net_free(s->net);
	s->net = NULL;
}
