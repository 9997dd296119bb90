/* report.html: one page that works offline, made from pod.h5. In: paths. Out: the page, written as x.part, synced, renamed.
 * Called by the keeper's session writer, `podprof report`, `export` and `view`. */
#pragma once

#include <stdio.h>

#include "aggregate/dataset/dataset.h"
#include "core/base/err.h"

struct pp_capture;

/* Makes the page, also over an old one. Two writers of one page wait for each other. `capture`: NULL, or the spans that pod.h5 and
 * the event files were just written of, in job ns, which saves reading the files; it stays as it is. */
int pp_report_write(const char *pod_path, const char *html_path, struct pp_capture *capture, struct pp_err *err);
/* Writes the page to an open file, for readers that leave the session as it is. */
int pp_report_write_to(const char *pod_path, int fd, struct pp_err *err);
struct pp_report_wait {
	int (*pod_stands)(void *context); /* waits until pod.h5 is there: 0 */
	void *context;
};
/* The same page from the dataset of which pod.h5 is written, without reading it back. `wait`: NULL, or pod.h5 may still be in work;
 * before it stands nothing is written. Event files are read in this process. */
int pp_report_write_of(const struct pp_dataset *d, const char *pod_path, const char *html_path, const struct pp_report_wait *wait,
                       struct pp_err *err);
/* 1: there is a page that is not older than the dataset and its event files. */
int pp_report_is_fresh(const char *pod_path, const char *html_path);
/* 1: making it is too quick for a rank to notice, or the size cannot be read (then making it reports why). */
int pp_report_is_quick(const char *pod_path);
/* The same of a dataset whose pod.h5 is not yet written, by the size of its tables. */
int pp_report_is_quick_of(const struct pp_dataset *d);
/* LOGDIR of LOGDIR/podprof/SESSION/pod.h5, absolute; NULL where the file lies elsewhere. Owned by the caller. */
char *pp_report_logdir(const char *pod_path);
enum pp_report_form { PP_REPORT_CSV, PP_REPORT_JSON, PP_REPORT_SHEET }; /* SHEET: pp_table_sheet() */
static inline enum pp_report_form pp_report_form(int is_json, int is_raw)
{
	return is_json ? PP_REPORT_JSON : is_raw ? PP_REPORT_CSV : PP_REPORT_SHEET;
}

/* Prints one table of the dataset, or all tables of a group of pod.h5 as pp_report_tool() does, as CSV or JSON. *ret_missing: a
 * sentence, without its subject (the file), about the table or columns that it lacks; "" where it has all. -EINVAL: no table and no
 * group has that name; the error lists the names of tables. */
int pp_report_table(const char *pod_path, const char *table, enum pp_report_form form, FILE *to, char *ret_missing, size_t size,
                    struct pp_err *err);
/* The same for the tables of a tool (tool_tables.def). CSV of several tables: each with a line "# NAME" before it, and an empty
 * line between two; JSON: one object. *ret_missing: lines. */
int pp_report_tool(const char *pod_path, const char *tool, enum pp_report_form form, FILE *to, char *ret_missing, size_t size,
                   struct pp_err *err);
