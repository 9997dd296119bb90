/* Tails of sums of binomial counts, by convolution of what is not negligible of each; see tail.h. Called by fleet.c. */
#include "aggregate/fleet/tail.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"

/* Beyond so many deviations and counts from its mean a count has a chance below 1e-17. */
enum { DEVIATIONS = 9, COUNTS = 20 };

struct counts { /* chance of first, first + 1, ... */
	double *p;
	int64_t first;
	size_t n;
};

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

static int binomial(const struct pp_tail_group *g, struct counts *ret_counts)
{
	double n = (double)g->trials, q = (double)g->named / (double)g->of, mean = n * q,
	       reach = DEVIATIONS * sqrt(mean * (1 - q)) + COUNTS;
	double low = fmax(0, floor(mean - reach)), high = fmin(n, ceil(mean + reach));
	struct counts c = {.first = (int64_t)low, .n = (size_t)(high - low) + 1};

	c.p = calloc(c.n, sizeof(*c.p));
	if (!c.p)
		return -ENOMEM;
	for (size_t i = 0; i < c.n; i++) {
		double k = low + (double)i;

		if (g->named == g->of)
			c.p[i] = k == n;
		else
			c.p[i] = exp(log_choose(n, k) + k * log(q) + (n - k) * log1p(-q));
	}
	*ret_counts = c;
	return 0;
}

static int convolve(struct counts *sum, const struct counts *more)
{
	size_t n = sum->n + more->n - 1;
	double *p = calloc(n, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < sum->n; i++)
		for (size_t k = 0; k < more->n; k++)
			p[i + k] += sum->p[i] * more->p[k];
	free(sum->p);
	*sum = (struct counts){.p = p, .first = sum->first + more->first, .n = n};
	return 0;
}

double pp_tail(const struct pp_tail_group *group, size_t groups, int64_t count)
{
	struct counts sum = {.p = malloc(sizeof(*sum.p)), .n = 1}, one;
	double chance = 0;

	if (!sum.p)
		return -1;
	sum.p[0] = 1;
	for (size_t g = 0; g < groups; g++) {
		int rc;

		if (group[g].trials <= 0 || group[g].named <= 0 || group[g].of < group[g].named)
			continue;
		rc = binomial(&group[g], &one);
		if (!rc) {
			rc = convolve(&sum, &one);
			free(one.p);
		}
		if (rc) {
			free(sum.p);
			return -1;
		}
	}
	for (size_t i = sum.n; i > 0 && sum.first + (int64_t)i - 1 >= count; i--) /* the smallest first */
		chance += sum.p[i - 1];
	free(sum.p);
	return fmin(1, fmax(chance, PP_TAIL_LEAST));
}

struct ordered {
	double p;
	size_t at;
};

PP_COMPARE_BY_2(by_chance, struct ordered, p, at)

int pp_holm(const double *p, size_t n, double *ret_adjusted)
{
	struct ordered *order = malloc((n + 1) * sizeof(*order));
	double most = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct ordered){p[i], i};
	qsort(order, n, sizeof(*order), by_chance);
	for (size_t i = 0; i < n; i++) {
		most = fmax(most, fmin(1, order[i].p * (double)(n - i)));
		ret_adjusted[order[i].at] = most;
	}
	free(order);
	return 0;
}
