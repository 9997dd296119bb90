/* Shared by the parts of the page's data. In: pod.h5. Out: one JSON object. Used by report.c and the files beside it. */
#pragma once

#include <stdio.h>

#include "aggregate/read/h5/file.h"
#include "aggregate/report/data/first.h"
#include "aggregate/tools/answer.h"
#include "aggregate/write/json.h"
#include "aggregate/write/text/text.h"

/* Limits of a page, so that a browser opens it: values of planes of (step, worker), rows of a table, points of allocators' curves,
 * operations with arrivals, notes. */
enum { PP_PAGE_VALUES = 16 << 20, PP_PAGE_ROWS = 4000, PP_PAGE_POINTS = 16000, PP_PAGE_ARRIVALS = 40, PP_PAGE_NOTES = 32 };
/* Bytes of a page, of them all planes; the timeline has what is left. */
enum { PP_PAGE_BYTES = 38 << 20, PP_PAGE_PLANE_BYTES = 30 << 20 };
/* The same of the timeline: bytes of its packed events, events, samples of counters. */
enum { PP_PAGE_TIMELINE_BYTES = 24 << 20, PP_PAGE_TIMELINE_EVENTS = 3 << 20, PP_PAGE_TIMELINE_SAMPLES = 400000 };

/* Files of other profilers above it are not read again for a page: their timeline is there by `podprof export`. */
enum { PP_PAGE_FOREIGN_BYTES = 4 << 20 };

/* How far the page is with event files: it tells who waits for this process. */
enum pp_page_timeline_state { PP_PAGE_TIMELINE_AHEAD, PP_PAGE_TIMELINE_BEGUN, PP_PAGE_TIMELINE_DONE, PP_PAGE_TIMELINE_NOT };

struct pp_report_wait;

struct pp_page {
	FILE *to;
	struct pp_h5_file *h5;
	struct pp_dataset d;
	struct pp_sums sum;
	struct pp_answer answer;
	struct pp_first first;
	char *logdir;                      /* for commands; NULL: not in a log directory */
	const struct pp_report_wait *wait; /* NULL: pod.h5 stands */
	struct pp_capture *capture;        /* NULL, or what the event files were made of: it is taken over */
	struct pp_err *err;
	int code;                      /* first error; later parts write nothing of use */
	char note[PP_PAGE_NOTES][240]; /* what the page omits */
	size_t notes;
	volatile int
	        *at_timeline; /* NULL, or enum pp_page_timeline_state; _NOT: event files ended the process before, leave them */
	int64_t *blame;       /* [steps * workers], NULL: there is none; set by pp_page_read(), as the next two */
	int64_t *reason;      /* of the blame, [steps * workers]; NULL: there is none */
	size_t *peers;        /* [workers] pp_dataset_peers() */
	size_t stride;        /* the pod viewer has every stride-th step; set by pp_page_cells() */
};

void pp_page_note(struct pp_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes `"key":` with a comma in front unless it is the object's first. */
void pp_page_key(struct pp_page *p, const char *key, int first);
/* The same behind a comma, with its value. */
void pp_page_text(struct pp_page *p, const char *key, const char *text);
void pp_page_int(struct pp_page *p, const char *key, int64_t value);

/* Members of the page's object, each followed by nothing; the first writes no comma. */
void pp_page_run(struct pp_page *p);      /* run, answer, sum, category */
void pp_page_first(struct pp_page *p);    /* finding, fact, board */
void pp_page_workers(struct pp_page *p);  /* worker */
void pp_page_steps(struct pp_page *p);    /* step */
void pp_page_read(struct pp_page *p);     /* writes nothing: reads /blame_step for the next two */
void pp_page_bands(struct pp_page *p);    /* band: quartiles over ranks of each quantity, per step */
void pp_page_cells(struct pp_page *p);    /* cell: planes of (step, worker) */
void pp_page_tables(struct pp_page *p);   /* table: groups that no other part shows, and every table of other sources */
void pp_page_ops(struct pp_page *p);      /* operator: over all ranks */
void pp_page_arrivals(struct pp_page *p); /* arrival: of each rank at the operations with most waiting */
void pp_page_messages(struct pp_page *p); /* message: who waited in messages, by pair of ranks */
void pp_page_skyline(struct pp_page *p);  /* skyline: memory of all ranks at the same instants */
void pp_page_timeline(struct pp_page *p); /* timeline, or null and timeline_why */
