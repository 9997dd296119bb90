/* Ranks as users list them: "0,3-5". In: text. Out: ranges. Used by CLI, keeper and writers; no allocation, any thread. */
#pragma once

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
