/* Makes and finds the session of traces of other profilers; see trace_cache.h. Called by cmd_report.c. */
#include "launchers/trace_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/read/container.h"
#include "core/base/why.h"
#include "launchers/analyze/inputs.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"
#include "launchers/report_list.h"
#include "launchers/run/logdir.h"

#define MADE_OF "made_of.txt" /* in the log directory: of which podprof and which files its session is */

int pp_trace_cache_is_trace(const char *path)
{
	static const char *const of_session[] = {"pod.h5", "summary.txt"};
	const char *slash = strrchr(path, '/');
	struct pp_trace_glance glance;
	struct pp_err err = {""};
	char beside[PATH_MAX];
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	for (size_t i = 0; i < sizeof(of_session) / sizeof(of_session[0]); i++) {
		int n = snprintf(beside, sizeof(beside), "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, of_session[i]);

		if (n >= (int)sizeof(beside) || !access(beside, F_OK))
			return 0;
	}
	return pp_container_kind(path) == PP_CONTAINER_ARCHIVE || !pp_trace_glance(path, &glance, &err);
}

/* The text of MADE_OF for these files; NULL: no memory. */
static char *describe(const struct pp_inputs *in)
{
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	if (!to)
		return NULL;
	fprintf(to, "podprof %s\n", PODPROF_VERSION);
	for (size_t i = 0; i < in->files; i++) {
		const char *path = in->file[i].path;
		size_t archive = pp_container_archive(path);
		struct stat st = {.st_size = -1};
		char *on_disk = strndup(path, archive ? archive : strlen(path));

		if (on_disk)
			stat(on_disk, &st);
		free(on_disk);
		fprintf(to, "%lld %lld.%09ld %s\n", (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		        in->file[i].path);
	}
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

static int has_text(const char *path, const char *text)
{
	size_t length = strlen(text), n;
	char *found = malloc(length + 2);
	FILE *f = fopen(path, "re");

	n = found && f ? fread(found, 1, length + 1, f) : 0;
	if (f)
		fclose(f);
	n = n == length && length && !memcmp(found, text, length);
	free(found);
	return (int)n;
}

static void write_text(const char *path, const char *text)
{
	char part[PATH_MAX + 32];
	FILE *f;
	int failed;

	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "we");
	if (!f)
		return; /* the session is there all the same, and is made again next time */
	failed = fputs(text, f) < 0;
	failed |= fclose(f) != 0;
	if (failed || rename(part, path))
		unlink(part);
}

/* NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as nftw() calls it */
static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int has_session(const char *logdir)
{
	struct pp_session_file *session = NULL;
	long count = pp_report_sessions(logdir, &session);

	free(session);
	return count > 0;
}

/* DIR.podprof beside a directory or file; "": it has no name. */
static void name_cache(const char *given, char cache[PATH_MAX])
{
	char path[PATH_MAX];

	if (!realpath(given, path) || !strcmp(path, "/") || snprintf(cache, PATH_MAX, "%s.podprof", path) >= PATH_MAX)
		cache[0] = '\0';
}

static int open_temporary(char logdir[PATH_MAX])
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(logdir, PATH_MAX, "%s/podprof-report-XXXXXX", tmp && *tmp ? tmp : "/tmp");

	return n < PATH_MAX && mkdtemp(logdir) ? 0 : -1;
}

/* The log directory, which can be written; *ret_made: it was missing. 0, or an exit code after a line. */
static int open_logdir(const char *given, const char *output, char logdir[PATH_MAX], int *ret_made)
{
	struct pp_err err = {""};
	char wanted[PATH_MAX];
	int rc = -ENAMETOOLONG;

	name_cache(given, wanted);
	*ret_made = 0;
	if (output || *wanted)
		rc = pp_logdir_open(output ? output : wanted, logdir, PATH_MAX, ret_made, &err);
	if (!rc)
		return 0;
	if (output) {
		pp_say("%s. Nothing was analysed; %s.", err.text, pp_logdir_cure(rc));
		return PP_EXIT_FAILED;
	}
	if (open_temporary(logdir)) {
		pp_say("%s%sno temporary directory can be made: %s. Nothing was analysed; give a directory of your own by -o.",
		       err.text, *err.text ? "; " : "", pp_why(errno));
		return PP_EXIT_FAILED;
	}
	pp_say("%s%sthe session goes into the temporary directory '%s', and is not found again. Give a directory of your own by "
	       "-o.",
	       err.text, *err.text ? "; " : "", logdir);
	*ret_made = 1;
	return 0;
}

static int analyze(const char *given, char *logdir)
{
	char verb[] = "analyze", into[] = "-o", end[] = "--", path[PATH_MAX];
	char *argv[] = {verb, into, logdir, end, path, NULL};

	if (snprintf(path, sizeof(path), "%s", given) >= (int)sizeof(path))
		return PP_EXIT_FAILED;
	return pp_cmd_analyze((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv);
}

/* Has it the session of these files? Else makes it. */
static int fill(const char *given, const char *output, const char *made_of, char logdir[PATH_MAX])
{
	char stamp[PATH_MAX + 16], sessions[PATH_MAX + 16];
	int made = 0, fd, code;

	if (!output) { /* one that cannot be written serves as well */
		name_cache(given, logdir);
		snprintf(stamp, sizeof(stamp), "%s/" MADE_OF, logdir);
		if (*logdir && has_text(stamp, made_of) && has_session(logdir)) {
			pp_say("'%s' was analysed before, and has not changed since: this is its session in '%s'.", given, logdir);
			return PP_EXIT_OK;
		}
	}
	code = open_logdir(given, output, logdir, &made);
	if (code)
		return code;
	snprintf(stamp, sizeof(stamp), "%s/" MADE_OF, logdir);
	snprintf(sessions, sizeof(sessions), "%s/podprof", logdir);
	if (output && has_text(stamp, made_of) && has_session(logdir)) {
		pp_say("'%s' was analysed before, and has not changed since: this is its session in '%s'.", given, logdir);
		return PP_EXIT_OK;
	}
	pp_say("'%s' has traces of another profiler: they are analysed, and the session is written into '%s'%s.", given, logdir,
	       output ? "" : ", and made again when they change. -o DIR chooses another directory");
	fd = open(logdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!output && fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !access(stamp, F_OK)) {
		unlink(stamp);
		nftw(sessions, remove_one, 8, FTW_DEPTH | FTW_PHYS); /* of what the files were before */
	}
	code = analyze(given, logdir);
	if (code == PP_EXIT_OK || code == PP_EXIT_PARTIAL)
		write_text(stamp, made_of);
	else if (made)
		rmdir(logdir);
	if (fd >= 0)
		close(fd);
	return code;
}

int pp_trace_cache_make(const char *given, const char *output, char ret_logdir[PATH_MAX])
{
	char path[PATH_MAX], *word[] = {path};
	struct pp_inputs in = {.file = NULL};
	struct pp_err err = {""};
	char *made_of;
	int code;

	if (snprintf(path, sizeof(path), "%s", given) >= (int)sizeof(path) || pp_inputs_find(word, 1, &in, &err))
		return -1;
	made_of = in.files ? describe(&in) : NULL;
	code = made_of ? fill(given, output, made_of, ret_logdir) : -1;
	free(made_of);
	pp_inputs_release(&in);
	return code;
}
