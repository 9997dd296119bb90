/* Makes or joins a spool before the application starts, and reads the state of spools. Called by podprof run, report, status and
 * doctor. */
#include "launchers/run/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "aggregate/keeper/clock/clock_file.h"
#include "aggregate/keeper/keeper.h"
#include "aggregate/keeper/spool.h"
#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/now.h"
#include "core/base/own_directory.h"
#include "core/base/proc.h"
#include "core/base/why.h"
#include "core/ring/ring_file.h"
#include "launchers/cmd.h"
#include "launchers/run/logdir.h"
#include "launchers/run/place.h"

#define AT ".at-" /* in the root of spools: a link to a spool elsewhere */

enum { NAPS = 200, LEFT_NAPS = 20, TRIES = 3, RULES_MOST = 1 << 20 };

static const double ROOM_BYTES = 2 << 20;

/* Rings hold what the job does, and whoever can rename them can feed the keeper. */
static int own_directory(const char *path, struct pp_err *err)
{
	return pp_own_directory(path, "the spool", err);
}

/* A full tmpfs still allows a directory, but neither the keeper's page nor a ring: the rank's header alone is a quarter of a
 * MiB. */
static int has_room(const char *base)
{
	struct statvfs fs;

	return statvfs(base, &fs) || (double)fs.f_bavail * (double)fs.f_frsize >= ROOM_BYTES;
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
	if (wants_room && access(ret_path, F_OK) && !has_room(base))
		return pp_err_set(err, -ENOSPC, "cannot create the spool: '%s' is full", base);
	rc = own_directory(path, err);
	if (rc)
		return rc;
	wait_for_closing(ret_path);
	return own_directory(ret_path, err);
}

static int open_default(const char *base, const char *job, char *ret_path, size_t size, struct pp_err *err)
{
	const char *tmp = getenv("TMPDIR"), *place = strcmp(base, PP_PLACE_SHM) ? base : pp_place_find(NULL);
	int rc = open_under(place, job, 1, ret_path, size, err);

	if (rc && strcmp(place, base) != 0) /* better a spool that may be gone before the epilog than none */
		rc = open_under(base, job, 1, ret_path, size, err);
	if (rc == -ENOENT || rc == -EACCES || rc == -EROFS || rc == -ENOSPC)
		rc = open_under(tmp && *tmp == '/' ? tmp : "/tmp", job, 0, ret_path, size, err);
	return rc;
}

/* A pipe or a device in place of a file must not hang. NULL with errno. */
static FILE *open_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *f = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && !f) {
		close(fd);
		errno = EINVAL;
	}
	return f;
}

int pp_spool_salvaged(const char *spool, char *ret_session, size_t size)
{
	char path[PP_SPOOL_PATH + 32];
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "%s/" PP_SALVAGED, spool);
	f = open_text(path);
	if (!f)
		return 0;
	rc = fgets(ret_session, (int)size, f) != NULL;
	fclose(f);
	if (rc)
		ret_session[strcspn(ret_session, "\n")] = '\0';
	return rc && !access(ret_session, F_OK);
}

int pp_spool_read_option(const char *spool, const char *name, char *ret_value, size_t size)
{
	char path[PP_SPOOL_PATH + 32], line[PATH_MAX + 64];
	size_t length = strlen(name);
	int rc = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "%s/options", spool);
	f = open_text(path);
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
		return open_default(PP_PLACE_SHM, job->name, ret_path, size, err);
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

/* `part`: a template of mkostemp(), whose name no other process has: ranks in containers may have one pid and one spool. */
static int write_part(char *part, const char *text, size_t length)
{
	int fd = mkostemp(part, O_CLOEXEC);
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
	const char *slurm = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID"); /* for Slurm's hooks (launchers/slurm) */
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_length);

	if (!f)
		return NULL;
	for (int i = 0; i < PP_OPTS; i++)
		if (pp_opt_table[i].groups & PP_OPT_RUN && i != PP_OPT_ID_SPOOL)
			fprintf(f, "%s=%s\n", pp_opt_table[i].env + 8, i == PP_OPT_ID_OUTPUT ? logdir : options->value[i]);
	if (slurm)
		fprintf(f, "SLURM_JOB=%.32s\nSLURM_STEP=%.32s\n", slurm, step ? step : "");
	fprintf(f, "JOB=%s\nVERSION=%s\n", job->name, PODPROF_VERSION);
	for (size_t i = 0; *command[0] && command[i]; i++) { /* else the keeper adds it: pp_settings_learn_command() */
		fputs(i ? " " : "COMMAND=", f);
		for (const char *p = command[i]; *p; p++)
			fputc((unsigned char)*p < ' ' ? ' ' : *p, f);
	}
	if (*command[0])
		fputc('\n', f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Is it ours, and not writable for others? */
static int is_root(const char *root)
{
	struct stat st;

	return !lstat(root, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Is it below one of the roots that every process of the user looks into? */
static int is_found_anyway(const char *spool)
{
	const char *const under[] = {PP_PLACE_SHM, PP_PLACE_STAYS};
	char base[64];

	for (size_t i = 0; i < 2; i++) {
		snprintf(base, sizeof(base), "%s/podprof-%u/", under[i], (unsigned)geteuid());
		if (!strncmp(spool, base, strlen(base)))
			return 1;
	}
	return 0;
}

/* So that pp_spool_each() finds a spool that is elsewhere; best effort. */
static void announce(const char *spool)
{
	char root[PP_SPOOL_PATH], path[PP_SPOOL_PATH + 32];
	const char *const under[] = {pp_place_find(NULL), PP_PLACE_SHM, "/tmp"};

	if (is_found_anyway(spool))
		return;
	for (size_t i = 0; i < 3; i++) {
		snprintf(root, sizeof(root), "%s/podprof-%u", under[i], (unsigned)geteuid());
		mkdir(root, 0700);
		snprintf(path, sizeof(path), "%s/" AT "%016llx", root, (unsigned long long)pp_hash_text(spool));
		if (is_root(root) && (!symlink(spool, path) || errno == EEXIST))
			return;
	}
}

/* The keeper reads the rules here: the user's file may change while the job runs. */
static int copy_rules(const char *spool, const char *from, struct pp_err *err)
{
	char part[PP_SPOOL_PATH + 32], path[PP_SPOOL_PATH + 32], *text = malloc(RULES_MOST);
	FILE *f = text ? fopen(from, "re") : NULL;
	size_t length = f ? fread(text, 1, RULES_MOST, f) : 0;
	int rc = !text ? -ENOMEM : !f ? -errno : ferror(f) ? -EIO : length == RULES_MOST ? -EFBIG : 0;

	if (f)
		fclose(f);
	snprintf(part, sizeof(part), "%s/.rules-XXXXXX", spool);
	snprintf(path, sizeof(path), "%s/" PP_SPOOL_RULES, spool);
	if (rc) {
		pp_err_set(err, rc, "cannot read the rules '%s': %s", from, pp_why(-rc));
		goto free_text;
	}
	rc = write_part(part, text, length);
	if (!rc && link(part, path) && errno != EEXIST)
		rc = -errno;
	unlink(part);
	if (rc)
		pp_err_set(err, rc, "cannot write '%s': %s", path, pp_why(-rc));
free_text:
	free(text);
	return rc;
}

int pp_spool_write_options(const char *spool, const struct pp_job *job, const struct pp_options *options, const char *logdir,
                           char *const *command, struct pp_err *err)
{
	char part[PP_SPOOL_PATH + 32], path[PP_SPOOL_PATH + 32];
	size_t length = 0;
	char *text;
	int rc;

	announce(spool);
	snprintf(path, sizeof(path), "%s/options", spool);
	if (!access(path, F_OK))
		return 0;
	if (*options->value[PP_OPT_ID_RULES]) {
		rc = copy_rules(spool, options->value[PP_OPT_ID_RULES], err);
		if (rc)
			return rc;
	}
	text = options_text(job, options, logdir, command, &length);
	if (!text)
		return pp_err_set(err, -ENOMEM, "no memory for the options of the job");
	snprintf(part, sizeof(part), "%s/.options-XXXXXX", spool);
	rc = write_part(part, text, length);
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
	snprintf(part, sizeof(part), "%s/.run-XXXXXX", spool);
	length = snprintf(text, sizeof(text), "%d %d %llu %d\n", job->rank, job->local_size,
	                  (unsigned long long)pp_proc_start_time(job->pid), job->sees_launcher);
	rc = write_part(part, text, (size_t)length);
	if (!rc && rename(part, path))
		rc = -errno;
	if (rc)
		unlink(part);
	return rc ? pp_err_set(err, rc, "cannot write '%s': %s", path, pp_why(-rc)) : 0;
}

int pp_spool_join(const char *wanted, int is_outer, const struct pp_job *job, const struct pp_options *options, const char *logdir,
                  char *const *command, char *ret_path, size_t size, struct pp_err *err)
{
	int rc = -ENOENT;

	/* The last keeper here may remove the spool between two of these. */
	for (int i = 0; i < TRIES && rc == -ENOENT; i++) {
		rc = is_outer ? pp_spool_open_outer(wanted, job, ret_path, size, err)
		              : pp_spool_open(wanted, job, ret_path, size, err);
		if (!rc)
			rc = pp_spool_write_options(ret_path, job, options, logdir, command, err);
		if (!rc)
			rc = pp_spool_register(ret_path, job, err);
	}
	return rc;
}

void pp_spool_unregister(const char *spool, const struct pp_job *job)
{
	char path[PP_SPOOL_PATH + 64];

	run_file(spool, job, path, sizeof(path));
	unlink(path);
}

static int read_control(const char *spool, struct pp_spool_state *s, uint32_t *ret_state)
{
	char path[PP_SPOOL_PATH + 32];
	struct pp_control control;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = read(fd, &control, sizeof(control));
	close(fd);
	if (n != (ssize_t)sizeof(control) || memcmp(control.magic, PP_CONTROL_MAGIC, sizeof(control.magic)))
		return -EINVAL;
	*ret_state = pp_control_keeper_state(&control);
	s->keeper_pid = pp_control_keeper_pid(&control);
	control.message[sizeof(control.message) - 1] = '\0';
	snprintf(s->message, sizeof(s->message), "%.*s", (int)sizeof(s->message) - 1, control.message);
	return 0;
}

static int count_rings(const char *spool)
{
	DIR *d = opendir(spool);
	struct dirent *e;
	int rings = 0;

	while (d && (e = readdir(d))) {
		size_t length = strlen(e->d_name);

		rings += length > 5 && !strcmp(e->d_name + length - 5, ".ring");
	}
	if (d)
		closedir(d);
	return rings;
}

/* Names of podprof's files: core/ring/ring_file.h, and files that keepers of several hosts exchange. */
static int is_own_name(const char *name)
{
	static const char *const begin[] = {
	        "run-",   "rank-",   "share-",      "gather-",      ".options-", ".control-",          ".run-",
	        ".rank-", "options", "control",     "keeper.",      "socket",    "followed",           "salvaged",
	        "said",   "meeting", PP_CLOCK_FILE, PP_SPOOL_RULES, ".rules-",   PP_SPOOL_MADE_LOGDIR, "mpi-"};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return 1;
	return 0;
}

/* Did podprof write its options, or its control page? Others' files may have the names of ours. */
static int is_made_by_podprof(const char *path)
{
	struct pp_spool_state state;
	char value[256];
	uint32_t life;

	return !pp_spool_read_option(path, "VERSION", value, sizeof(value)) || !read_control(path, &state, &life);
}

int pp_spool_is_one(const char *path)
{
	char file[PP_SPOOL_PATH + 32];
	DIR *d = opendir(path);
	struct dirent *e;
	int own = 1, lock, rings = count_rings(path) > 0;

	while (d && (e = readdir(d)))
		own &= !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || (is_own_name(e->d_name) && e->d_type != DT_DIR);
	if (d)
		closedir(d);
	snprintf(file, sizeof(file), "%s/keeper.lock", path);
	lock = !access(file, F_OK);
	snprintf(file, sizeof(file), "%s/options", path);
	if (!lock && !rings && (access(file, F_OK) || !own || !is_made_by_podprof(path)))
		return -ENOENT;
	return own && is_made_by_podprof(path);
}

int pp_spool_read(const char *spool, struct pp_spool_state *ret_state)
{
	char path[PP_SPOOL_PATH], lock[PP_SPOOL_PATH + 32];
	uint32_t state = PP_KEEPER_NONE;
	struct stat st;
	int held;

	snprintf(path, sizeof(path), "%s", spool);
	memset(ret_state, 0, sizeof(*ret_state));
	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -ENOENT;
	snprintf(ret_state->path, sizeof(ret_state->path), "%s", path);
	pp_spool_read_option(path, "OUTPUT", ret_state->output, sizeof(ret_state->output));
	ret_state->rings = count_rings(path);
	read_control(path, ret_state, &state);
	snprintf(lock, sizeof(lock), "%s/keeper.lock", path);
	held = pp_lock_is_held(lock);
	if (held < 0) /* no /proc/locks in this container */
		held = ret_state->keeper_pid > 0 && (!kill(ret_state->keeper_pid, 0) || errno == EPERM);
	ret_state->keeper_lives = held > 0;
	if (state == PP_KEEPER_DONE)
		ret_state->life = PP_SPOOL_DONE;
	else if (state == PP_KEEPER_FAILED)
		ret_state->life = PP_SPOOL_FAILED;
	else if (!held)
		ret_state->life = PP_SPOOL_LEFT;
	else
		ret_state->life = state == PP_KEEPER_WRITING ? PP_SPOOL_WRITING : PP_SPOOL_RECORDING;
	return 0;
}

enum { ROOTS = 4, WALKED = 3 };

struct root {
	char path[PP_SPOOL_PATH];
};

/* Where spools of this user may be; in the last one there are only links of announce() for us. Returns how many. */
static int list_roots(struct root root[ROOTS])
{
	const char *tmp = getenv("TMPDIR");
	const char *const base[ROOTS] = {PP_PLACE_SHM, PP_PLACE_STAYS, tmp && *tmp == '/' ? tmp : "/tmp", "/tmp"};

	for (int i = 0; i < ROOTS; i++)
		snprintf(root[i].path, PP_SPOOL_PATH, "%s/podprof-%u", base[i], (unsigned)geteuid());
	return !strcmp(root[2].path, root[3].path) ? WALKED : ROOTS;
}

/* Follows a link of announce() to a spool that is not below a root searched anyway; removes a dangling one. */
static int see_elsewhere(const char *from, const char *name, const struct root root[ROOTS],
                         int (*see)(const struct pp_spool_state *state, void *data), void *data)
{
	char path[PP_SPOOL_PATH + 256], to[PP_SPOOL_PATH];
	struct pp_spool_state state;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%s", from, name) >= (int)sizeof(path))
		return 0;
	n = readlink(path, to, sizeof(to) - 1);
	if (n <= 0)
		return 0;
	to[n] = '\0';
	for (int i = 0; i < WALKED; i++) {
		size_t length = strlen(root[i].path);

		if (!strncmp(to, root[i].path, length) && to[length] == '/' && !strchr(to + length + 1, '/'))
			return 0;
	}
	if (access(to, F_OK) && errno == ENOENT)
		unlink(path);
	else if (!pp_spool_read(to, &state) && pp_spool_is_one(to) >= 0) {
		state.elsewhere = 1;
		return see(&state, data);
	}
	return 0;
}

int pp_spool_each(int (*see)(const struct pp_spool_state *state, void *data), void *data)
{
	struct root root[ROOTS];
	char path[PP_SPOOL_PATH + 256];
	int roots = list_roots(root), rc = 0;
	struct pp_spool_state state;
	struct dirent *e;

	for (int i = 0; i < roots && !rc; i++) {
		DIR *d;

		if (i == 2 && (!strcmp(root[2].path, root[0].path) || !strcmp(root[2].path, root[1].path)))
			continue;
		/* a directory of another user with our name is ignored */
		d = is_root(root[i].path) ? opendir(root[i].path) : NULL;
		while (d && !rc && (e = readdir(d))) {
			if (!strncmp(e->d_name, AT, strlen(AT)))
				rc = see_elsewhere(root[i].path, e->d_name, root, see, data);
			if (e->d_name[0] == '.' || i == WALKED)
				continue;
			if (snprintf(path, sizeof(path), "%s/%s", root[i].path, e->d_name) < PP_SPOOL_PATH &&
			    !pp_spool_read(path, &state))
				rc = see(&state, data);
		}
		if (d)
			closedir(d);
	}
	return rc;
}
