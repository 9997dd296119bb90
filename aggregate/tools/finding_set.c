/* Which ranks and links must be repaired together; see finding.h. Called by finding.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/graph/link.h"
#include "aggregate/graph/replay.h"
#include "aggregate/tools/finding.h"

enum { MOST_REPLAYED = 64, SHARE = 3 };
static const size_t MOST_NODES = 50000000; /* that replays of single ranks may take */

/* A late rank, or the slow links. */
struct candidate {
	size_t worker;  /* SIZE_MAX: the links */
	int64_t alone;  /* what it gains if it alone is repaired */
	int64_t missed; /* what is lost if it alone stays as it is */
};

struct sets {
	const struct pp_finding_search *f;
	struct pp_finding_set *set;
	struct candidate *candidate;
	size_t candidates;
	uint8_t *room; /* [PP_REPLAY_MOST][workers] */
};

static int run(const struct sets *s, struct pp_scenario *scenario, size_t scenarios)
{
	const int rc = pp_replay_run(s->f->g, s->f->usual.is_usual, scenario, scenarios);

	for (size_t i = 0; i < scenarios && !rc; i++)
		scenario[i].after_ns = pp_wrap_minus(s->set->before_ns, scenario[i].after_ns); /* the gain */
	return rc;
}

/* Gains of each candidate alone, and of all but it: two equally late ranks gain nothing alone, and each of them hides the other. */
static int compare(struct sets *s, int64_t joint)
{
	const size_t workers = s->f->d->workers, most = PP_REPLAY_MOST / 2;
	int rc = 0;

	for (size_t i = 0; i < s->candidates && !rc; i += most) {
		struct pp_scenario one[PP_REPLAY_MOST];
		size_t n = 0;

		for (size_t k = i; k < s->candidates && k < i + most; k++) {
			uint8_t *alone = s->room + n * workers, *others = alone + workers;
			const size_t w = s->candidate[k].worker;

			memset(alone, 0, workers);
			memcpy(others, s->set->chosen, workers);
			if (w != SIZE_MAX) {
				alone[w] = 1;
				others[w] = 0;
			}
			one[n++] = (struct pp_scenario){.chosen = alone, .link = w == SIZE_MAX ? s->set->link : NULL};
			one[n++] = (struct pp_scenario){.chosen = others, .link = w == SIZE_MAX ? NULL : s->set->link};
		}
		rc = run(s, one, n);
		for (size_t k = 0; k < n && !rc; k += 2) {
			s->candidate[i + k / 2].alone = one[k].after_ns;
			s->candidate[i + k / 2].missed = pp_wrap_minus(joint, one[k + 1].after_ns);
		}
	}
	return rc;
}

static int64_t share_of(const struct candidate *c)
{
	return c->alone > c->missed ? c->alone : c->missed;
}

/* Of many late ranks no single one is replayed: those with a third of the most unusual work count. */
static void weigh(struct sets *s)
{
	const struct pp_finding_search *f = s->f;

	for (size_t i = 0; i < s->candidates; i++) {
		double ns = 0;

		for (size_t k = 0; k < f->d->steps; k++)
			if (f->usual.is_usual[k] && s->candidate[i].worker != SIZE_MAX)
				ns += pp_finding_more(f, k, s->candidate[i].worker) / (double)f->usual.usuals;
		s->candidate[i].alone = s->candidate[i].worker == SIZE_MAX ? 0 : (int64_t)ns;
	}
}

/* Keeps the candidates with a third of the largest share. */
static void choose(struct sets *s)
{
	struct pp_finding_set *set = s->set;
	int64_t most = (int64_t)s->f->least_ns;

	for (size_t i = 0; i < s->candidates; i++)
		most = share_of(&s->candidate[i]) > most ? share_of(&s->candidate[i]) : most;
	for (size_t i = 0; i < s->candidates; i++) {
		const int64_t share = share_of(&s->candidate[i]);

		if (share >= most / SHARE && (double)share >= s->f->least_ns)
			continue;
		if (s->candidate[i].worker == SIZE_MAX) {
			set->links = 0;
		} else {
			set->chosen[s->candidate[i].worker] = 0;
			set->ranks--;
		}
	}
}

/* Without a replay: the late ranks with a third of the most, and what the most of them costs. */
static void find_by_blame(struct sets *s, const struct pp_finding_late *late)
{
	struct pp_finding_set *set = s->set;

	for (size_t w = 0; w < s->f->d->workers; w++) {
		set->chosen[w] = late->is_late[w];
		set->ranks += late->is_late[w];
		if (late->is_late[w])
			s->candidate[s->candidates++] = (struct candidate){.worker = w};
	}
	weigh(s);
	for (size_t i = 0; i < s->candidates; i++)
		set->gain_ns = share_of(&s->candidate[i]) > set->gain_ns ? share_of(&s->candidate[i]) : set->gain_ns;
	choose(s);
	for (size_t i = 0; i < s->candidates; i++)
		if (set->chosen[s->candidate[i].worker])
			pp_wrap_add(&set->wait_ns, share_of(&s->candidate[i]) * (int64_t)(s->f->d->workers - 1));
	set->all_gain_ns = set->gain_ns;
}

static int find(struct sets *s, const struct pp_finding_late *late)
{
	const struct pp_graph *g = s->f->g;
	struct pp_finding_set *set = s->set;
	uint8_t *all = s->room;
	struct pp_scenario two[2] = {{.chosen = all, .link = set->links ? set->link : NULL},
	                             {.chosen = set->chosen, .link = set->links ? set->link : NULL}};
	int rc;

	memset(all, 1, s->f->d->workers);
	for (size_t w = 0; w < s->f->d->workers; w++)
		if (late->is_late[w])
			s->candidate[s->candidates++] = (struct candidate){.worker = w};
	if (set->links)
		s->candidate[s->candidates++] = (struct candidate){.worker = SIZE_MAX};
	memcpy(set->chosen, late->is_late, s->f->d->workers);
	set->ranks = late->late;
	rc = run(s, two, s->candidates ? 2 : 1);
	set->all_gain_ns = rc ? 0 : two[0].after_ns;
	if (rc || !s->candidates || (double)two[0].after_ns < s->f->least_ns)
		goto none;
	if (s->candidates <= MOST_REPLAYED && g->nodes * s->candidates <= MOST_NODES)
		rc = compare(s, two[1].after_ns);
	else
		weigh(s);
	if (rc)
		goto none;
	choose(s);
	two[0] = (struct pp_scenario){.chosen = set->chosen};
	two[1] = (struct pp_scenario){.link = set->link};
	rc = run(s, two, set->links ? 2 : 1);
	if (rc)
		goto none;
	set->gain_ns = set->ranks ? two[0].after_ns : 0;
	set->wait_ns = set->ranks ? two[0].wait_ns / (int64_t)s->f->usual.usuals : 0;
	set->link_gain_ns = set->links ? two[1].after_ns : 0;
	return 0;
none:
	set->ranks = set->links = 0;
	return rc;
}

int pp_finding_set_find(const struct pp_finding_search *f, const struct pp_finding_late *late, struct pp_finding_set *ret)
{
	const size_t workers = f->d->workers;
	struct sets s = {.f = f,
	                 .set = ret,
	                 .candidate = calloc(late->late + 1, sizeof(*s.candidate)),
	                 .room = calloc(workers + 1, PP_REPLAY_MOST)};
	int rc;

	*ret = (struct pp_finding_set){
	        .chosen = calloc(workers + 1, 1), .link = calloc(f->g->links + 1, 1), .before_ns = f->step_ns};
	rc = s.candidate && s.room && ret->chosen && ret->link ? 0 : -ENOMEM;
	if (!rc && f->is_by_blame) {
		find_by_blame(&s, late);
		goto out;
	}
	if (!rc && f->g->slows) {
		rc = pp_links_worst(f->g, ret->link, &ret->choice);
		ret->links = ret->choice.slow;
	}
	if (!rc)
		rc = find(&s, late);
out:
	free(s.candidate);
	free(s.room);
	return rc;
}

void pp_finding_set_release(struct pp_finding_set *set)
{
	free(set->chosen);
	free(set->link);
	*set = (struct pp_finding_set){.ranks = 0};
}
