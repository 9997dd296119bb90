/* The directory and the files of a session, for whoever has a dataset; see files.h. Called by session.c and analyze.c. */
#include "aggregate/session/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/tools/tools.h"
#include "aggregate/write/output.h"
#include "core/base/why.h"

enum { NAME_TRIES = 1000 };

static int add_cure(int rc, struct pp_err *err)
{
	size_t n = err ? strlen(err->text) : 0;

	if (err && n < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - n, ". %s", pp_message_cure(rc));
	return rc;
}

int pp_files_claim(const char *logdir, const char *wanted, char *name, size_t size, struct pp_err *err)
{
	char path[4400];
	int rc;

	if (strchr(wanted, '/') || wanted[0] == '.')
		return pp_err_set(err, -EINVAL,
		                  "cannot make session '%s': this is not a valid directory name. Give another --session", wanted);
	rc = pp_output_make(logdir, "podprof", err);
	if (rc)
		return add_cure(rc, err);
	snprintf(path, sizeof(path), "%s/podprof", logdir);
	for (int i = 1; !rc && i < NAME_TRIES; i++) {
		if (i == 1)
			snprintf(name, size, "%s", wanted);
		else
			snprintf(name, size, "%s-%d", wanted, i);
		snprintf(path, sizeof(path), "%s/podprof/%s", logdir, name);
		if (!mkdir(path, 0777))
			return 0;
		if (errno != EEXIST)
			rc = -errno;
	}
	rc = rc ? rc : -EEXIST;
	return add_cure(pp_err_set(err, rc, "cannot make the session's directory '%s': %s", path, pp_why(-rc)), err);
}

static const char *const under[] = {"podprof", "plugins/profile"};

static void name_directory(const struct pp_output *out, size_t i, char path[PP_SESSION_PATH])
{
	snprintf(path, PP_SESSION_PATH, "%s/%s/%s", out->logdir, under[i], out->session);
}

void pp_files_unclaim(const struct pp_output *out)
{
	char path[PP_SESSION_PATH];

	for (size_t i = 0; i < sizeof(under) / sizeof(under[0]); i++) {
		name_directory(out, i, path);
		rmdir(path);
	}
}

void pp_files_remove(const struct pp_output *out)
{
	char path[PP_SESSION_PATH];

	for (size_t i = 0; i < sizeof(under) / sizeof(under[0]); i++) {
		DIR *d;
		struct dirent *e;

		name_directory(out, i, path);
		d = opendir(path);
		while (d && (e = readdir(d)))
			unlinkat(dirfd(d), e->d_name, 0); /* not "." and "..": they are directories */
		if (d)
			closedir(d);
	}
	pp_files_unclaim(out);
}

void pp_files_cost(struct pp_dataset *d, int with_children)
{
	d->keeper_cpu_ns = 0;
	d->keeper_rss_bytes = 0;
	for (int i = 0; i < 1 + with_children; i++) {
		uint64_t rss;
		struct rusage u;

		getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
		rss = (uint64_t)u.ru_maxrss * 1024;
		d->keeper_cpu_ns += (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * (int64_t)1000000000 +
		                    (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * (int64_t)1000;
		if (rss > d->keeper_rss_bytes)
			d->keeper_rss_bytes = rss;
	}
}

void pp_files_tools(struct pp_dataset *d)
{
	struct pp_err err = {""};

	if (pp_tools_run(d, &err))
		pp_dataset_warn(d, "%s", err.text);
}

int pp_files_write(const struct pp_output *out, unsigned which, struct pp_message *message, int *ret_pod, struct pp_err *err)
{
	int first = 0, written = 0;

	for (const struct pp_writer_ops *const *list = pp_writer_list; *list; list++) {
		const struct pp_writer_ops *w = *list;
		struct pp_err one = {""};
		int rc;

		if (!(w->flags & which))
			continue;
		rc = w->write(out, &one);
		written += !rc;
		if (w->flags & PP_WRITER_FOR_REPORT)
			*ret_pod = !rc;
		pp_message_file(message, w->file ? w->file : w->name, rc, one.text);
		if (rc && !first)
			first = rc;
	}
	return written ? 0 : pp_err_set(err, first, "%s", message->failure);
}
