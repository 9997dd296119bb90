/* summary.txt. Written by the writer "text", printed by `podprof report`. */
#pragma once

#include <stdio.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/verdict.h"
#include "core/base/units.h"

/* LINES, and additional lines where there are several clocks, and where there are operators. */
enum { PP_TEXT_LINES = 40, PP_TEXT_CLOCK_LINES = 6, PP_TEXT_OP_LINES = 15 };

/* The whole summary. 0, or -ENOMEM. */
int pp_text_write(const struct pp_dataset *d, FILE *to);
/* Copies a summary. On a terminal of `columns` it folds longer lines at a blank and keeps bars where they fit; 0: no terminal,
 * whole lines without bars. 0, or -errno of a failed read or write. */
int pp_text_print(FILE *in, FILE *out, int columns);

struct pp_text {                                 /* numbers of the summary, computed once */
	int64_t *step_ns;                        /* [steps]: longest over workers */
	int64_t median_ns, spread_ns;            /* of step_ns; spread: half IQR, at least its nearest step */
	int64_t longest_ns, longest_step;        /* the largest step_ns, and its index in the dataset */
	int64_t all_ns;                          /* sum of step_ns over every cell */
	int64_t cells;                           /* present cells */
	int64_t sum_ns[PP_CATEGORIES + 1];       /* over every cell */
	int64_t wait_ns, transfer_ns;            /* over every cell */
	int64_t (*worker_ns)[PP_CATEGORIES + 1]; /* [workers]: sums over the worker's steps; [0] is step_ns */
	int64_t *worker_wait_ns;                 /* [workers] */
	int64_t *worker_steps;                   /* [workers] */
};

/* "173..180, 182..199": numbers of the dataset's steps, without those that it lacks; with many parts only the number of steps. */
void pp_text_steps(const struct pp_dataset *d, char *text, size_t size);
int pp_text_sum(const struct pp_dataset *d, struct pp_text *ret_text);
void pp_text_release(struct pp_text *t);
/* Parts, in order: losses (first table), memory, files, the window, the longest step, breakdown, the data loader, straggler,
 * what to do next, operators, workers, clocks, quality. */
void pp_text_lost(const struct pp_dataset *d, FILE *to);
void pp_text_memory(const struct pp_dataset *d, FILE *to);
void pp_text_files(const struct pp_dataset *d, FILE *to);
void pp_text_window(const struct pp_dataset *d, FILE *to);
void pp_text_longest(const struct pp_dataset *d, const struct pp_text *t, FILE *to);
void pp_text_breakdown(const struct pp_dataset *d, const struct pp_text *t, FILE *to);
void pp_text_late(const struct pp_dataset *d, const struct pp_text *t, FILE *to);
void pp_text_next(const struct pp_verdict_what *what, FILE *to);
void pp_text_input(const struct pp_dataset *d, const struct pp_text *t, FILE *to);
int pp_text_ops(const struct pp_dataset *d, const struct pp_text *t, FILE *to);
int pp_text_workers(const struct pp_dataset *d, const struct pp_text *t, FILE *to);
void pp_text_clock(const struct pp_dataset *d, FILE *to);
void pp_text_quality(const struct pp_dataset *d, const struct pp_text *t, FILE *to);
