/* Parts of the summary. Called by text.c. */
#pragma once

#include <stdio.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/sums.h"
#include "core/base/units.h"

/* LINES, and additional lines where ranks made others wait, where there are several clocks, and where there are operators. */
enum { PP_TEXT_LINES = 50, PP_TEXT_POD_LINES = 5, PP_TEXT_CLOCK_LINES = 7, PP_TEXT_OP_LINES = 15, PP_TEXT_NAME = 40 };

struct pp_answer;
struct pp_usual_steps;

/* Writes a name of at most `most` columns; returns its columns. Of a longer one both ends: only they may distinguish two. */
int pp_text_name(const char *name, int most, FILE *to);
/* Parts of the summary, in its order but for the clocks (text_clock.h). Each may print nothing. */
void pp_text_lost(const struct pp_dataset *d, FILE *to);
void pp_text_memory(const struct pp_dataset *d, FILE *to);
void pp_text_files(const struct pp_dataset *d, FILE *to);
void pp_text_window(const struct pp_dataset *d, FILE *to);

/* The slowest step, the categories, and the ranks: 0, or -ENOMEM. */
void pp_text_longest(const struct pp_dataset *d, const struct pp_sums *t, const struct pp_usual_steps *usual, FILE *to);
/* Iterations of an engine by their kind, and what is between them; nothing of other steps. */
void pp_text_kinds(const struct pp_dataset *d, FILE *to);
/* t: sums of usual steps; is_cut: others are left out. */
/* Of a window by time without steps: the share of one second in it, by which sums become means per second; else 0. */
double pp_text_second(const struct pp_dataset *d, const struct pp_sums *t);
void pp_text_breakdown(const struct pp_dataset *d, const struct pp_sums *t, int is_cut, FILE *to);
int pp_text_workers(const struct pp_dataset *d, const struct pp_sums *t, const struct pp_sums *u, const struct pp_answer *a,
                    FILE *to);
/* Without the warnings that the answer says above. */
void pp_text_quality(const struct pp_dataset *d, const struct pp_sums *t, const struct pp_answer *a, FILE *to);
