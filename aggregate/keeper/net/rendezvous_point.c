/* The rendezvous point of a job's keepers, both ends; see rendezvous_point.h. Called by pod_transport.c. */
#include "aggregate/keeper/net/rendezvous_point.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/now.h"

enum { DEPOSITS = 8, EVENTS = 64, LEAVE_MS = 1000, RESTARTED_NAME = 100 };

struct pp_rendezvous_point {
	struct pp_net *net; /* NULL: over */
	int serves, joined, put, given, leaving;
	char job[128];                          /* the job whose invitation is looked for */
	struct pp_net_invite deposit[DEPOSITS]; /* serving: of each job; else the one received, or the one to deliver */
	size_t deposits, oldest;
	int peer[PP_NET_PEERS]; /* serving: connected peers */
	size_t peers;
	int64_t leave_ms;
	char why[300];
};

void pp_rendezvous_point_print(const struct pp_net_invite *at, char text[PP_RENDEZVOUS_POINT_TEXT])
{
	static const char digit[] = "0123456789abcdef";
	char plain[PP_RENDEZVOUS_TEXT];
	size_t n = 0;

	pp_rendezvous_print(at, plain);
	for (const char *c = plain; *c; c++) {
		text[n++] = digit[(unsigned char)*c >> 4];
		text[n++] = digit[*c & 15];
	}
	text[n] = '\0';
	explicit_bzero(plain, sizeof(plain));
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int pp_rendezvous_point_parse(const char *text, struct pp_net_invite *ret_at, struct pp_err *err)
{
	size_t length = strnlen(text, PP_RENDEZVOUS_POINT_TEXT);
	char plain[PP_RENDEZVOUS_TEXT] = "";
	int rc = 0;

	if (length >= PP_RENDEZVOUS_POINT_TEXT - 1)
		return pp_err_set(err, -EBADMSG, "it is too long");
	for (size_t i = 0; i + 1 < length && !rc; i += 2) {
		int high = digit_of(text[i]), low = digit_of(text[i + 1]);

		if (high < 0 || low < 0 || !(high | low))
			rc = -EBADMSG;
		else
			plain[i / 2] = (char)(high << 4 | low);
	}
	if (rc || length % 2 || pp_rendezvous_parse(plain, ret_at))
		rc = pp_err_set(err, -EBADMSG, "it is not an invitation");
	explicit_bzero(plain, sizeof(plain));
	return rc;
}

int pp_rendezvous_point_is_of(const char *point_job, const char *job)
{
	size_t n = strlen(point_job);

	if (!strcmp(point_job, job))
		return 1;
	n = n < RESTARTED_NAME ? n : RESTARTED_NAME;
	return !strncmp(point_job, job, n) && !strncmp(job + n, "-r", 2) && job[n + 2] &&
	       !job[n + 2 + strspn(job + n + 2, "0123456789")];
}

static void say_why(struct pp_rendezvous_point *m, const char *what, const char *more)
{
	snprintf(m->why, sizeof(m->why), "the podprof run around the launcher %s%.200s", what, more);
}

int pp_rendezvous_point_serve(const struct pp_net_options *o, struct pp_net_invite *ret_at, struct pp_rendezvous_point **ret_point,
                              struct pp_err *err)
{
	struct pp_rendezvous_point *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return pp_err_set(err, -ENOMEM, "cannot let hosts meet: no memory");
	m->serves = 1;
	snprintf(m->job, sizeof(m->job), "%s", o->job);
	rc = pp_net_listen(o, ret_at, &m->net, err);
	if (rc) {
		free(m);
		return rc;
	}
	say_why(m, "has no invitation of rank 0's keeper", "");
	*ret_point = m;
	return 0;
}

int pp_rendezvous_point_join(const struct pp_net_options *o, const struct pp_net_invite *at, const char *job,
                             struct pp_rendezvous_point **ret_point, struct pp_err *err)
{
	struct pp_rendezvous_point *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return pp_err_set(err, -ENOMEM, "cannot meet other hosts: no memory");
	snprintf(m->job, sizeof(m->job), "%s", job);
	rc = pp_net_connect(o, at, &m->net, err);
	if (rc) {
		free(m);
		return rc;
	}
	say_why(m, "was not reached", "");
	*ret_point = m;
	return 0;
}

void pp_rendezvous_point_free(struct pp_rendezvous_point *m)
{
	if (!m)
		return;
	pp_net_free(m->net);
	explicit_bzero(m, sizeof(*m));
	free(m);
}

/* 1: sent. */
static int give(struct pp_rendezvous_point *m, int peer, const struct pp_net_invite *invite)
{
	char text[PP_RENDEZVOUS_TEXT];
	struct pp_wire w = {.kind = PP_WIRE_INVITE};
	int rc;

	pp_rendezvous_print(invite, text);
	w.text = (struct pp_wire_text){.text = text, .size = strlen(text)};
	rc = pp_net_send(m->net, peer, &w, NULL);
	explicit_bzero(text, sizeof(text));
	return !rc;
}

static void store(struct pp_rendezvous_point *m, const struct pp_net_invite *invite)
{
	size_t i = 0;

	while (i < m->deposits && strcmp(m->deposit[i].job, invite->job) != 0)
		i++;
	if (i == DEPOSITS)
		i = m->oldest++ % DEPOSITS;
	else if (i == m->deposits)
		m->deposits++;
	m->deposit[i] = *invite;
}

static void take(struct pp_rendezvous_point *m, int from, const struct pp_wire *w)
{
	char text[PP_RENDEZVOUS_TEXT];
	struct pp_net_invite invite;
	size_t size = w->text.size < sizeof(text) ? w->text.size : sizeof(text) - 1;

	if (size)
		memcpy(text, w->text.text, size);
	text[size] = '\0';
	if (pp_rendezvous_parse(text, &invite) || !pp_rendezvous_point_is_of(m->job, invite.job)) {
		if (!m->serves)
			say_why(m, "sent something that is not an invitation to this job", "");
	} else {
		store(m, &invite);
		for (size_t i = 0; m->serves && i < m->peers; i++)
			if (m->peer[i] && (int)i != from)
				give(m, (int)i, &invite);
	}
	explicit_bzero(text, sizeof(text));
	explicit_bzero(&invite, sizeof(invite));
}

static void serve(struct pp_rendezvous_point *m, const struct pp_net_event *e)
{
	if (e->kind == PP_NET_MESSAGE) {
		if (e->message->kind == PP_WIRE_INVITE)
			take(m, e->peer, e->message);
		return;
	}
	m->peer[e->peer] = e->kind == PP_NET_JOINED || e->kind == PP_NET_BACK;
	if ((size_t)e->peer >= m->peers)
		m->peers = (size_t)e->peer + 1;
	for (size_t i = 0; m->peer[e->peer] && i < m->deposits; i++)
		give(m, e->peer, &m->deposit[i]);
}

static void end(struct pp_rendezvous_point *m)
{
	pp_net_free(m->net);
	m->net = NULL;
}

static void leave(struct pp_rendezvous_point *m)
{
	struct pp_wire bye = {.kind = PP_WIRE_BYE, .bye.reason = "has what it came for"};

	m->leaving = 1;
	m->leave_ms = pp_now_ms();
	if (!m->joined || pp_net_send(m->net, 0, &bye, NULL))
		end(m);
}

/* 0: the rendezvous is over. */
static int attend(struct pp_rendezvous_point *m, const struct pp_net_event *e)
{
	if (e->kind == PP_NET_MESSAGE) {
		if (e->message->kind == PP_WIRE_INVITE && !m->put)
			take(m, 0, e->message);
		return 1;
	}
	if (e->kind == PP_NET_JOINED) {
		m->joined = 1;
		if (!m->put)
			say_why(m, "has no invitation of rank 0's keeper", "");
		return 1;
	}
	if (!m->leaving && e->kind == PP_NET_REFUSED)
		say_why(m, "refuses this host: ", e->message ? e->message->hello_ack.refused : "");
	else if (!m->leaving && m->joined)
		say_why(m, e->kind == PP_NET_LEFT ? "has ended" : "no longer replied", "");
	end(m);
	return 0;
}

void pp_rendezvous_point_run(struct pp_rendezvous_point *m)
{
	struct pp_net_event e;

	for (int i = 0; m && m->net && i < EVENTS && pp_net_next(m->net, 0, &e) == 1; i++) {
		if (m->serves)
			serve(m, &e);
		else if (!attend(m, &e))
			return;
	}
	if (!m || !m->net || m->serves)
		return;
	if (m->put && m->joined && !m->given)
		m->given = give(m, 0, &m->deposit[0]);
	if (m->leaving) {
		if (!pp_net_unsent(m->net) || pp_now_ms() - m->leave_ms > LEAVE_MS)
			end(m);
	} else if (m->given && !pp_net_unsent(m->net)) {
		m->why[0] = '\0';
		leave(m);
	}
}

void pp_rendezvous_point_put(struct pp_rendezvous_point *m, const struct pp_net_invite *invite)
{
	if (!m)
		return;
	m->put = 1;
	if (m->serves) {
		m->why[0] = '\0';
		store(m, invite);
		for (size_t i = 0; m->net && i < m->peers; i++)
			if (m->peer[i])
				give(m, (int)i, invite);
		return;
	}
	m->deposit[0] = *invite;
	m->deposits = 1;
}

int pp_rendezvous_point_get(struct pp_rendezvous_point *m, const char *job, struct pp_net_invite *ret_invite)
{
	for (size_t i = 0; m && i < m->deposits; i++) {
		if (strcmp(m->deposit[i].job, job) != 0)
			continue;
		*ret_invite = m->deposit[i];
		m->why[0] = '\0';
		if (!m->serves && m->net && !m->leaving)
			leave(m);
		return 1;
	}
	return 0;
}

int pp_rendezvous_point_is_open(const struct pp_rendezvous_point *m)
{
	return m && m->net && !m->leaving;
}

const char *pp_rendezvous_point_why(const struct pp_rendezvous_point *m)
{
	return m ? m->why : "";
}
