/* The table of what `podprof view` serves; see resource.h. Called by serve.c. */
#include "launchers/view/resource.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/report/report.h"
#include "core/base/why.h"
#include "launchers/options/say.h"

static const char page[] = "report.html", html[] = "text/html; charset=utf-8", text[] = "text/plain; charset=utf-8";

/* No path is ever made of a request: these are all names. */
static const struct pp_resource table[] = {
        {.name = "", .type = html, .file = page},
        {.name = "report.html", .type = html, .file = page},
        {.name = "summary.txt", .type = text, .file = "summary.txt"},
        {.name = "pod.h5", .type = "application/x-hdf5", .file = "pod.h5"},
        {.name = "trace.perfetto-trace", .type = "application/octet-stream", .format = PP_EXPORT_PERFETTO, .is_for_viewer = 1},
        {.name = "trace.json.gz", .type = "application/gzip", .format = PP_EXPORT_CHROME},
        {.name = "stacks.folded", .type = text, .format = PP_EXPORT_FOLDED},
};

const struct pp_resource *pp_resource_find(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

static int create_nameless(struct pp_err *err)
{
	const char *directory = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	if (!directory || !*directory)
		directory = "/tmp";
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/podprof-view-XXXXXX", directory); /* not every file system has files without a name */
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return pp_err_set(err, -errno, "cannot make a temporary file in '%s': %s. Set TMPDIR to a directory with space",
		                  directory, pp_why(errno));
	unlink(path);
	return fd;
}

int pp_resource_open(const struct pp_resource *r, const char *session, int *ret_fd, struct pp_err *err)
{
	char path[PATH_MAX + 16], pod[PATH_MAX + 16];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", session, r->file ? r->file : "");
	snprintf(pod, sizeof(pod), "%s/pod.h5", session);
	if (!r->file || (r->file == page && !pp_report_is_fresh(pod, path))) {
		fd = create_nameless(err);
		if (fd < 0)
			return fd;
		*ret_fd = fd;
		return 0;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not stop the server */
	if (fd < 0)
		return pp_err_set(err, -errno, "cannot read '%s': %s", path, pp_why(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return pp_err_set(err, -EINVAL, "cannot read '%s': it is not a file", path);
	}
	*ret_fd = fd;
	return 1;
}

static int make_trace(const struct pp_resource *r, const char *session, int fd, struct pp_err *err)
{
	const struct pp_export_options options = {.format = r->format};
	struct pp_export_result result = {0};
	char *at = result.left, *line;
	int code = pp_export_write(session, &options, fd, &result, err);

	if (code)
		return code == -ENOSPC || code == -EFBIG || code == -EDQUOT
		               ? pp_err_wrap(err, code, "cannot write %s to a temporary file", r->name)
		               : code;
	while ((line = strsep(&at, "\n"))) /* what it does not have */
		if (*line)
			pp_say("%s: %s.", r->name, line);
	return 0;
}

int pp_resource_make(const struct pp_resource *r, const char *session, int fd, struct pp_err *err)
{
	char pod[PATH_MAX + 16];

	snprintf(pod, sizeof(pod), "%s/pod.h5", session);
	return r->file ? pp_report_write_to(pod, fd, err) : make_trace(r, session, fd, err);
}
