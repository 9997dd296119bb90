/* Windows of steps: parsing and counting; see step_windows.h. Used by CLI, keeper and collector. */
#include "core/base/step_windows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"

int pp_step_windows_parse(const char *text, struct pp_step_windows *ret, struct pp_err *err)
{
	struct pp_step_windows w = {0};
	const char *at = text;

	for (;;) {
		size_t n = strcspn(at, ",");
		char one[64];
		int rc;

		if (w.count == PP_STEP_WINDOWS)
			return pp_err_set(err, -EINVAL, "'%s' has more than %d windows. Give one window and --every N to repeat it",
			                  text, PP_STEP_WINDOWS);
		snprintf(one, sizeof(one), "%.*s", (int)n, at);
		rc = pp_parse_steps(one, &w.first[w.count], &w.last[w.count], err);
		if (rc)
			return rc;
		if (w.count && w.first[w.count] < w.last[w.count - 1])
			return pp_err_set(err, -EINVAL,
			                  "'%s': window %s begins before the previous one ends. "
			                  "Give windows in order, for example 10:20,30:40",
			                  text, one);
		w.count++;
		if (!at[n])
			break;
		at += n + 1;
	}
	*ret = w;
	return 0;
}

int pp_step_windows_repeat(struct pp_step_windows *w, int64_t every, struct pp_err *err)
{
	if (!every)
		return 0;
	if (w->count != 1)
		return pp_err_set(err, -EINVAL,
		                  "--every repeats one window of --steps. Give both, for example --steps 10:20 --every 100");
	if (every < w->last[0] - w->first[0])
		return pp_err_set(err, -EINVAL,
		                  "--every %" PRId64 " is less than the %" PRId64 " steps of its window. Give at least that many",
		                  every, w->last[0] - w->first[0]);
	w->every = every;
	return 0;
}

int pp_step_windows_many(const struct pp_step_windows *w)
{
	return w->count > 1 || w->every;
}

int pp_step_windows_get(const struct pp_step_windows *w, uint64_t index, int64_t *ret_first, int64_t *ret_last)
{
	int64_t shift;

	if (!w->every) {
		if (index >= (uint64_t)w->count)
			return 0;
		*ret_first = w->first[index];
		*ret_last = w->last[index];
		return 1;
	}
	if (index > INT64_MAX || __builtin_mul_overflow((int64_t)index, w->every, &shift) || shift > INT64_MAX - w->last[0])
		return 0;
	*ret_first = w->first[0] + shift;
	*ret_last = w->last[0] + shift;
	return 1;
}

uint64_t pp_step_windows_after(const struct pp_step_windows *w, int64_t number)
{
	uint64_t index = 0;

	if (w->every)
		return number < w->last[0] ? 0 : (uint64_t)((number - w->last[0]) / w->every) + 1;
	while (index < (uint64_t)w->count && w->last[index] <= number)
		index++;
	return index;
}

int pp_step_windows_has(const struct pp_step_windows *w, int64_t number)
{
	int64_t first, last;

	return pp_step_windows_get(w, pp_step_windows_after(w, number), &first, &last) && number >= first && number < last;
}
