/* Makes what the first screen shows; see first.h. */
#include "aggregate/report/data/first.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/known.h"

int pp_first_of(const struct pp_dataset *d, const struct pp_answer *a, struct pp_first *ret)
{
	struct pp_first *f = ret;

	*f = (struct pp_first){.findings = 0};
	if (pp_usual_steps_find(d, &f->usual) || pp_regimes_of(d, &f->usual, &f->regimes))
		return -ENOMEM;
	f->mean = pp_rank_means(d, &f->usual);
	if (!f->mean)
		return -ENOMEM;
	if (a->finding) {
		f->finding[f->findings++] = a->finding;
		for (size_t i = 0; i < a->alsos; i++)
			f->finding[f->findings++] = a->also[i];
	}
	for (size_t i = 0; i < f->findings; i++)
		pp_evidence_of(d, &f->usual, &f->regimes, f->finding[i], &f->evidence[i]);
	pp_sentence_of(a, f->sentence);
	pp_facts_of(d, &f->usual, f->mean, a, f->fact);
	return 0;
}

void pp_first_release(struct pp_first *f)
{
	pp_usual_steps_release(&f->usual);
	pp_regimes_release(&f->regimes);
	free(f->mean);
	f->mean = NULL;
}

int64_t pp_first_value(const struct pp_first *f, size_t worker)
{
	const struct pp_rank_mean *m = &f->mean[worker];
	const int category = f->findings ? f->evidence[0].category : 0;

	if (!m->steps)
		return PP_UNKNOWN;
	return category ? m->ns[category] : f->findings && !strcmp(f->evidence[0].colour, "kept_ns") ? m->late_ns : m->ns[0];
}

struct of_rank {
	int64_t ns;
	int32_t rank;
};

PP_COMPARE(by_value, struct of_rank, PP_UP(ns) ?: PP_UP(rank))

static int is_late(const struct pp_first *f, int32_t rank)
{
	for (size_t i = 0; f->findings && i < f->evidence[0].lates; i++)
		if (f->evidence[0].late[i] == rank)
			return 1;
	return 0;
}

void pp_first_bands(const struct pp_dataset *d, const struct pp_first *f, int32_t ret_rank[PP_FIRST_BANDS])
{
	struct of_rank *list = malloc((d->workers + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t w = 0; list && w < d->workers; w++) {
		const int64_t ns = pp_first_value(f, w);

		if (pp_is_known(ns) && !is_late(f, d->worker[w].rank))
			list[n++] = (struct of_rank){ns, d->worker[w].rank};
	}
	if (list)
		qsort(list, n, sizeof(*list), by_value);
	for (size_t i = 0; i < PP_FIRST_BANDS; i++)
		ret_rank[i] = n ? list[i * (n - 1) / (PP_FIRST_BANDS - 1)].rank : -1;
	free(list);
}
