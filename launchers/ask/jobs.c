/* Finds live jobs by their spools on this node and by the log directory, and lists their ranks; see jobs.h. */
#include "launchers/ask/jobs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/spool/list.h"
#include "core/base/now.h"
#include "core/base/shell_word.h"
#include "launchers/options/say.h"

enum { SAMPLE_MS = 2 };

static int see(const struct pp_spool_state *state, void *data)
{
	struct pp_jobs *jobs = data;

	if (strcmp(state->output, jobs->logdir) || !state->rings || jobs->count == PP_JOBS)
		return 0;
	jobs->job[jobs->count].state = *state;
	if (!pp_live_open(state->path, &jobs->job[jobs->count].live, NULL))
		jobs->count++;
	return 0;
}

/* Adds jobs found through the log directory: of other nodes, or with a spool elsewhere on this one. */
static void see_more(struct pp_jobs *jobs, struct pp_asker_list *list)
{
	pp_asker_find(jobs->logdir, list);
	for (int i = 0; i < list->count; i++) {
		struct pp_spool_state state = {.keeper_pid = list->job[i].pid, .life = PP_SPOOL_RECORDING};
		struct pp_live_job *job = &jobs->job[jobs->count];
		int known = jobs->count == PP_JOBS;

		for (int k = 0; k < jobs->count && *list->job[i].spool; k++)
			known |= !strcmp(jobs->job[k].state.path, list->job[i].spool);
		if (known)
			continue;
		if (*list->job[i].spool && !pp_spool_read(list->job[i].spool, &state)) {
			see(&state, jobs);
			continue;
		}
		snprintf(state.path, sizeof(state.path), "%.*s", (int)sizeof(state.path) - 1, list->job[i].directory);
		*job = (struct pp_live_job){.state = state, .elsewhere = &list->job[i]};
		jobs->count++;
	}
}

/* Gets the list of ranks from the keeper. Returns how many, -1: no answer. */
static long ask_list(struct pp_jobs *jobs, const struct pp_asker *asker, struct pp_live_rank **ret_list)
{
	const struct pp_capture_request request = {.kind = PP_CAPTURE_REQUEST_STATUS};
	struct pp_err err = {""};
	char *answer = NULL, word[PATH_MAX];
	long count = 0, room = 0;
	int rc = pp_asker_ask(asker, &request, NULL, &answer, &err);

	if (rc == -ENOENT && *asker->directory) {
		pp_say("the job on %s is ending: its keeper writes the session. Type 'podprof report %s'.",
		       asker->host[0] ? asker->host : "its host", pp_shell_word(jobs->given, word, sizeof(word)));
		jobs->ending++;
	} else if (rc && *asker->directory) { /* else the keeper may be ending */
		pp_say("%s.", err.text);
	}
	if (rc)
		return -1;
	for (const char *p = answer; *p; p++)
		room += *p == '\n';
	*ret_list = strncmp(answer, "done\n", 5) ? NULL : calloc((size_t)room + 1, sizeof(**ret_list));
	for (char *line = answer; *line && *ret_list;) {
		size_t n = strcspn(line, "\n");
		int more = line[n] != '\0';

		line[n] = '\0';
		if (!pp_live_get(line, &(*ret_list)[count]))
			count++;
		else if (count)
			pp_live_get_nccl(line, &(*ret_list)[count - 1]);
		line += n + (size_t)more;
	}
	free(answer);
	return count ? count : -1;
}

long pp_jobs_list(struct pp_jobs *jobs, struct pp_live_job *job, struct pp_live_rank **ret_list)
{
	struct pp_asker asker = {.pid = job->state.keeper_pid};
	struct pp_live_rank *all = NULL;
	struct pp_spool_state state;
	long count, all_count;

	if (job->elsewhere)
		return ask_list(jobs, job->elsewhere, ret_list);
	count = pp_live_list(job->live, pp_clock_ns(CLOCK_MONOTONIC), ret_list);
	if (!pp_spool_read(job->state.path, &state))
		job->state = state;
	if (count < 1 || count >= (*ret_list)[0].size)
		return count;
	/* The other ranks are on other hosts: their keepers know them. */
	snprintf(asker.spool, sizeof(asker.spool), "%s", job->state.path);
	all_count = ask_list(jobs, &asker, &all);
	if (all_count <= count) {
		free(all);
		return count;
	}
	free(*ret_list);
	*ret_list = all;
	return all_count;
}

long pp_jobs_ask(struct pp_jobs *jobs, const struct pp_live_job *job, struct pp_live_rank **ret_list)
{
	struct pp_asker asker = {.pid = job->state.keeper_pid};

	if (job->elsewhere)
		return ask_list(jobs, job->elsewhere, ret_list);
	snprintf(asker.spool, sizeof(asker.spool), "%s", job->state.path);
	return job->state.life == PP_SPOOL_LEFT ? -1 : ask_list(jobs, &asker, ret_list);
}

void pp_jobs_sample(const struct pp_jobs *jobs, int64_t ms)
{
	int64_t end = pp_now_ms() + ms;

	while (pp_now_ms() < end) {
		pp_nap_ms(SAMPLE_MS);
		for (int k = 0; k < jobs->count; k++)
			if (jobs->job[k].live)
				pp_live_sample(jobs->job[k].live, pp_clock_ns(CLOCK_MONOTONIC));
	}
}

void pp_jobs_find(const char *logdir, const char *given, struct pp_jobs *ret_jobs)
{
	*ret_jobs = (struct pp_jobs){.logdir = logdir, .given = given};
	pp_spool_each(see, ret_jobs);
	see_more(ret_jobs, &ret_jobs->elsewhere);
	for (int k = 0; k < ret_jobs->count; k++) { /* the first list finds the rings */
		struct pp_live_rank *list = NULL;

		if (ret_jobs->job[k].live)
			pp_live_list(ret_jobs->job[k].live, pp_clock_ns(CLOCK_MONOTONIC), &list);
		free(list);
	}
}

void pp_jobs_close(struct pp_jobs *jobs)
{
	for (int k = 0; k < jobs->count; k++)
		pp_live_close(jobs->job[k].live);
	jobs->count = 0;
}
