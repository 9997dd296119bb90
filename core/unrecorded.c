/* One sentence for a job that recorded nothing; see unrecorded.h. What ends without an exit handler, or has no podprof in it, the
 * keeper speaks for (aggregate/keeper/unrecorded.c). */
#include "core/unrecorded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/libc.h"
#include "core/base/line.h"
#include "core/base/plain.h"
#include "core/base/proc.h"
#include "core/coord/claim.h"
#include "core/coord/control.h"
#include "core/coord/self.h"

static pid_t root;
static int root_rank;

/* As aggregate/spool/run_file.c names it: the pid may be that of another PID namespace. 1: *ret_rank is the rank there, below 0
 * of a launcher. */
static int is_registered(const char *spool, int *ret_rank)
{
	char path[512], text[96];
	uint32_t space = pp_proc_pid_space();

	if (snprintf(path, sizeof(path), "%s/run-%d", spool, (int)getpid()) >= (int)sizeof(path))
		return 0;
	if (pp_proc_read(path, text, sizeof(text)) <= 0) {
		if (space == PP_PID_SPACE_FIRST || !space)
			return 0;
		snprintf(path, sizeof(path), "%s/run-%d-%u", spool, (int)getpid(), (unsigned)space);
		if (pp_proc_read(path, text, sizeof(text)) <= 0)
			return 0;
	}
	*ret_rank = (int)strtol(text, NULL, 10);
	return 1;
}

static int has_ring(const char *spool)
{
	DIR *d = opendir(spool);
	struct dirent *e;
	int found = !d; /* gone: the keeper has written all */

	while (!found && (e = readdir(d)) != NULL)
		found = strstr(e->d_name, ".ring") != NULL;
	if (d)
		closedir(d);
	return found;
}

static int is_first_to_report(const char *spool)
{
	char path[512];
	int fd;

	if (snprintf(path, sizeof(path), "%s/" PP_REPORTED_FILE, spool) >= (int)sizeof(path))
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) /* also where the lack of descriptors is what is reported */
		return !mknod(path, S_IFREG | 0600, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void print(int several)
{
	int n, foreign = 0;
	const struct pp_control *c = pp_control_map(pp_env("PODPROF_SPOOL"), &foreign);
	char line[512];

	n = snprintf(line, sizeof(line), "podprof: %s: %.300s\n", PP_UNRECORDED(several),
	             c && pp_control_unrecorded_known(c) ? c->unrecorded : PP_UNRECORDED_PLAIN(several));
	pp_plain(line, "");
	line[n - 1] = '\n';
	pp_line_write(line, (size_t)n);
}

static void ending(int status, void *arg)
{
	const char *spool = pp_env("PODPROF_SPOOL");
	struct pp_claim c;
	int saved = errno, several = pp_env("PODPROF_MEETING") != NULL;

	(void)status;
	(void)arg;
	if (pp_self_is_rank() || root != getpid() || !spool)
		return;
	if (fcntl(STDERR_FILENO, F_GETFD) < 0) { /* some programs close it at exit: the keeper has a copy */
		errno = saved;
		return;
	}
	pp_claim_read(&c, -1, -1);
	/* A launcher whose ranks are on other hosts has no ring here. */
	if (c.rank == 0 && (!several || root_rank == 0) && !has_ring(spool) && is_first_to_report(spool))
		print(several);
	errno = saved;
}

static void ending_somehow(void *arg)
{
	ending(0, arg);
}

void pp_unrecorded_is_reported(void)
{
	if (pp_env("PODPROF_SPOOL"))
		is_first_to_report(pp_env("PODPROF_SPOOL"));
}

void pp_unrecorded_start(void)
{
	const char *spool = pp_env("PODPROF_SPOOL");

	if (!spool || !is_registered(spool, &root_rank))
		return;
	root = getpid();
	pp_at_exit(ending, ending_somehow);
}
