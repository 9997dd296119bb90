/* podprof diff: the first screen of the page as plain HTML, and a line for each of its sections. Called by page.c. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

/* What is compared: a line of sessions. Errors of all of them are those of `to`. */
void pp_diff_screen_job(const struct pp_diff *d, FILE *to);
/* The sentence, four facts, and the result of --fail-above. */
void pp_diff_screen_head(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to);
