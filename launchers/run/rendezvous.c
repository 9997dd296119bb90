/* Files of the rendezvous point; see rendezvous.h. Called by cmd_run.c and cmd_arrive.c. */
#include "launchers/run/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/net/rendezvous_point.h"
#include "core/base/now.h"
#include "core/base/proc.h"

enum { WAIT_MS = 2000, PAUSE_MS = 2, PATH_SIZE = 640 };

static void path_of(const char *spool, const char *name, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "%s/%s", spool, name);
}

void pp_rendezvous_want(const char *spool, int nested)
{
	char path[PATH_SIZE];
	int fd;

	path_of(spool, PP_RENDEZVOUS_POINT_FILE, path);
	if (nested && !access(path, F_OK)) /* the outer podprof run has requested it */
		return;
	unlink(path); /* left by a job that was killed here */
	path_of(spool, PP_RENDEZVOUS_POINT_FAILED, path);
	unlink(path);
	path_of(spool, PP_RENDEZVOUS_POINT_WANTED, path);
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

char *pp_rendezvous_wait(const char *spool, struct pp_err *err)
{
	char wanted[PATH_SIZE], made[PATH_SIZE], failed[PATH_SIZE];
	char text[PP_RENDEZVOUS_POINT_TEXT] = "", why[256] = "";
	char *value;

	path_of(spool, PP_RENDEZVOUS_POINT_WANTED, wanted);
	path_of(spool, PP_RENDEZVOUS_POINT_FILE, made);
	path_of(spool, PP_RENDEZVOUS_POINT_FAILED, failed);
	for (int i = 0; i < WAIT_MS / PAUSE_MS && !access(wanted, F_OK); i++)
		pp_nap_ms(PAUSE_MS);
	if (pp_proc_read(made, text, sizeof(text)) > 0) {
		value = strdup(text);
		explicit_bzero(text, sizeof(text));
		return value;
	}
	pp_proc_read(failed, why, sizeof(why));
	pp_err_set(err, -ETIMEDOUT, "%s", why[0] ? why : "the keeper gave no reason");
	return NULL;
}

int pp_rendezvous_pass(const char *spool)
{
	const char *value = getenv(PP_RENDEZVOUS_VARIABLE);
	char part[PATH_SIZE + 32], path[PATH_SIZE];
	size_t length = value ? strnlen(value, PP_RENDEZVOUS_POINT_TEXT - 1) : 0;
	int fd, done;

	path_of(spool, PP_RENDEZVOUS_POINT_FILE, path);
	if (!length || !access(path, F_OK))
		return 0;
	snprintf(part, sizeof(part), "%s-XXXXXX", path);
	fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* link() instead of rename(): ranks that start together write the same, and no keeper reads half of it. */
	done = !fchmod(fd, 0600) && write(fd, value, length) == (ssize_t)length && !link(part, path);
	close(fd);
	unlink(part);
	return done;
}
