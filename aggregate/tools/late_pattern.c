/* Patterns of delays that last: ranks, hosts, roles, and those that take turns; see late_pattern.h. Called by straggler_class.c. */
#include "aggregate/tools/late_pattern.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregate/tools/late_event.h"

#define CHANCE 0.01 /* of a pattern in a job without one, all ranks together */
#define CHANCE_ORDER 1e-4
#define CHANCE_SOME 1e-4 /* of a rank that is late in a small part of the steps */
#define MOST_STEPS 0.5
#define SOME_STEPS 0.1
#define SOME_SHARE 0.4   /* of all waiting, for a rank that is late in some steps */
#define OWN_WORK 0.3     /* of its lateness that more work of its own must explain, where messages make ranks wait for structure */
#define OWN_DELAY 0.02   /* of all waiting */
#define HIDDEN_WAIT 0.05 /* of its lateness, that a rank behind a later one waits */
#define EVEN 0.3
#define STALL 4          /* times the median lateness: no delay of most steps */
#define BESIDE 0.03      /* of what its stalls cost: a rank that is otherwise late by less is not named for it */
#define GAP 1.5          /* the least late one is so much later than the latest of the others */
#define GROUP_SHARE 0.75 /* of the ranks of a host or role */
#define ROTATING_STEPS 0.6
#define REGULAR 0.15
enum { ROTATING_LEAST = 6, LAG_MOST = 256, SOME_LEAST = 4, SAMPLES = 32 };

struct rank_late {
	size_t steps, first;
	double each_ns, chance, delay; /* how late, when; sum of its delays */
	double weight[PP_REASONS];
	int is_even; /* it is late by about as much in most of these steps */
	int is_late, is_some, is_taken;
};

struct search {
	struct pp_late_series *k;
	struct pp_late_patterns *to;
	struct rank_late *rank; /* [ranks] */
	double *value;          /* [steps + ranks] */
	double delay;           /* of all */
	double *peers;          /* [SAMPLES][ranks] work of the median peer, in every `every`-th step */
	size_t every;
};

static int is_late(const struct pp_late_series *k, size_t s, size_t w)
{
	return k->late[s * k->ranks + w] > 0;
}

/* The least wait in a step is that of the latest rank; how late a rank is: how much less than its peers it waits. */
static void measure_rank(struct search *f, size_t w)
{
	struct pp_late_series *k = f->k;
	struct rank_late *r = &f->rank[w];
	size_t n = 0;

	for (size_t s = 0; s < k->steps; s++) {
		double delay = k->delay[s * k->ranks + w];

		r->delay += delay;
		if (!is_late(k, s, w))
			continue;
		r->first = r->steps++ ? r->first : s;
		r->weight[k->reason[s * k->ranks + w]] += delay;
		f->value[n++] = k->late[s * k->ranks + w];
	}
	r->each_ns = pp_quantile(f->value, n, 0.5);
	r->is_even = pp_quantile(f->value, n, 0.25) >= EVEN * r->each_ns;
}

/* The share of steps in which a rank on time looks late by chance: from the ranks that do so least, since many may be late. */
static double usual_share(struct search *f)
{
	struct pp_late_series *k = f->k;
	double q, least = 1.0 / (double)k->ranks;

	for (size_t w = 0; w < k->ranks; w++)
		f->value[w] = (double)f->rank[w].steps / (double)k->steps;
	q = pp_quantile(f->value, k->ranks, 0.25);
	q += 0.7 * sqrt(q * (1 - q) / (double)k->steps);
	return q > least ? q : least;
}

/* In some steps, what the median rank of each rank's group works. 0 or -ENOMEM. */
static int find_peers_work(struct search *f)
{
	struct pp_late_series *k = f->k;
	size_t end;

	f->every = k->steps / SAMPLES + 1;
	f->peers = calloc(SAMPLES * k->ranks + 1, sizeof(*f->peers));
	if (!f->peers)
		return -ENOMEM;
	for (size_t i = 0; i < k->ranks; i = end) {
		const size_t *peer;
		size_t peers;

		end = pp_late_group_end(k, i);
		peer = pp_late_peers(k, i, end, &peers);
		for (size_t s = 0; s < k->steps; s += f->every) {
			size_t n = 0;
			double median;

			for (size_t j = 0; j < peers; j++)
				if (pp_late_cell(k, s, peer[j])->present)
					f->value[n++] = pp_late_work(k, s, peer[j]);
			median = pp_quantile(f->value, n, 0.5);
			for (size_t j = i; j < end; j++)
				f->peers[s / f->every * k->ranks + k->member[j]] = median;
		}
	}
	return 0;
}

/* Where ranks wait for messages, a place in a pipeline alone makes ranks wait less than others: only more work makes them late. */
static int has_own_work(struct search *f, size_t w)
{
	struct pp_late_series *k = f->k;
	int reason = pp_late_reason(f->rank[w].weight);
	double more[SAMPLES];
	size_t n = 0;

	if (!k->has_messages || reason == 0 || reason >= 10 || reason == PP_CATEGORY_DEVICE_COLLECTIVE)
		return 1;
	for (size_t s = 0; s < k->steps; s += f->every)
		more[n++] = pp_late_work(k, s, w) - f->peers[s / f->every * k->ranks + w];
	return pp_quantile(more, n, 0.5) >= OWN_WORK * f->rank[w].each_ns;
}

static int by_lateness(const void *a, const void *b, void *context)
{
	const double *late = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (late[x] < late[y] || late[x] > late[y])
		return late[x] > late[y] ? -1 : 1;
	return (x > y) - (x < y);
}

/* Of ranks on time in other groups, the latest. */
static double latest_outside(const struct search *f, int32_t group)
{
	const struct pp_late_series *k = f->k;
	double most = 0;

	for (size_t w = 0; w < k->ranks; w++)
		if (!f->rank[w].is_late && k->group[w] != group && k->lateness_all[w] > most)
			most = k->lateness_all[w];
	return most;
}

static void require_gap_in(struct search *f, size_t *member, size_t n)
{
	struct pp_late_series *k = f->k;
	size_t late = 0, cut = 0, peers;
	int has_more;
	double outside;

	pp_late_peers(k, 0, n, &peers);
	has_more = peers > n;
	outside = has_more ? latest_outside(f, k->group[member[0]]) : 0;
	qsort_r(member, n, sizeof(*member), by_lateness, k->lateness);
	while (late < n && f->rank[member[late]].is_late)
		late++;
	for (size_t i = 0; i < late && i + !has_more < n; i++) {
		double here = k->lateness[member[i]], next = i + 1 < n ? k->lateness[member[i + 1]] : 0;

		next = next > outside ? next : outside;
		cut = here >= GAP * next && here - next >= k->floor_ns ? i + 1 : cut;
	}
	for (size_t i = cut; i < n; i++)
		f->rank[member[i]].is_late = 0;
}

/* Late ranks are those before a gap in the order of lateness. The gap is what it would save to cure them. Ranks that all differ a
 * little have none. Small groups are last: others count for them if they are not late. */
static void require_gap(struct search *f, size_t *order)
{
	struct pp_late_series *k = f->k;
	size_t first = 0, end;

	memcpy(order, k->member, k->ranks * sizeof(*order));
	if (k->ranks && k->group[k->member[0]] < 0)
		first = pp_late_group_end(k, 0);
	for (size_t i = first; i < k->ranks; i = end) {
		end = pp_late_group_end(k, i);
		require_gap_in(f, &order[i], end - i);
	}
	if (first)
		require_gap_in(f, order, first);
}

/* Every second step is a period. */
static int alternates(const struct pp_late_series *k, size_t w)
{
	size_t n = 0;

	for (size_t s = 0; s + 1 < k->steps; s++)
		n += is_late(k, s, w) != is_late(k, s + 1, w);
	return 10 * n >= 9 * (k->steps - 1);
}

static void judge_ranks(struct search *f)
{
	struct pp_late_series *k = f->k;
	double usual, share;

	for (size_t w = 0; w < k->ranks; w++)
		measure_rank(f, w);
	usual = usual_share(f);
	for (size_t w = 0; w < k->ranks; w++) {
		struct rank_late *r = &f->rank[w];

		share = (double)r->steps / (double)k->steps;
		r->chance = (double)k->ranks * pp_chance((double)r->steps, (double)k->steps, usual);
		r->is_late = share >= MOST_STEPS && r->is_even && !alternates(k, w) && r->chance <= CHANCE &&
		             r->each_ns * share >= k->floor_ns;
		r->is_some = share >= SOME_STEPS && share < MOST_STEPS && r->steps >= SOME_LEAST && r->chance <= CHANCE_SOME &&
		             r->delay >= SOME_SHARE * f->delay && r->each_ns * share >= k->floor_ns;
		if (r->is_late || r->is_some)
			r->is_late = has_own_work(f, w) && r->is_late;
	}
}

/* What a rank usually delays. Stalls among few delays are not usual: it is not so late in most steps. */
static double usual_delay(struct search *f, size_t w)
{
	struct pp_late_series *k = f->k;
	size_t n = 0;
	double usual;

	for (size_t s = 0; s < k->steps; s++)
		if (k->delay[s * k->ranks + w] > 0)
			f->value[n++] = k->delay[s * k->ranks + w];
	usual = pp_quantile(f->value, n, 0.5);
	return f->rank[w].each_ns > 0 && usual > STALL * f->rank[w].each_ns ? f->rank[w].each_ns : usual;
}

/* Takes what a rank usually delays out of the series, for a pattern with weights of reasons. What is left may be another one. */
static void take_out(struct search *f, size_t w, struct pp_late_pattern *p, double weight[PP_REASONS])
{
	struct pp_late_series *k = f->k;
	double usual = usual_delay(f, w);

	for (size_t s = 0; s < k->steps; s++) {
		double *delay = &k->delay[s * k->ranks + w], left = *delay > 2 * usual ? *delay - usual : 0;
		double part = *delay - left;

		k->total[s] -= part;
		*delay = left;
		p->ns += part * (double)(k->ranks - 1);
		if (left <= 0) /* else the reason is that of what is left */
			weight[k->reason[s * k->ranks + w]] += part;
	}
	f->rank[w].is_taken = 1;
}

/* Of a rank behind a later one: what takes it longer than the mean of all ranks; 0: nothing. */
static int longer_category(const struct pp_late_series *k, size_t rank)
{
	double more[PP_CATEGORIES + 1] = {0};
	int best = 0;

	for (size_t s = 0; s < k->steps; s += k->steps / SAMPLES + 1)
		for (size_t w = 0; w < k->ranks; w++)
			for (int c = 1; c <= PP_CATEGORIES; c++)
				more[c] += (double)pp_late_cell(k, s, rank)->exclusive_ns[c] -
				           (double)pp_late_cell(k, s, w)->exclusive_ns[c];
	for (int c = 1; c <= PP_CATEGORIES; c++)
		if (c != PP_CATEGORY_HOST_COMMUNICATION && c != PP_CATEGORY_DEVICE_COLLECTIVE && more[c] > more[best])
			best = c;
	return best;
}

static void add_lasting(struct search *f, enum pp_late_class class, const size_t *member, size_t ranks, int32_t role)
{
	struct pp_late_series *k = f->k;
	struct pp_late_pattern p = {
	        .class = class, .rank = member[0], .ranks = ranks, .role = role, .of = k->steps, .at = SIZE_MAX};
	double weight[PP_REASONS] = {0}, all = 0;
	size_t n = 0;

	for (size_t s = 0; s < k->steps; s++) {
		size_t late = 0;
		double sum = 0;

		for (size_t i = 0; i < ranks; i++) {
			size_t at = s * k->ranks + member[i];

			late += k->late[at] > 0;
			sum += k->delay[at];
		}
		if (class == PP_LATE_ROLE ? sum < k->floor_ns : 2 * late <= ranks)
			continue;
		p.at = p.steps++ ? p.at : s;
		f->value[n++] = class == PP_LATE_RANK ? k->late[s * k->ranks + member[0]] : sum;
	}
	p.each_ns = pp_quantile(f->value, n, 0.5);
	for (size_t i = 0; i < ranks; i++)
		take_out(f, member[i], &p, weight);
	for (int i = 0; i < PP_REASONS; i++)
		all += weight[i];
	p.reason = all > 0 ? pp_late_reason(weight) : longer_category(k, member[0]);
	pp_late_add(f->to, &p);
}

static int on_one_host(const struct pp_late_series *k, size_t a, size_t b)
{
	return strncmp(k->in->worker[a].host, k->in->worker[b].host, sizeof(k->in->worker[a].host)) == 0;
}

static int by_host(const void *a, const void *b, void *context)
{
	const struct pp_dataset *in = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = strncmp(in->worker[x].host, in->worker[y].host, sizeof(in->worker[x].host));

	return order ? order : (x > y) - (x < y);
}

static int by_role(const void *a, const void *b, void *context)
{
	const struct pp_dataset *in = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int32_t p = in->worker[x].role, q = in->worker[y].role;

	if (p != q)
		return p < q ? -1 : 1;
	return (x > y) - (x < y);
}

/* Of the ranks [from, end) of a host: does it as a whole cause waiting, most of them late? */
static int is_late_host(const struct search *f, const size_t *order, size_t from, size_t end)
{
	size_t late = 0;
	double delay = 0;

	for (size_t i = from; i < end; i++) {
		late += f->rank[order[i]].is_late != 0;
		delay += f->rank[order[i]].delay;
	}
	return late >= 2 && (double)late >= GROUP_SHARE * (double)(end - from) && end - from < f->k->ranks &&
	       delay * (double)f->k->ranks >= 0.5 * f->delay * (double)(end - from);
}

static void find_hosts(struct search *f, size_t *order)
{
	size_t end;

	for (size_t w = 0; w < f->k->ranks; w++)
		order[w] = w;
	qsort_r(order, f->k->ranks, sizeof(*order), by_host, (void *)f->k->in);
	for (size_t i = 0; i < f->k->ranks; i = end) {
		for (end = i + 1; end < f->k->ranks && on_one_host(f->k, order[end], order[i]);)
			end++;
		if (is_late_host(f, order, i, end))
			add_lasting(f, PP_LATE_HOST, &order[i], end - i, -1);
	}
}

/* Steps in which most waiting is for the role. Ranks that are late by themselves are left out, unless all are. */
static size_t role_steps(struct search *f, const size_t *order, size_t from, size_t end)
{
	struct pp_late_series *k = f->k;
	size_t hits = 0, late = 0;

	for (size_t i = from; i < end; i++)
		late += f->rank[order[i]].is_late != 0;
	for (size_t s = 0; s < k->steps; s++) {
		double sum = 0;

		for (size_t i = from; i < end; i++)
			if (!f->rank[order[i]].is_late || late == end - from)
				sum += k->delay[s * k->ranks + order[i]];
		hits += sum >= k->floor_ns && 2 * sum >= k->total[s];
	}
	return hits;
}

/* Median work per step of ranks inside or outside of [from, end). */
static double median_work(struct search *f, const size_t *order, size_t from, size_t end, int inside)
{
	struct pp_late_series *k = f->k;
	size_t every = k->steps / 16 + 1, all = 0;
	double sum = 0;

	for (size_t s = 0; s < k->steps; s += every) {
		size_t n = 0;

		for (size_t i = 0; i < k->ranks; i++)
			if ((i >= from && i < end) == inside && pp_late_cell(k, s, order[i])->present)
				f->value[n++] = pp_late_work(k, s, order[i]);
		sum += pp_quantile(f->value, n, 0.5);
		all++;
	}
	return all ? sum / (double)all : 0;
}

static void find_roles(struct search *f, size_t *order)
{
	struct pp_late_series *k = f->k;
	size_t end;

	qsort_r(order, k->ranks, sizeof(*order), by_role, (void *)k->in);
	for (size_t i = 0; i < k->ranks; i = end) {
		int32_t role = k->in->worker[order[i]].role;
		size_t hits, n;
		double more;

		for (end = i + 1; end < k->ranks && k->in->worker[order[end]].role == role;)
			end++;
		n = end - i;
		if (role < 0 || n < 2 || n == k->ranks)
			continue;
		hits = role_steps(f, order, i, end);
		if ((double)hits < MOST_STEPS * (double)k->steps ||
		    pp_chance((double)hits, (double)k->steps, (double)n / (double)k->ranks) * (double)k->ranks > CHANCE)
			continue;
		more = median_work(f, order, i, end, 1) - median_work(f, order, i, end, 0);
		if (more >= k->floor_ns)
			add_lasting(f, PP_LATE_ROLE, &order[i], n, role);
	}
}

/* A rank that is late behind a later one keeps nobody waiting until that one is repaired; one whose waiting was not recorded is not
 * late. */
static int is_behind_another(const struct search *f, size_t w)
{
	const struct pp_late_series *k = f->k;
	double wait = 0;

	for (size_t s = 0; s < k->steps; s++)
		if (is_late(k, s, w) && pp_late_cell(k, s, w)->wait_ns > 0)
			wait += (double)pp_late_cell(k, s, w)->wait_ns;
	return wait > HIDDEN_WAIT * f->rank[w].each_ns * (double)f->rank[w].steps;
}

static void find_ranks(struct search *f)
{
	for (size_t w = 0; w < f->k->ranks; w++)
		if (f->rank[w].is_late && !f->rank[w].is_taken &&
		    (f->rank[w].delay >= OWN_DELAY * f->delay || is_behind_another(f, w)))
			add_lasting(f, PP_LATE_RANK, &w, 1, -1);
}

/* A rank that is late in a part of the steps, without a period: what other patterns left of its delays decides. */
static void find_some(struct search *f)
{
	for (size_t w = 0; w < f->k->ranks; w++) {
		double left = 0;

		for (size_t s = 0; s < f->k->steps; s++)
			left += f->k->delay[s * f->k->ranks + w];
		if (f->rank[w].is_some && !f->rank[w].is_taken && left >= 0.5 * f->rank[w].delay)
			add_lasting(f, PP_LATE_RANK, &w, 1, -1);
	}
}

/* Per step the rank that delays most, where it stands out; SIZE_MAX: none. Returns in how many steps there is one. */
static size_t find_tops(const struct pp_late_series *k, size_t *top)
{
	double least = 2 * k->floor_ns;
	size_t n = 0;

	for (size_t s = 0; s < k->steps; s++) {
		const double *delay = &k->delay[s * k->ranks];
		size_t best = 0;

		for (size_t w = 1; w < k->ranks; w++)
			best = delay[w] > delay[best] ? w : best;
		top[s] = delay[best] >= least && 2 * delay[best] >= k->total[s] ? best : SIZE_MAX;
		n += top[s] != SIZE_MAX;
	}
	return n;
}

/* The chance that two steps have the same top. */
static double collision(struct search *f, const size_t *top)
{
	double n = 0, collide = 0;

	for (size_t w = 0; w < f->k->ranks; w++)
		f->value[w] = 0;
	for (size_t s = 0; s < f->k->steps; s++)
		if (top[s] != SIZE_MAX) {
			f->value[top[s]]++;
			n++;
		}
	for (size_t w = 0; w < f->k->ranks; w++)
		collide += n > 0 ? f->value[w] / n * (f->value[w] / n) : 0;
	return collide;
}

/* Ranks follow each other with one distance, each for one step or for several. Returns its share of the changes, and the chance of
 * that. */
static double same_distance(struct search *f, const size_t *top, double collide, double *ret_chance)
{
	size_t ranks = f->k->ranks, before = SIZE_MAX, changes = 0, best = 0;

	*ret_chance = 1;
	if (ranks < 3 || 2 * collide >= 1) /* of two ranks one always follows the other */
		return 0;
	for (size_t w = 0; w < ranks; w++)
		f->value[w] = 0;
	for (size_t s = 0; s < f->k->steps; s++) {
		if (top[s] != SIZE_MAX && before != SIZE_MAX && top[s] != before) {
			f->value[(top[s] + ranks - before) % ranks]++;
			changes++;
		}
		before = top[s];
	}
	for (size_t w = 1; w < ranks; w++)
		best = f->value[w] > f->value[best] || !best ? w : best;
	if (changes < 4)
		return 0;
	*ret_chance = (double)(ranks - 1) * pp_chance(f->value[best], (double)changes, collide / (1 - collide));
	return f->value[best] / (double)changes;
}

/* A rank's turn comes again after *ret_lag steps. */
static double same_turn(struct search *f, const size_t *top, double collide, size_t *ret_lag, double *ret_chance)
{
	size_t steps = f->k->steps, most = steps / 2 < LAG_MOST ? steps / 2 : LAG_MOST;
	double best = 0;

	*ret_chance = 1;
	for (size_t lag = 2; lag <= most; lag++) {
		double hits = 0, pairs = 0, chance;

		for (size_t s = 0; s + lag < steps; s++) {
			if (top[s] == SIZE_MAX || top[s + 1] == SIZE_MAX || top[s + lag] == SIZE_MAX)
				continue;
			pairs++;
			hits += top[s] == top[s + lag] && top[s] != top[s + 1];
		}
		chance = (double)most * pp_chance(hits, pairs, collide);
		if (chance < *ret_chance) {
			*ret_chance = chance;
			*ret_lag = lag;
			best = hits / pairs;
		}
	}
	return best;
}

/* In each step one rank alone is late, and always by about as much: noise is not so. */
static int is_regular(struct search *f, const size_t *top, size_t n)
{
	struct pp_late_series *k = f->k;
	size_t steps = 0, alone = 0;
	double median;

	if (n < 10 || (double)n < 0.9 * (double)k->steps)
		return 0;
	for (size_t s = 0; s < k->steps; s++)
		if (top[s] != SIZE_MAX)
			f->value[steps++] = k->total[s];
	median = pp_quantile(f->value, steps, 0.5);
	if (pp_quantile(f->value, steps, 0.75) - pp_quantile(f->value, steps, 0.25) > 2 * REGULAR * median ||
	    median < 0.2 * k->step_ns)
		return 0;
	for (size_t s = 0; s < k->steps; s++) {
		size_t present = 0;

		for (size_t w = 0; w < k->ranks && top[s] != SIZE_MAX; w++)
			if (pp_late_cell(k, s, w)->present && w != top[s])
				f->value[present++] = (double)pp_late_cell(k, s, w)->wait_ns;
		if (present > 1) {
			double middle = pp_quantile(f->value, present, 0.5);

			alone += f->value[0] >= 0.8 * middle;
		}
	}
	return 10 * alone >= 8 * steps;
}

static int find_rotating(struct search *f, size_t *top)
{
	struct pp_late_series *k = f->k;
	size_t n = find_tops(k, top), lag = 0, ranks = 0;
	struct pp_late_pattern p = {.class = PP_LATE_ROTATING, .rank = SIZE_MAX, .role = -1, .of = k->steps, .at = SIZE_MAX};
	double collide, by_distance, by_turn, chance_distance, chance_turn, share = 0, weight[PP_REASONS] = {0};

	if (n < ROTATING_LEAST || (double)n < ROTATING_STEPS * (double)k->steps)
		return 0;
	collide = collision(f, top);
	by_distance = same_distance(f, top, collide, &chance_distance);
	by_turn = same_turn(f, top, collide, &lag, &chance_turn);
	if (by_distance >= 0.5 && chance_distance <= CHANCE_ORDER)
		share = by_distance;
	if (by_turn >= 0.5 && chance_turn <= CHANCE_ORDER) {
		share = by_turn > share ? by_turn : share;
		p.period = lag;
	}
	if (share <= 0 && is_regular(f, top, n))
		share = 0.7;
	for (size_t w = 0; w < k->ranks; w++)
		f->value[w] = 0;
	for (size_t s = 0; s < k->steps; s++)
		if (top[s] != SIZE_MAX && f->value[top[s]]++ <= 0)
			ranks++;
	for (size_t w = 0; w < k->ranks; w++) /* a rank that is late in most steps does not take turns */
		share = f->value[w] > 0.6 * (double)n ? 0 : share;
	if (share <= 0 || ranks < 2)
		return 0;
	p.ranks = ranks;
	n = 0;
	for (size_t s = 0; s < k->steps; s++) {
		if (top[s] == SIZE_MAX)
			continue;
		p.at = p.steps++ ? p.at : s;
		p.ns += k->total[s] * (double)(k->ranks - 1);
		weight[k->reason[s * k->ranks + top[s]]] += k->total[s];
		f->value[n++] = k->total[s];
	}
	p.each_ns = pp_quantile(f->value, n, 0.5);
	p.reason = pp_late_reason(weight);
	for (size_t i = 0; i < k->steps * k->ranks; i++)
		k->delay[i] = k->delay[i] > 2 * p.each_ns ? k->delay[i] - p.each_ns : 0;
	pp_late_sum_up(k);
	p.confidence = pp_late_confidence(share * (double)p.steps / (double)k->steps, p.each_ns, pp_late_noise(k), k->steps);
	pp_late_add(f->to, &p);
	return 1;
}

/* A rank that stalls is not named again for the little that it is late by in other steps. */
static void drop_small(struct pp_late_patterns *to)
{
	size_t n = 0;

	for (size_t i = 0; i < to->patterns; i++) {
		const struct pp_late_pattern *p = &to->pattern[i];
		double stalls = 0;

		for (size_t j = 0; j < to->patterns && p->class == PP_LATE_RANK; j++)
			if (to->pattern[j].class == PP_LATE_PERIODIC && to->pattern[j].rank == p->rank)
				stalls += to->pattern[j].ns;
		if (p->ns >= BESIDE * stalls)
			to->pattern[n++] = *p;
	}
	to->patterns = n;
}

/* Once all that lasts is taken out, the rest is noise to them. */
static void set_confidence(struct search *f, size_t from)
{
	double noise = pp_late_noise(f->k);

	for (size_t i = from; i < f->to->patterns; i++) {
		struct pp_late_pattern *p = &f->to->pattern[i];

		p->confidence = pp_late_confidence((double)p->steps / (double)p->of, p->each_ns, noise, p->of);
	}
}

int pp_late_patterns(struct pp_late_series *k, struct pp_late_patterns *to)
{
	struct search f = {.k = k, .to = to};
	size_t *order = calloc(k->ranks + k->steps + 1, sizeof(*order));
	size_t lasting;
	int rc = -ENOMEM;

	f.rank = calloc(k->ranks + 1, sizeof(*f.rank));
	f.value = calloc(k->ranks + k->steps + 1, sizeof(*f.value));
	if (order && f.rank && f.value) {
		for (size_t s = 0; s < k->steps; s++)
			f.delay += k->total[s];
		if (find_peers_work(&f))
			goto out;
		judge_ranks(&f);
		require_gap(&f, order);
		if (!find_rotating(&f, order)) {
			find_hosts(&f, order);
			find_roles(&f, order);
			find_ranks(&f);
			set_confidence(&f, 0);
		}
		rc = pp_late_periodic(k, to);
		drop_small(to);
		lasting = to->patterns;
		find_some(&f);
		set_confidence(&f, lasting);
		rc = rc ? rc : pp_late_one_off(k, to);
	}
out:
	free(order);
	free(f.peers);
	free(f.rank);
	free(f.value);
	return rc;
}
