/* report.html of a session. A small one is made at once. That of a large dataset is made by a process of its own while pod.h5 is
 * written, and appears when pod.h5 stands. In: a dataset in memory, or pod.h5. Out: report.html. Called by session.c, by the
 * keeper after the session's answer, and by analyze. */
#pragma once

#include <sys/types.h>

#include "aggregate/session/files.h"

struct pp_session_page {
	char directory[PP_SESSION_PATH]; /* of the session whose page is still to be made; "": none */
	pid_t pid;                       /* of the process that makes it; 0: it is to be made from pod.h5 */
	int go;                          /* to that process */
};

/* Starts the page of a large dataset, whose pod.h5 is about to be written there. Otherwise, and on failure, nothing happens. */
void pp_session_page_begin(struct pp_session_page *page, const char *directory, const struct pp_dataset *d);
/* pod.h5 stands: there will be a page. */
void pp_session_page_go(struct pp_session_page *page);
/* There is no pod.h5: the process, if there is one, ends and leaves nothing. */
void pp_session_page_drop(struct pp_session_page *page);
/* Waits for the process, or makes the page from pod.h5, also where that process failed. Without a directory nothing is done. */
int pp_session_page_end(struct pp_session_page *page, struct pp_err *err);
/* Writes report.html of a session's directory from its pod.h5. `d`, `capture`: the dataset and the spans that its files were just
 * written of, which is quicker; or NULL. */
int pp_session_page(const char *directory, const struct pp_dataset *d, struct pp_capture *capture, struct pp_err *err);
