/* podprof export: prints the tables of one tool of a session as CSV or JSON. In: a log directory or a session's. Out: stdout. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/report.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/report_list.h"

const struct pp_options_verb pp_verb_export = {
        .name = "podprof export",
        .arguments = "[LOGDIR|SESSION]",
        .doc = "Print the tables of one tool of the newest session of LOGDIR (default podprof_logs), or of SESSION: its "
               "directory, a file in it, or its name. CSV of a tool with several tables has a line '# NAME' before each of them. "
               "'podprof report --table' prints any single table.",
        .groups = PP_OPT_EXPORT,
};

/* The session that is meant. 0, or an exit code after one error line. */
static int find_session(const char *given, char path[PATH_MAX])
{
	struct pp_session_file *session = NULL;
	char logdir[PATH_MAX];
	long count;
	int rc = pp_report_resolve(given, logdir), length;

	if (rc < 0)
		return PP_EXIT_FAILED;
	if (rc) {
		snprintf(path, PATH_MAX, "%s", logdir);
		return PP_EXIT_OK;
	}
	count = pp_report_sessions(logdir, &session);
	if (count <= 0 || !session) {
		pp_say("no session in '%s'. Record one with 'podprof run', or make one with 'podprof analyze'.", given);
		free(session);
		return PP_EXIT_FAILED;
	}
	length = snprintf(path, PATH_MAX, "%s/podprof/%s", logdir, session[count - 1].name);
	free(session);
	return length < PATH_MAX ? PP_EXIT_OK : PP_EXIT_FAILED;
}

static int print(const char *directory, const char *tool, int is_json)
{
	char pod[PATH_MAX + 16], missing[2048] = "", *line, *rest = missing;
	struct pp_err err = {""};

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	if (pp_report_tool(pod, tool, is_json, stdout, missing, sizeof(missing), &err)) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	while ((line = strsep(&rest, "\n")))
		if (*line)
			pp_say("'%s' %s.", pod, line);
	if (fflush(stdout) || ferror(stdout)) {
		pp_say("cannot print the tables: %s. The file is '%s'.", pp_why(errno), pod);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}

int pp_cmd_export(int argc, char **argv)
{
	struct pp_options options;
	char path[PATH_MAX];
	int first, rc = pp_options_parse(&pp_verb_export, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (argc - first > 1) {
		pp_say("too many arguments: '%s': export takes one directory. Type 'podprof export --tool op_stats LOGDIR'.",
		       argv[first + 1]);
		return PP_EXIT_USAGE;
	}
	pp_options_environment(&options, PP_OPT_EXPORT, NULL);
	if (!*options.value[PP_OPT_ID_TOOL]) {
		pp_say("no tool: nothing to print. Type 'podprof export --tool op_stats LOGDIR'; 'podprof export --help' lists "
		       "the tools.");
		return PP_EXIT_USAGE;
	}
	rc = find_session(first < argc ? argv[first] : pp_opt_table[PP_OPT_ID_OUTPUT].fallback, path);
	return rc ? rc : print(path, options.value[PP_OPT_ID_TOOL], !strcmp(options.value[PP_OPT_ID_FORMAT], "json"));
}
