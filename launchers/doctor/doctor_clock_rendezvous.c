/* The rendezvous of the hosts under podprof doctor --clock, and the format of their messages. Called by doctor_clock.c,
 * doctor_clock_lead.c and doctor_clock_follow.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/net/rendezvous.h"
#include "core/base/now.h"
#include "core/clock/same_clock.h"
#include "launchers/doctor/doctor_clock.h"

enum { MAGIC = 0x6b6c6370 };

static const char key[] = "podprof.doctor";

static size_t size_of(uint32_t kind)
{
	switch (kind) {
	case PP_DOCTOR_HERE:
	case PP_DOCTOR_PARENT:
		return sizeof(struct pp_doctor_host);
	case PP_DOCTOR_PLACE:
		return sizeof(((struct pp_doctor_talk *)NULL)->place);
	case PP_DOCTOR_READING:
		return sizeof(struct pp_doctor_read);
	case PP_DOCTOR_RAW:
		return sizeof(struct pp_doctor_raw);
	default:
		return 0;
	}
}

void pp_doctor_talk_send(struct pp_net *net, int peer, struct pp_doctor_talk *t, enum pp_doctor_kind kind)
{
	struct pp_wire m = {.kind = PP_WIRE_WORDS_OF};

	t->magic = MAGIC;
	t->kind = kind;
	t->size = (uint32_t)size_of(kind);
	m.words = (struct pp_wire_words){.text = (const char *)t, .size = offsetof(struct pp_doctor_talk, host) + t->size};
	pp_net_send(net, peer, &m, NULL);
}

static int is_host(struct pp_doctor_host *h)
{
	h->by[sizeof(h->by) - 1] = h->name[sizeof(h->name) - 1] = h->boot_id[sizeof(h->boot_id) - 1] =
	        h->timens[sizeof(h->timens) - 1] = h->why[sizeof(h->why) - 1] = '\0';
	for (size_t i = 0; i < PP_DOCTOR_ADDRESSES; i++)
		h->address[i][sizeof(h->address[i]) - 1] = '\0';
	return h->addresses <= PP_DOCTOR_ADDRESSES && h->local_size >= 0 && h->rank >= 0 && h->ticks_per_ns > 0;
}

int pp_doctor_talk_receive(const struct pp_wire *m, struct pp_doctor_talk *ret_talk)
{
	struct pp_doctor_talk t = {.magic = 0};
	size_t head = offsetof(struct pp_doctor_talk, host);

	if (m->kind != PP_WIRE_WORDS_OF || m->words.size < head || m->words.size > sizeof(t))
		return -EBADMSG;
	memcpy(&t, m->words.text, m->words.size);
	if (t.magic != MAGIC || t.size != size_of(t.kind) || m->words.size != head + t.size)
		return -EBADMSG;
	if ((t.kind == PP_DOCTOR_HERE || t.kind == PP_DOCTOR_PARENT) && !is_host(&t.host))
		return -EBADMSG;
	if (t.kind == PP_DOCTOR_RAW && (t.raw.nodes > 2 || t.raw.same > PP_SAME_FALSE))
		return -EBADMSG;
	*ret_talk = t;
	return 0;
}

/* --rendezvous, else the log directory, else the nearest above it that is there: doctor makes none. */
static void find_dir(struct pp_doctor_rendezvous *m, const struct pp_options *options)
{
	const char *given = options->value[PP_OPT_ID_RENDEZVOUS];

	if (!*given)
		given = options->value[PP_OPT_ID_OUTPUT];
	snprintf(m->dir, sizeof(m->dir), "%s%s", *given == '/' ? "" : "./", given);
	while (access(m->dir, F_OK)) {
		char *slash = strrchr(m->dir, '/');

		if (!slash || slash == m->dir)
			break;
		*slash = '\0';
	}
}

void pp_doctor_rendezvous_open(struct pp_doctor_rendezvous *m, const struct pp_job *job, const struct pp_options *options)
{
	snprintf(m->job, sizeof(m->job), "doctor-%.100s", job->name);
	find_dir(m, options);
	pp_doctor_clock_guard(1);
	m->pmix = pp_pmix_open();
	pp_doctor_clock_guard(0);
}

void pp_doctor_rendezvous_close(struct pp_doctor_rendezvous *m)
{
	if (m->offered)
		pp_rendezvous_remove(m->dir, &m->invite);
	pp_doctor_clock_guard(1);
	pp_pmix_close(m->pmix);
	pp_doctor_clock_guard(0);
	explicit_bzero(&m->invite, sizeof(m->invite));
	m->pmix = NULL;
	m->offered = 0;
}

int pp_doctor_rendezvous_offer(struct pp_doctor_rendezvous *m, struct pp_err *err)
{
	char text[PP_RENDEZVOUS_TEXT];
	int rc = -ENOENT;

	if (m->pmix) {
		pp_rendezvous_print(&m->invite, text);
		pp_doctor_clock_guard(1);
		rc = pp_pmix_put(m->pmix, key, text);
		pp_doctor_clock_guard(0);
		explicit_bzero(text, sizeof(text));
		snprintf(m->transport, sizeof(m->transport), "through the launcher (PMIx)");
	}
	if (rc) {
		rc = pp_rendezvous_write(m->dir, &m->invite, err);
		m->offered = !rc;
		snprintf(m->transport, sizeof(m->transport), "by a file in '%s'", m->dir);
	}
	return rc;
}

int pp_doctor_rendezvous_find(struct pp_doctor_rendezvous *m, const char *stale_key, int64_t end_ms, struct pp_err *err)
{
	char text[PP_RENDEZVOUS_TEXT] = "";
	int rc = -ENOENT;
	int64_t left;

	if (m->pmix && !stale_key) {
		pp_doctor_clock_guard(1);
		if (!pp_pmix_get(m->pmix, 0, key, end_ms, text, sizeof(text)))
			rc = pp_rendezvous_parse(text, &m->invite);
		pp_doctor_clock_guard(0);
		explicit_bzero(text, sizeof(text));
		m->by_launcher = !rc;
	}
	if (!rc)
		return 0;
	left = end_ms - pp_now_ms();
	return pp_rendezvous_read(m->dir, m->job, stale_key, left > 0 ? left : 0, &m->invite, err);
}
