/* Ranks as users list them: "0,3-5". In: text. Out: ranges. And the way back, for sentences. Used by CLI, keeper and writers; no
 * allocation, any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_RANK_RANGES = 64 };

struct pp_rank_list { /* count 0: all ranks */
	int count;
	int32_t first[PP_RANK_RANGES], last[PP_RANK_RANGES]; /* both are in it */
};

/* "": all. -EINVAL with the sentence; *ret is untouched then. */
int pp_rank_list_parse(const char *text, struct pp_rank_list *ret, struct pp_err *err);
int pp_rank_list_has(const struct pp_rank_list *list, int32_t rank);
/* 1: it names no rank of a job of so many. */
int pp_rank_list_misses(const struct pp_rank_list *list, int32_t size);

/* "0-3, 8 and 12 more": begin as {.to = text, .size = its size, at least 32}, add ranks in ascending order, end. */
struct pp_rank_text {
	char *to;
	const char *between; /* at most 8 bytes; NULL: ", " */
	size_t size, used;
	int32_t first, last; /* the run that is not yet written */
	size_t ranks;        /* added so far */
	size_t left;         /* of these, without room */
};

/* A rank above those before it. */
void pp_rank_text_add(struct pp_rank_text *t, int32_t rank);
/* How many ranks were added; 0: the text is "". */
size_t pp_rank_text_end(struct pp_rank_text *t);
