/* The rendezvous of the hosts under podprof doctor --clock. Called by doctor_clock.c, doctor_clock_lead.c and
 * doctor_clock_follow.c. */
#include "launchers/doctor/doctor_clock_rendezvous.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/net/rendezvous.h"
#include "core/base/now.h"
#include "launchers/doctor/doctor_clock_stop.h"
#include "launchers/run/pmix.h"

static const char key[] = "podprof.doctor";

/* --rendezvous, else the log directory, else the nearest above it that is there: doctor makes none. */
static void find_dir(struct pp_doctor_rendezvous *m, const struct pp_options *options)
{
	const char *given = options->text[PP_OPT_ID_RENDEZVOUS];

	if (!*given)
		given = options->text[PP_OPT_ID_OUTPUT];
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

void pp_doctor_rendezvous_close(struct pp_doctor_rendezvous *m, const struct pp_net_invite *invite)
{
	if (m->offered)
		pp_rendezvous_remove(m->dir, invite);
	pp_doctor_clock_guard(1);
	pp_pmix_close(m->pmix);
	pp_doctor_clock_guard(0);
	m->pmix = NULL;
	m->offered = 0;
}

int pp_doctor_rendezvous_offer(struct pp_doctor_rendezvous *m, const struct pp_net_invite *invite, struct pp_err *err)
{
	char text[PP_RENDEZVOUS_TEXT];
	int rc = -ENOENT;

	if (m->pmix) {
		pp_rendezvous_print(invite, text);
		pp_doctor_clock_guard(1);
		rc = pp_pmix_put(m->pmix, key, text);
		pp_doctor_clock_guard(0);
		explicit_bzero(text, sizeof(text));
		snprintf(m->transport, sizeof(m->transport), "through the launcher (PMIx)");
	}
	if (rc) {
		rc = pp_rendezvous_write(m->dir, invite, err);
		m->offered = !rc;
		snprintf(m->transport, sizeof(m->transport), "by a file in '%s'", m->dir);
	}
	return rc;
}

int pp_doctor_rendezvous_find(struct pp_doctor_rendezvous *m, const char *stale_key, int64_t end_ms,
                              struct pp_net_invite *ret_invite, struct pp_err *err)
{
	char text[PP_RENDEZVOUS_TEXT] = "";
	int rc = -ENOENT;
	int64_t left;

	if (m->pmix && !stale_key[0]) {
		pp_doctor_clock_guard(1);
		if (!pp_pmix_get(m->pmix, 0, key, end_ms, text, sizeof(text)))
			rc = pp_rendezvous_parse(text, ret_invite);
		pp_doctor_clock_guard(0);
		explicit_bzero(text, sizeof(text));
		m->by_launcher = !rc;
	}
	if (!rc)
		return 0;
	left = end_ms - pp_now_ms();
	return pp_rendezvous_read(m->dir, m->job, stale_key, left > 0 ? left : 0, ret_invite, err);
}

char (*pp_doctor_rendezvous_hosts(const struct pp_doctor_rendezvous *m, size_t size))[72]
{
	char(*of_rank)[72] = m->pmix ? calloc(size, sizeof(*of_rank)) : NULL;
	int known = of_rank != NULL;

	pp_doctor_clock_guard(1);
	for (size_t rank = 0; known && rank < size; rank++)
		known = !pp_pmix_host(m->pmix, (uint32_t)rank, of_rank[rank], sizeof(of_rank[rank]));
	pp_doctor_clock_guard(0);
	if (known)
		return of_rank;
	free(of_rank);
	return NULL;
}
