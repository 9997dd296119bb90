/* Asks the keepers of live jobs: by their socket on this node, else by a request file in the log directory. In: a log directory, a
 * request. Out: their answers. Called by cmd_capture.c and cmd_status.c. */
#pragma once

#include "aggregate/keeper/capture/capture_request.h"
#include "aggregate/spool/layout.h"

enum { PP_ASKERS = 16, PP_ASKER_PATH = 4352 };

struct pp_asker { /* a job with a keeper that accepts requests */
	char job[128];
	char spool[PP_SPOOL_PATH];     /* on this node; "" elsewhere */
	char directory[PP_ASKER_PATH]; /* of request files; "" none */
	char host[72];                 /* of its keeper, where that is on another node */
	int pid;
	uint32_t pod; /* struct pp_spool_state */
};

struct pp_asker_list {
	struct pp_asker job[PP_ASKERS];
	int count;
	int over;                         /* jobs of this node that accept no more requests */
	char refused[PP_ASKER_PATH + 64]; /* a directory that is not trusted, and why; "" none */
};

/* `logdir`: absolute. Of keepers of one job that are joined, one is in the list. */
void pp_asker_find(const char *logdir, struct pp_asker_list *ret_list);
/* Sends a request and waits; `progress` gets the progress. *ret_answer: "done\n..." or "failed\n...", to be freed; "": the
 * keeper ended. -errno with the message where no keeper accepted it. */
int pp_asker_ask(const struct pp_asker *job, const struct pp_capture_request *request, void (*progress)(const char *what),
                 char **ret_answer, struct pp_err *err);
