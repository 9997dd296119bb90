/* podprof status: lists what the ranks of a live job do now, slowest first. In: a log directory. Out: a table, or JSON, on
 * stdout. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/live.h"
#include "core/base/comm_id.h"
#include "core/base/libc.h"
#include "core/base/now.h"
#include "launchers/ask/asker.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/run/spool.h"

const struct pp_options_verb pp_verb_status = {
        .name = "podprof status",
        .arguments = "[LOGDIR]",
        .doc = "Print what each rank does, for the jobs that record into LOGDIR (default podprof_logs): step, step time over one "
               "second, and the current MPI call; slowest rank first.",
        .groups = PP_OPT_STATUS,
};

enum { JOBS = 16, LOOKS = 500, LOOK_MS = 2 };

struct job {
	struct pp_spool_state state;
	struct pp_live *live;
	struct pp_asker *elsewhere; /* NULL: the job is on this node */
};

struct jobs {
	const char *logdir, *given;
	int ending; /* jobs whose keeper takes no more requests */
	struct job job[JOBS];
	int count;
};

static int see(const struct pp_spool_state *state, void *data)
{
	struct jobs *jobs = data;

	if (strcmp(state->output, jobs->logdir) || !state->rings || jobs->count == JOBS)
		return 0;
	jobs->job[jobs->count].state = *state;
	if (!pp_live_open(state->path, &jobs->job[jobs->count].live, NULL))
		jobs->count++;
	return 0;
}

/* Adds jobs found through the log directory: of other nodes, or with a spool elsewhere on this one. */
static void see_more(struct jobs *jobs, struct pp_asker_list *list)
{
	pp_asker_find(jobs->logdir, list);
	for (int i = 0; i < list->count; i++) {
		struct pp_spool_state state = {.keeper_pid = list->job[i].pid, .life = PP_SPOOL_RECORDING};
		struct job *job = &jobs->job[jobs->count];
		int known = jobs->count == JOBS;

		for (int k = 0; k < jobs->count && *list->job[i].spool; k++)
			known |= !strcmp(jobs->job[k].state.path, list->job[i].spool);
		if (known)
			continue;
		if (*list->job[i].spool && !pp_spool_read(list->job[i].spool, &state)) {
			see(&state, jobs);
			continue;
		}
		snprintf(state.path, sizeof(state.path), "%.*s", (int)sizeof(state.path) - 1, list->job[i].directory);
		*job = (struct job){.state = state, .elsewhere = &list->job[i]};
		jobs->count++;
	}
}

/* Gets the list of ranks from the keeper. Returns how many, -1: no answer. */
static long ask_list(struct jobs *jobs, const struct pp_asker *asker, struct pp_live_rank **ret_list)
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
		line += n + (size_t)more;
	}
	free(answer);
	return count ? count : -1;
}

static long list_ranks(struct jobs *jobs, struct job *job, struct pp_live_rank **ret_list)
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

static void look_for_a_second(struct jobs *jobs)
{
	for (int i = 0; i < LOOKS; i++) {
		pp_nap_ms(LOOK_MS);
		for (int k = 0; k < jobs->count; k++)
			if (jobs->job[k].live)
				pp_live_look(jobs->job[k].live, pp_clock_ns(CLOCK_MONOTONIC));
	}
}

/* The communicators that MPI itself makes have known ids; others are named by their id. */
static const char *comm_name(const struct pp_live_rank *r)
{
	static uint64_t world;
	static int32_t size;

	if (r->size != size) {
		size = r->size;
		world = pp_comm_id_named(PP_COMM_NAME_WORLD, 0, size);
	}
	if (r->comm == world)
		return "MPI_COMM_WORLD";
	return r->comm == pp_comm_id_named(PP_COMM_NAME_SELF, r->rank, 1) ? "MPI_COMM_SELF" : NULL;
}

static const char *where_text(const struct pp_live_rank *r, char *text, size_t size)
{
	int n;

	if (r->state == PP_LIVE_ENDED && r->exit_status == PP_EXIT_STATUS_UNKNOWN)
		snprintf(text, size, "%s", "ended");
	else if (r->state == PP_LIVE_ENDED)
		snprintf(text, size, "ended, status %d", r->exit_status);
	else if (r->state == PP_LIVE_GONE)
		snprintf(text, size, "%s", "ended without exit handlers");
	else if (!r->call[0])
		snprintf(text, size, "%s", "not in MPI");
	else {
		n = snprintf(text, size, "in %s", r->call);
		if (comm_name(r))
			n += snprintf(text + n, size - (size_t)n, " %" PRIu32 " on %s", r->sequence, comm_name(r));
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

static void print_ranks(const struct job *job, const struct pp_live_rank *list, long count)
{
	static const char *const life[] = {"no keeper", "keeper records", "keeper writes", "all windows written", "keeper failed"};
	char step[24], time_of[32], where[160];

	int hosts = hosts_of(list, count);

	if (hosts > 1)
		snprintf(where, sizeof(where), "%d hosts", hosts);
	else
		snprintf(where, sizeof(where), "%s", count ? list[0].host : "?");
	printf("%s: %ld of %d rank%s on %s, keeper %d%s%s (%s)\n", job->state.path, count, count ? list[0].size : 0,
	       count && list[0].size == 1 ? "" : "s", where, job->state.keeper_pid, job->elsewhere ? " on " : "",
	       job->elsewhere ? job->elsewhere->host : "", life[job->state.life]);
	printf("  %5s %8s %10s %10s  %s%s\n", "rank", "pid", "step", "step time", hosts > 1 ? "host  " : "", "now");
	for (long i = 0; i < count; i++) {
		if (list[i].marks)
			snprintf(step, sizeof(step), "%" PRId64, list[i].step);
		else
			snprintf(step, sizeof(step), "%s", "unmarked");
		printf("  %5d %8d %10s %10s  %s%s%s%s\n", list[i].rank, list[i].pid, step,
		       time_text(&list[i], time_of, sizeof(time_of)), hosts > 1 ? list[i].host : "", hosts > 1 ? "  " : "",
		       where_text(&list[i], where, sizeof(where)), list[i].recording ? "; recorded" : "");
	}
}

static void json_rank(const struct pp_live_rank *r)
{
	static const char *const state[] = {"running", "ended", "gone"};

	printf("{\"rank\": %d, \"size\": %d, \"pid\": %d, \"host\": ", r->rank, r->size, r->pid);
	pp_say_json(r->host);
	printf(", \"state\": \"%s\", \"recording\": %s", state[r->state], r->recording ? "true" : "false");
	if (r->state == PP_LIVE_ENDED && r->exit_status != PP_EXIT_STATUS_UNKNOWN)
		printf(", \"exit_status\": %d", r->exit_status);
	if (r->marks)
		printf(", \"step\": %" PRId64 ", \"still_ns\": %" PRId64, r->step, r->still_ns);
	if (r->marks && r->step_ns)
		printf(", \"step_ns\": %" PRId64, r->step_ns);
	if (r->call[0]) {
		printf(", \"call\": ");
		pp_say_json(r->call);
		printf(", \"communicator\": \"%016" PRIx64 "\", \"sequence\": %" PRIu32 ", \"peer\": %d", r->comm, r->sequence,
		       r->peer);
		if (comm_name(r))
			printf(", \"communicator_name\": \"%s\"", comm_name(r));
	}
	putchar('}');
}

static void json_job(const struct job *job, const struct pp_live_rank *list, long count)
{
	static const char *const life[] = {"left", "recording", "writing", "done", "failed"};

	printf("{\"spool\": ");
	pp_say_json(job->state.path);
	printf(", \"keeper_pid\": %d, \"keeper\": \"%s\", \"ranks\": [", job->state.keeper_pid, life[job->state.life]);
	for (long i = 0; i < count; i++) {
		printf("%s", i ? ", " : "");
		json_rank(&list[i]);
	}
	printf("]}");
}

/* Prints one list, after watching for a second. Returns how many ranks run. */
static int print_all(struct jobs *jobs, int json, int clear)
{
	int running = 0, printed = 0;

	look_for_a_second(jobs);
	if (clear)
		printf("\033[H\033[J");
	printf("%s", json ? "{\"jobs\": [" : "");
	for (int k = 0; k < jobs->count; k++) {
		struct pp_live_rank *list = NULL;
		long count = list_ranks(jobs, &jobs->job[k], &list);
		int here = 0;

		for (long i = 0; i < count; i++)
			here += list[i].state == PP_LIVE_RUNNING;
		running += here;
		if (here && json) {
			printf("%s", printed++ ? ", " : "");
			json_job(&jobs->job[k], list, count);
		} else if (here) {
			print_ranks(&jobs->job[k], list, count);
		}
		free(list);
	}
	printf("%s", json ? "]}\n" : "");
	fflush(stdout);
	return running;
}

static int show(struct jobs *jobs, const char *given, const char *refused, const struct pp_options *options)
{
	int json = options->source[PP_OPT_ID_JSON] != PP_FROM_DEFAULT, watch = options->source[PP_OPT_ID_WATCH] != PP_FROM_DEFAULT;
	int running, seen = 0;

	for (int k = 0; k < jobs->count; k++) { /* the first list finds the rings */
		struct pp_live_rank *list = NULL;

		if (jobs->job[k].live)
			pp_live_list(jobs->job[k].live, pp_clock_ns(CLOCK_MONOTONIC), &list);
		free(list);
	}
	do {
		running = print_all(jobs, json, watch && !json && isatty(STDOUT_FILENO));
		seen |= running;
	} while (watch && running && !ferror(stdout));
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
	static struct pp_asker_list more;
	struct jobs jobs = {.count = 0};
	const char *given;
	char *logdir;
	int first, rc = pp_options_parse(&pp_verb_status, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (argc - first > 1) {
		pp_say("too many arguments: '%s': status takes one directory. Type 'podprof status LOGDIR'.", argv[first + 1]);
		return PP_EXIT_USAGE;
	}
	given = first < argc ? argv[first] : pp_opt_table[PP_OPT_ID_OUTPUT].fallback;
	logdir = pp_given_logdir(given);
	if (!logdir)
		return PP_EXIT_FAILED;
	jobs.logdir = logdir;
	jobs.given = given;
	pp_spool_each(see, &jobs);
	see_more(&jobs, &more);
	rc = show(&jobs, given, more.refused, &options);
	for (int k = 0; k < jobs.count; k++)
		pp_live_close(jobs.job[k].live);
	free(logdir);
	return rc;
}
