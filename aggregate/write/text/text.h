/* summary.txt. Written by the writer "text", printed by `podprof report`. */
#pragma once

#include <stdio.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/sums.h"
#include "core/base/units.h"

/* LINES, and additional lines where ranks made others wait, where there are several clocks, and where there are operators. */
enum { PP_TEXT_LINES = 50, PP_TEXT_POD_LINES = 5, PP_TEXT_CLOCK_LINES = 7, PP_TEXT_OP_LINES = 15, PP_TEXT_NAME = 40 };

struct pp_answer;

/* The whole summary. logdir: for the commands that it names; NULL: "LOGDIR". 0, or -ENOMEM. */
int pp_text_write(const struct pp_dataset *d, const char *logdir, FILE *to);
/* Copies a summary. On a terminal of `columns` it keeps the bars of a table where they fit, else drops them, then the table's last
 * column, says so at the end, and folds longer lines at a blank. 0: no terminal, whole lines without bars. 0, or -errno of a failed
 * read or write. */
int pp_text_print(FILE *in, FILE *out, int columns);

/* The job's name: that of the program, or of the script of an interpreter or of torchrun; "job" of an empty command. */
void pp_text_program(const char *command, char *text, size_t size);
/* "173..180, 182..199": numbers of the dataset's steps, without those that it lacks; with many parts only the number of steps. */
void pp_text_steps(const struct pp_dataset *d, char *text, size_t size);
/* Writes a name of at most `most` columns; returns its columns. Of a longer one both ends: only they may distinguish two. */
int pp_text_name(const char *name, int most, FILE *to);
/* Parts, in order: the slowest step, losses, memory, files, the window, breakdown, workers, clocks, quality. */
void pp_text_lost(const struct pp_dataset *d, FILE *to);
void pp_text_memory(const struct pp_dataset *d, FILE *to);
void pp_text_files(const struct pp_dataset *d, FILE *to);
void pp_text_window(const struct pp_dataset *d, FILE *to);
void pp_text_longest(const struct pp_dataset *d, const struct pp_sums *t, FILE *to);
void pp_text_breakdown(const struct pp_dataset *d, const struct pp_sums *t, FILE *to);
int pp_text_workers(const struct pp_dataset *d, const struct pp_sums *t, const struct pp_answer *a, FILE *to);
void pp_text_clock(const struct pp_dataset *d, FILE *to);
/* Without the warnings that the answer says above. */
void pp_text_quality(const struct pp_dataset *d, const struct pp_sums *t, const struct pp_answer *a, FILE *to);
