/* podprof diff: compares the step times of two or more sessions, says what changed, and fails where a job became slower. In: log
 * directories or sessions. Out: stdout, a page, exit code. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/write/text/text.h"
#include "aggregate/write/text/text_print.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/diff/diff.h"
#include "launchers/diff/page.h"
#include "launchers/diff/read.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/report_list.h"

const struct pp_options_verb pp_verb_diff = {
        .name = "podprof diff",
        .arguments = "A B [C...]",
        .doc = "Compare session B with session A: step time, categories, ranks, collectives, operators and surroundings. With more "
               "sessions, also print how the step time developed. Each is a log directory (its newest session), a session's "
               "directory, a file in it, or its name. Usual steps are compared, and a difference counts if it is larger than the "
               "noise within the sessions.",
        .groups = PP_OPT_DIFF,
};

static int print(FILE *text, FILE *json, int is_json)
{
	char bytes[4096];
	size_t n;
	int rc = 0;

	if (is_json)
		while ((n = fread(bytes, 1, sizeof(bytes), json)) > 0)
			fwrite(bytes, 1, n, stdout);
	else
		rc = pp_text_print(text, stdout, pp_columns());
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = -(errno ? errno : EIO);
	if (!rc)
		return PP_EXIT_OK;
	pp_say("cannot print the comparison: %s.", pp_why(-rc));
	return PP_EXIT_FAILED;
}

static int write_page(FILE *page, const char *html)
{
	struct pp_err err = {""};

	if (pp_diff_page_keep(page, html, &err)) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	pp_say("%s  (open it in a browser)", html);
	return PP_EXIT_OK;
}

static int judge(const struct pp_diff_check *check)
{
	if (check->word == PP_DIFF_CHECK_FAILED)
		return PP_EXIT_SLOWER;
	if (check->word != PP_DIFF_CHECK_UNDECIDED)
		return PP_EXIT_OK;
	if (check->why == PP_DIFF_WHY_CORES)
		pp_say("cannot check --fail-above: the ranks of a session were ready without a core for too much of their time. "
		       "Record again on hosts with a core for each rank.");
	else if (check->why == PP_DIFF_WHY_END)
		pp_say("cannot check --fail-above: the last steps of a session are longer than those before. Record again, with "
		       "more steps.");
	else if (check->why == PP_DIFF_WHY_NOISE)
		pp_say("cannot check --fail-above: the noise can hide a difference of more than %g %%. Record more steps, or give "
		       "a higher limit.",
		       check->limit_percent);
	else
		pp_say("cannot check --fail-above: a session has less than %d usual steps. Record more steps, for example "
		       "with --steps 10:60.",
		       PP_NOISE_STEPS);
	return PP_EXIT_FAILED;
}

static int compare(const struct pp_diff_given *given, const struct pp_options *options, struct pp_diff_check *check)
{
	const char *html = options->verb.html;
	FILE *file[PP_DIFF_FILES];
	struct pp_err err = {""};
	int rc;

	if (pp_diff_sessions(given, check, file, &err)) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	rc = print(file[PP_DIFF_TEXT], file[PP_DIFF_JSON], options->verb.json);
	if (!rc && *html)
		rc = write_page(file[PP_DIFF_PAGE], html);
	for (int i = 0; i < PP_DIFF_FILES; i++)
		fclose(file[i]);
	return rc ? rc : judge(check);
}

static int find(struct pp_diff_given *given)
{
	static char pod[PP_DIFF_RUNS_MOST][PATH_MAX + 16];
	char path[PATH_MAX];

	for (size_t r = 0; r < given->runs; r++) {
		int rc = pp_report_find(given->word[r], path);

		if (rc)
			return rc;
		snprintf(pod[r], sizeof(pod[r]), "%s/pod.h5", path);
		given->path[r] = pod[r];
	}
	return PP_EXIT_OK;
}

int pp_cmd_diff(int argc, char **argv)
{
	struct pp_diff_check check = {.limit_percent = -1};
	static struct pp_diff_given given; /* large */
	struct pp_options options;
	struct pp_err err = {""};
	int first, rc = pp_options_parse(&pp_verb_diff, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (*options.text[PP_OPT_ID_FAIL_ABOVE])
		check.limit_percent = options.verb.fail_above;
	if (pp_diff_map_parse(options.verb.map, &given.map, &err)) {
		pp_say("--map: %s.", err.text);
		return PP_EXIT_USAGE;
	}
	if (argc - first < 2 || argc - first > PP_DIFF_RUNS_MOST) {
		pp_say("%s: diff compares 2 to %d of them. Type 'podprof diff OLD NEW', with log directories or sessions.",
		       argc - first < 2 ? "too few sessions" : "too many sessions", PP_DIFF_RUNS_MOST);
		return PP_EXIT_USAGE;
	}
	for (; first < argc; first++)
		given.word[given.runs++] = argv[first];
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL); /* one sentence instead */
	given.is_page = *options.verb.html != '\0';
	rc = find(&given);
	return rc ? rc : compare(&given, &options, &check);
}
