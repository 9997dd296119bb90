/* Which workers share a clock: domains of a dataset, and what is known between them. Called by dataset.c and merge.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/dataset.h"

struct one {
	const struct pp_worker *worker;
	size_t group;
};

static int compare_clock(const struct pp_worker *x, const struct pp_worker *y)
{
	int order = strcmp(x->clock, y->clock);

	if (order || x->clock[0])
		return order;
	return (x->domain > y->domain) - (x->domain < y->domain);
}

static int compare_one(const void *a, const void *b)
{
	const struct one *x = a, *y = b;
	int order = compare_clock(x->worker, y->worker);

	return order ? order : (x->worker > y->worker) - (x->worker < y->worker);
}

static int is_missing(const struct pp_worker *w)
{
	return strncmp(w->status, "missing", 7) == 0;
}

int32_t pp_dataset_domains(const struct pp_dataset *d)
{
	int32_t domains = 0;

	for (size_t w = 0; w < d->workers; w++)
		if (!is_missing(&d->worker[w]) && d->worker[w].domain >= domains && d->worker[w].domain < INT32_MAX)
			domains = d->worker[w].domain + 1;
	return domains;
}

size_t pp_dataset_peers(const struct pp_dataset *d, size_t worker)
{
	size_t peers = 0;

	for (size_t w = 0; w < d->workers; w++)
		peers += w != worker && !is_missing(&d->worker[w]) && d->worker[w].domain == d->worker[worker].domain;
	return peers;
}

/* Of its times against job time: what its own line is off, and what the comparing of its host's clock leaves. */
static int64_t bound_of(const struct pp_dataset *d, const struct pp_worker *w)
{
	int64_t bound;

	if (!w->host_clock)
		return w->own_bound_ns;
	return __builtin_add_overflow(w->own_bound_ns, d->host_clock[w->host_clock - 1].bound_ns, &bound) ? PP_BOUND_UNKNOWN
	                                                                                                  : bound;
}

int pp_dataset_clocks(struct pp_dataset *d)
{
	struct one *one = calloc(d->workers + 1, sizeof(*one));
	int32_t *domain = calloc(d->workers + 1, sizeof(*domain)), *of_group = calloc(d->workers + 1, sizeof(*of_group)),
	        domains = 0;
	const struct pp_worker *first = NULL;

	if (!one || !domain || !of_group) {
		free(one);
		free(domain);
		free(of_group);
		return -ENOMEM;
	}
	for (size_t w = 0; w < d->workers; w++)
		one[w].worker = &d->worker[w];
	qsort(one, d->workers, sizeof(*one), compare_one);
	for (size_t i = 1; i < d->workers; i++)
		one[i].group = one[i - 1].group + (compare_clock(one[i - 1].worker, one[i].worker) != 0);
	for (size_t i = 0; i < d->workers; i++)
		domain[one[i].worker - d->worker] = (int32_t)one[i].group;
	for (size_t w = 0; w < d->workers; w++) {
		int32_t *number = &of_group[domain[w]];

		if (d->worker[w].domain < 0)
			continue;
		if (!*number)
			*number = ++domains;
		d->worker[w].domain = *number - 1;
	}
	free(one);
	free(domain);
	free(of_group);
	for (size_t w = 0; w < d->workers; w++) {
		struct pp_worker *worker = &d->worker[w];

		if (worker->domain < 0)
			continue;
		if (!first && !is_missing(worker))
			first = worker;
		worker->bound_ns = first && worker->domain == first->domain ? bound_of(d, worker) : PP_BOUND_UNKNOWN;
	}
	return 0;
}
