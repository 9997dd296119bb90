/* Rank 0 under podprof doctor --clock: waits for the hosts, gives each its place and its rounds, and prints. Its own host obeys
 * like the others. Called by doctor_clock.c. */
#include "launchers/doctor/doctor_clock_lead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/cluster/pod_pairs.h"
#include "aggregate/keeper/cluster/pod_transport.h"
#include "core/base/now.h"
#include "core/base/plain.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_clock_pair.h"
#include "launchers/doctor/doctor_clock_print.h"
#include "launchers/doctor/doctor_clock_report.h"
#include "launchers/doctor/doctor_clock_stop.h"
#include "launchers/options/say.h"

enum { POLL_MS = 5, READY_MS = 3000, REPORT_MS = 3000, LEAVE_MS = 500, ROUNDS_MOST = 31, ROUND_INTERVAL_MS = 1000 };

struct lead { /* hosts by their rank, [0]: this host */
	struct pp_doctor_run *r;
	int peer[PP_DOCTOR_HOSTS];                          /* -1: this host */
	enum { JOINED, DONE, GONE } state[PP_DOCTOR_HOSTS]; /* DONE: it has reported */
	struct pp_wire_doctor_host host[PP_DOCTOR_HOSTS];
	struct pp_wire_doctor_reading read[PP_DOCTOR_HOSTS];
	struct pp_wire_doctor_raw raw[PP_POD_ALL_PAIRS][PP_DOCTOR_HOSTS]; /* by the host before, and the one that measured it */
	struct pp_doctor_pair pair[PP_DOCTOR_HOSTS];
	size_t hosts, ranks, arrived, beyond; /* arrived: also hosts that are not needed */
	int placed, rounds;
	int64_t first_ms, last_ms;
	char missing[2048];
};

_Static_assert(PP_POD_ALL_PAIRS *PP_POD_ALL_PAIRS <= PP_DOCTOR_HOSTS, "all pairs have room");
_Static_assert(PP_DOCTOR_HOSTS <= PP_NET_PEERS + 1, "all hosts have room");

static size_t index_of(const struct lead *l, int peer)
{
	size_t i = 0;

	while (i < l->hosts && l->peer[i] != peer)
		i++;
	return i;
}

static void receive(struct lead *l, size_t from, const struct pp_wire *w)
{
	if (w->kind == PP_WIRE_DOCTOR_READING) {
		l->read[from] = w->doctor_reading;
		l->state[from] = DONE;
	} else if (w->kind == PP_WIRE_DOCTOR_RAW) {
		size_t before = index_of(l, (int)w->doctor_raw.parent - 1);

		if (before < from && before < PP_POD_ALL_PAIRS)
			l->raw[before][from] = w->doctor_raw;
	}
}

static void command(struct lead *l, int peer, enum pp_doctor_kind kind)
{
	pp_pod_send(l->r->pod, peer, &(struct pp_wire){.kind = PP_WIRE_DOCTOR_COMMAND, .doctor_command.kind = kind});
}

/* Launchers without local rank numbers start all ranks of a host here. */
static int is_there(const struct lead *l, int peer, const struct pp_wire_doctor_host *h)
{
	const char *at = pp_pod_pairs_addresses(l->r->pod, peer);

	for (size_t i = 0; i < l->hosts; i++) {
		const struct pp_wire_doctor_host *m = &l->host[i];

		if (!strcmp(m->name, h->name) && !strcmp(m->boot_id, h->boot_id) && !strcmp(m->timens, h->timens) &&
		    !strcmp(pp_pod_pairs_addresses(l->r->pod, l->peer[i]), at))
			return 1;
	}
	return 0;
}

static void take_host(struct lead *l, int peer, const struct pp_wire_doctor_host *h)
{
	size_t i = l->hosts;

	l->arrived++;
	l->ranks += h->local_size ? (size_t)h->local_size : 1;
	l->beyond += i == PP_DOCTOR_HOSTS;
	if (i == PP_DOCTOR_HOSTS || is_there(l, peer, h)) {
		command(l, peer, PP_DOCTOR_SPARE);
		return;
	}
	for (; i > 1 && l->host[i - 1].rank > h->rank; i--) {
		l->host[i] = l->host[i - 1];
		l->peer[i] = l->peer[i - 1];
		l->state[i] = l->state[i - 1];
	}
	l->host[i] = *h;
	l->peer[i] = peer;
	l->state[i] = JOINED;
	l->hosts++;
}

static void take(void *context, const struct pp_net_event *e)
{
	struct pp_wire bye = {.kind = PP_WIRE_BYE, .bye.reason = "another version of podprof"};
	struct lead *l = context;
	size_t i = index_of(l, e->peer);

	if (e->kind == PP_NET_MESSAGE && i < l->hosts) {
		receive(l, i, e->message);
	} else if (e->kind == PP_NET_MESSAGE) {
		if (e->message->kind == PP_WIRE_DOCTOR_HOST && !l->placed)
			take_host(l, e->peer, &e->message->doctor_host);
	} else if (e->kind == PP_NET_JOINED) {
		if (e->message && strcmp(e->message->hello.version, PODPROF_VERSION) != 0) {
			pp_say("the clock of host '%s' is not compared: it has podprof %s, and rank 0's host %s.", e->host,
			       e->message->hello.version, PODPROF_VERSION);
			pp_pod_send(l->r->pod, e->peer, &bye);
		}
	} else if (i < l->hosts) {
		l->state[i] = GONE;
	}
}

static void turn(struct lead *l)
{
	pp_pod_run(l->r->pod);
	pp_pod_wait(l->r->pod, -1, POLL_MS);
}

static int all_arrived(const struct lead *l)
{
	if (l->r->job.hosts)
		return l->arrived >= (size_t)l->r->job.hosts;
	return l->ranks >= (size_t)l->r->job.size;
}

static int all_reported(const struct lead *l)
{
	for (size_t i = 0; i < l->hosts; i++)
		if (l->state[i] == JOINED)
			return 0;
	return 1;
}

static void add_missing(struct lead *l, const char *fmt, const char *name, int rank) __attribute__((format(printf, 2, 0)));

static void add_missing(struct lead *l, const char *fmt, const char *name, int rank)
{
	size_t used = strlen(l->missing);
	char one[128];

	snprintf(one, sizeof(one), fmt, name, rank);
	pp_plain(one, "");
	if (used + strlen(one) + 3 < sizeof(l->missing))
		snprintf(l->missing + used, sizeof(l->missing) - used, "%s%s", used ? ", " : "", one);
}

/* From the launcher's list of ranks and hosts: each host once, by its first rank. 0: it has none. */
static int missing_by_launcher(struct lead *l)
{
	size_t size = (size_t)l->r->job.size;
	char(*of_rank)[72] = pp_doctor_rendezvous_hosts(&l->r->rendezvous, size);

	for (size_t rank = 0; of_rank && rank < size; rank++) {
		int here = 0;

		for (size_t i = 0; i < l->hosts && !here; i++)
			here = (size_t)l->host[i].rank < size && !strcmp(of_rank[l->host[i].rank], of_rank[rank]);
		for (size_t i = 0; i < rank && !here; i++)
			here = !strcmp(of_rank[i], of_rank[rank]);
		if (!here)
			add_missing(l, "'%s' (rank %d)", of_rank[rank], (int)rank);
	}
	free(of_rank);
	return of_rank != NULL;
}

/* Ranks that stand on each host one after another: those of whom nobody arrived. 0: they do not. */
static int missing_by_rank(struct lead *l)
{
	int size = l->r->job.local_size;

	for (size_t i = 0; i < l->hosts && size > 0; i++)
		if (l->host[i].local_size != size || l->host[i].rank % size)
			size = 0;
	for (int rank = 0; size > 0 && rank < l->r->job.size; rank += size) {
		size_t i = 0;

		while (i < l->hosts && l->host[i].rank != rank)
			i++;
		if (i == l->hosts)
			add_missing(l, "%sthe host of rank %d", "", rank);
	}
	return size > 0;
}

static void name_missing(struct lead *l)
{
	const struct pp_job *job = &l->r->job;
	int ranks = 0;

	if (all_arrived(l) || missing_by_launcher(l) || missing_by_rank(l))
		return;
	for (size_t i = 0; i < l->hosts; i++)
		ranks += l->host[i].local_size > 0 ? l->host[i].local_size : 1;
	if (job->hosts)
		add_missing(l, "%s%d of the job's hosts", "", job->hosts - (int)l->hosts);
	else if (job->size - ranks == 1)
		add_missing(l, "%sthe host of one rank", "", 1);
	else
		add_missing(l, "%sthe hosts of %d ranks", "", job->size - ranks);
}

static void place_all(struct lead *l)
{
	int64_t end = pp_now_ms() + READY_MS;

	l->placed = 1;
	pp_pod_pairs_place(l->r->pod, l->peer, l->hosts);
	while (!pp_pod_pairs_are_placed(l->r->pod) && pp_now_ms() < end && !pp_doctor_clock_is_ended())
		turn(l);
}

static void run_round(struct lead *l)
{
	pp_pod_pairs_begin(l->r->pod);
	while (pp_pod_pairs_is_busy(l->r->pod) && !pp_doctor_clock_is_ended())
		turn(l);
	l->rounds++;
}

static void run_rounds(struct lead *l)
{
	int64_t interval = l->r->duration_ms / (ROUNDS_MOST - 1), next;
	int rounds;

	interval = interval > ROUND_INTERVAL_MS            ? interval
	           : l->r->duration_ms < ROUND_INTERVAL_MS ? l->r->duration_ms
	                                                   : ROUND_INTERVAL_MS;
	rounds = interval > 0 ? (int)(l->r->duration_ms / interval) + 1 : 1;
	l->first_ms = next = pp_now_ms();
	for (int i = 0; i < rounds && !pp_doctor_clock_is_ended(); i++, next += interval) {
		while (pp_now_ms() < next && !pp_doctor_clock_is_ended())
			turn(l);
		l->last_ms = pp_now_ms();
		run_round(l);
	}
}

static void receive_reports(struct lead *l)
{
	int64_t end = pp_now_ms() + (pp_doctor_clock_is_ended() ? LEAVE_MS : REPORT_MS);

	for (size_t i = l->hosts; i-- > 1;)
		command(l, l->peer[i], PP_DOCTOR_REPORT);
	pp_doctor_read_clocks(l->r, &l->read[0]); /* its date is read close to the others' */
	l->state[0] = DONE;
	while (!all_reported(l) && pp_now_ms() < end)
		turn(l);
}

/* Makes rows of all pairs, also of unreachable ones. */
static size_t make_pairs(struct lead *l)
{
	size_t pairs = 0, first = l->hosts > PP_POD_ALL_PAIRS ? 1 : l->hosts;

	for (uint32_t a = 0; a < first; a++)
		for (uint32_t b = a + 1; b < l->hosts; b++) {
			struct pp_doctor_pair *p = &l->pair[pairs++];

			pp_doctor_pair_make(&l->raw[a][b], a, b, l->host, l->read, p);
			if (p->verdict == PP_DOCTOR_UNREACHED && (l->state[a] != DONE || l->state[b] != DONE))
				p->verdict = PP_DOCTOR_LOST;
		}
	return pairs;
}

static int print(struct lead *l)
{
	struct pp_doctor_table t = {.host = l->host,
	                            .hosts = l->hosts,
	                            .pair = l->pair,
	                            .pairs = make_pairs(l),
	                            .missing = l->missing,
	                            .beyond = l->beyond,
	                            .door = pp_pod_invitation(l->r->pod)->port,
	                            .patience_s = (double)l->r->patience_ms / 1e3,
	                            .transport = l->r->rendezvous.transport,
	                            .rounds = l->rounds,
	                            .took_s = (double)(pp_now_ms() - l->r->began_ms) / 1e3,
	                            .over_s = (double)(l->last_ms - l->first_ms) / 1e3,
	                            .json = l->r->json};

	if (l->hosts == 1 && !l->missing[0])
		return pp_doctor_clock_print_alone(l->host, "all ranks are on this one: one clock, nothing to compare", l->r->json);
	return pp_doctor_clock_print(&t);
}

int pp_doctor_clock_lead(struct pp_doctor_run *r)
{
	struct lead *l = calloc(1, sizeof(*l));
	struct pp_err err = {"cannot compare clocks: no memory"};
	int code = PP_EXIT_FAILED;

	if (l)
		l->r = r;
	if (!l || pp_pod_begin(r->pod, 1, take, l, &err) || pp_doctor_rendezvous_offer(&r->rendezvous, r->pod, &err)) {
		pp_say("%s.", err.text);
		free(l);
		return code;
	}
	take_host(l, -1, &r->self);
	while (!all_arrived(l) && pp_now_ms() < r->began_ms + r->patience_ms && !pp_doctor_clock_is_ended())
		turn(l);
	name_missing(l);
	if (l->hosts > 1) {
		place_all(l);
		run_rounds(l);
		receive_reports(l);
	}
	code = print(l);
	free(l);
	return code;
}
