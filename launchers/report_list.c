/* Table of sessions, and the forms in which a session may be given; see report_list.h. Called by cmd_report.c,
 * cmd_export.c and cmd_view.c. */
#include "launchers/report_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/report/brief.h"
#include "aggregate/write/json_object.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/opt.h"
#include "core/base/plain.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/options/help.h"
#include "launchers/options/say.h"

enum { COLUMNS = 6, GAP = 2, INDENT = 4, TEXT = 1100 };

struct row {
	struct pp_brief brief;
	char name[NAME_MAX + 1], error[600];
};

static const char *const headline[COLUMNS + 1] = {"session", "date", "ranks", "steps", "captured", "command", "verdict"};

/* The text of a column; COLUMNS: the verdict. */
static const char *cell(const struct row *r, int column)
{
	const char *const text[COLUMNS + 1] = {r->name,      r->brief.date,    r->brief.ranks,  r->brief.steps,
	                                       r->brief.why, r->brief.command, r->brief.verdict};

	return text[column];
}

static void read_row(const char *logdir, const char *name, struct row *r)
{
	char path[PATH_MAX];
	struct pp_err err = {""};

	memset(r, 0, sizeof(*r));
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(path, sizeof(path), "%s/podprof/%s/pod.h5", logdir, name);
	if (pp_brief_read(path, &r->brief, &err))
		snprintf(r->error, sizeof(r->error), "%.*s", (int)sizeof(r->error) - 1, err.text);
	if (r->brief.previous[0])
		snprintf(r->brief.why + strlen(r->brief.why), sizeof(r->brief.why) - strlen(r->brief.why), ", restart of %s",
		         r->brief.previous);
	pp_plain(r->name, "");
	pp_plain(r->error, "");
	pp_plain(r->brief.why, "");
	pp_plain(r->brief.steps, "");
	pp_plain(r->brief.command, "");
	pp_plain(r->brief.verdict, "");
}

/* How many columns stand side by side; the others, and the verdict, get lines of their own. 0 columns of terminal: all. */
static int side_by_side(const int *width, int columns)
{
	int used = 0, n = 0;

	if (!columns)
		return COLUMNS;
	while (n < COLUMNS && used + width[n] + GAP * (n > 0) < columns) {
		used += width[n] + GAP * (n > 0);
		n++;
	}
	return n ? n : 1;
}

static void print_row(const struct row *r, const int *width, int beside, int columns)
{
	for (int c = 0; c < beside; c++)
		printf("%s%-*s", c ? "  " : "", c + 1 < beside || !columns ? width[c] : 0, cell(r, c));
	if (r->error[0]) {
		printf("%s%s\n", columns ? "\n    " : "  ", r->error);
		return;
	}
	if (!columns) {
		printf("  %s\n", cell(r, COLUMNS));
		return;
	}
	putchar('\n');
	for (int c = beside; c <= COLUMNS; c++) {
		char text[TEXT];

		snprintf(text, sizeof(text), "%s: %s", headline[c], cell(r, c));
		pp_help_wrap(text, INDENT, 0);
	}
}

void pp_report_list(const char *logdir, const struct pp_session_file *session, long count, int columns)
{
	struct row *row = calloc((size_t)count, sizeof(*row));
	int width[COLUMNS] = {0}, beside;

	if (!row) {
		pp_say("cannot list the sessions: no memory.");
		return;
	}
	for (long i = 0; i < count; i++)
		read_row(logdir, session[count - 1 - i].name, &row[i]);
	for (int c = 0; c < COLUMNS; c++) {
		width[c] = (int)strlen(headline[c]);
		for (long i = 0; i < count; i++)
			width[c] = (int)strlen(cell(&row[i], c)) > width[c] ? (int)strlen(cell(&row[i], c)) : width[c];
	}
	beside = side_by_side(width, columns);
	for (int c = 0; c < beside; c++)
		printf("%s%-*s", c ? "  " : "", c + 1 < beside || !columns ? width[c] : 0, headline[c]);
	puts(columns ? "" : "  verdict");
	for (long i = 0; i < count; i++)
		print_row(&row[i], width, beside, columns);
	free(row);
}

void pp_report_list_json(const char *logdir, const struct pp_session_file *session, long count)
{
	struct pp_json json = {.to = stdout};
	char path[PATH_MAX];

	pp_json_open_list(&json, NULL);
	for (long i = count; i-- > 0;) {
		struct pp_brief brief = {""};
		struct pp_err err = {""};

		snprintf(path, sizeof(path), "%s/podprof/%s/pod.h5", logdir, session[i].name);
		if (!pp_brief_read(path, &brief, &err))
			err.text[0] = '\0';
		path[strlen(path) - strlen("/pod.h5")] = '\0';
		pp_json_line(&json);
		pp_brief_row_json(&brief, session[i].name, path, err.text, &json);
	}
	pp_json_line(&json);
	pp_json_close(&json);
	putchar('\n');
}

static int is_session(const char *path)
{
	char file[PATH_MAX + 16];

	snprintf(file, sizeof(file), "%s/summary.txt", path);
	if (!access(file, F_OK))
		return 1;
	snprintf(file, sizeof(file), "%s/pod.h5", path);
	return !access(file, F_OK);
}

static void parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		slash[slash == path] = '\0';
}

/* LOGDIR/NAME, or NAME in the default log directory. */
static int find_by_name(const char *given, char *ret_path)
{
	char path[PATH_MAX], *slash;
	int n;

	snprintf(path, sizeof(path), "%s", given);
	for (size_t end = strlen(path); end > 1 && path[end - 1] == '/';)
		path[--end] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	n = snprintf(ret_path, PATH_MAX, "%s/podprof/%s", slash ? (*path ? path : "/") : pp_opt_table[PP_OPT_ID_OUTPUT].fallback,
	             slash ? slash + 1 : path);
	return n < PATH_MAX && is_session(ret_path);
}

PP_COMPARE(by_time, struct pp_session_file, PP_UP(time_ns) ?: strcmp(x->name, y->name))

long pp_report_sessions(const char *logdir, struct pp_session_file **ret_session)
{
	char path[PATH_MAX + NAME_MAX + 32];
	struct pp_session_file *s = NULL;
	struct dirent *e;
	struct stat st;
	long count = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/podprof", logdir);
	d = opendir(path);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/podprof/%s/summary.txt", logdir, e->d_name);
		if (e->d_name[0] == '.' || stat(path, &st))
			continue;
		if (PP_RESIZE(s, (size_t)count + 1))
			break;
		snprintf(s[count].name, sizeof(s[count].name), "%s", e->d_name);
		s[count++].time_ns = st.st_mtim.tv_sec * (int64_t)1000000000 + st.st_mtim.tv_nsec;
	}
	closedir(d);
	if (count)
		qsort(s, (size_t)count, sizeof(*s), by_time);
	*ret_session = s;
	return count;
}

static int is_hdf5(const char *path)
{
	static const char begin[8] = "\x89HDF\r\n\x1a\n";
	char head[sizeof(begin)];
	FILE *f = fopen(path, "re");
	const size_t n = f ? fread(head, 1, sizeof(head), f) : 0;

	if (f)
		fclose(f);
	return n == sizeof(head) && !memcmp(head, begin, sizeof(head));
}

/* Makes the directories of path[0..at] and of what follows. */
static int make_directories(char *path, size_t at)
{
	for (char *c = path + at;; c++) {
		const char end = *c;

		if (end && end != '/')
			continue;
		*c = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			return -errno;
		*c = end;
		if (!end)
			return 0;
	}
}

/* A pod.h5 under another name, or without its directory: makes a session of it, FILE.podprof/podprof/NAME, or in a temporary
 * directory where none can be made there. 0, or -errno. */
static int adopt(const char *file, char ret_path[PATH_MAX])
{
	const char *name = strrchr(file, '/') + 1, *tmp = getenv("TMPDIR");
	const int length = (int)(strlen(name) > 3 && !strcmp(name + strlen(name) - 3, ".h5") ? strlen(name) - 3 : strlen(name));
	char pod[PATH_MAX + 16];
	int n = snprintf(ret_path, PATH_MAX, "%s.podprof/podprof/%.*s", file, length, name), rc;

	rc = n < PATH_MAX ? make_directories(ret_path, strlen(file)) : -ENAMETOOLONG;
	if (rc) {
		n = snprintf(pod, PATH_MAX, "%s/podprof-report-XXXXXX", tmp && *tmp ? tmp : "/tmp");
		if (n >= PATH_MAX || !mkdtemp(pod))
			return rc;
		n = snprintf(ret_path, PATH_MAX, "%s/podprof/%.*s", pod, length, name);
		rc = n < PATH_MAX ? make_directories(ret_path, strlen(pod) + 1) : -ENAMETOOLONG;
	}
	snprintf(pod, sizeof(pod), "%s/pod.h5", ret_path);
	if (rc || (!symlink(file, pod) || errno == EEXIST))
		return rc;
	return -errno;
}

/* A file of a session, or a pod.h5 elsewhere. */
static int resolve_file(const char *given, char ret_path[PATH_MAX])
{
	char file[PATH_MAX];
	struct pp_brief brief;
	struct pp_err err = {""};

	snprintf(file, sizeof(file), "%s", ret_path);
	parent(ret_path);
	if (is_session(ret_path))
		return 1;
	if (is_hdf5(file) && pp_brief_read(file, &brief, &err)) {
		pp_say("%s.", err.text);
		return -EINVAL;
	}
	if (is_hdf5(file) && !adopt(file, ret_path))
		return 1;
	pp_say("cannot open '%s': it is neither a session nor a trace that podprof reads. Give the directory that -o named, a "
	       "session, or a trace ('podprof analyze --help' lists the kinds).",
	       given);
	return -ENOTDIR;
}

int pp_report_resolve(const char *given, char ret_path[PATH_MAX])
{
	char sub[PATH_MAX + 16], by_name[PATH_MAX];
	struct stat st;
	char *name;

	if (!realpath(given, ret_path)) {
		int why = errno;

		if (find_by_name(given, by_name) && realpath(by_name, ret_path))
			return 1;
		pp_say("cannot open '%s': %s, and no session has this name. Give the directory that -o named; a job that recorded "
		       "nothing leaves none.",
		       given, pp_why(why));
		return -why;
	}
	if (!stat(ret_path, &st) && !S_ISDIR(st.st_mode))
		return resolve_file(given, ret_path);
	if (is_session(ret_path))
		return 1;
	name = strrchr(ret_path, '/');
	snprintf(sub, sizeof(sub), "%s/podprof", ret_path);
	if (name && !strcmp(name, "/podprof") && access(sub, F_OK))
		parent(ret_path);
	return 0;
}

int pp_report_find(const char *given, char ret_path[PATH_MAX])
{
	struct pp_session_file *session = NULL;
	char logdir[PATH_MAX];
	long count;
	int rc = pp_report_resolve(given, logdir), length;

	if (rc < 0)
		return PP_EXIT_FAILED;
	if (rc) {
		snprintf(ret_path, PATH_MAX, "%s", logdir);
		return PP_EXIT_OK;
	}
	count = pp_report_sessions(logdir, &session);
	if (count <= 0 || !session) {
		pp_say("no session in '%s'. Record one with 'podprof run', or make one with 'podprof analyze'.", given);
		free(session);
		return PP_EXIT_FAILED;
	}
	length = snprintf(ret_path, PATH_MAX, "%s/podprof/%s", logdir, session[count - 1].name);
	free(session);
	return length < PATH_MAX ? PP_EXIT_OK : PP_EXIT_FAILED;
}
