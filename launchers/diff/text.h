/* podprof diff: a comparison as text. Called by read.c; its sentence by json.c. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

/* All of it; `check` as --fail-above left it. Errors are those of `to`. */
void pp_diff_text(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to);
enum { PP_DIFF_SENTENCE = 400, PP_DIFF_WHY = 128 };

/* "B is slower than A", for people. */
void pp_diff_sentence(const struct pp_diff *d, char *text, size_t size);
/* Why the last run against the first is undecided. */
void pp_diff_why(const struct pp_diff *d, const struct pp_noise *n, char text[PP_DIFF_WHY]);
/* The word of a verdict, for scripts; static. */
const char *pp_diff_word(enum pp_noise_word word);
