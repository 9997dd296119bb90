/* Rank 0 under podprof doctor --clock: waits for the hosts, gives each its place and its rounds, and prints. Called by
 * doctor_clock.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "aggregate/keeper/net/rendezvous.h"
#include "core/base/now.h"
#include "core/base/plain.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_clock.h"
#include "launchers/options/say.h"

enum {
	POLL_MS = 5,
	READY_MS = 3000,
	ROUND_LEAST_MS = 1000,
	ROUND_EACH_MS = 60,
	REPORT_MS = 3000,
	LEAVE_MS = 500,
	ROUNDS_MOST = 31,
	ROUND_INTERVAL_MS = 1000
};

enum member_state { JOINED, READY, DONE, GONE };

struct member {
	struct pp_wire_doctor_host host;
	struct pp_wire_doctor_reading read;
	enum member_state state;
	int peer, round; /* round: one runs there */
};

struct lead {
	struct pp_doctor_run *r;
	struct pp_net *net;
	struct pp_doctor_stars *stars;
	struct member *member; /* [0]: this host */
	struct pp_wire_doctor_raw *raw;
	size_t members, raws, raws_most, ranks, came, beyond; /* came: also hosts that are not needed */
	int placed, own_round, rounds;
	int64_t first_ms, last_ms;
	uint8_t key[PP_CLOCK_KEY];
	char missing[2048];
};

static struct member *of_peer(struct lead *l, int peer)
{
	for (size_t i = 1; i < l->members; i++)
		if (l->member[i].peer == peer)
			return &l->member[i];
	return NULL;
}

/* Launchers without local rank numbers start all ranks of a host here. */
static int is_there(const struct lead *l, const struct pp_wire_doctor_host *h)
{
	for (size_t i = 0; i < l->members; i++) {
		const struct pp_wire_doctor_host *m = &l->member[i].host;

		if (!strcmp(m->name, h->name) && !strcmp(m->boot_id, h->boot_id) && !strcmp(m->timens, h->timens) &&
		    !strcmp(m->addresses, h->addresses))
			return 1;
	}
	return 0;
}

static void take_host(struct lead *l, int peer, const struct pp_wire_doctor_host *h)
{
	l->came++;
	l->ranks += h->local_size ? (size_t)h->local_size : 1;
	l->beyond += l->members == PP_DOCTOR_HOSTS;
	if (l->members == PP_DOCTOR_HOSTS || is_there(l, h))
		pp_doctor_command(l->net, peer, PP_DOCTOR_SPARE);
	else
		l->member[l->members++] = (struct member){.host = *h, .peer = peer};
}

static void receive_message(struct lead *l, int peer, const struct pp_wire *w)
{
	struct member *m = of_peer(l, peer);
	const struct pp_wire_doctor_raw *raw = &w->doctor_raw;

	if (w->kind == PP_WIRE_DOCTOR_HOST && !m && !l->placed) {
		take_host(l, peer, &w->doctor_host);
	} else if (!m) {
		return;
	} else if (w->kind == PP_WIRE_DOCTOR_COMMAND && w->doctor_command.kind == PP_DOCTOR_READY) {
		m->state = READY;
	} else if (w->kind == PP_WIRE_DOCTOR_COMMAND && w->doctor_command.kind == PP_DOCTOR_ROUND) {
		m->round = 0;
	} else if (w->kind == PP_WIRE_DOCTOR_READING) {
		m->read = w->doctor_reading;
		m->state = DONE;
	} else if (w->kind == PP_WIRE_DOCTOR_RAW && l->raws < l->raws_most && raw->parent < raw->child &&
	           &l->member[raw->child % PP_DOCTOR_HOSTS] == m) {
		l->raw[l->raws++] = *raw;
	}
}

static void take(struct lead *l, const struct pp_net_event *e)
{
	struct member *m = of_peer(l, e->peer);
	struct pp_wire bye = {.kind = PP_WIRE_BYE, .bye.reason = "another version of podprof"};

	if (e->kind == PP_NET_MESSAGE) {
		receive_message(l, e->peer, e->message);
	} else if (e->kind == PP_NET_JOINED) {
		if (e->message && strcmp(e->message->hello.version, PODPROF_VERSION) != 0) {
			pp_say("the clock of host '%s' is not compared: it has podprof %s, and rank 0's host %s.", e->host,
			       e->message->hello.version, PODPROF_VERSION);
			pp_net_send(l->net, e->peer, &bye, NULL);
		}
	} else if (m) {
		m->state = GONE;
		m->round = 0;
	}
}

/* One turn of all links and messages. */
static void turn(struct lead *l)
{
	struct pp_net_event e;

	while (pp_net_next(l->net, POLL_MS, &e) == 1)
		take(l, &e);
	if (l->own_round && pp_doctor_stars_run(l->stars))
		l->own_round = 0;
}

static int all_came(const struct lead *l)
{
	if (l->r->job.hosts)
		return l->came >= (size_t)l->r->job.hosts;
	return l->ranks >= (size_t)l->r->job.size;
}

static int all_are(const struct lead *l, enum member_state state)
{
	for (size_t i = 1; i < l->members; i++)
		if (l->member[i].state < state)
			return 0;
	return 1;
}

static int all_rest(const struct lead *l)
{
	for (size_t i = 1; i < l->members; i++)
		if (l->member[i].round)
			return 0;
	return !l->own_round;
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
	struct pp_pmix *pmix = l->r->rendezvous.pmix;
	size_t size = (size_t)l->r->job.size;
	char(*of_rank)[72] = pmix ? calloc(size, sizeof(*of_rank)) : NULL;
	int known = of_rank != NULL;

	pp_doctor_clock_guard(1);
	for (size_t rank = 0; known && rank < size; rank++)
		known = !pp_pmix_host(pmix, (uint32_t)rank, of_rank[rank], sizeof(of_rank[rank]));
	pp_doctor_clock_guard(0);
	for (size_t rank = 0; known && rank < size; rank++) {
		int here = 0;

		for (size_t i = 0; i < l->members && !here; i++)
			here = (size_t)l->member[i].host.rank < size && !strcmp(of_rank[l->member[i].host.rank], of_rank[rank]);
		for (size_t i = 0; i < rank && !here; i++)
			here = !strcmp(of_rank[i], of_rank[rank]);
		if (!here)
			add_missing(l, "'%s' (rank %d)", of_rank[rank], (int)rank);
	}
	free(of_rank);
	return known;
}

/* Ranks that stand on each host one after another: those of whom nobody came. 0: they do not. */
static int missing_by_rank(struct lead *l)
{
	int size = l->r->job.local_size;

	for (size_t i = 0; i < l->members && size > 0; i++)
		if (l->member[i].host.local_size != size || l->member[i].host.rank % size)
			size = 0;
	for (int rank = 0; size > 0 && rank < l->r->job.size; rank += size) {
		size_t i = 0;

		while (i < l->members && l->member[i].host.rank != rank)
			i++;
		if (i == l->members)
			add_missing(l, "%sthe host of rank %d", "", rank);
	}
	return size > 0;
}

static void name_missing(struct lead *l)
{
	const struct pp_job *job = &l->r->job;
	int ranks = 0;

	if (all_came(l) || missing_by_launcher(l) || missing_by_rank(l))
		return;
	for (size_t i = 0; i < l->members; i++)
		ranks += l->member[i].host.local_size > 0 ? l->member[i].host.local_size : 1;
	if (job->hosts)
		add_missing(l, "%s%d of the job's hosts", "", job->hosts - (int)l->members);
	else if (job->size - ranks == 1)
		add_missing(l, "%sthe host of one rank", "", 1);
	else
		add_missing(l, "%sthe hosts of %d ranks", "", job->size - ranks);
}

static int by_rank(const void *a, const void *b)
{
	const struct member *one = a, *other = b;

	return (one->host.rank > other->host.rank) - (one->host.rank < other->host.rank);
}

static void place_all(struct lead *l)
{
	struct pp_wire place = {.kind = PP_WIRE_DOCTOR_COMMAND}, parent = {.kind = PP_WIRE_DOCTOR_HOST};
	size_t stars = l->members > PP_DOCTOR_ALL_PAIRS ? 1 : l->members;
	int64_t end = pp_now_ms() + READY_MS;
	struct pp_err err = {""};

	l->placed = 1;
	qsort(l->member + 1, l->members - 1, sizeof(*l->member), by_rank);
	if (pp_doctor_stars_place(l->stars, 0, (uint32_t)l->members, l->key, &err))
		pp_say("%s.", err.text);
	for (size_t i = 1; i < l->members; i++) {
		place.doctor_command =
		        (struct pp_wire_doctor_command){PP_DOCTOR_PLACE, (uint32_t)i, (uint32_t)l->members, l->key, sizeof(l->key)};
		l->member[i].host.index = (uint32_t)i;
		pp_net_send(l->net, l->member[i].peer, &place, NULL);
		for (size_t p = 0; p < i && p < stars; p++) {
			parent.doctor_host = l->member[p].host;
			pp_net_send(l->net, l->member[i].peer, &parent, NULL);
		}
		pp_doctor_command(l->net, l->member[i].peer, PP_DOCTOR_READY);
	}
	while (!all_are(l, READY) && pp_now_ms() < end && !pp_doctor_clock_is_ended())
		turn(l);
}

/* Runs one star after another: packets of two stars at once would delay each other. */
static void run_round(struct lead *l)
{
	size_t stars = l->members > PP_DOCTOR_ALL_PAIRS ? 1 : l->members - 1; /* the last has no children */

	for (size_t i = 0; i < stars && !pp_doctor_clock_is_ended(); i++) {
		int64_t end = pp_now_ms() + ROUND_LEAST_MS + ROUND_EACH_MS * (int64_t)l->members;

		if (i == 0) {
			pp_doctor_stars_begin(l->stars);
			l->own_round = 1;
		} else if (l->member[i].state == READY) {
			l->member[i].round = 1;
			pp_doctor_command(l->net, l->member[i].peer, PP_DOCTOR_ROUND);
		}
		while (!all_rest(l) && pp_now_ms() < end)
			turn(l);
		l->member[i].round = 0;
	}
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

	for (size_t i = 1; i < l->members; i++)
		if (l->member[i].state == READY)
			pp_doctor_command(l->net, l->member[i].peer, PP_DOCTOR_REPORT);
	pp_doctor_stars_read(l->stars, &l->member[0].read);
	while (!all_are(l, DONE) && pp_now_ms() < end)
		turn(l);
}

static void let_go(struct lead *l)
{
	struct pp_wire bye = {.kind = PP_WIRE_BYE, .bye.reason = "the clocks are compared"};
	int64_t end = pp_now_ms() + LEAVE_MS;

	for (size_t i = 1; i < l->members; i++)
		if (l->member[i].state != GONE)
			pp_net_send(l->net, l->member[i].peer, &bye, NULL);
	while (pp_net_unsent(l->net) && pp_now_ms() < end)
		turn(l);
}

/* Makes rows of all pairs, also of unreachable ones. */
static size_t make_pairs(struct lead *l, const struct pp_wire_doctor_host *host, const struct pp_wire_doctor_reading *read,
                         struct pp_doctor_pair *pair)
{
	size_t stars = l->members > PP_DOCTOR_ALL_PAIRS ? 1 : l->members, pairs = 0;

	for (uint32_t a = 0; a < stars; a++)
		for (uint32_t b = a + 1; b < l->members; b++) {
			struct pp_wire_doctor_raw none = {.parent = a, .child = b, .bound = INT64_MAX, .date_y_bound = INT64_MAX};
			const struct pp_wire_doctor_raw *raw = &none;

			for (size_t i = 0; i < l->raws; i++)
				if (l->raw[i].parent == a && l->raw[i].child == b)
					raw = &l->raw[i];
			pp_doctor_pair_make(raw, host, read, &pair[pairs]);
			if (pair[pairs].verdict == PP_DOCTOR_UNREACHED &&
			    (l->member[a].state != DONE || l->member[b].state != DONE))
				pair[pairs].verdict = PP_DOCTOR_LOST;
			pairs++;
		}
	return pairs;
}

static int print(struct lead *l)
{
	/* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): this host is always a member */
	struct pp_wire_doctor_host *host = calloc(l->members, sizeof(*host));
	struct pp_wire_doctor_reading *read = calloc(l->members, sizeof(*read));
	struct pp_doctor_pair *pair = calloc(l->raws_most, sizeof(*pair));
	struct pp_doctor_table t = {.host = host,
	                            .hosts = l->members,
	                            .pair = pair,
	                            .missing = l->missing,
	                            .beyond = l->beyond,
	                            .door = l->r->rendezvous.invite.port,
	                            .patience_s = (double)l->r->patience_ms / 1e3,
	                            .transport = l->r->rendezvous.transport,
	                            .rounds = l->rounds,
	                            .took_s = (double)(pp_now_ms() - l->r->began_ms) / 1e3,
	                            .over_s = (double)(l->last_ms - l->first_ms) / 1e3,
	                            .json = l->r->json};
	int code = PP_EXIT_FAILED;

	if (l->members == 1 && !l->missing[0]) {
		code = pp_doctor_clock_print_alone(&l->member[0].host, "all ranks are on this one: one clock, nothing to compare",
		                                   l->r->json);
	} else if (host && read && pair) {
		for (size_t i = 0; i < l->members; i++) {
			host[i] = l->member[i].host;
			read[i] = l->member[i].read;
		}
		t.pairs = make_pairs(l, host, read, pair);
		code = pp_doctor_clock_print(&t);
	} else {
		pp_say("cannot compare clocks: no memory for %zu hosts.", l->members);
	}
	free(host);
	free(read);
	free(pair);
	return code;
}

static int open_door(struct lead *l, struct pp_err *err)
{
	struct pp_doctor_run *r = l->r;
	struct pp_net_options o = {.job = r->rendezvous.job,
	                           .host = r->self.name,
	                           .version = PODPROF_VERSION,
	                           .session = "",
	                           .port_first = r->port_first,
	                           .port_last = r->port_last,
	                           .dead_ms = r->patience_ms};
	int rc;

	l->raws_most = (size_t)PP_DOCTOR_HOSTS + PP_DOCTOR_ALL_PAIRS * PP_DOCTOR_ALL_PAIRS;
	l->member = calloc(PP_DOCTOR_HOSTS, sizeof(*l->member));
	l->raw = calloc(l->raws_most, sizeof(*l->raw));
	if (!l->member || !l->raw)
		return pp_err_set(err, -ENOMEM, "cannot compare clocks: no memory");
	if (getrandom(l->key, sizeof(l->key), 0) != sizeof(l->key))
		return pp_err_set(err, -EIO, "cannot compare clocks: no random numbers");
	rc = pp_rendezvous_addresses(&r->rendezvous.invite, err);
	if (!rc)
		rc = pp_net_listen(&o, &r->rendezvous.invite, &l->net, err);
	if (!rc)
		rc = pp_doctor_stars_open(&r->self, r->port_first, r->port_last, &l->stars, err);
	if (!rc)
		rc = pp_doctor_rendezvous_offer(&r->rendezvous, err);
	return rc;
}

int pp_doctor_clock_lead(struct pp_doctor_run *r)
{
	struct lead l = {.r = r};
	struct pp_err err = {""};
	int rc = open_door(&l, &err), code = PP_EXIT_FAILED;

	if (rc) {
		pp_say("%s.", err.text);
		goto release;
	}
	l.member[l.members++] = (struct member){.host = r->self, .state = DONE, .peer = -1};
	l.came = 1;
	l.ranks = r->self.local_size ? (size_t)r->self.local_size : 1;
	while (!all_came(&l) && pp_now_ms() < r->began_ms + r->patience_ms && !pp_doctor_clock_is_ended())
		turn(&l);
	name_missing(&l);
	if (l.members > 1) {
		place_all(&l);
		run_rounds(&l);
		receive_reports(&l);
		let_go(&l);
	}
	code = print(&l);

release:
	pp_net_free(l.net);
	pp_doctor_stars_free(l.stars);
	free(l.member);
	free(l.raw);
	explicit_bzero(l.key, sizeof(l.key));
	return code;
}
