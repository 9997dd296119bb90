/* What the first screen shows, made once and written twice: as JSON for the charts, and as plain HTML. In: a dataset and its
 * answer. Out: struct pp_first. One thread. Used by report.c, board.c and plain.c. */
#pragma once

#include "aggregate/report/data/evidence.h"
#include "aggregate/report/data/fact.h"

struct pp_first {
	struct pp_usual_steps usual;
	struct pp_regimes regimes;
	struct pp_rank_mean *mean; /* [workers] */
	char sentence[PP_SENTENCE_TEXT];
	struct pp_fact fact[PP_FACTS];
	const struct pp_row_finding *finding[1 + PP_ALSOS]; /* [0] is the sentence's */
	struct pp_evidence evidence[1 + PP_ALSOS];
	size_t findings; /* 0: there is no sentence's either */
};

/* The answer and the dataset stay the caller's. 0, or -ENOMEM; release also then. */
int pp_first_of(const struct pp_dataset *d, const struct pp_answer *a, struct pp_first *ret);
void pp_first_release(struct pp_first *f);
/* Value of a rank in the usual step, in the quantity of the sentence's evidence: time of a category, of the step, or for which
 * others wait. PP_UNKNOWN: it has none. */
int64_t pp_first_value(const struct pp_first *f, size_t worker);

/* Ranks that stand for many: those with the least, the lower quartile, the median, the upper quartile and the most of
 * pp_first_value(), of all that the sentence does not name. -1: there is none. */
enum { PP_FIRST_BANDS = 5 };
void pp_first_bands(const struct pp_dataset *d, const struct pp_first *f, int32_t ret_rank[PP_FIRST_BANDS]);
