/* podprof diff: reads sessions in a child, compares them, and writes the result as text, JSON and a page. In: paths of pod.h5.
 * Called by launchers/cmd_diff.c. */
#pragma once

#include <stdio.h>

#include "aggregate/diff/compare.h"
#include "core/base/err.h"

enum { PP_DIFF_RUNS_MOST = 26 }; /* they are called A to Z */

enum pp_diff_check_word { PP_DIFF_CHECK_NONE, PP_DIFF_CHECK_PASSED, PP_DIFF_CHECK_FAILED, PP_DIFF_CHECK_UNDECIDED };

struct pp_diff_check {                /* --fail-above: the last run against the first one */
	double limit_percent;         /* of the first run's step time; negative: none was given */
	double percent;               /* by how much the last run is slower */
	enum pp_diff_check_word word; /* out */
	int is_by_cores;              /* out: undecided because ranks lacked cores, else by too few steps */
};

struct pp_diff_given {
	const char *word[PP_DIFF_RUNS_MOST], *path[PP_DIFF_RUNS_MOST]; /* as typed, and its pod.h5 */
	size_t runs;
};

/* Writes text and JSON into files without a name, to be closed. 0, or -errno with one sentence that names the file. */
int pp_diff_sessions(const struct pp_diff_given *given, struct pp_diff_check *check, FILE **ret_text, FILE **ret_json,
                     struct pp_err *err);

/* The page around such a JSON text, as x.part until it is complete. */
int pp_diff_page(FILE *json, const char *html_path, struct pp_err *err);

void pp_diff_text(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to);
void pp_diff_text_tables(const struct pp_diff *d, FILE *to);
void pp_diff_json(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to);

/* "+4.02 ms", "-12.3 us". Returns `text`. */
const char *pp_diff_signed(char text[32], double ns);
/* "B is slower than A", for people. */
void pp_diff_sentence(const struct pp_diff *d, char *text, size_t size);
const char *pp_diff_word(enum pp_noise_word word); /* for scripts */
