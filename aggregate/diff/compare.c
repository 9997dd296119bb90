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

static struct pp_noise_series slowest(const struct pp_diff_run *run)
{
	return (struct pp_noise_series){run->slowest, run->steps};
}

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

/* What is looked at together shares the level of 1 %: the step times of all pairs, and the categories of all roles. */
static int compare_pair(struct pp_diff *d, struct pp_diff_pair *p, size_t from, size_t to)
{
	size_t groups = d->shared->groups, pairs = d->runs > 2 ? 2 * (d->runs - 1) : 1;
	const struct pp_diff_run *a = &d->run[from], *b = &d->run[to];
	int rc;

	p->from = from;
	p->to = to;
	rc = pp_noise_compare(slowest(a), slowest(b), d->least, pairs, &p->step);

	weigh_cores(d, p);
	p->group = calloc(groups + 1, sizeof(*p->group));
	if (!p->group)
		return -ENOMEM;
	for (size_t g = 0; g < groups; g++)
		for (int q = 0; q < PP_DIFF_QUANTITIES && !rc; q++) {
			struct pp_noise *n = &p->group[g][q];

			rc = pp_noise_compare(pp_diff_series(a, g, q), pp_diff_series(b, g, q), d->least,
			                      pairs * groups * PP_DIFF_QUANTITIES, n);
			if (n->word > PP_NOISE_SAME && fabs(n->b - n->a) <= p->cores)
				n->word = PP_NOISE_CORES;
		}
	return rc;
}

int pp_diff_compare(struct pp_diff_run *run, size_t runs, const struct pp_diff_shared *shared, struct pp_diff *ret_diff)
{
	struct pp_diff d = {.run = run, .runs = runs, .shared = shared, .least = pp_noise_mean(slowest(&run[0])) / 100};
	int rc = 0;

	d.half = calloc(runs, sizeof(*d.half));
	d.before = calloc(runs, sizeof(*d.before));
	d.first = calloc(runs, sizeof(*d.first));
	if (!d.half || !d.before || !d.first)
		rc = -ENOMEM;
	for (size_t r = 0; r < runs && !rc; r++)
		rc = pp_noise_half(slowest(&run[r]), &d.half[r]);
	for (size_t r = 1; r < runs && !rc; r++) {
		rc = compare_pair(&d, &d.first[r - 1], 0, r);
		if (!rc && runs > 2)
			rc = compare_pair(&d, &d.before[r - 1], r - 1, r);
	}
	if (!rc)
		rc = pp_diff_ranks(&d);
	if (!rc)
		rc = pp_diff_causes(&d);
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
	free(d->half);
}
