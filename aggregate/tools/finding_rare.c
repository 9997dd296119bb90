/* Steps that take longer than usual: how often, how long, who is late in them; see finding.h. Called by finding.c. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/finding.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/units.h"

enum { REASONS = PP_REASONS, ALL_PART = 2 };
#define KEEPER ", which keeps the others waiting"
#define LEVEL 0.05 /* of the same rank in each of them by chance */

struct rare {
	struct pp_finding_search *f;
	uint8_t *which;     /* [steps] the exceptional steps at hand */
	uint8_t *beside;    /* [steps] those that these are compared with */
	size_t steps, runs; /* of these, and how often they come: steps in succession are one */
	size_t first, longest;
	double each, cost; /* median of what they take longer than the usual step; sum of it by all steps */
	double *usual;     /* [workers][REASONS] mean of the other steps on the longest one's side of a change, ns */
	double *more;      /* [workers][REASONS] mean of the exceptional ones above that */
	double *room;      /* [workers + steps] */
	double *waits;     /* [steps][workers] for others, behind the step */
	uint8_t *named;    /* [workers] */
	int is_before;     /* the steps at hand are those before a change, and compared with the ones behind it */
};

static int is_work(int reason)
{
	return pp_reason_is_work(reason) || reason == PP_REASON_BETWEEN_STEPS;
}

static double part_of(const struct rare *r, size_t step, size_t w, int reason)
{
	const struct pp_dataset *d = r->f->d;
	const struct pp_row_cell *cell = &d->cell[step * d->workers + w];

	if (reason == PP_REASON_BETWEEN_STEPS)
		return fmax(0, (double)(pp_usual_steps_time(d, step, w) - cell->step_ns) - r->waits[step * d->workers + w]);
	return (double)cell->exclusive_ns[reason];
}

/* What ranks wait in calls between steps is not what makes these longer. */
static void set_waits(struct rare *r)
{
	const struct pp_graph *g = r->f->g;
	const struct pp_dataset *d = r->f->d;

	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct pp_node *n = &g->node[i];
		const uint32_t step = pp_graph_step(g, n);
		const size_t at = step == PP_GRAPH_NONE ? 0 : step * d->workers + n->track;

		if (step != PP_GRAPH_NONE && step + 1 < d->steps && n->start >= d->cell[at].end_ns)
			r->waits[at] += (double)pp_graph_wait(g, i);
	}
}

/* Means of each rank, over the steps of one kind in which it is there. */
static void set_means(const struct rare *r, const uint8_t *which, double *mean)
{
	const struct pp_dataset *d = r->f->d;

	for (size_t w = 0; w < d->workers; w++) {
		size_t n = 0;

		for (size_t s = 0; s < d->steps; s++)
			n += which[s] && d->cell[s * d->workers + w].present;
		for (int k = 1; k < REASONS; k++) {
			double sum = 0;

			for (size_t s = 0; is_work(k) && s < d->steps; s++)
				if (which[s] && d->cell[s * d->workers + w].present)
					sum += part_of(r, s, w, k);
			mean[w * REASONS + (size_t)k] = n ? sum / (double)n : 0;
		}
	}
}

/* What the rank works more than usual in the step, ns. */
static double more_work(const struct rare *r, size_t step, size_t w)
{
	double ns = 0;

	for (int k = 1; k < REASONS; k++)
		if (is_work(k))
			ns += part_of(r, step, w, k) - r->usual[w * REASONS + (size_t)k];
	return ns;
}

/* Lower median: at least half of them have as much. Sorts them. */
static double half_have(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), pp_compare_double);
	return n ? v[(n - 1) / 2] : 0;
}

/* What the step would take if it were none of those at hand. */
static double base_of(const struct rare *r, size_t step)
{
	return r->is_before ? r->f->usual.usual_ns : pp_usual_steps_base(&r->f->usual, step);
}

/* The rank that works most more than usual in the step, and at least half of what the step takes longer; SIZE_MAX: none. */
static size_t late_in(const struct rare *r, size_t step)
{
	const struct pp_dataset *d = r->f->d;
	double most = (r->f->usual.time[step] - base_of(r, step)) / ALL_PART;
	size_t late = SIZE_MAX;

	for (size_t w = 0; w < d->workers; w++) {
		const double more = d->cell[step * d->workers + w].present ? more_work(r, step, w) : 0;

		if (more <= most)
			continue;
		most = more;
		late = w;
	}
	return late;
}

/* Over the steps at hand, does it work more than usual by twice what any other rank does? The delay of one step may show in the
 * next. */
static int is_alone(const struct rare *r, size_t rank)
{
	const struct pp_dataset *d = r->f->d;
	double own = 0, other = 0;

	for (size_t w = 0; w < d->workers; w++) {
		double sum = 0;

		for (size_t s = 0; s < d->steps; s++)
			if (r->which[s] && d->cell[s * d->workers + w].present)
				sum += more_work(r, s, w);
		own = w == rank ? sum : own;
		other = w != rank && sum > other ? sum : other;
	}
	return own > 2 * other;
}

/* The rank that is late in most of them, if chance gives that hardly; of what comes once, as a fact. SIZE_MAX: none. */
static size_t find_rank(const struct rare *r, enum pp_finding_kind kind)
{
	const struct pp_dataset *d = r->f->d;
	size_t best = late_in(r, r->longest), hits = 0;
	double chance = 1;
	int is_in = 0; /* the rank is late in this run of steps */

	if ((kind == PP_FINDING_ONE_OFF && !r->is_before) || r->steps < 2 || best == SIZE_MAX)
		return best;
	if ((kind == PP_FINDING_START_UP || r->is_before) && is_alone(r, best))
		return best;
	for (size_t s = 0; s < d->steps; s++) {
		is_in = r->which[s] && (is_in || late_in(r, s) == best);
		hits += is_in && (s + 1 == d->steps || !r->which[s + 1]);
	}
	for (size_t i = 1; i < hits; i++)
		chance /= (double)d->workers;
	return 4 * hits >= 3 * r->runs && chance < LEVEL ? best : SIZE_MAX;
}

/* Where no work of the steps at hand tells: the rank for which the others wait half of what these steps take longer, and twice as
 * long as for any other one. It came late to them. SIZE_MAX: none. */
static size_t find_keeper(const struct rare *r)
{
	const struct pp_dataset *d = r->f->d;
	double most = 0, second = 0;
	size_t best = SIZE_MAX;

	for (size_t w = 0; w < d->workers; w++) {
		int64_t sum = 0;

		for (size_t s = 0; s < d->steps; s++)
			if (r->which[s] && d->cell[s * d->workers + w].present)
				pp_known_add(&sum, d->cell[s * d->workers + w].late_ns);
		if ((double)sum > most) {
			second = most;
			most = (double)sum;
			best = w;
		} else if ((double)sum > second)
			second = (double)sum;
	}
	if (best == SIZE_MAX || most <= 2 * second || d->workers < 2)
		return SIZE_MAX;
	return most / (double)(d->workers - 1) >= r->each / ALL_PART * (double)r->steps ? best : SIZE_MAX;
}

/* The kind of work with the largest part of what these steps take more: of a rank, or the lower median of all. */
static int find_reason(const struct rare *r, size_t rank, double *ret_ns)
{
	const struct pp_dataset *d = r->f->d;
	int most = PP_REASON_UNKNOWN;

	*ret_ns = 0;
	for (int k = 1; k < REASONS; k++) {
		double ns;

		if (!is_work(k))
			continue;
		for (size_t w = 0; w < d->workers; w++)
			r->room[w] = r->more[w * REASONS + (size_t)k];
		ns = rank < d->workers ? r->more[rank * REASONS + (size_t)k] : half_have(r->room, d->workers);
		if (ns <= *ret_ns)
			continue;
		*ret_ns = ns;
		most = k;
	}
	return most;
}

static void say_when(const struct pp_row_finding *row, char *to, size_t size)
{
	switch (row->kind) {
	case PP_FINDING_PERIODIC:
		snprintf(to, size, "every %" PRId64 " steps, %" PRIu32 " times from step %" PRId64 " on", row->finding_period,
		         row->finding_steps, row->finding_first);
		break;
	case PP_FINDING_ONE_OFF:
		if (row->finding_steps > 1)
			snprintf(to, size, "once, in %" PRIu32 " steps from step %" PRId64 " on", row->finding_steps,
			         row->finding_first);
		else
			snprintf(to, size, "once, in step %" PRId64, row->finding_first);
		break;
	case PP_FINDING_START_UP:
		snprintf(to, size, row->finding_steps > 1 ? "the first %" PRIu32 " steps" : "the first step", row->finding_steps);
		break;
	default:
		snprintf(to, size, "in %" PRIu32 " of %" PRIu32 " steps, first in step %" PRId64, row->finding_steps, row->of_steps,
		         row->finding_first);
	}
}

/* Where no rank is named, a fact: who is late in the longest of the steps, or in each of them. */
static void say_fact(const struct rare *r, const struct pp_row_finding *row, char *to, size_t size)
{
	const size_t late = row->who[0] ? SIZE_MAX : late_in(r, r->longest);
	size_t hits = 0;

	to[0] = '\0';
	for (size_t s = 0; s < r->f->d->steps && late != SIZE_MAX; s++)
		hits += r->which[s] && late_in(r, s) == late;
	if (late != SIZE_MAX && hits > 1 && hits == r->steps)
		snprintf(to, size, ". Rank %" PRId32 " is late in each of them, which may be chance", r->f->d->worker[late].rank);
	else if (late != SIZE_MAX)
		snprintf(to, size, ". In the longest of them, step %" PRId64 ", rank %" PRId32 " is late",
		         r->f->d->step[r->longest].number, r->f->d->worker[late].rank);
}

static void say(const struct rare *r, struct pp_row_finding *row)
{
	const char *reason = row->finding_reason ? pp_reason_name(row->finding_reason) : "";
	const int is_one = row->finding_ranks > 0 && r->f->d->workers > 1;
	char when[88], more[PP_TEXT_UNIT], mean[PP_TEXT_UNIT], cost[44] = "", fact[80], whom[140] = "";

	say_when(row, when, sizeof(when));
	say_fact(r, row, fact, sizeof(fact));
	if (row->kind == PP_FINDING_PERIODIC || row->kind == PP_FINDING_IRREGULAR)
		snprintf(cost, sizeof(cost), ", %s per step on average", pp_text_time(mean, row->finding_gain_ns));
	if (row->who[0])
		snprintf(whom, sizeof(whom), ": %s%s%s", row->who, reason[0] ? ", " : is_one ? KEEPER : "", reason);
	else if (!fact[0])
		snprintf(whom, sizeof(whom), ": no single rank");
	snprintf(row->finding, sizeof(row->finding), "%s%s. %s %s longer than the usual step%s%s", when, whom,
	         row->finding_steps > 1 ? "These steps take" : "It takes", pp_text_time(more, row->more_ns), cost, fact);
	if (row->kind == PP_FINDING_START_UP)
		snprintf(row->finding_next, sizeof(row->finding_next), "record later steps, or leave the first ones out");
	else if (row->kind == PP_FINDING_PERIODIC)
		snprintf(row->finding_next, sizeof(row->finding_next),
		         "find what runs at this period: checkpoints, logging, evaluation, garbage collection; %s",
		         row->finding_reason == PP_CATEGORY_OUTPUT ? "write in the background, or less often"
		                                                   : pp_finding_look_at(row->finding_reason, is_one));
	else
		snprintf(row->finding_next, sizeof(row->finding_next), "open step %" PRId64 " in the timeline; %s",
		         r->f->d->step[r->longest].number, pp_finding_look_at(row->finding_reason, is_one));
}

/* How long the step is, for the choice of the one that is named: one in which nobody is late only waited for the step before it. */
static double late_time(const struct rare *r, size_t step)
{
	return late_in(r, step) == SIZE_MAX ? 0 : r->f->usual.time[step];
}

/* Means of the steps that are not exceptional, before a change or after it, as the longest of the steps at hand. */
static void set_usual(struct rare *r)
{
	const struct pp_usual_steps *u = &r->f->usual;
	const size_t steps = r->f->d->steps;
	size_t longest = steps;

	for (size_t s = 0; s < steps; s++)
		longest = r->which[s] && (longest == steps || u->time[s] > u->time[longest]) ? s : longest;
	for (size_t s = 0; s < steps; s++)
		r->beside[s] =
		        !u->is_rare[s] && !u->is_other[s] && (s < u->course.onset) == (longest < u->course.onset && !r->is_before);
	set_means(r, r->beside, r->usual);
}

/* What the steps at hand take longer than the usual one. */
static void measure(struct rare *r)
{
	const struct pp_usual_steps *u = &r->f->usual;
	double sum = 0;

	r->steps = r->runs = 0;
	for (size_t s = 0; s < r->f->d->steps; s++) {
		if (!r->which[s])
			continue;
		r->first = r->steps ? r->first : s;
		r->runs += !s || !r->which[s - 1];
		r->longest = r->steps && late_time(r, s) <= late_time(r, r->longest) ? r->longest : s;
		r->room[r->steps] = u->time[s] - base_of(r, s);
		sum += r->room[r->steps++];
	}
	r->cost = sum / (double)r->f->d->steps;
	r->each = pp_series_median(r->room, r->steps);
}

/* Steps of a period: their first one and their number. Others may be exceptional, too, also before the first. */
static void set_period(const struct rare *r, struct pp_row_finding *row)
{
	const struct pp_series *course = &r->f->usual.course;
	const size_t steps = r->f->d->steps, most = (steps - 1 - course->first_rare) / course->period + 1;
	size_t runs = 0;

	for (size_t s = course->first_rare; s < steps; s++)
		runs += r->which[s] && (s == course->first_rare || !r->which[s - 1]);
	row->finding_period = (int64_t)course->period;
	row->finding_first = r->f->d->step[course->first_rare].number;
	row->finding_steps = (uint32_t)(runs < most ? runs : most);
}

/* Work of a rank in a step, ns. */
static double work_of(const struct pp_dataset *d, size_t step, size_t w)
{
	const struct pp_row_cell *cell = &d->cell[step * d->workers + w];
	double ns = 0;

	for (int k = 1; k <= PP_CATEGORIES && cell->present; k++)
		if (pp_reason_is_work(k))
			ns += (double)cell->exclusive_ns[k];
	return ns;
}

/* A rank that calls only every few steps is late in the step of the call. Did it work more in the steps in front of these? */
static int works_before(const struct pp_finding_search *f, size_t w, const uint8_t *is_rare)
{
	double sum[3] = {0}; /* in front of a late step, in it, in others */
	size_t n[3] = {0};

	for (size_t s = 0; s < f->d->steps; s++) {
		const int which = is_rare[s] ? 1 : s + 1 < f->d->steps && is_rare[s + 1] ? 0 : 2;

		sum[which] += work_of(f->d, s, w);
		n[which]++;
	}
	for (int i = 0; i < 3; i++)
		sum[i] /= (double)(n[i] ? n[i] : 1);
	return n[0] && n[1] && n[2] && sum[0] - sum[2] > 2 * (sum[1] - sum[2]) && sum[0] > sum[2];
}

/* What the rank that keeps the others waiting works more than usual in the steps in front of those at hand; UNKNOWN: nothing. */
static int reason_before(const struct rare *r, size_t rank)
{
	const size_t steps = r->f->d->steps;
	int reason = PP_REASON_UNKNOWN;
	double ns;

	if (!works_before(r->f, rank, r->which))
		return reason;
	for (size_t s = 0; s < steps; s++)
		r->beside[s] = s + 1 < steps && !r->which[s] && r->which[s + 1];
	set_means(r, r->beside, r->more);
	for (size_t i = 0; i < r->f->d->workers * REASONS; i++)
		r->more[i] -= r->usual[i];
	reason = find_reason(r, rank, &ns);
	return ns >= r->each / ALL_PART ? reason : PP_REASON_UNKNOWN;
}

static int add(struct rare *r, enum pp_finding_kind kind)
{
	const struct pp_dataset *d = r->f->d;
	struct pp_row_finding *row;
	double all_ns, ns;
	size_t rank, keeper;
	int all, reason, rc = 0;

	set_usual(r);
	measure(r);
	if (!r->steps || r->each <= 0 || r->cost < r->f->least_ns)
		return 0;
	row = pp_finding_add(r->f, kind, PP_REASON_UNKNOWN, (int64_t)r->cost);
	if (!row)
		return -ENOMEM;
	set_means(r, r->which, r->more);
	for (size_t i = 0; i < d->workers * REASONS; i++)
		r->more[i] -= r->usual[i];
	rank = find_rank(r, kind);
	keeper = kind != PP_FINDING_IRREGULAR ? find_keeper(r) : SIZE_MAX;
	all = find_reason(r, SIZE_MAX, &all_ns);
	reason = find_reason(r, rank, &ns);
	row->more_ns = (int64_t)r->each;
	row->finding_steps = (uint32_t)r->steps;
	row->of_steps = (uint32_t)d->steps;
	row->finding_first = d->step[r->first].number;
	if (kind == PP_FINDING_PERIODIC)
		set_period(r, row);
	if (all_ns >= r->each / ALL_PART) {
		row->finding_reason = (pp_c_CODE)all;
		snprintf(row->who, sizeof(row->who), d->workers > 1 ? "all ranks" : "the rank");
	} else if (rank != SIZE_MAX || keeper != SIZE_MAX) {
		row->finding_reason = (pp_c_CODE)(rank != SIZE_MAX ? reason : reason_before(r, keeper));
		rank = rank != SIZE_MAX ? rank : keeper;
		row->finding_worker = d->worker[rank].rank;
		r->named[rank] = 1;
		rc = pp_finding_who(d, r->named, 1, row);
		r->named[rank] = 0;
	}
	say(r, row);
	return rc < 0 ? rc : 0;
}

/* The run of steps at hand that takes longer by three times what all others do together. */
static int find_run(const struct rare *r, size_t *ret_begin, size_t *ret_end)
{
	const struct pp_usual_steps *u = &r->f->usual;
	double sum = 0, run = 0, most = 0;
	size_t begin = 0;

	*ret_begin = *ret_end = 0;
	for (size_t s = 0; s < r->f->d->steps; s++) {
		const double more = r->which[s] ? u->time[s] - pp_usual_steps_base(u, s) : 0;

		begin = r->which[s] && s && r->which[s - 1] ? begin : s;
		run = begin == s ? more : run + more;
		sum += more;
		if (run <= most)
			continue;
		most = run;
		*ret_begin = begin;
		*ret_end = s + 1;
	}
	return 4 * most > 3 * sum;
}

/* The exceptional steps at the begin, or the others. */
static void set_which(struct rare *r, int is_start)
{
	for (size_t s = 0; s < r->f->d->steps; s++)
		r->which[s] = (s < r->f->usual.course.start_ups) == is_start && r->f->usual.is_rare[s];
}

/* Without a rhythm: of a run that outweighs all others is said that it came once, of the others how many they are. */
static int add_irregular(struct rare *r)
{
	size_t begin, end;
	int rc;

	if (!find_run(r, &begin, &end))
		return add(r, PP_FINDING_IRREGULAR);
	memset(r->which, 0, begin);
	memset(r->which + end, 0, r->f->d->steps - end);
	rc = add(r, PP_FINDING_ONE_OFF);
	if (rc)
		return rc;
	set_which(r, 0);
	memset(r->which + begin, 0, end - begin);
	measure(r);
	return add(r, r->runs > 1 ? PP_FINDING_IRREGULAR : PP_FINDING_ONE_OFF);
}

/* Steps that took longer until something changed for good. */
static int add_before(struct rare *r)
{
	const struct pp_usual_steps *u = &r->f->usual;
	int rc;

	if (u->course.course != PP_COURSE_SUDDEN || u->course.before <= u->course.level)
		return 0;
	for (size_t s = 0; s < r->f->d->steps; s++)
		r->which[s] = s < u->course.onset && !u->is_rare[s];
	r->is_before = 1;
	rc = add(r, PP_FINDING_ONE_OFF);
	r->is_before = 0;
	return rc;
}

static int add_all(struct rare *r)
{
	int rc = add_before(r);

	if (rc)
		return rc;

	set_which(r, 0);
	if (r->f->usual.course.rare == PP_RARE_IRREGULAR)
		rc = add_irregular(r);
	else if (r->f->usual.course.rare == PP_RARE_PERIODIC)
		rc = add(r, PP_FINDING_PERIODIC);
	else if (r->f->usual.course.rare == PP_RARE_ONE_OFF)
		rc = add(r, PP_FINDING_ONE_OFF);
	set_which(r, 1);
	return rc ? rc : add(r, PP_FINDING_START_UP);
}

int pp_finding_rare_add(struct pp_finding_search *f)
{
	const struct pp_dataset *d = f->d;
	const size_t cells = d->workers * REASONS + 1;
	struct rare r = {.f = f};
	int rc = -ENOMEM;

	if (f->usual.course.rare == PP_RARE_NONE && f->usual.course.course != PP_COURSE_SUDDEN)
		return 0;
	r.which = calloc(2 * d->steps + 1, 1);
	r.beside = r.which ? r.which + d->steps : NULL;
	r.usual = calloc(cells, sizeof(*r.usual));
	r.more = calloc(cells, sizeof(*r.more));
	r.room = calloc(d->workers + d->steps + 1, sizeof(*r.room));
	r.named = calloc(d->workers + 1, 1);
	r.waits = calloc(d->steps * d->workers + 1, sizeof(*r.waits));
	if (r.which && r.usual && r.more && r.room && r.named && r.waits) {
		set_waits(&r);
		rc = add_all(&r);
	}
	free(r.which);
	free(r.usual);
	free(r.more);
	free(r.room);
	free(r.named);
	free(r.waits);
	return rc;
}

enum { FAINT = 4 }; /* a part of the usual excess: not one of the period */

/* The steps in which the rank is periodically late: exceptional, if the job's are not periodic by themselves. */
static void take_period(struct pp_finding_search *f, size_t w, const struct pp_series *of_rank, uint8_t *is_rare)
{
	struct pp_usual_steps *u = &f->usual;
	const size_t steps = f->d->steps;
	size_t first = of_rank->first_rare, lag;

	while (first + of_rank->period < steps && pp_finding_more(f, first, w) < of_rank->rare_each / FAINT) {
		is_rare[first] = 0;
		first += of_rank->period;
	}
	lag = first && works_before(f, w, is_rare);
	u->course.rare = PP_RARE_PERIODIC;
	u->course.period = of_rank->period;
	u->course.first_rare = first - lag;
	for (size_t s = 0; s < steps; s++) {
		const int is_start = s < u->course.start_ups;

		u->is_rare[s] = (is_start && u->is_rare[s]) || is_rare[s] || (lag && s + 1 < steps && is_rare[s + 1]);
	}
	pp_usual_steps_measure(u, steps);
	pp_finding_steps_measure(f);
}

int pp_finding_rare_find(struct pp_finding_search *f)
{
	const struct pp_dataset *d = f->d;
	double *more = f->room + 3 * d->steps, most = f->least_ns, all = 0;
	uint8_t *is_rare = calloc(2 * d->steps + 1, 1), *best;
	double *latest = calloc(d->steps + 1, sizeof(*latest)); /* what the latest rank of each step has more */
	size_t rank = 0;
	struct pp_series course, of_best = {.rare = PP_RARE_NONE};

	if (!is_rare || !latest) {
		free(is_rare);
		free(latest);
		return -ENOMEM;
	}
	best = is_rare + d->steps;
	for (size_t w = 0; w < d->workers && f->usual.course.rare != PP_RARE_PERIODIC; w++) {
		double sum = 0;

		for (size_t s = 0; s < d->steps; s++) {
			sum += more[s] = pp_finding_more(f, s, w);
			latest[s] = fmax(latest[s], more[s]);
		}
		if (sum < most * (double)d->steps)
			continue;
		pp_series_of(more, d->steps, f->least_ns, f->room, is_rare, &course);
		if (course.rare != PP_RARE_PERIODIC || course.rare_cost <= most)
			continue;
		most = course.rare_cost;
		of_best = course;
		rank = w;
		memcpy(best, is_rare, d->steps);
	}
	for (size_t s = 0; s < d->steps; s++)
		all += latest[s] / (double)d->steps;
	if (of_best.rare != PP_RARE_NONE && of_best.rare_cost > all / 2) /* else others are late as well: they take turns */
		take_period(f, rank, &of_best, best);
	free(is_rare);
	free(latest);
	return 0;
}
