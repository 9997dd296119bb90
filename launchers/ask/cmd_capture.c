/* podprof capture: requests a window from the keepers of live jobs, waits for it, prints its path. In: a log directory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launchers/ask/asker.h"
#include "launchers/brief/brief_print.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"

const struct pp_options_verb pp_verb_capture = {
        .name = "podprof capture",
        .arguments = "[LOGDIR]",
        .doc = "Capture a window of the jobs that record into LOGDIR (default podprof_logs) while they run. All ranks capture the "
               "same steps: the next ten, or those of the options. Works on each node of the job and wherever LOGDIR is visible. "
               "Waits until the session is written and prints its path.",
        .groups = PP_OPT_CAPTURE,
};

enum { STEPS = 10 };

static void progress(const char *what)
{
	pp_progress("waiting %s", what);
}

/* The answer's line "DIR  (podprof report LOGDIR)" has the session; the others go to stderr. Returns the exit code. */
static int print_sessions(char *text)
{
	int rc = PP_EXIT_FAILED;
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *end = strstr(line, "  (podprof report ");

		if (end) {
			*end = '\0';
			rc = pp_brief_print(line);
		} else {
			pp_say("%s", line);
		}
	}
	return rc;
}

/* Prints the keeper's answer unchanged, or its sessions as JSON; returns the exit code. */
static int say_answer(char *text, int is_json)
{
	if (!strncmp(text, "done\n", 5)) {
		if (is_json)
			return print_sessions(text + 5);
		puts(text + 5);
		return fflush(stdout) ? PP_EXIT_FAILED : PP_EXIT_OK;
	}
	if (!strncmp(text, "failed\n", 7))
		pp_say("%s.", text + 7);
	else
		pp_say("the keeper ended before the capture was complete. If the job still runs, 'podprof doctor' shows how to "
		       "salvage its records.");
	return PP_EXIT_FAILED;
}

static int capture_all(const struct pp_asker_list *jobs, const char *given, const struct pp_capture_request *request, int is_json)
{
	int rc = PP_EXIT_OK;

	if (!jobs->count) {
		if (jobs->refused[0])
			pp_say("no job of yours records into '%s', and its request files are not trusted: %s. Ask as the user "
			       "of the job.",
			       given, jobs->refused);
		else
			pp_say("no job records into '%s'%s. Start one with 'podprof run -o %s -- CMD'.", given,
			       jobs->over ? " any more: the last one is ending" : "", given);
		return PP_EXIT_FAILED;
	}
	for (int i = 0; i < jobs->count; i++) {
		struct pp_err err = {""};
		char *answer = NULL;
		int one = pp_asker_ask(&jobs->job[i], request, progress, &answer, &err);

		pp_progress_end();
		if (one)
			pp_say("%s.", err.text);
		one = one ? PP_EXIT_FAILED : say_answer(answer, is_json);
		free(answer);
		rc = one ? one : rc;
	}
	return rc;
}

/* -1, or the exit code. */
static int read_request(const struct pp_options *options, struct pp_capture_request *w)
{
	const struct pp_verb_settings *v = &options->verb;
	const enum pp_opt_id id = *options->job.duration.text ? PP_OPT_ID_DURATION : PP_OPT_ID_LAST;
	const int has_last = *options->text[PP_OPT_ID_LAST] != 0, has_duration = id == PP_OPT_ID_DURATION;

	*w = (struct pp_capture_request){.kind = PP_CAPTURE_REQUEST_STEPS, .amount = v->steps_to_come ? v->steps_to_come : STEPS};
	if ((v->steps_to_come != 0) + has_duration + has_last > 1) {
		pp_say("--steps, --duration and --last cannot be combined. Give one of them.");
		return PP_EXIT_USAGE;
	}
	if (has_duration || has_last) {
		w->kind = has_duration ? PP_CAPTURE_REQUEST_DURATION : PP_CAPTURE_REQUEST_LAST;
		w->amount = has_duration ? options->job.duration.ns : v->last_ns;
		if (!w->amount) {
			pp_say("option --%s: '%s' must be greater than zero, for example 2s.", pp_opt_table[id].name,
			       options->text[id]);
			return PP_EXIT_USAGE;
		}
	}
	w->level = options->source[PP_OPT_ID_LEVEL] == PP_FROM_COMMAND_LINE ? v->level : 0;
	if (has_last && w->level) {
		pp_say("--level cannot change what is recorded already: it does not go with --last.");
		return PP_EXIT_USAGE;
	}
	if (strlen(options->text[PP_OPT_ID_RANKS]) >= sizeof(w->ranks)) {
		pp_say("option --ranks: the list is too long. Write consecutive ranks as a range, for example 0-7.");
		return PP_EXIT_USAGE;
	}
	snprintf(w->ranks, sizeof(w->ranks), "%s", options->text[PP_OPT_ID_RANKS]);
	return -1;
}

int pp_cmd_capture(int argc, char **argv)
{
	static struct pp_asker_list jobs;
	struct pp_options options;
	struct pp_capture_request request;
	const char *given;
	char *logdir;
	int first, rc = pp_options_parse(&pp_verb_capture, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	given = pp_given_directory(&pp_verb_capture, argc, argv, first);
	if (!given)
		return PP_EXIT_USAGE;
	rc = read_request(&options, &request);
	if (rc >= 0)
		return rc;
	logdir = pp_given_logdir(given);
	if (!logdir)
		return PP_EXIT_FAILED;
	pp_asker_find(logdir, &jobs);
	rc = capture_all(&jobs, given, &request, options.verb.json);
	free(logdir);
	return rc;
}
