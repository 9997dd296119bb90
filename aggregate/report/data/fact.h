/* The sentence at the top of the page, and the four facts below it. In: an answer, whose first finding both are about, and the
 * usual step of each rank. Out: texts with the numbers of that finding's row, as summary.txt has them. Pure. Used by first.c. */
#pragma once

#include "aggregate/report/data/rank_mean.h"
#include "aggregate/tools/answer.h"

/* Two lines of the first screen. */
enum { PP_SENTENCE_MOST = 148, PP_SENTENCE_TEXT = 3 * PP_SENTENCE_MOST };

void pp_sentence_of(const struct pp_answer *a, char to[PP_SENTENCE_TEXT]);
/* The whole finding, beginning with a capital. */
void pp_sentence_whole(const char *finding, char *to, size_t size);
/* A kind of finding as readers see it: "one-off". */
const char *pp_sentence_kind(int kind, char *to, size_t size);
/* Units as the page's charts write them: us is µs, <= is ≤. */
void pp_sentence_units(const char *text, char *to, size_t size);

/* PP_FACT(key, name): in this order. */
#define PP_FACT_LIST(X)                                                                                                            \
	X(waiting, "The others wait")                                                                                              \
	X(gain, "Gain, at most")                                                                                                   \
	X(kind, "Kind")                                                                                                            \
	X(clock, "Clock error")

enum {
#define PP_FACT(key, name) PP_FACT_##key,
	PP_FACT_LIST(PP_FACT)
#undef PP_FACT
	        PP_FACTS
};

struct pp_fact {
	char value[64]; /* "unknown": the note says why */
	char note[160]; /* what the value is of, and its base */
};

/* mean: pp_rank_means(). */
void pp_facts_of(const struct pp_dataset *d, const struct pp_usual_steps *u, const struct pp_rank_mean *mean,
                 const struct pp_answer *a, struct pp_fact ret[PP_FACTS]);
