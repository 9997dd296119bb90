/* Makes or joins a spool before the application starts; called by podprof run. */
#include "launchers/run/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "core/base/proc.h"
#include "launchers/cmd.h"

static const double ROOM_BYTES = 2 << 20;

static int make_parents(char *path, mode_t mode)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, mode) && errno != EEXIST) {
			*p = '/';
			return -errno;
		}
		*p = '/';
	}
	return mkdir(path, mode) && errno != EEXIST ? -errno : 0;
}

/* Writes a page, not a byte: a full file system still creates empty files. The name has no pid: processes of other hosts have
 * the same ones. */
static int prove_writable(const char *directory)
{
	char path[PATH_MAX], page[4096] = {0};
	int fd, rc = 0;

	if (snprintf(path, sizeof(path), "%s/.podprof-XXXXXX.part", directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemps(path, (int)strlen(".part"), O_CLOEXEC);
	if (fd < 0)
		return -errno;
	errno = ENOSPC;
	if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	unlink(path);
	return rc;
}

int pp_logdir_open(const char *logdir, char *ret_path, size_t size, struct pp_err *err)
{
	char path[PATH_MAX];
	char *absolute;
	int rc;

	if (strpbrk(logdir, "\n\r"))
		return pp_err_set(err, -EINVAL, "cannot write the log directory: its name has a line break in it");
	if (snprintf(path, sizeof(path), "%s", logdir) >= (int)sizeof(path))
		return pp_err_set(err, -ENAMETOOLONG, "cannot write the log directory: its name is too long");
	rc = make_parents(path, 0777);
	if (rc)
		return pp_err_set(err, rc, "cannot make '%s': %s", logdir, pp_why(-rc));
	absolute = realpath(logdir, NULL);
	if (!absolute)
		return pp_err_set(err, -errno, "cannot open '%s': %s", logdir, pp_why(errno));
	rc = snprintf(ret_path, size, "%s", absolute) >= (int)size ? -ENAMETOOLONG : prove_writable(absolute);
	free(absolute);
	return rc ? pp_err_set(err, rc, "cannot write '%s': %s", logdir, pp_why(-rc)) : 0;
}

const char *pp_logdir_cure(int rc)
{
	switch (rc) {
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "name a directory of yours by -o";
	case -ENOSPC:
	case -EDQUOT:
		return "free space or use -o";
	default:
		return "name another directory by -o";
	}
}

/* The directory must be owner-only, ours and no link: rings hold what the job does, and whoever can rename them can feed the
 * keeper. */
static int own_directory(const char *path, struct pp_err *err)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return pp_err_set(err, -errno, "cannot make the spool '%s': %s", path, pp_why(errno));
	if (lstat(path, &st))
		return pp_err_set(err, -errno, "cannot open the spool '%s': %s", path, pp_why(errno));
	if (!S_ISDIR(st.st_mode))
		return pp_err_set(err, -ENOTDIR, "cannot use the spool '%s': it is not a directory", path);
	if (st.st_uid != geteuid())
		return pp_err_set(err, -EPERM, "cannot use the spool '%s': it belongs to user %u", path, (unsigned)st.st_uid);
	if ((st.st_mode & 07777) != 0700 && chmod(path, 0700)) /* independent of the umask */
		return pp_err_set(err, -errno, "cannot use the spool '%s': others may write it", path);
	return 0;
}

/* A full tmpfs still allows a directory, but neither the keeper's page nor a ring: the rank's header alone is a quarter of a
 * MiB. */
static int has_room(const char *base)
{
	struct statvfs fs;

	return statvfs(base, &fs) || (double)fs.f_bavail * (double)fs.f_frsize >= ROOM_BYTES;
}

static int open_under(const char *base, const char *job, int wants_room, char *ret_path, size_t size, struct pp_err *err)
{
	char path[PP_SPOOL_PATH];
	int rc;

	if (snprintf(path, sizeof(path), "%s/podprof-%u", base, (unsigned)geteuid()) >= (int)sizeof(path) ||
	    snprintf(ret_path, size, "%s/%s", path, job) >= (int)size)
		return pp_err_set(err, -ENAMETOOLONG, "cannot make the spool: the name of '%s' is too long", base);
	if (wants_room && access(ret_path, F_OK) && !has_room(base))
		return pp_err_set(err, -ENOSPC, "cannot make the spool: '%s' is full", base);
	rc = own_directory(path, err);
	return rc ? rc : own_directory(ret_path, err);
}

static int open_default(const char *base, const char *job, char *ret_path, size_t size, struct pp_err *err)
{
	const char *tmp = getenv("TMPDIR");
	int rc = open_under(base, job, 1, ret_path, size, err);

	if (rc == -ENOENT || rc == -EACCES || rc == -EROFS || rc == -ENOSPC)
		rc = open_under(tmp && *tmp == '/' ? tmp : "/tmp", job, 0, ret_path, size, err);
	return rc;
}

int pp_spool_read_option(const char *spool, const char *name, char *ret_value, size_t size)
{
	char path[PP_SPOOL_PATH + 32], line[PATH_MAX + 64];
	size_t length = strlen(name);
	int rc = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "%s/options", spool);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (rc && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, length) != 0 || line[length] != '=')
			continue;
		line[strcspn(line, "\n")] = '\0';
		rc = snprintf(ret_value, size, "%s", line + length + 1) < (int)size ? 0 : -ENAMETOOLONG;
	}
	fclose(f);
	return rc;
}

int pp_spool_say_once(const char *spool, const char *name)
{
	char path[PP_SPOOL_PATH + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", spool, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int is_of_another(const char *path, const struct pp_job *job, char *ret_name, size_t size)
{
	return !pp_spool_read_option(path, "JOB", ret_name, size) && strcmp(ret_name, job->name) != 0;
}

/* A spool with this name may be an earlier job's: its keeper is about to remove it, or died and left rings for salvage. Or that
 * job still runs. */
static int wait_for_last_job(const char *path, const struct pp_job *job, struct pp_err *err)
{
	enum { NAPS = 200, LEFT_NAPS = 20 };
	const struct timespec nap = {.tv_nsec = 10000000};
	struct pp_spool_state state;
	char other[256];
	int there = !pp_spool_read(path, &state), left = 0;

	for (int i = 0; i < NAPS && there; i++) {
		int ends = state.life == PP_SPOOL_DONE ||
		           (state.life == PP_SPOOL_WRITING && is_of_another(path, job, other, sizeof(other)));

		/* A keeper that removes its spool file by file may be down to the rings: they stay. */
		left = ends ? 0 : left + 1;
		if (!ends &&
		    (state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING || !state.rings || left > LEFT_NAPS))
			break;
		nanosleep(&nap, NULL);
		there = !pp_spool_read(path, &state);
	}
	if (there && (state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING) &&
	    is_of_another(path, job, other, sizeof(other)))
		return pp_err_set(err, -EBUSY, "cannot use the spool '%s': another job, '%s', records there", path, other);
	if (!there || !state.rings || state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING)
		return 0;
	return pp_err_set(err, -EEXIST,
	                  "cannot use the spool '%s': an earlier job left its rings there ('podprof salvage %s' reads them)", path,
	                  path);
}

int pp_spool_open(const char *wanted, const struct pp_job *job, char *ret_path, size_t size, struct pp_err *err)
{
	char cwd[PATH_MAX];
	int rc;

	if (!*wanted)
		return open_default("/dev/shm", job->name, ret_path, size, err);
	if (strpbrk(wanted, "\n\r"))
		return pp_err_set(err, -EINVAL, "cannot make the spool: its name has a line break in it");
	if (*wanted != '/' && !getcwd(cwd, sizeof(cwd)))
		return pp_err_set(err, -errno, "cannot make the spool '%s': %s", wanted, pp_why(errno));
	if (snprintf(ret_path, size, "%s%s%s", *wanted == '/' ? "" : cwd, *wanted == '/' ? "" : "/", wanted) >= (int)size)
		return pp_err_set(err, -ENAMETOOLONG, "cannot make the spool '%s': its name is too long", wanted);
	rc = wait_for_last_job(ret_path, job, err);
	if (rc)
		return rc;
	rc = make_parents(ret_path, 0700);
	if (rc)
		return pp_err_set(err, rc, "cannot make the spool '%s': %s", wanted, pp_why(-rc));
	return own_directory(ret_path, err);
}

/* Marks the spool of the ranks before a restart: its keeper waits for the launcher, whose new ranks have another keeper. */
static void tell_the_last(const char *outer, int again)
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
		return pp_err_set(err, -ENAMETOOLONG, "cannot make the spool '%s': its name is too long", outer);
	if (job->again > 0)
		tell_the_last(outer, job->again);
	base = (size_t)snprintf(end, sizeof(end), "/podprof-%u/%s", (unsigned)geteuid(), job->name);
	if (length <= base || strcmp(wanted + length - base, end))
		return pp_spool_open(wanted, job, ret_path, size, err);
	wanted[length - base] = '\0';
	return open_default(wanted, job->name, ret_path, size, err);
}

static int write_file(const char *path, const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0600)) /* independent of the umask */
		rc = -errno;
	while (length && !rc) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = n < 0 ? -errno : -ENOSPC;
			break;
		}
		text += n;
		length -= (size_t)n;
	}
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

static char *options_text(const struct pp_job *job, const struct pp_options *options, const char *logdir, char *const *command,
                          size_t *ret_length)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_length);

	if (!f)
		return NULL;
	for (int i = 0; i < PP_OPTS; i++)
		if (pp_opt_table[i].groups & PP_OPT_RUN && i != PP_OPT_ID_SPOOL)
			fprintf(f, "%s=%s\n", pp_opt_table[i].env + 8, i == PP_OPT_ID_OUTPUT ? logdir : options->value[i]);
	fprintf(f, "JOB=%s\nVERSION=%s\nCOMMAND=", job->name, PODPROF_VERSION);
	for (size_t i = 0; command[i]; i++) {
		if (i)
			fputc(' ', f);
		for (const char *p = command[i]; *p; p++)
			fputc((unsigned char)*p < ' ' ? ' ' : *p, f);
	}
	fputc('\n', f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

int pp_spool_write_options(const char *spool, const struct pp_job *job, const struct pp_options *options, const char *logdir,
                           char *const *command, struct pp_err *err)
{
	char part[PP_SPOOL_PATH + 32], path[PP_SPOOL_PATH + 32];
	size_t length = 0;
	char *text;
	int rc;

	pp_spool_announce(spool);
	snprintf(path, sizeof(path), "%s/options", spool);
	if (!access(path, F_OK))
		return 0;
	text = options_text(job, options, logdir, command, &length);
	if (!text)
		return pp_err_set(err, -ENOMEM, "no memory for the options of the job");
	snprintf(part, sizeof(part), "%s/.options-%d", spool, (int)getpid());
	rc = write_file(part, text, length);
	free(text);
	/* link() instead of rename(): of ranks that start together exactly one decides, and no keeper reads half a file. */
	if (!rc && link(part, path) && errno != EEXIST)
		rc = -errno;
	unlink(part);
	return rc ? pp_err_set(err, rc, "cannot write '%s': %s", path, pp_why(-rc)) : 0;
}

/* Containers that share a spool have pids of their own. */
static void run_file(const char *spool, const struct pp_job *job, char *path, size_t size)
{
	uint32_t space = pp_proc_pid_space();

	if (space == PP_PID_SPACE_FIRST || !space)
		snprintf(path, size, "%s/run-%d", spool, job->pid);
	else
		snprintf(path, size, "%s/run-%d-%u", spool, job->pid, (unsigned)space);
}

int pp_spool_register(const char *spool, const struct pp_job *job, struct pp_err *err)
{
	char part[PP_SPOOL_PATH + 64], path[PP_SPOOL_PATH + 64], text[96];
	int rc, length;

	run_file(spool, job, path, sizeof(path));
	snprintf(part, sizeof(part), "%s/.%s-%d", spool, strrchr(path, '/') + 1, (int)getpid());
	length = snprintf(text, sizeof(text), "%d %d %llu %d\n", job->rank, job->local_size,
	                  (unsigned long long)pp_proc_start_time(job->pid), job->sees_launcher);
	rc = write_file(part, text, (size_t)length);
	if (!rc && rename(part, path))
		rc = -errno;
	if (rc)
		unlink(part);
	return rc ? pp_err_set(err, rc, "cannot write '%s': %s", path, pp_why(-rc)) : 0;
}

void pp_spool_unregister(const char *spool, const struct pp_job *job)
{
	char path[PP_SPOOL_PATH + 64];

	run_file(spool, job, path, sizeof(path));
	unlink(path);
}
