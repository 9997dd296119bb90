/* podprof diff: reads sessions in a child, compares them, and writes the result as text, JSON and a page. In: paths of pod.h5.
 * Called by launchers/cmd_diff.c. */
#pragma once

#include <stdio.h>

#include "aggregate/diff/compare.h"
#include "core/base/err.h"

enum { PP_DIFF_RUNS_MOST = 26 }; /* they are called A to Z */

enum pp_diff_check_word { PP_DIFF_CHECK_NONE, PP_DIFF_CHECK_PASSED, PP_DIFF_CHECK_FAILED, PP_DIFF_CHECK_UNDECIDED };

enum pp_diff_why { PP_DIFF_WHY_STEPS, PP_DIFF_WHY_NOISE, PP_DIFF_WHY_END, PP_DIFF_WHY_CORES };

struct pp_diff_check {                /* --fail-above: the last run against the first one */
	double limit_percent;         /* of the first run's step time; negative: none was given */
	double percent;               /* by how much the last run is slower */
	enum pp_diff_check_word word; /* out */
	enum pp_diff_why why;         /* out: why it is undecided */
};

struct pp_diff_given {
	const char *word[PP_DIFF_RUNS_MOST], *path[PP_DIFF_RUNS_MOST]; /* as typed, and its pod.h5 */
	size_t runs;
	int is_page;
	struct pp_diff_map map;
};
