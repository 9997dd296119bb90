/* The rendezvous of the hosts under podprof doctor --clock. Called by doctor_clock.c, doctor_clock_lead.c and
 * doctor_clock_follow.c. */
#include "launchers/doctor/doctor_clock_rendezvous.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/cluster/pod_transport.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "launchers/doctor/doctor_clock_stop.h"
#include "launchers/run/pmix.h"

static const char key[] = "podprof.doctor";

/* Doctor makes no directory. */
static void find_dir(struct pp_settings *s)
{
	const char *given = s->rendezvous[0] ? s->rendezvous : s->output;
	char dir[sizeof(s->rendezvous)];

	snprintf(dir, sizeof(dir), "%s%.4000s", *given == '/' ? "" : "./", given);
	while (access(dir, F_OK)) {
		char *slash = strrchr(dir, '/');

		if (!slash || slash == dir)
			break;
		*slash = '\0';
	}
	memcpy(s->rendezvous, dir, sizeof(dir));
}

void pp_doctor_rendezvous_open(struct pp_doctor_rendezvous *m, struct pp_settings *settings)
{
	find_dir(settings);
	snprintf(m->transport, sizeof(m->transport), "by a file in '%.600s'", settings->rendezvous);
	pp_doctor_clock_guard(1);
	m->pmix = pp_pmix_open();
	pp_doctor_clock_guard(0);
}

void pp_doctor_rendezvous_close(struct pp_doctor_rendezvous *m)
{
	pp_doctor_clock_guard(1);
	pp_pmix_close(m->pmix);
	pp_doctor_clock_guard(0);
	m->pmix = NULL;
}

int pp_doctor_rendezvous_offer(struct pp_doctor_rendezvous *m, struct pp_pod *pod, struct pp_err *err)
{
	char text[PP_RENDEZVOUS_TEXT];
	int rc = -ENOENT;

	if (m->pmix) {
		pp_rendezvous_print(pp_pod_invitation(pod), text);
		pp_doctor_clock_guard(1);
		rc = pp_pmix_put(m->pmix, key, text);
		pp_doctor_clock_guard(0);
		explicit_bzero(text, sizeof(text));
	}
	if (rc)
		return pp_pod_publish(pod, err);
	snprintf(m->transport, sizeof(m->transport), "through the launcher (PMIx)");
	return 0;
}

void pp_doctor_rendezvous_find(struct pp_doctor_rendezvous *m, struct pp_pod *pod, int64_t end_ms)
{
	struct pp_net_invite found;
	char text[PP_RENDEZVOUS_TEXT] = "";

	if (!m->pmix)
		return;
	pp_doctor_clock_guard(1);
	if (!pp_pmix_get(m->pmix, 0, key, end_ms, text, sizeof(text)) && !pp_rendezvous_parse(text, &found))
		pp_pod_call(pod, &found, PP_TRANSPORT_STORE);
	pp_doctor_clock_guard(0);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(&found, sizeof(found));
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
