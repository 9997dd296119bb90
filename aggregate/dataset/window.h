/* How the window of a session came about, rank by rank: group /window.
 * In: what the keeper noted, in ticks. Out: the same in job ns.
 * Filled by aggregate/session/window_rows.c, written by aggregate/write/h5/hdf5_window.c. */
#ifndef PP_ANALYZE_WINDOW_H
#define PP_ANALYZE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define PP_WINDOW_NEVER INT64_MIN

struct pp_window_rank { /* PP_WINDOW_NEVER: it did not come to that */
	int32_t rank;
	int64_t asked, acked, started, ended;
	int8_t delivered;
	char reason[96]; /* why not, or what is not as it was asked for; "" */
};

struct pp_window_told {
	char by[12];      /* options, capture, file, signal, trigger or code; "": nothing is known, no group */
	char kind[12];    /* steps, duration, last, span, all */
	char channel[12]; /* memory, mpi, net, none */
	char what[160];   /* as it was asked for, and what came of it where that is less */
	int32_t tries;
	struct pp_window_rank *rank;
	size_t ranks;
};

struct pp_dataset;
/* A copy into the dataset with a row for each of its workers; rows of `told` are in job ns. 0, or -ENOMEM. */
int pp_dataset_window(struct pp_dataset *d, const struct pp_window_told *told);
/* Of several hosts' datasets in one: rows for workers of which no host told anything. 0, or -ENOMEM. */
int pp_dataset_window_rest(struct pp_dataset *d);
void pp_window_told_release(struct pp_window_told *told);

#endif
