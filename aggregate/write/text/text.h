/* summary.txt. Written by the writer "text", printed by `podprof report`. */
#pragma once

#include <stdio.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/sums.h"
#include "core/base/units.h"

/* The whole summary. logdir: for the commands that it names; NULL: "LOGDIR". 0, or -ENOMEM. */
int pp_text_write(const struct pp_dataset *d, const char *logdir, FILE *to);
/* The job's name: that of the program, or of the script of an interpreter or of torchrun; "job" of an empty command. */
void pp_text_program(const char *command, char *text, size_t size);
/* "173..180, 182..199": numbers of the dataset's steps, without those that it lacks; with many parts only the number of steps. */
void pp_text_steps(const struct pp_dataset *d, char *text, size_t size);
/* The same in words: "steps 10..19 (last 3.00 s kept)", "the window as one step", "no steps". */
void pp_text_recorded(const struct pp_dataset *d, char *text, size_t size);
