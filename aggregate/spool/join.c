/* Makes or joins the spool of a job before the application starts; see join.h. */
#include "aggregate/spool/join.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "aggregate/spool/list.h"
#include "aggregate/spool/options.h"
#include "aggregate/spool/root.h"
#include "aggregate/spool/run_file.h"
#include "aggregate/spool/state.h"
#include "core/base/now.h"
#include "core/base/own_directory.h"
#include "core/base/why.h"

enum { NAPS = 200, LEFT_NAPS = 20, TRIES = 3, LEAST_FILES = 64 };

static const double ROOM_BYTES = 2 << 20;

/* Rings hold what the job does, and whoever can rename them can feed the keeper. */
static int own_directory(const char *path, struct pp_err *err)
{
	return pp_own_directory(path, "the spool", err);
}

/* A full tmpfs still allows a directory, but neither the keeper's page nor a ring: the rank's header alone is a quarter of a
 * MiB. The keeper has about ten files, each rank three; a file system without a limit on files has 0 of them. */
static int check_room(const char *base, struct pp_err *err)
{
	struct statvfs fs;

	if (statvfs(base, &fs))
		return 0;
	if ((double)fs.f_bavail * (double)fs.f_frsize < ROOM_BYTES)
		return pp_err_set(err, -ENOSPC, "cannot create the spool: '%s' is full", base);
	if (fs.f_files && fs.f_favail < LEAST_FILES)
		return pp_err_set(err, -ENOSPC, "cannot create the spool: '%s' has only %llu inodes free", base,
		                  (unsigned long long)fs.f_favail);
	return 0;
}

/* A keeper that closes takes no new process in, and removes the spool: the next program of the job makes another. */
static void wait_for_closing(const char *path)
{
	struct pp_spool_state state;

	for (int i = 0; i < NAPS && !pp_spool_read(path, &state); i++) {
		if (state.life != PP_SPOOL_WRITING && state.life != PP_SPOOL_DONE)
			break;
		pp_nap_ms(10);
	}
}

static int open_under(const char *base, const char *job, int wants_room, char *ret_path, size_t size, struct pp_err *err)
{
	char path[PP_SPOOL_PATH];
	int rc;

	if (snprintf(path, sizeof(path), "%s/podprof-%u", base, (unsigned)geteuid()) >= (int)sizeof(path) ||
	    snprintf(ret_path, size, "%s/%s", path, job) >= (int)size)
		return pp_err_set(err, -ENAMETOOLONG, "cannot create the spool: the name of '%s' is too long", base);
	rc = wants_room && access(ret_path, F_OK) ? check_room(base, err) : 0;
	if (!rc)
		rc = own_directory(path, err);
	if (rc)
		return rc;
	wait_for_closing(ret_path);
	return own_directory(ret_path, err);
}

static int open_default(const char *base, const char *job, char *ret_path, size_t size, struct pp_err *err)
{
	const char *tmp = getenv("TMPDIR"), *place = strcmp(base, PP_SPOOL_ROOT_SHM) ? base : pp_spool_root_find(NULL);
	int rc = open_under(place, job, 1, ret_path, size, err);

	if (rc && strcmp(place, base) != 0) /* better a spool that may be gone before the epilog than none */
		rc = open_under(base, job, 1, ret_path, size, err);
	if (rc == -ENOENT || rc == -EACCES || rc == -EROFS || rc == -ENOSPC)
		rc = open_under(tmp && *tmp == '/' ? tmp : "/tmp", job, 0, ret_path, size, err);
	return rc;
}

static int is_of_another(const char *path, const struct pp_job *job, char *ret_name, size_t size)
{
	return !pp_spool_read_option(path, "JOB", ret_name, size) && strcmp(ret_name, job->name) != 0;
}

/* A spool with this name may be an earlier job's: its keeper is about to remove it, or died and left rings for salvage. Or that
 * job still runs. */
static int wait_for_last_job(const char *path, const struct pp_job *job, struct pp_err *err)
{
	struct pp_spool_state state;
	char other[256];
	int there = !pp_spool_read(path, &state), left = 0;

	for (int i = 0; i < NAPS && there; i++) {
		int ends = state.life == PP_SPOOL_DONE || state.life == PP_SPOOL_WRITING;

		/* A keeper that removes its spool file by file may be down to the rings: they stay. */
		left = ends ? 0 : left + 1;
		if (!ends && (state.life == PP_SPOOL_RECORDING || !state.rings || left > LEFT_NAPS))
			break;
		pp_nap_ms(10);
		there = !pp_spool_read(path, &state);
	}
	if (there && (state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING) &&
	    is_of_another(path, job, other, sizeof(other)))
		return pp_err_set(err, -EBUSY, "cannot use the spool '%s': another job, '%s', records there", path, other);
	if (!there || !state.rings || state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING)
		return 0;
	return pp_err_set(
	        err, -EEXIST,
	        "cannot use the spool '%s': it has the rings of an earlier job ('podprof salvage %s' writes their session)", path,
	        path);
}

int pp_spool_open(const char *wanted, const struct pp_job *job, char *ret_path, size_t size, struct pp_err *err)
{
	char cwd[PATH_MAX];
	int rc;

	if (!*wanted)
		return open_default(PP_SPOOL_ROOT_SHM, job->name, ret_path, size, err);
	if (strpbrk(wanted, "\n\r"))
		return pp_err_set(err, -EINVAL, "cannot create the spool: its name has a line break");
	if (*wanted != '/' && !getcwd(cwd, sizeof(cwd)))
		return pp_err_set(err, -errno, "cannot create the spool '%s': %s", wanted, pp_why(errno));
	if (snprintf(ret_path, size, "%s%s%s", *wanted == '/' ? "" : cwd, *wanted == '/' ? "" : "/", wanted) >= (int)size)
		return pp_err_set(err, -ENAMETOOLONG, "cannot create the spool '%s': its name is too long", wanted);
	rc = wait_for_last_job(ret_path, job, err);
	if (rc)
		return rc;
	rc = pp_make_directories(ret_path, 0700);
	if (rc)
		return pp_err_set(err, rc, "cannot create the spool '%s': %s", wanted, pp_why(-rc));
	return own_directory(ret_path, err);
}

/* Marks the spool of the ranks before a restart: its keeper waits for the launcher, whose new ranks have another keeper. */
static void mark_previous(const char *outer, int again)
{
	char path[PP_SPOOL_PATH + 32];
	int fd;

	if (again > 1)
		snprintf(path, sizeof(path), "%s-r%d/followed", outer, again - 1);
	else
		snprintf(path, sizeof(path), "%s/followed", outer);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		close(fd);
}

int pp_spool_open_outer(const char *outer, const struct pp_job *job, char *ret_path, size_t size, struct pp_err *err)
{
	char wanted[PP_SPOOL_PATH], end[PP_SPOOL_PATH];
	size_t base, length;

	if (job->again > 0)
		length = (size_t)snprintf(wanted, sizeof(wanted), "%s-r%d", outer, job->again);
	else
		length = (size_t)snprintf(wanted, sizeof(wanted), "%s", outer);
	if (length >= sizeof(wanted))
		return pp_err_set(err, -ENAMETOOLONG, "cannot create the spool '%s': its name is too long", outer);
	if (job->again > 0)
		mark_previous(outer, job->again);
	base = (size_t)snprintf(end, sizeof(end), "/podprof-%u/%s", (unsigned)geteuid(), job->name);
	if (length <= base || strcmp(wanted + length - base, end))
		return pp_spool_open(wanted, job, ret_path, size, err);
	wanted[length - base] = '\0';
	return open_default(wanted, job->name, ret_path, size, err);
}

int pp_spool_join(const char *wanted, int is_outer, const struct pp_job *job, const char *const *value, const char *logdir,
                  char *const *command, char *ret_path, size_t size, struct pp_err *err)
{
	int rc = -ENOENT;

	/* The last keeper here may remove the spool between two of these. */
	for (int i = 0; i < TRIES && rc == -ENOENT; i++) {
		rc = is_outer ? pp_spool_open_outer(wanted, job, ret_path, size, err)
		              : pp_spool_open(wanted, job, ret_path, size, err);
		if (!rc)
			pp_spool_announce(ret_path);
		if (!rc)
			rc = pp_spool_write_options(ret_path, job, value, logdir, command, err);
		if (!rc)
			rc = pp_spool_register(ret_path, job, err);
	}
	return rc;
}
