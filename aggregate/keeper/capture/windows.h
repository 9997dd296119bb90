/* Several windows during one job: a child writes each while the ranks run on. In: rows of the rings' headers. Out: sessions, and
 * the lines for rank 0. Called by keeper.c. */
#pragma once

#include "aggregate/keeper/capture/writing.h"
#include "core/base/step_windows.h"

struct pp_windows_totals { /* results of all windows so far */
	int captured, failed, missed;
	uint64_t skipped;     /* of a repeated window: its rows were overwritten before its turn, or steps jumped */
	int delivered, asked; /* ranks: of the window with the fewest */
	size_t hosts;
	char steps[256];                /* the first few, by comma */
	char first[64], last[64];       /* sessions, of those that are where the first one is */
	char moved[64];                 /* where that is, if not in the log directory */
	char lacking[512];              /* windows that no rank reached */
	char lost[512], why[320];       /* windows whose session could not be written; why the first could not */
	char halved[400], failure[400]; /* sessions that lack a file; why, of the first of them or of a window by time */
	char must_know[1200];           /* a line for each window */
	int more;                       /* windows with such a line for which there was no room */
};

struct pp_windows {
	struct pp_step_windows asked;
	uint64_t next;                 /* the first window that is not closed */
	int64_t since_ms;              /* when the first rank passed it; 0: none has */
	int64_t limit_ms;              /* how long a child may take */
	int without;                   /* hosts that have not joined were waited for once */
	int hold;                      /* a request needs what a closed window would drop */
	int busy;                      /* a child is writing */
	uint64_t api_next, api_closed; /* windows via API: the first that is not closed; bit i: the i-th behind it is closed */
	int64_t api_since_ms;          /* as since_ms */
	int64_t api_step,
	        api_step_ms; /* the highest step here when a window was over on all ranks here, and the time of it; 0: none is */
	char label[128], name[48]; /* of the one being written; name: as given to podprof_window_start() */
	struct pp_forked_writer writer;
	struct pp_windows_totals totals;
};

/* `asked`: of --steps; copied. */
void pp_windows_init(struct pp_windows *w, const struct pp_step_windows *asked);
/* 1: the program has requested windows; then only these are recorded. */
int pp_windows_via_api(const struct pp_rings *r);
/* The least tick on this ring that an open window of the API needs; INT64_MAX: none does. */
int64_t pp_windows_api_needs(const struct pp_windows *w, const struct pp_ring_header *h);
/* One turn, never blocks: receives the answer of a child, closes a window that is over on all ranks, one at a time. `ending`:
 * the ranks are over, windows that have begun are closed too. Returns 1 while something is open. */
int pp_windows_run(struct pp_windows *w, const struct pp_windows_job *job, int ending);
/* Takes the answer of the child; 1: it still writes. */
int pp_windows_is_writing(struct pp_windows *w);
/* Forks the writer of one window. `label`: its name in an error. */
void pp_windows_start(struct pp_windows *w, const struct pp_windows_job *job, const struct pp_writing *writing, const char *label);
/* 1: ranks of the job are on hosts whose keepers have not joined yet. */
int pp_windows_lack_ranks(const struct pp_windows_job *job);
/* The tick at which the first window that is not closed began on this ring; INT64_MAX: none has. */
int64_t pp_windows_begun(const struct pp_windows *w, const struct pp_ring_header *h);
/* The ticks of window `index` of the options on each rank; as pp_writing_ranges(). */
struct pp_close_range *pp_windows_ranges(const struct pp_windows *w, const struct pp_windows_job *job, uint64_t index);
/* At the end: writes the lines. 0, or -EIO where a session could not be written. */
int pp_windows_message(struct pp_windows *w, const struct pp_windows_job *job, char *message, size_t size);
