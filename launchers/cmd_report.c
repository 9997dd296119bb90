/* podprof report: prints the summary of a session once its keeper has finished it, and makes the report if it is missing or old.
 * In: a log directory or a session's. Out: text on stdout, report.html. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/read/h5/pod.h"
#include "aggregate/report/report.h"
#include "aggregate/write/text/text.h"
#include "core/base/parse.h"
#include "core/base/plain.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/run/spool.h"

const struct pp_options_verb pp_verb_report = {
        .name = "podprof report",
        .arguments = "[LOGDIR|SESSION-DIR]",
        .doc = "Print the summary of the newest session of LOGDIR (podprof_logs if none is given), or of one session, and make its "
               "report.html, a page for any browser, where that is missing or old.",
        .groups = PP_OPT_REPORT,
};

struct session {
	char name[NAME_MAX + 1];
	int64_t time_ns; /* when its summary was written */
};

struct live {
	const char *logdir;
	struct pp_spool_state state;
	int failed, left;
};

static int by_time(const void *a, const void *b)
{
	const struct session *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int see_live(const struct pp_spool_state *state, void *data)
{
	struct live *live = data;

	if (strcmp(state->output, live->logdir))
		return 0;
	live->state = *state;
	live->failed |= state->life == PP_SPOOL_FAILED;
	live->left |= state->life == PP_SPOOL_LEFT && state->rings;
	return state->life == PP_SPOOL_RECORDING || state->life == PP_SPOOL_WRITING;
}

/* Waits until no keeper writes to this log directory. 0: none does, 1: the time is over. */
static int wait_for_keeper(struct live *live, int64_t seconds)
{
	const struct timespec nap = {.tv_nsec = 50000000};
	int shows = isatty(STDERR_FILENO);
	time_t begin = time(NULL);
	int alive;

	while ((alive = pp_spool_each(see_live, live)) && time(NULL) - begin < seconds) {
		if (shows)
			fprintf(stderr, "\rpodprof: waiting for the keeper (pid %d, %s), %d of %d s \033[K", live->state.keeper_pid,
			        live->state.life == PP_SPOOL_WRITING ? "writing" : "still recording", (int)(time(NULL) - begin),
			        (int)seconds);
		nanosleep(&nap, NULL);
	}
	if (shows)
		fputs("\r\033[K", stderr);
	return alive;
}

/* Sessions with a summary, oldest first. Returns how many, -errno where the directory cannot be read. */
static long find_sessions(const char *logdir, struct session **ret_session)
{
	char path[PATH_MAX];
	struct session *s = NULL;
	struct dirent *e;
	struct stat st;
	long count = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/podprof", logdir);
	d = opendir(path);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		struct session *grown;

		snprintf(path, sizeof(path), "%s/podprof/%s/summary.txt", logdir, e->d_name);
		if (e->d_name[0] == '.' || stat(path, &st))
			continue;
		grown = realloc(s, (size_t)(count + 1) * sizeof(*s));
		if (!grown)
			break;
		s = grown;
		snprintf(s[count].name, sizeof(s[count].name), "%s", e->d_name);
		s[count++].time_ns = st.st_mtim.tv_sec * (int64_t)1000000000 + st.st_mtim.tv_nsec;
	}
	closedir(d);
	if (count)
		qsort(s, (size_t)count, sizeof(*s), by_time);
	*ret_session = s;
	return count;
}

/* 0: no terminal. */
static int columns_of_terminal(void)
{
	struct winsize w;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col ? INT_MAX : w.ws_col;
}

static int print_summary(const char *directory)
{
	char path[PATH_MAX];
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "%s/summary.txt", directory);
	f = fopen(path, "re");
	if (!f) {
		pp_say("cannot read '%s': %s. Is it a session of podprof?", path, pp_why(errno));
		return PP_EXIT_FAILED;
	}
	rc = pp_text_print(f, stdout, columns_of_terminal());
	fclose(f);
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = -errno;
	if (rc) {
		pp_say("cannot print the summary: %s. It stands in '%s'.", pp_why(-rc), path);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}

/* Prints the page's path on stderr: stdout is the summary's. A directory without write permission still has its summary. */
static int make_page(const char *directory, const struct pp_options *options)
{
	const char *elsewhere = options->value[PP_OPT_ID_HTML];
	char pod[PATH_MAX], html[PATH_MAX];
	struct pp_err err = {""};
	int rc;

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	snprintf(html, sizeof(html), "%s/report.html", directory);
	if (!*elsewhere && pp_report_is_fresh(pod, html)) {
		pp_say("%s  (open it in a browser)", html);
		return PP_EXIT_OK;
	}
	rc = pp_report_write(pod, *elsewhere ? elsewhere : html, &err);
	if (!rc) {
		pp_say("%s  (open it in a browser)", *elsewhere ? elsewhere : html);
		return PP_EXIT_OK;
	}
	if (rc == -EACCES || rc == -EROFS || rc == -EPERM)
		pp_say("%s. Name another place: 'podprof report --html FILE %s'.", err.text, directory);
	else
		pp_say("%s.", err.text);
	return rc == -EINVAL || rc == -ETIMEDOUT || *elsewhere ? PP_EXIT_FAILED : PP_EXIT_OK;
}

static int print_table(const char *directory, const struct pp_options *options)
{
	const char *name = options->value[PP_OPT_ID_TABLE];
	char pod[PATH_MAX], missing[512] = "";
	struct pp_err err = {""};
	int rc;

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	rc = pp_report_table(pod, name, !strcmp(options->value[PP_OPT_ID_FORMAT], "json"), stdout, missing, sizeof(missing), &err);
	if (rc) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	if (missing[0])
		pp_say("'%s' %s.", pod, missing);
	if (fflush(stdout) || ferror(stdout)) {
		pp_say("cannot print the table: %s. It stands in '%s'.", pp_why(errno), pod);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}

static int show(const char *directory, const struct pp_options *options)
{
	int rc;

	if (*options->value[PP_OPT_ID_TABLE])
		return print_table(directory, options);
	rc = print_summary(directory);
	return rc ? rc : make_page(directory, options);
}

static int nothing_there(const char *given, const struct live *live, int alive)
{
	if (alive)
		pp_say("no session in '%s' yet: a job still records (keeper pid %d). Ask again once it has ended, or give more "
		       "--timeout.",
		       given, live->state.keeper_pid);
	else if (live->failed)
		pp_say("no session in '%s': its keeper failed: %s. Mend that, then 'podprof salvage %s -o %s'.", given,
		       live->state.message, live->state.path, given);
	else if (live->left)
		pp_say("no session in '%s': the keeper of its job is gone. Type 'podprof salvage %s -o %s'.", given,
		       live->state.path, given);
	else
		pp_say("no session in '%s': no job has written there. Record one with 'podprof run -o %s -- CMD'; a program "
		       "without MPI calls, NVTX ranges and marks of podprof.h leaves none.",
		       given, given);
	return PP_EXIT_FAILED;
}

/* Prints the name, and the session before where the ranks of its job were restarted. */
static void print_name(const char *logdir, char *session)
{
	char path[PATH_MAX], previous[256] = "";
	struct pp_err err = {""};

	snprintf(path, sizeof(path), "%s/podprof/%s/pod.h5", logdir, session);
	if (!access(path, R_OK) && pp_pod_file_glance(path, "previous", previous, sizeof(previous), &err))
		pp_say("%s.", err.text);
	printf("%s%s%s%s\n", pp_plain(session, ""), previous[0] ? "  (ranks started again after " : "", pp_plain(previous, ""),
	       previous[0] ? ")" : "");
}

static int report_logdir(const char *given, const char *logdir, const struct pp_options *options)
{
	struct live live = {.logdir = logdir};
	struct session *session = NULL;
	int64_t seconds = 60;
	char path[PATH_MAX];
	int alive, rc = PP_EXIT_OK;
	long count;

	pp_parse_int(options->value[PP_OPT_ID_TIMEOUT], &seconds, NULL);
	alive = wait_for_keeper(&live, seconds);
	count = find_sessions(logdir, &session);
	if (count <= 0 || !session) {
		rc = nothing_there(given, &live, alive);
	} else if (options->source[PP_OPT_ID_LIST] != PP_FROM_DEFAULT) {
		for (long i = count; i-- > 0;)
			print_name(logdir, session[i].name);
	} else {
		if (alive)
			pp_say("a job still records into '%s' (keeper pid %d): this is the newest finished session.", given,
			       live.state.keeper_pid);
		snprintf(path, sizeof(path), "%s/podprof/%s", logdir, session[count - 1].name);
		rc = show(path, options);
	}
	free(session);
	return rc;
}

int pp_cmd_report(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	struct pp_options options;
	const char *given;
	char *logdir;
	int first, rc = pp_options_parse(&pp_verb_report, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (argc - first > 1) {
		pp_say("report takes one directory, not '%s' too. Type 'podprof report LOGDIR'.", argv[first + 1]);
		return PP_EXIT_USAGE;
	}
	if (options.source[PP_OPT_ID_FORMAT] != PP_FROM_DEFAULT && !*options.value[PP_OPT_ID_TABLE]) {
		pp_say("--format is the form of one table. Give --table NAME too, for example '--table slowest'.");
		return PP_EXIT_USAGE;
	}
	pp_options_environment(&options, PP_OPT_REPORT, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN},
	          NULL); /* a page above the limit of 'ulimit -f' gives an error, and leaves no .part */
	given = first < argc ? argv[first] : pp_opt_table[PP_OPT_ID_OUTPUT].fallback;
	logdir = pp_given_logdir(given);
	if (!logdir)
		return PP_EXIT_FAILED;
	snprintf(path, sizeof(path), "%s/summary.txt", logdir);
	if (!access(path, F_OK))
		rc = show(logdir, &options);
	else
		rc = report_logdir(given, logdir, &options);
	free(logdir);
	return rc;
}
