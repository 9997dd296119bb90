/* Windows of steps as users request them: "10:20,30:40", or one window repeated every N steps. In: text. Out: numbers. Used by
 * CLI, keeper and collector; no allocation, any thread. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"

enum { PP_STEP_WINDOWS = 32 };

struct pp_step_windows { /* [first, last) each, ascending; none overlaps another */
	int count;
	int64_t first[PP_STEP_WINDOWS], last[PP_STEP_WINDOWS];
	int64_t every; /* 0, or the one window repeats every so many steps, without end */
};

/* -EINVAL with the sentence; *ret is untouched then. */
int pp_step_windows_parse(const char *text, struct pp_step_windows *ret, struct pp_err *err);
/* `every` steps, 0: once. -EINVAL where there is more than one window, or it is longer than that. */
int pp_step_windows_repeat(struct pp_step_windows *w, int64_t every, struct pp_err *err);
/* More than one window? */
int pp_step_windows_many(const struct pp_step_windows *w);
/* Window `index`, from 0; 0: there is none. */
int pp_step_windows_get(const struct pp_step_windows *w, uint64_t index, int64_t *ret_first, int64_t *ret_last);
/* Index of the first window that ends after step `number`. */
uint64_t pp_step_windows_after(const struct pp_step_windows *w, int64_t number);
/* Is step `number` in one of them? */
int pp_step_windows_has(const struct pp_step_windows *w, int64_t number);
