/* Which ranks do unusual work more often than by chance; see finding.h. Called by finding.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregate/tools/finding.h"

enum { UNITS = 16 }; /* a window of fewer steps is counted by parts of steps */
#define LEVEL 0.02   /* of all ranks together */
#define MINOR 0.1    /* of what the latest rank usually works more: beside it such a rank is not late */

double pp_finding_more(const struct pp_finding_search *f, size_t step, size_t worker)
{
	double ns = 0;

	for (size_t b = 0; b < f->blocks; b++)
		ns += (double)f->more[(step * f->blocks + b) * f->d->workers + worker];
	return ns;
}

/* Unusual work of one track: its nodes in a step are one behind the other. */
static void sum_track(struct pp_finding_search *f, size_t w)
{
	const struct pp_graph *g = f->g;

	for (size_t i = g->track[w], end; i < g->track[w + 1]; i = end) {
		const uint32_t step = pp_graph_step(g, &g->node[i]);

		for (end = i + 1; end < g->track[w + 1] && pp_graph_step(g, &g->node[end]) == step;)
			end++;
		for (size_t k = i; k < end && step != PP_GRAPH_NONE; k++) {
			const size_t block = (k - i) * f->blocks / (end - i);

			if (g->node[k].unusual > 0)
				f->more[(step * f->blocks + block) * f->d->workers + w] +=
				        (float)(g->node[k].unusual * (double)pp_graph_local(g, (uint32_t)k));
		}
	}
}

/* What each other rank waits for a rank. */
static void sum_blame(struct pp_finding_search *f)
{
	const struct pp_row_blame_step *row = f->step_blame->row;
	const size_t workers = f->d->workers;

	for (size_t i = 0; i < f->step_blame->rows; i++) {
		const size_t w = pp_dataset_worker(f->d, row[i].worker), s = pp_dataset_step(f->d, row[i].step);

		if (w != SIZE_MAX && s != SIZE_MAX && row[i].step_blame_ns > row[i].step_error_ns)
			f->more[s * workers + w] += (float)row[i].step_blame_ns / (float)(workers - 1);
	}
}

int pp_finding_late_init(struct pp_finding_search *f)
{
	f->blocks = f->d->steps >= UNITS || !f->d->steps || f->is_by_blame ? 1 : (UNITS + f->d->steps - 1) / f->d->steps;
	f->more = calloc(f->d->steps * f->blocks * f->d->workers + 1, sizeof(*f->more));
	if (!f->more)
		return -ENOMEM;
	for (size_t w = 0; w < f->d->workers && !f->is_by_blame; w++)
		sum_track(f, w);
	if (f->is_by_blame)
		sum_blame(f);
	return 0;
}

/* Probability of `hits` or more of n, each with probability p. */
static double chance_of(size_t hits, size_t n, double p)
{
	const double k = (double)hits, all = (double)n;
	double term, sum = 0;

	if (p >= 1 || !hits)
		return 1;
	term = exp(lgamma(all + 1) - lgamma(k + 1) - lgamma(all - k + 1) + k * log(p) + (all - k) * log1p(-p));
	for (size_t i = hits; i <= n && term > sum * 1e-12; i++) {
		sum += term;
		term *= (double)(n - i) / (double)(i + 1) * p / (1 - p);
	}
	return sum < 1 ? sum : 1;
}

/* What the latest rank of a part of a step usually works more. */
static double usual_most(const struct pp_finding_search *f)
{
	const size_t workers = f->d->workers, units = f->d->steps * f->blocks;
	double *most = calloc(units + 1, sizeof(*most)), median;
	size_t n = 0;

	if (!most)
		return 0;
	for (size_t u = 0; u < units; u++) {
		double one = 0;

		for (size_t w = 0; w < workers && f->usual.is_usual[u / f->blocks]; w++)
			one = fmax(one, (double)f->more[u * workers + w]);
		if (one > f->least_ns / (double)f->blocks)
			most[n++] = one;
	}
	median = pp_series_median(most, n);
	free(most);
	return median;
}

/* A random rank is late in each part in which any is: with two ranks each of them in half of these. */
int pp_finding_late_find(const struct pp_finding_search *f, struct pp_finding_late *ret)
{
	const size_t workers = f->d->workers;
	const double least = fmax(f->least_ns / (double)f->blocks, MINOR * usual_most(f));
	size_t *hits = calloc(workers + 1, sizeof(*hits)), late = 0;
	double share;

	*ret = (struct pp_finding_late){.is_late = calloc(workers + 1, 1)};
	if (!hits || !ret->is_late) {
		free(hits);
		return -ENOMEM;
	}
	for (size_t s = 0; s < f->d->steps; s++)
		for (size_t b = 0; b < f->blocks && f->usual.is_usual[s]; b++) {
			const float *more = &f->more[(s * f->blocks + b) * workers];
			size_t n = 0;

			for (size_t w = 0; w < workers; w++)
				if ((double)more[w] > least) {
					hits[w]++;
					n++;
				}
			ret->units++;
			ret->any += n > 0;
			late += n;
		}
	share = ret->any ? (double)late / (double)ret->any / (double)workers : 1;
	for (size_t w = 0; w < workers; w++) {
		const double chance = chance_of(hits[w], ret->any, share) * (double)workers;

		if (chance >= LEVEL)
			continue;
		ret->is_late[w] = 1;
		ret->late++;
		ret->chance = chance > ret->chance ? chance : ret->chance;
	}
	free(hits);
	return 0;
}
