/* The live jobs that record into a log directory, and what their ranks do. In: a log directory. Out: lists of ranks (live.h), of
 * all hosts. Called by cmd_status.c and cmd_hang.c. */
#pragma once

#include "aggregate/keeper/live.h"
#include "aggregate/spool/state.h"
#include "launchers/ask/asker.h"

enum { PP_JOBS = 16 };

struct pp_live_job {
	struct pp_spool_state state;
	struct pp_live *live;
	struct pp_asker *elsewhere; /* NULL: the job is on this node */
};

struct pp_jobs {
	const char *logdir, *given;
	int ending; /* jobs whose keeper takes no more requests */
	struct pp_live_job job[PP_JOBS];
	int count;
	struct pp_asker_list elsewhere;
};

/* `logdir`: absolute, `given`: as the user wrote it; both are kept. Finds the rings too. */
void pp_jobs_find(const char *logdir, const char *given, struct pp_jobs *ret_jobs);
void pp_jobs_close(struct pp_jobs *jobs);
/* Watches the ranks of this node for `ms`. */
void pp_jobs_sample(const struct pp_jobs *jobs, int64_t ms);
/* The ranks of a job, to be freed: of this node, and where it has more ranks, of all hosts by its keeper. Returns how many; -1:
 * no answer; a line on stderr says so. */
long pp_jobs_list(struct pp_jobs *jobs, struct pp_live_job *job, struct pp_live_rank **ret_list);
/* The same by the keeper alone, which has watched the ranks all the time; -1: no answer. */
long pp_jobs_ask(struct pp_jobs *jobs, const struct pp_live_job *job, struct pp_live_rank **ret_list);
