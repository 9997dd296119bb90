/* podprof status: lists what the ranks of a live job do now, slowest first. In: a log directory. Out: a table, or JSON, on
 * stdout. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/hang.h"
#include "aggregate/keeper/live_nccl.h"
#include "aggregate/write/json_object.h"
#include "core/base/libc.h"
#include "core/base/shell_word.h"
#include "launchers/ask/jobs.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"

const struct pp_options_verb pp_verb_status = {
        .name = "podprof status",
        .arguments = "[LOGDIR]",
        .doc = "Print what each rank does, for the jobs that record into LOGDIR (default podprof_logs): step, step time over one "
               "second, and the current call of MPI or torch.distributed; slowest rank first.",
        .groups = PP_OPT_STATUS,
};

static const char *where_text(const struct pp_live_rank *r, char *text, size_t size)
{
	char nccl[128];
	int n;

	if (r->state == PP_LIVE_ENDED && r->exit_status == PP_EXIT_STATUS_UNKNOWN)
		snprintf(text, size, "%s", "ended");
	else if (r->state == PP_LIVE_ENDED)
		snprintf(text, size, "ended, status %d", r->exit_status);
	else if (r->state == PP_LIVE_GONE)
		snprintf(text, size, "%s", "ended without exit handlers");
	else if (!r->call[0])
		snprintf(text, size, "not in an MPI call%s%s", *pp_live_nccl_text(r->nccl, nccl, sizeof(nccl)) ? ", " : "", nccl);
	else {
		n = snprintf(text, size, "in %s", r->call);
		if (pp_live_comm_name(r))
			n += snprintf(text + n, size - (size_t)n, " %" PRIu32 " on %s", r->sequence, pp_live_comm_name(r));
		else if (r->comm)
			n += snprintf(text + n, size - (size_t)n, " %" PRIu32 " on communicator %016" PRIx64, r->sequence, r->comm);
		if (r->peer >= 0 && n < (int)size)
			snprintf(text + n, size - (size_t)n, ", peer %d", r->peer);
	}
	return text;
}

static const char *time_text(const struct pp_live_rank *r, char *text, size_t size)
{
	double ns = (double)(r->step_ns ? r->step_ns : r->still_ns);
	const char *more = r->step_ns ? "" : "> ";

	if (!r->marks || r->state != PP_LIVE_RUNNING)
		snprintf(text, size, "%s", "-");
	else if (ns >= 1e9)
		snprintf(text, size, "%s%.1f s", more, ns / 1e9);
	else
		snprintf(text, size, "%s%.1f ms", more, ns / 1e6);
	return text;
}

static int hosts_of(const struct pp_live_rank *list, long count)
{
	int hosts = 0;

	for (long i = 0; i < count; i++) {
		long k = 0;

		while (k < i && strcmp(list[k].host, list[i].host))
			k++;
		hosts += k == i;
	}
	return hosts;
}

/* Ranks of the list that record now. */
static long recording(const struct pp_live_rank *list, long count)
{
	long n = 0;

	for (long i = 0; i < count; i++)
		n += !!list[i].recording;
	return n;
}

static void print_ranks(const struct pp_live_job *job, const struct pp_live_rank *list, long count)
{
	static const char *const life[] = {"it is gone", "keeper records", "keeper writes", "all windows written", "keeper failed"};
	char step[24], time_of[32], where[160], spool[PP_SPOOL_PATH + 32], output[PP_SPOOL_PATH + 32];

	const int hosts = hosts_of(list, count);
	const long recorded = recording(list, count);

	if (hosts > 1)
		snprintf(where, sizeof(where), "%d hosts", hosts);
	else
		snprintf(where, sizeof(where), "%s", count ? list[0].host : "?");
	printf("%s: %ld of %d rank%s on %s, keeper %d%s%s (%s)%s\n", job->state.path, count, count ? list[0].size : 0,
	       count && list[0].size == 1 ? "" : "s", where, job->state.keeper_pid, job->elsewhere ? " on " : "",
	       job->elsewhere ? job->elsewhere->host : "", life[job->state.life],
	       recorded && recorded == count ? ", recording" : "");
	printf("  %5s %8s %10s %10s  %s%s\n", "rank", "pid", "step", "step time", hosts > 1 ? "host  " : "", "now");
	for (long i = 0; i < count; i++) {
		if (list[i].marks)
			snprintf(step, sizeof(step), "%" PRId64, list[i].step);
		else
			snprintf(step, sizeof(step), "%s", "unmarked");
		printf("  %5d %8d %10s %10s  %s%s%s%s\n", list[i].rank, list[i].pid, step,
		       time_text(&list[i], time_of, sizeof(time_of)), hosts > 1 ? list[i].host : "", hosts > 1 ? "  " : "",
		       where_text(&list[i], where, sizeof(where)), list[i].recording && recorded < count ? "; recording" : "");
	}
	if (job->state.life == PP_SPOOL_LEFT)
		printf("  No keeper reads the records of these ranks. When they have ended, type 'podprof salvage %s -o %s'.\n",
		       pp_shell_word(job->state.path, spool, sizeof(spool)),
		       pp_shell_word(job->state.output, output, sizeof(output)));
}

static void add_nccl(struct pp_json *j, const char *entries)
{
	struct pp_live_nccl n;
	int count = 0;

	for (const char *at = entries; (at = pp_live_nccl_next(at, &n));) {
		if (!count++)
			pp_json_open_list(j, "nccl");
		pp_json_open(j, NULL);
		pp_json_add_id(j, "communicator", n.comm);
		pp_json_add_text(j, "name", n.name);
		pp_json_add_int(j, "rank", n.rank);
		pp_json_add_int(j, "size", n.size);
		pp_json_add_number(j, "begun", "%" PRIu64, n.begun);
		pp_json_add_number(j, "ended", "%" PRIu64, n.ended);
		pp_json_add_int(j, "messages", n.messages);
		pp_json_add_text(j, "call", n.call);
		pp_json_add_int(j, "root", n.root);
		pp_json_add_number(j, "bytes", "%" PRIu64, n.bytes);
		pp_json_close(j);
	}
	if (count)
		pp_json_close(j);
	if (pp_live_nccl_more(entries))
		pp_json_add_int(j, "communicators_unknown", pp_live_nccl_more(entries));
}

static void add_rank(struct pp_json *j, const struct pp_live_rank *r)
{
	static const char *const state[] = {"running", "ended", "gone"};

	pp_json_open(j, NULL);
	pp_json_add_int(j, "rank", r->rank);
	pp_json_add_int(j, "size", r->size);
	pp_json_add_int(j, "pid", r->pid);
	pp_json_add_text(j, "host", r->host);
	pp_json_add_text(j, "state", state[r->state]);
	pp_json_add_bool(j, "recording", r->recording);
	if (r->state == PP_LIVE_ENDED && r->exit_status != PP_EXIT_STATUS_UNKNOWN)
		pp_json_add_int(j, "exit_status", r->exit_status);
	if (r->marks) {
		pp_json_add_number(j, "step", "%" PRId64, r->step);
		pp_json_add_number(j, "still_ns", "%" PRId64, r->still_ns);
	}
	if (r->marks && r->step_ns)
		pp_json_add_number(j, "step_ns", "%" PRId64, r->step_ns);
	if (r->call[0]) {
		pp_json_add_text(j, "call", r->call);
		pp_json_add_id(j, "communicator", r->comm);
		pp_json_add_int(j, "sequence", r->sequence);
		pp_json_add_int(j, "peer", r->peer);
		if (pp_live_comm_name(r))
			pp_json_add_text(j, "communicator_name", pp_live_comm_name(r));
	}
	add_nccl(j, r->nccl);
	pp_json_close(j);
}

static void add_job(struct pp_json *j, const struct pp_live_job *job, const struct pp_live_rank *list, long count)
{
	static const char *const life[] = {"left", "recording", "writing", "done", "failed"};

	pp_json_open(j, NULL);
	pp_json_add_text(j, "spool", job->state.path);
	pp_json_add_int(j, "keeper_pid", job->state.keeper_pid);
	pp_json_add_text(j, "keeper", life[job->state.life]);
	pp_json_open_list(j, "ranks");
	for (long i = 0; i < count; i++)
		add_rank(j, &list[i]);
	pp_json_close(j);
	pp_json_close(j);
}

/* Prints one list, after watching for a second. Returns how many ranks run; -1: after one error line. */
static int print_all(struct pp_jobs *jobs, int json, int clear)
{
	struct pp_json out = {.to = stdout};
	int running = 0;

	pp_jobs_sample(jobs, 1000);
	if (clear)
		printf("\033[H\033[J");
	if (json) {
		pp_json_open(&out, NULL);
		pp_json_open_list(&out, "jobs");
	}
	for (int k = 0; k < jobs->count; k++) {
		struct pp_live_rank *list = NULL;
		long count = pp_jobs_list(jobs, &jobs->job[k], &list);
		int here = 0;

		for (long i = 0; i < count; i++)
			here += list[i].state == PP_LIVE_RUNNING;
		running += here;
		if (here && json)
			add_job(&out, &jobs->job[k], list, count);
		else if (here)
			print_ranks(&jobs->job[k], list, count);
		free(list);
	}
	if (json) {
		pp_json_close(&out);
		pp_json_close(&out);
		putchar('\n');
	}
	return pp_is_printed("the ranks") ? running : -1;
}

static int show(struct pp_jobs *jobs, const char *given, const char *refused, const struct pp_options *options)
{
	const int json = options->verb.json, watch = options->verb.watch;
	int running, seen = 0;

	do {
		running = print_all(jobs, json, watch && !json && pp_can_rewrite(STDOUT_FILENO));
		seen |= running;
	} while (watch && running > 0);
	if (running < 0)
		return PP_EXIT_FAILED;
	if (seen)
		return PP_EXIT_OK;
	if (*refused)
		pp_say("no rank of yours records into '%s', and its request files are not trusted: %s. Ask as the user of the "
		       "job.",
		       given, refused);
	else if (!jobs->ending)
		pp_say("no rank runs that records into '%s'. A rank appears at its first MPI call or step mark.", given);
	return PP_EXIT_FAILED;
}

int pp_cmd_status(int argc, char **argv)
{
	struct pp_options options;
	struct pp_jobs jobs;
	const char *given;
	char *logdir;
	int first, rc = pp_options_parse(&pp_verb_status, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	given = pp_given_directory(&pp_verb_status, argc, argv, first);
	if (!given)
		return PP_EXIT_USAGE;
	logdir = pp_given_logdir(given);
	if (!logdir)
		return PP_EXIT_FAILED;
	pp_jobs_find(logdir, given, &jobs);
	rc = show(&jobs, given, jobs.elsewhere.refused, &options);
	pp_jobs_close(&jobs);
	free(logdir);
	return rc;
}
