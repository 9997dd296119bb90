/* podprof export: prints the tables of one tool of a session as CSV or JSON, or writes its timeline for other tools. In: a log
 * directory or a session's. Out: stdout, or a file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/report/report.h"
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"
#include "core/base/units.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/export/export.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/report_list.h"

const struct pp_options_verb pp_verb_export = {
        .name = "podprof export",
        .arguments = "[LOGDIR|SESSION]",
        .doc = "Print the tables of one tool of the newest session of LOGDIR (default podprof_logs), or of SESSION: its "
               "directory, a file in it, or its name. CSV of a tool with several tables has a line '# NAME' before each of them. "
               "'podprof report --table' prints any single table. --format perfetto, chrome or folded writes the timeline of all "
               "ranks instead.",
        .groups = PP_OPT_EXPORT,
};

static int print(const char *directory, const char *tool, enum pp_report_form form)
{
	char pod[PATH_MAX + 16], missing[2048] = "";
	struct pp_err err = {""};
	int rc;

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	rc = pp_report_tool(pod, tool, form, stdout, missing, sizeof(missing), &err);
	if (rc) {
		pp_say("%s.", err.text);
		return rc == -ENOENT ? PP_EXIT_USAGE : PP_EXIT_FAILED;
	}
	pp_say_of(missing, pod);
	if (fflush(stdout) || ferror(stdout)) {
		pp_say("cannot print the tables: %s. The file is '%s'.", pp_why(errno), pod);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}

static int is_given(const struct pp_options *options, enum pp_opt_id id)
{
	return options->source[id] == PP_FROM_COMMAND_LINE;
}

static int read_options(const struct pp_options *options, struct pp_export_options *o)
{
	const struct pp_step_windows *windows = &options->job.windows;
	struct pp_err err = {""};

	o->is_joined = options->verb.all_ranks;
	if (is_given(options, PP_OPT_ID_CATEGORIES) && pp_export_categories(options->verb.categories, &o->categories, &err)) {
		pp_say("%s. Nothing was written.", err.text);
		return PP_EXIT_USAGE;
	}
	if (windows->count > 1) {
		pp_say("option --steps: '%s' are several windows, and a trace has one. Give --steps A:B.",
		       options->text[PP_OPT_ID_STEPS]);
		return PP_EXIT_USAGE;
	}
	o->steps_first = windows->first[0];
	o->steps_last = windows->last[0];
	o->ranks = options->job.ranks.list;
	o->last_ns = options->verb.last_ns;
	return -1;
}

/* "wrote 12 345 slices and 678 arrows of 8 ranks to 'trace'. Open it at https://ui.perfetto.dev" */
static void say_written(const struct pp_export_options *o, struct pp_export_result *result, const char *file)
{
	static const char *const open[PP_EXPORT_FORMATS] = {"Open it at https://ui.perfetto.dev",
	                                                    "Open it at https://ui.perfetto.dev or in chrome://tracing",
	                                                    "Open it at https://speedscope.app, or with flamegraph.pl"};
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT], c[PP_TEXT_UNIT], to[PATH_MAX + 8] = "";

	pp_say_of(result->left, NULL);
	if (file)
		snprintf(to, sizeof(to), " to '%s'", file);
	if (o->format == PP_EXPORT_FOLDED)
		pp_say("wrote %s stacks of %s rank%s%s: own time in ns. %s.", pp_text_count(a, result->stacks),
		       pp_text_count(b, result->ranks), result->ranks == 1 ? "" : "s", to, open[o->format]);
	else
		pp_say("wrote %s events and %s arrows of %s rank%s%s. %s.", pp_text_count(a, result->events),
		       pp_text_count(b, result->flows), pp_text_count(c, result->ranks), result->ranks == 1 ? "" : "s", to,
		       open[o->format]);
}

static int write_to(const char *directory, const struct pp_export_options *o, const char *file)
{
	struct pp_export_result result = {0};
	struct pp_err err = {""};
	int rc, fd = file ? pp_output_create(file, &err) : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3); /* the child's own is closed */

	if (fd < 0) {
		pp_say(file ? "%s." : "cannot write the trace: standard output is closed. Give -o FILE.", err.text);
		return PP_EXIT_FAILED;
	}
	rc = pp_export_write(directory, o, fd, &result, &err);
	if (file && rc)
		pp_output_abandon(fd, file);
	else if (file)
		rc = pp_output_commit(fd, file, &err);
	if (rc) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	say_written(o, &result, file);
	return PP_EXIT_OK;
}

static int ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length > n && !strcmp(text + length - n, end);
}

static int write_trace(const char *given, const struct pp_options *options, enum pp_export_format format)
{
	const char *file = is_given(options, PP_OPT_ID_OUTPUT) ? options->text[PP_OPT_ID_OUTPUT] : NULL;
	struct pp_export_options o = {.format = format, .is_plain = file && ends_with(file, ".json")};
	char path[PATH_MAX];
	int rc = read_options(options, &o);

	if (rc >= 0)
		return rc;
	if (!file && format != PP_EXPORT_FOLDED && isatty(STDOUT_FILENO)) {
		pp_say("a trace is no text for a terminal. Give a file: -o %s.",
		       format == PP_EXPORT_PERFETTO ? "trace.perfetto-trace" : "trace.json.gz");
		return PP_EXIT_USAGE;
	}
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL); /* one sentence instead */
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	rc = pp_report_find(given, path);
	return rc ? rc : write_to(path, &o, file);
}

/* Options that do not belong together. -1, or the exit code. */
static int check_options(const struct pp_options *options, int is_trace, enum pp_export_format format)
{
	static const enum pp_opt_id of_trace[] = {PP_OPT_ID_STEPS,      PP_OPT_ID_RANKS,     PP_OPT_ID_LAST,
	                                          PP_OPT_ID_CATEGORIES, PP_OPT_ID_ALL_RANKS, PP_OPT_ID_OUTPUT};

	for (size_t i = 0; !is_trace && i < sizeof(of_trace) / sizeof(of_trace[0]); i++)
		if (is_given(options, of_trace[i])) {
			pp_say("option --%s is for traces, and a table has all. Give --format perfetto, chrome or folded too.",
			       pp_opt_table[of_trace[i]].name);
			return PP_EXIT_USAGE;
		}
	if (is_trace && is_given(options, PP_OPT_ID_TOOL)) {
		pp_say("a trace has all tools' events: remove --tool, or give --format csv or json for the tables of %s.",
		       options->verb.tool);
		return PP_EXIT_USAGE;
	}
	if (is_given(options, PP_OPT_ID_ALL_RANKS) && format != PP_EXPORT_FOLDED) {
		pp_say("option --all-ranks is for --format folded: other traces have a process for each rank.");
		return PP_EXIT_USAGE;
	}
	return -1;
}

int pp_cmd_export(int argc, char **argv)
{
	static const enum pp_export_format format_of[] = {PP_EXPORT_PERFETTO, PP_EXPORT_CHROME, PP_EXPORT_FOLDED};
	enum pp_export_format format = PP_EXPORT_FORMATS; /* a table */
	struct pp_options options;
	const char *given;
	char path[PATH_MAX];
	int first, is_trace, rc = pp_options_parse(&pp_verb_export, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (argc - first > 1) {
		pp_say("too many arguments: '%s': export takes one directory. Type 'podprof export --tool op_stats LOGDIR'.",
		       argv[first + 1]);
		return PP_EXIT_USAGE;
	}
	given = first < argc ? argv[first] : pp_opt_table[PP_OPT_ID_OUTPUT].fallback;
	is_trace = options.verb.format >= PP_OPT_PERFETTO;
	if (is_trace)
		format = format_of[options.verb.format - PP_OPT_PERFETTO];
	rc = check_options(&options, is_trace, format);
	if (rc >= 0)
		return rc;
	if (is_trace)
		return write_trace(given, &options, format);
	if (!*options.verb.tool) {
		pp_say("no tool: nothing to print. Type 'podprof export --tool op_stats LOGDIR'; 'podprof export --help' lists "
		       "the tools.");
		return PP_EXIT_USAGE;
	}
	rc = pp_report_find(given, path);
	return rc ? rc : print(path, options.verb.tool, pp_report_form(options.verb.format == PP_OPT_JSON, options.verb.raw));
}
