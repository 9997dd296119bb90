/* podprof hang: says why a live job hangs. In: a log directory. Out: text, or JSON, on stdout; the exit code says whether
 * something is stuck. It asks no rank and changes nothing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launchers/ask/hang_text.h"
#include "launchers/ask/jobs.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"

const struct pp_options_verb pp_verb_hang = {
        .name = "podprof hang",
        .arguments = "[LOGDIR]",
        .doc = "Print why the jobs that record into LOGDIR (default podprof_logs) hang: the MPI operations that ranks are stuck "
               "in, the ranks that are missing in them and where those are, and the rank that is the first cause.\vMPI calls "
               "and those of NCCL and of torch.distributed are known whether or not something is recorded at the moment. It does "
               "not touch the job.",
        .groups = PP_OPT_HANG,
};

enum { MORE_MS = 300 };

static int is_running(const struct pp_live_rank *list, long count)
{
	for (long i = 0; i < count; i++)
		if (list[i].state == PP_LIVE_RUNNING)
			return 1;
	return 0;
}

static void print_one(const struct pp_live_job *job, const struct pp_hang *h, int64_t after_ns, struct pp_json *json)
{
	if (!json) {
		pp_hang_print(h, job->state.path, after_ns);
		return;
	}
	pp_json_open(json, NULL);
	pp_json_add_text(json, "spool", job->state.path);
	pp_hang_json(h, after_ns, json);
	pp_json_close(json);
}

/* The keeper has watched the ranks all the time; without its answer they are watched now. */
static long list_ranks(struct pp_jobs *jobs, struct pp_live_job *job, int64_t after_ns, struct pp_live_rank **ret_list)
{
	long count = pp_jobs_ask(jobs, job, ret_list);

	if (count > 0 || !job->live)
		return count;
	pp_jobs_sample(jobs, after_ns / 1000000 + MORE_MS);
	return pp_jobs_list(jobs, job, ret_list);
}

static int show(struct pp_jobs *jobs, int64_t after_ns, int json)
{
	struct pp_json out = {.to = stdout};
	int stuck = 0, unknown = 0, printed = 0;

	if (json) {
		pp_json_open(&out, NULL);
		pp_json_open_list(&out, "jobs");
	}
	for (int k = 0; k < jobs->count; k++) {
		struct pp_live_rank *list = NULL;
		long count = list_ranks(jobs, &jobs->job[k], after_ns, &list);
		struct pp_hang h;

		if (count > 0 && is_running(list, count)) {
			if (pp_hang_find(list, count, after_ns, &h)) {
				pp_say("no memory to look at the %ld ranks of '%s'.", count, jobs->job[k].state.path);
			} else {
				print_one(&jobs->job[k], &h, after_ns, json ? &out : NULL);
				printed++;
				stuck |= h.stuck > 0;
				unknown |= pp_hang_is_unseen(&h);
				pp_hang_release(&h);
			}
		}
		free(list);
	}
	if (json) {
		pp_json_close(&out);
		pp_json_close(&out);
		putchar('\n');
	}
	if (!pp_is_printed("what hangs"))
		return PP_EXIT_FAILED;
	if (printed)
		return stuck ? PP_EXIT_STUCK : unknown ? PP_EXIT_UNKNOWN : PP_EXIT_OK;
	if (jobs->elsewhere.refused[0])
		pp_say("no rank of yours records into '%s', and its request files are not trusted: %s. Ask as the user of the job.",
		       jobs->given, jobs->elsewhere.refused);
	else if (!jobs->ending)
		pp_say("no rank runs that records into '%s'. A rank appears at its first MPI call or step mark.", jobs->given);
	return PP_EXIT_FAILED;
}

int pp_cmd_hang(int argc, char **argv)
{
	static struct pp_jobs jobs;
	struct pp_options options;
	const char *given;
	char *logdir;
	int first, rc = pp_options_parse(&pp_verb_hang, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	given = pp_given_directory(&pp_verb_hang, argc, argv, first);
	if (!given)
		return PP_EXIT_USAGE;
	if (options.verb.after_ns < 1000000) {
		pp_say("--after: '%s': less than 1ms. Give a time that is longer than a step, for example 2s.",
		       options.text[PP_OPT_ID_AFTER]);
		return PP_EXIT_USAGE;
	}
	logdir = pp_given_logdir(given);
	if (!logdir)
		return PP_EXIT_FAILED;
	pp_jobs_find(logdir, given, &jobs);
	rc = show(&jobs, options.verb.after_ns, options.verb.json);
	pp_jobs_close(&jobs);
	free(logdir);
	return rc;
}
