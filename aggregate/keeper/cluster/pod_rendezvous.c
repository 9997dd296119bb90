/* A keeper's part in the rendezvous at the podprof run around the launcher (rendezvous_point.h): it serves the rendezvous,
 * delivers rank 0's invitation or looks for it. Called by pod_role.c and pod_transport.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/cluster/pod_state.h"
#include "aggregate/keeper/control.h"
#include "core/base/now.h"

enum { LOOK_MS = 20, PATH_SIZE = 4200 };

static void path_of(const struct pp_pod *p, const char *name, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "%s/%s", p->o.spool, name);
}

static int write_file(const struct pp_pod *p, const char *name, const char *text)
{
	size_t size = strlen(text);
	char part[PATH_SIZE], path[PATH_SIZE];
	int fd, rc = 0;

	path_of(p, ".meeting.part", part);
	path_of(p, name, path);
	unlink(part);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0600) || write(fd, text, size) != (ssize_t)size)
		rc = errno ? -errno : -ENOSPC;
	if (close(fd) || rc || rename(part, path)) {
		rc = rc ? rc : -errno;
		unlink(part);
	}
	return rc;
}

/* Reads the value of a rank's PODPROF_MEETING: 1, or 0: there is none. */
static int read_file(const struct pp_pod *p, char text[PP_RENDEZVOUS_POINT_TEXT])
{
	char path[PATH_SIZE];
	struct stat st;
	ssize_t n = -1;
	int fd;

	path_of(p, PP_RENDEZVOUS_POINT_FILE, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		n = read(fd, text, PP_RENDEZVOUS_POINT_TEXT - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return 1;
}

static void serve(struct pp_pod *p)
{
	struct pp_net_options o = pp_pod_net_options(p, p->o.settings->job[0] ? p->o.settings->job : "job");
	struct pp_net_invite at = {.port = 0};
	char text[PP_RENDEZVOUS_POINT_TEXT], path[PATH_SIZE];
	struct pp_err err = {""};
	int rc;

	pp_pod_raise_limit();
	rc = pp_rendezvous_addresses(&at, &err);
	if (!rc)
		rc = pp_rendezvous_point_serve(&o, &at, &p->rendezvous, &err);
	if (!rc) {
		pp_rendezvous_point_print(&at, text);
		rc = write_file(p, PP_RENDEZVOUS_POINT_FILE, text);
		explicit_bzero(text, sizeof(text));
		if (rc)
			pp_err_set(&err, rc, "cannot write '%s/" PP_RENDEZVOUS_POINT_FILE "': %s", p->o.spool, strerror(-rc));
	}
	if (rc) {
		pp_rendezvous_point_free(p->rendezvous);
		p->rendezvous = NULL;
		snprintf(p->rendezvous_why, sizeof(p->rendezvous_why), "the podprof run around the launcher %.200s", err.text);
		pp_keeper_log("%s", p->rendezvous_why);
		write_file(p, PP_RENDEZVOUS_POINT_FAILED, err.text);
	} else {
		p->serves = 1;
		pp_keeper_log("keepers of this job may meet here, on port %u", (unsigned)at.port);
	}
	explicit_bzero(&at, sizeof(at));
	path_of(p, PP_RENDEZVOUS_POINT_WANTED, path);
	unlink(path);
}

static void join(struct pp_pod *p)
{
	const char *job = p->o.settings->job;
	struct pp_net_invite at;
	struct pp_net_options o;
	char text[PP_RENDEZVOUS_POINT_TEXT];
	struct pp_err err = {""};
	int rc;

	if (!read_file(p, text))
		return;
	rc = pp_rendezvous_point_parse(text, &at, &err);
	if (!rc && !pp_rendezvous_point_is_of(at.job, job))
		rc = pp_err_set(&err, -EBADMSG, "it is of another job");
	if (rc) {
		snprintf(p->rendezvous_why, sizeof(p->rendezvous_why), "PODPROF_MEETING is ignored: %.200s", err.text);
		pp_notes_add(&p->o.job->view->notes, "%s", p->rendezvous_why);
	} else {
		o = pp_pod_net_options(p, at.job);
		rc = pp_rendezvous_point_join(&o, &at, job, &p->rendezvous, &err);
		if (rc)
			snprintf(p->rendezvous_why, sizeof(p->rendezvous_why), "the podprof run around the launcher: %.200s",
			         err.text);
	}
	if (rc)
		pp_keeper_log("%s", p->rendezvous_why);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(&at, sizeof(at));
}

void pp_pod_rendezvous_run(struct pp_pod *p)
{
	int64_t now = pp_now_ms();
	char path[PATH_SIZE];

	if (p->rendezvous) {
		pp_rendezvous_point_run(p->rendezvous);
		return;
	}
	if (p->rendezvous_ms && now - p->rendezvous_ms < LOOK_MS)
		return;
	p->rendezvous_ms = now;
	path_of(p, PP_RENDEZVOUS_POINT_WANTED, path);
	if ((p->state == PP_POD_UNDECIDED || p->state == PP_POD_HERE) && !access(path, F_OK)) {
		serve(p);
	} else if ((p->state == PP_POD_LISTENING || p->state == PP_POD_SEARCHING) && !p->rendezvous_tried) {
		p->rendezvous_tried = 1;
		join(p);
		if (p->state == PP_POD_LISTENING)
			pp_rendezvous_point_put(p->rendezvous, &p->invite);
	}
}

const char *pp_pod_rendezvous_why(const struct pp_pod *p)
{
	return p->rendezvous_why[0] ? p->rendezvous_why : pp_rendezvous_point_why(p->rendezvous);
}

void pp_pod_rendezvous_end(struct pp_pod *p)
{
	char path[PATH_SIZE];

	pp_rendezvous_point_free(p->rendezvous);
	p->rendezvous = NULL;
	path_of(p, PP_RENDEZVOUS_POINT_FILE, path);
	if (p->serves)
		unlink(path);
	p->serves = 0;
}
