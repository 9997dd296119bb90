/* Compares the series of runs; see compare.h. */
#include "aggregate/diff/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregate/diff/causes.h"
#include "aggregate/diff/environment.h"
#include "aggregate/diff/operations.h"
#include "aggregate/diff/ops.h"
#include "aggregate/diff/ranks.h"

/* A rank that lacks a core delays the others too: so much more than its own time counts. */
#define DELAY_OTHERS 1.5

static void weigh_cores(const struct pp_diff *d, struct pp_diff_pair *p)
{
	const struct pp_diff_run *a = &d->run[p->from], *b = &d->run[p->to];
	double more = b->queue * p->step.b - a->queue * p->step.a, by = p->step.b - p->step.a;

	if (a->queue < 0 || b->queue < 0 || (more > 0) != (by > 0))
		return;
	p->cores = DELAY_OTHERS * fabs(more);
	if (p->step.word > PP_NOISE_SAME && fabs(by) > p->cores)
		p->cores = 0;
	else if (p->step.word > PP_NOISE_SAME)
		p->step.word = PP_NOISE_CORES;
}

/* A change in the last steps is too young to be called one. A session is like itself whatever its noise is. */
static void weigh_end(const struct pp_diff *d, struct pp_diff_pair *p)
{
	if (p->step.word != PP_NOISE_FEW && pp_diff_run_is_same(&d->run[p->from], &d->run[p->to])) {
		p->step.word = PP_NOISE_SAME;
		p->usual.power = 0;
		return;
	}
	if (d->run[p->to].is_ending && (p->step.word == PP_NOISE_SAME || p->step.word == PP_NOISE_SHORTER))
		p->step.word = PP_NOISE_ENDING;
}

/* Usual steps decide. If their noise hides a difference, short steps may show it: a busy machine makes steps longer, never shorter.
 * Not against the usual ones: a job is not faster because a part of its steps is. */
static void compare_steps(const struct pp_diff *d, struct pp_diff_pair *p, size_t family)
{
	const struct pp_noise few = pp_noise_compare(&d->short_step[p->from], &d->short_step[p->to], d->least, d->matters, family);

	p->step = p->usual = pp_noise_compare(&d->step[p->from], &d->step[p->to], d->least, d->matters, family);
	if (p->usual.word > PP_NOISE_SAME || few.word <= PP_NOISE_SAME || (few.b > few.a) != (p->usual.b > p->usual.a))
		return;
	p->step = few;
	p->is_short = 1;
}

/* What is looked at together shares the level of 1 %: the step times of all pairs, and the categories of all roles. */
static int compare_pair(struct pp_diff *d, double *room, struct pp_diff_pair *p, size_t from, size_t to)
{
	const size_t groups = d->shared->groups, pairs = d->runs > 2 ? 2 * (d->runs - 1) : 1;

	p->from = from;
	p->to = to;
	compare_steps(d, p, 2 * pairs);
	weigh_cores(d, p);
	weigh_end(d, p);
	if (!p->is_short)
		p->usual.word = p->step.word;
	p->group = calloc(groups + 1, sizeof(*p->group));
	if (!p->group)
		return -ENOMEM;
	for (size_t g = 0; g < groups; g++)
		for (int q = 0; q < PP_DIFF_QUANTITIES; q++) {
			struct pp_noise *n = &p->group[g][q];
			struct pp_noise_middle a, b;

			pp_diff_middle(&d->run[from], g, q, d->usual, pp_noise_middle, room, &a);
			pp_diff_middle(&d->run[to], g, q, d->usual, pp_noise_middle, room, &b);
			*n = pp_noise_compare_known(&a, &b, d->least, d->matters, pairs * groups * PP_DIFF_QUANTITIES);
			if (n->word > PP_NOISE_SAME && fabs(n->b - n->a) <= p->cores)
				n->word = PP_NOISE_CORES;
		}
	return 0;
}

/* Each 2nd, 3rd or 4th step is left out only if it is in every run: what is seen in one only would be a difference. */
static enum pp_diff_usual usual_of(const struct pp_diff_run *run, size_t runs)
{
	size_t period[2] = {0, 0};

	for (size_t r = 0; r < runs; r++) {
		const struct pp_series *s = &run[r].course;

		period[r > 0] = s->rare == PP_RARE_PERIODIC && s->period <= 4 ? s->period : 0;
		if (r && period[1] != period[0])
			return PP_DIFF_SHORT;
	}
	return PP_DIFF_USUAL;
}

static double log_choose(size_t n, size_t k)
{
	double log_ways = 0;

	for (size_t i = 0; i < k; i++)
		log_ways += log((double)(n - i) / (double)(i + 1));
	return log_ways;
}

/* Chance that the run has so many exceptional steps, or so few, where each of both runs' is in either as its steps are many. */
static double chance_of(const struct pp_diff_run *first, const struct pp_diff_run *run)
{
	const size_t k = run->course.rares, n = first->course.rares + k;
	const double part = (double)run->steps / (double)(first->steps + run->steps);
	double low = 0, high = 0;

	for (size_t i = 0; i <= n && part > 0 && part < 1; i++) {
		const double chance = exp(log_choose(n, i) + (double)i * log(part) + (double)(n - i) * log(1 - part));

		low += i <= k ? chance : 0;
		high += i >= k ? chance : 0;
	}
	return fmin(1, 2 * fmin(low, high));
}

static int compare_all(struct pp_diff *d, double *room)
{
	int rc = 0;

	for (size_t r = 0; r < d->runs; r++) {
		static const struct pp_noise_middle known = {.freedom = 1};

		pp_diff_middle(&d->run[r], d->shared->groups, PP_DIFF_STEP, d->usual, pp_noise_middle, room, &d->step[r]);
		pp_diff_middle(&d->run[r], d->shared->groups, PP_DIFF_STEP, d->usual, pp_noise_short, room, &d->short_step[r]);
		if (d->step[r].steps >= PP_NOISE_STEPS)
			d->half[r] = pp_noise_half(&d->step[r], &known, 1);
		d->chance[r] = chance_of(&d->run[0], &d->run[r]);
	}
	d->least = d->step[0].usual / 100;
	d->matters *= d->least;
	for (size_t r = 1; r < d->runs && !rc; r++) {
		rc = compare_pair(d, room, &d->first[r - 1], 0, r);
		if (!rc && d->runs > 2)
			rc = compare_pair(d, room, &d->before[r - 1], r - 1, r);
	}
	return rc;
}

int pp_diff_compare(struct pp_diff_run *run, size_t runs, const struct pp_diff_shared *shared, double matters_percent,
                    struct pp_diff *ret_diff)
{
	struct pp_diff d = {.run = run, .runs = runs, .shared = shared, .matters = matters_percent, .usual = usual_of(run, runs)};
	double *room;
	size_t most = 0;
	int rc = 0;

	for (size_t r = 0; r < runs; r++)
		most = run[r].steps > most ? run[r].steps : most;
	room = calloc(2 * most + 1, sizeof(*room));
	d.step = calloc(runs + 1, sizeof(*d.step));
	d.short_step = calloc(runs + 1, sizeof(*d.short_step));
	d.half = calloc(runs + 1, sizeof(*d.half));
	d.chance = calloc(runs + 1, sizeof(*d.chance));
	d.before = calloc(runs + 1, sizeof(*d.before));
	d.first = calloc(runs + 1, sizeof(*d.first));
	if (!room || !d.step || !d.short_step || !d.half || !d.chance || !d.before || !d.first)
		rc = -ENOMEM;
	if (!rc)
		rc = compare_all(&d, room);
	free(room);
	if (!rc)
		rc = pp_diff_causes(&d);
	if (!rc)
		rc = pp_diff_ranks(&d);
	if (!rc)
		rc = pp_diff_operations(&d);
	if (!rc)
		rc = pp_diff_ops(&d);
	if (!rc)
		rc = pp_diff_environments(&d);
	if (rc) {
		pp_diff_release(&d);
		return rc;
	}
	*ret_diff = d;
	return 0;
}

void pp_diff_release(struct pp_diff *d)
{
	for (size_t r = 1; r < d->runs; r++) {
		if (d->first)
			free(d->first[r - 1].group);
		if (d->before)
			free(d->before[r - 1].group);
	}
	for (size_t i = 0; i < d->environments; i++)
		free(d->environment[i].value);
	free(d->environment);
	free(d->cause);
	free(d->op);
	free(d->operation);
	free(d->rank);
	free(d->first);
	free(d->before);
	free(d->chance);
	free(d->half);
	free(d->short_step);
	free(d->step);
}
