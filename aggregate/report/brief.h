/* What `podprof report --list` and `--json` print of a session: its facts, its answer, its ranks; and its summary where there is
 * no summary.txt. In: the path of a pod.h5. Out: texts, or one JSON object. HDF5 opens the file in a child. */
#pragma once

#include <stdio.h>

#include "aggregate/dataset/table/table_list.h"
#include "aggregate/write/json_object.h"
#include "core/base/err.h"

/* A row of the list. No pointers: a child fills it in shared memory. */
struct pp_brief {
	char date[24];     /* "2026-11-21 10:40:02", local time of the first step */
	char command[512]; /* whole */
	char ranks[32];    /* "8", or "7 of 8" of which some delivered nothing */
	char steps[128];   /* "10..19" */
	int ranks_asked, ranks_delivered;
	size_t step_count;
	char why[256];                 /* why it was captured: "--steps 10:20", "podprof capture: --steps +5", "whole job" */
	char verdict[1024];            /* the sentence */
	struct pp_row_finding finding; /* the first one */
	int has_finding;
	char previous[256]; /* session of the same job before its ranks were restarted; "": none */
};

int pp_brief_read(const char *pod_path, struct pp_brief *ret_brief, struct pp_err *err);

/* The whole session as one JSON object, with a line break; docs/formats.md has its members. */
int pp_brief_json(const char *pod_path, FILE *to, struct pp_err *err);
/* The summary as a file that is read from its start; owned by the caller. */
int pp_brief_summary(const char *pod_path, FILE **ret_text, struct pp_err *err);
/* The row as one JSON object, with the session's name and path. error: "" , or why it could not be read. */
void pp_brief_row_json(const struct pp_brief *b, const char *session, const char *path, const char *error, struct pp_json *j);
