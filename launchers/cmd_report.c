/* podprof report: prints the summary of a session once its keeper has finished it, and makes the report if it is missing or old.
 * In: a log directory, a session's, or traces of another profiler. Out: text on stdout, report.html. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/report/brief.h"
#include "aggregate/report/check.h"
#include "aggregate/report/report.h"
#include "aggregate/report/unknown.h"
#include "aggregate/spool/list.h"
#include "aggregate/spool/processes.h"
#include "aggregate/write/text/text.h"
#include "aggregate/write/text/text_print.h"
#include "core/base/now.h"
#include "core/base/shell_word.h"
#include "core/base/why.h"
#include "launchers/brief/brief_print.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/report_list.h"
#include "launchers/trace_cache.h"

const struct pp_options_verb pp_verb_report = {
        .name = "podprof report",
        .arguments = "[LOGDIR|SESSION|TRACES]",
        .doc = "Print the summary of the newest session of LOGDIR (default podprof_logs), or of SESSION: its directory, a file in "
               "it, or its name. Also write report.html, a page for any browser, if it is missing or older than the session. While "
               "a keeper still writes, wait for it.\v"
               "TRACES, files of another profiler, are analysed first, and only once.",
        .groups = PP_OPT_REPORT,
};

struct live {
	const char *logdir;
	struct pp_spool_state state;
	int failed, left, stopped;
	int records;     /* a keeper */
	int has_session; /* a finished one: nobody waits for the end of a job whose ranks go on */
};

static int see_live(const struct pp_spool_state *state, void *data)
{
	struct live *live = data;

	if (strcmp(state->output, live->logdir))
		return 0;
	if (!live->records)
		live->state = *state;
	live->failed |= state->life == PP_SPOOL_FAILED;
	live->left |= state->life == PP_SPOOL_LEFT && state->rings;
	live->records |= state->life == PP_SPOOL_RECORDING;
	if (live->has_session && state->life == PP_SPOOL_RECORDING && pp_spool_processes(state->path) == PP_PROCESSES_LIVE)
		return 0;
	return state->life == PP_SPOOL_RECORDING || state->life == PP_SPOOL_WRITING;
}

static int is_written_to(struct live *live)
{
	live->records = 0;
	return pp_spool_each(see_live, live);
}

/* Waits until no keeper writes to this log directory. 0: none does, 1: the time is over, or the keeper is stopped. */
static int wait_for_keeper(struct live *live, int64_t seconds)
{
	time_t begin = time(NULL);
	int alive;

	while ((alive = is_written_to(live)) && time(NULL) - begin < seconds) {
		live->stopped = pp_spool_keeper_is_stopped(live->state.keeper_pid);
		if (live->stopped)
			break;
		pp_progress("waiting for the keeper (pid %d, %s), %d of %d s", live->state.keeper_pid,
		            live->state.life == PP_SPOOL_WRITING ? "writing" : "still recording", (int)(time(NULL) - begin),
		            (int)seconds);
		pp_nap_ms(50);
	}
	pp_progress_end();
	return alive;
}

/* Without summary.txt it is made from pod.h5. NULL after one error line. */
static FILE *open_summary(const char *directory, char path[PATH_MAX])
{
	char pod[PATH_MAX];
	struct pp_err err = {""};
	FILE *f;
	int why;

	snprintf(path, PATH_MAX, "%s/summary.txt", directory);
	f = fopen(path, "re");
	why = errno;
	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	if (f)
		return f;
	if (why != ENOENT || access(pod, F_OK))
		pp_say("cannot read '%s': %s. Give a session or a log directory of podprof.", path, pp_why(why));
	else if (pp_brief_summary(pod, &f, &err))
		pp_say("%s.", err.text);
	snprintf(path, PATH_MAX, "%s", pod);
	return f;
}

static int print_summary(const char *directory)
{
	char path[PATH_MAX];
	FILE *f = open_summary(directory, path);
	int rc;

	if (!f)
		return PP_EXIT_FAILED;
	rc = pp_text_print(f, stdout, pp_columns());
	fclose(f);
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = -errno;
	if (rc) {
		pp_say("cannot print the summary: %s. The file is '%s'.", pp_why(-rc), path);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}

/* Prints the page's path on stderr: stdout is the summary's. A directory without write permission still has its summary. */
static int make_page(const char *directory, const struct pp_options *options)
{
	const char *elsewhere = options->verb.html;
	char pod[PATH_MAX], html[PATH_MAX];
	struct pp_err err = {""};
	int rc;

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	snprintf(html, sizeof(html), "%s/report.html", directory);
	if (!*elsewhere && pp_report_is_fresh(pod, html)) {
		pp_say("%s  (open it in a browser)", html);
		return PP_EXIT_OK;
	}
	rc = pp_report_write(pod, *elsewhere ? elsewhere : html, NULL, &err);
	if (!rc) {
		pp_say("%s  (open it in a browser)", *elsewhere ? elsewhere : html);
		return PP_EXIT_OK;
	}
	if (rc == -EACCES || rc == -EROFS || rc == -EPERM)
		pp_say("%s. Write the page elsewhere: 'podprof report --html FILE %s'.", err.text, directory);
	else
		pp_say("%s.", err.text);
	return rc == -EINVAL || rc == -ETIMEDOUT || *elsewhere ? PP_EXIT_FAILED : PP_EXIT_OK;
}

static int print_table(const char *directory, const struct pp_options *options)
{
	const char *name = options->verb.table;
	char pod[PATH_MAX], missing[2048] = "";
	struct pp_err err = {""};
	int rc;

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	rc = pp_report_table(pod, name, pp_report_form(options->verb.format == PP_OPT_JSON, options->verb.raw), stdout, missing,
	                     sizeof(missing), &err);
	if (rc) {
		pp_say("%s.", err.text);
		return rc == -ENOENT ? PP_EXIT_USAGE : PP_EXIT_FAILED;
	}
	pp_say_of(missing, pod);
	if (fflush(stdout) || ferror(stdout)) {
		pp_say("cannot print the table: %s. The file is '%s'.", pp_why(errno), pod);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}

static int print_check(const char *directory)
{
	char pod[PATH_MAX + sizeof("/pod.h5") + 512];
	struct pp_err err = {""};
	long violations = 0;

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	if (pp_check_print(pod, stdout, &violations, &err)) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	if (!pp_is_printed("what was found"))
		return PP_EXIT_FAILED;
	return violations ? PP_EXIT_CONTRADICTS : PP_EXIT_OK;
}

static int print_unknown(const char *directory)
{
	char pod[PATH_MAX + sizeof("/pod.h5") + 512];
	struct pp_err err = {""};

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	if (pp_unknown_print(pod, stdout, &err)) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	return pp_is_printed("the rules") ? PP_EXIT_OK : PP_EXIT_FAILED;
}

static int show(const char *directory, const struct pp_options *options)
{
	int rc;

	if (options->verb.unknown)
		return print_unknown(directory);

	if (options->verb.check)
		return print_check(directory);
	if (options->verb.json)
		return pp_brief_print(directory);
	if (*options->verb.table)
		return print_table(directory, options);
	rc = print_summary(directory);
	return rc ? rc : make_page(directory, options);
}

static int nothing_there(const char *given, const struct live *live, int alive)
{
	if (alive && live->stopped)
		pp_say("no session in '%s' yet: the keeper (pid %d) is stopped. Continue it with 'kill -CONT %d'.", given,
		       live->state.keeper_pid, live->state.keeper_pid);
	else if (alive)
		pp_say("no session in '%s' yet: a job still records (keeper pid %d). Try again when the job has ended, or "
		       "give a larger "
		       "--timeout.",
		       given, live->state.keeper_pid);
	else if (live->failed)
		pp_say("no session in '%s': its keeper failed: %s. Correct that, then type 'podprof salvage %s -o %s'.", given,
		       live->state.message, live->state.path, given);
	else if (live->left)
		pp_say("no session in '%s': the keeper of its job is gone. Type 'podprof salvage %s -o %s'.", given,
		       live->state.path, given);
	else
		pp_say("no session in '%s': no job has written there, and it has no trace of another profiler. Record one with "
		       "'podprof run -o %s -- CMD'. A program without MPI calls, ranges and step marks leaves no session.",
		       given, given);
	return PP_EXIT_FAILED;
}

/* The newest one is printed: names the others. */
static void say_others(const char *given, long count)
{
	char word[PATH_MAX];

	if (count > 1)
		pp_say("%ld other session%s: podprof report --list %s", count - 1, count > 2 ? "s" : "",
		       pp_shell_word(given, word, sizeof(word)));
}

static int print_list(const char *logdir, const struct pp_session_file *session, long count, const struct pp_options *options)
{
	if (options->verb.json)
		pp_report_list_json(logdir, session, count);
	else
		pp_report_list(logdir, session, count, pp_columns());
	if (!fflush(stdout) && !ferror(stdout))
		return PP_EXIT_OK;
	pp_say("cannot print the list: %s.", pp_why(errno));
	return PP_EXIT_FAILED;
}

/* DIR of -o; NULL: not given. The variable is the log directory of jobs. */
static const char *output_of(const struct pp_options *options)
{
	return options->source[PP_OPT_ID_OUTPUT] == PP_FROM_COMMAND_LINE ? options->text[PP_OPT_ID_OUTPUT] : NULL;
}

/* -1, or the exit code after a line: -o would be without effect. */
static int refuse_output(const char *given, const struct pp_options *options)
{
	if (!output_of(options))
		return -1;
	pp_say("-o is for traces of other profilers, and '%s' has a session of podprof. Leave out -o.", given);
	return PP_EXIT_USAGE;
}

/* The newest of a log directory's sessions, or their list. */
static int report_sessions(const char *given, const char *logdir, const struct pp_session_file *session, long count,
                           const struct pp_options *options)
{
	char path[PATH_MAX + NAME_MAX + 32];
	int rc;

	if (options->verb.list)
		return print_list(logdir, session, count, options);
	snprintf(path, sizeof(path), "%s/podprof/%s", logdir, session[count - 1].name);
	rc = show(path, options);
	if (!options->verb.json && !*options->verb.table && !options->verb.check && !options->verb.unknown)
		say_others(given, count);
	return rc;
}

/* A session made of traces of other profilers. -1: there are none, and nothing was printed. */
static int report_traces(const char *given, const struct pp_options *options)
{
	struct pp_session_file *session = NULL;
	char logdir[PATH_MAX];
	const int made = pp_trace_cache_make(given, output_of(options), logdir);
	int rc = made;
	long count;

	if (made && made != PP_EXIT_PARTIAL)
		return rc;
	count = pp_report_sessions(logdir, &session);
	if (count > 0 && session)
		rc = report_sessions(logdir, logdir, session, count, options);
	else
		pp_say("no session in '%s': it was removed while it was read.", logdir);
	free(session);
	return count <= 0 ? PP_EXIT_FAILED : rc ? rc : made;
}

/* A log directory of podprof is none of traces, even if its sessions cannot be read. */
static int has_sessions(const char *logdir)
{
	char path[PATH_MAX + sizeof("/podprof")];

	snprintf(path, sizeof(path), "%s/podprof", logdir);
	return !access(path, F_OK);
}

static int report_logdir(const char *given, const char *logdir, const struct pp_options *options)
{
	struct live live = {.logdir = logdir};
	struct pp_session_file *session = NULL;
	int alive, rc;
	long count;

	live.has_session = pp_report_sessions(logdir, &session) > 0 && session;
	free(session);
	session = NULL;
	alive = wait_for_keeper(&live, options->verb.timeout_s) || live.records;
	count = pp_report_sessions(logdir, &session);
	if (count <= 0 || !session) {
		rc = alive || live.failed || live.left || has_sessions(logdir) ? -1 : report_traces(given, options);
		rc = rc < 0 ? nothing_there(given, &live, alive) : rc;
	} else if ((rc = refuse_output(given, options)) < 0) {
		if (alive && !options->verb.list)
			pp_say("a job still records into '%s' (keeper pid %d). This is the newest finished session.", given,
			       live.state.keeper_pid);
		rc = report_sessions(given, logdir, session, count, options);
	}
	free(session);
	return rc;
}

/* One session: --list lists it alone. */
static int show_session(const char *directory, const struct pp_options *options)
{
	struct pp_session_file one = {.time_ns = 0};
	char logdir[PATH_MAX];
	char *name;

	if (output_of(options))
		return refuse_output(directory, options);
	if (!options->verb.list)
		return show(directory, options);
	snprintf(logdir, sizeof(logdir), "%s", directory);
	name = strrchr(logdir, '/');
	snprintf(one.name, sizeof(one.name), "%.*s", NAME_MAX, name ? name + 1 : logdir);
	for (int up = 0; up < 2 && name; up++) { /* LOGDIR/podprof/SESSION */
		*name = '\0';
		name = strrchr(logdir, '/');
	}
	return print_list(logdir, &one, 1, options);
}

/* Options that exclude each other. -1, or the exit code. */
static int check_options(const struct pp_options *options)
{
	const char *table = options->verb.table, *form = options->text[PP_OPT_ID_FORMAT];

	if (options->verb.format > PP_OPT_JSON)
		pp_say("--format %s is of no table. Type 'podprof export --format %s LOGDIR'.", form, form);
	else if (options->source[PP_OPT_ID_FORMAT] != PP_FROM_DEFAULT && !*table)
		pp_say("--format needs a table. Give --table NAME too, for example '--table slowest'.");
	else if (options->verb.check && (*table || options->verb.list || options->verb.json || *options->verb.html))
		pp_say("--check cannot be combined with --table, --list, --json or --html.");
	else if (options->verb.unknown &&
	         (*table || options->verb.list || options->verb.json || *options->verb.html || options->verb.check))
		pp_say("--unknown cannot be combined with --table, --list, --json, --html or --check.");
	else if (*table && (options->verb.list || options->verb.json))
		pp_say("--table cannot be combined with --list or --json. For a table as JSON, give --format json.");
	else
		return -1;
	return PP_EXIT_USAGE;
}

int pp_cmd_report(int argc, char **argv)
{
	char path[PATH_MAX];
	struct pp_options options;
	const char *given;
	int first, rc = pp_options_parse(&pp_verb_report, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	given = pp_given_directory(&pp_verb_report, argc, argv, first);
	if (!given)
		return PP_EXIT_USAGE;
	pp_options_environment(&options, PP_OPT_REPORT, NULL);
	rc = check_options(&options);
	if (rc >= 0)
		return rc;
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN},
	          NULL); /* a page above the limit of 'ulimit -f' gives an error, and leaves no .part */
	if (pp_trace_cache_is_trace(given) && (rc = report_traces(given, &options)) >= 0)
		return rc;
	rc = pp_report_resolve(given, path);
	if (rc < 0)
		return PP_EXIT_FAILED;
	return rc ? show_session(path, &options) : report_logdir(given, path, &options);
}
