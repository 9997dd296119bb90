/* Reads the state of spools; called by report (wait for a keeper) and doctor (list what dead jobs left). */
#include "launchers/run/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/ring/ring_file.h"

#define AT ".at-" /* in the root of spools: a link to a spool elsewhere */

static int keeper_lock_held(const char *spool)
{
	char path[PP_SPOOL_PATH + 32];

	snprintf(path, sizeof(path), "%s/keeper.lock", spool);
	return pp_lock_is_held(path);
}

static int read_control(const char *spool, struct pp_spool_state *s, uint32_t *ret_state)
{
	char path[PP_SPOOL_PATH + 32];
	struct pp_control control;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(path, O_RDONLY | O_CLOEXEC);
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

static void read_output(const char *spool, char *ret_output)
{
	char path[PP_SPOOL_PATH + 32], line[PP_SPOOL_PATH + 16];
	FILE *f;

	snprintf(path, sizeof(path), "%s/options", spool);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "OUTPUT=", 7))
			snprintf(ret_output, PP_SPOOL_PATH, "%.*s", PP_SPOOL_PATH - 1, line + 7);
	}
	if (f)
		fclose(f);
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
	static const char *const begin[] = {"run-",     "rank-",    "share-",  "gather-", ".options-", ".control-",
	                                    ".run-",    ".rank-",   "options", "control", "keeper.",   "socket",
	                                    "followed", "salvaged", "said",    "meeting"};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return 1;
	return 0;
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
	return !lock && !rings && (access(file, F_OK) || !own) ? -ENOENT : own;
}

int pp_spool_read(const char *path, struct pp_spool_state *ret_state)
{
	uint32_t state = PP_KEEPER_NONE;
	struct stat st;
	int held;

	memset(ret_state, 0, sizeof(*ret_state));
	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -ENOENT;
	snprintf(ret_state->path, sizeof(ret_state->path), "%s", path);
	read_output(path, ret_state->output);
	ret_state->rings = count_rings(path);
	read_control(path, ret_state, &state);
	held = keeper_lock_held(path);
	if (held < 0) /* no /proc/locks in this container */
		held = ret_state->keeper_pid > 0 && (!kill(ret_state->keeper_pid, 0) || errno == EPERM);
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

/* Is it ours, and not writable for others? */
static int is_root(const char *root)
{
	struct stat st;

	return !lstat(root, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

void pp_spool_announce(const char *spool)
{
	char root[PP_SPOOL_PATH], path[PP_SPOOL_PATH + 32], base[64];
	const char *const under[] = {"/dev/shm", "/tmp"};

	snprintf(base, sizeof(base), "/dev/shm/podprof-%u/", (unsigned)geteuid());
	if (!strncmp(spool, base, strlen(base)))
		return;
	for (size_t i = 0; i < 2; i++) {
		snprintf(root, sizeof(root), "%s/podprof-%u", under[i], (unsigned)geteuid());
		mkdir(root, 0700);
		snprintf(path, sizeof(path), "%s/" AT "%016llx", root, (unsigned long long)pp_hash_text(spool));
		if (is_root(root) && (!symlink(spool, path) || errno == EEXIST))
			return;
	}
}

/* Follows a link of pp_spool_announce() to a spool that is not below a root searched anyway; removes a dangling one. */
static int see_elsewhere(const char *root, const char *name, const char *const skip[2],
                         int (*see)(const struct pp_spool_state *state, void *data), void *data)
{
	char path[PP_SPOOL_PATH + 256], to[PP_SPOOL_PATH];
	struct pp_spool_state state;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	n = readlink(path, to, sizeof(to) - 1);
	if (n <= 0)
		return 0;
	to[n] = '\0';
	for (int i = 0; i < 2; i++) {
		size_t length = strlen(skip[i]);

		if (!strncmp(to, skip[i], length) && to[length] == '/' && !strchr(to + length + 1, '/'))
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
	const char *tmp = getenv("TMPDIR");
	const char *base[] = {"/dev/shm", tmp && *tmp == '/' ? tmp : "/tmp", "/tmp"};
	char root[3][PP_SPOOL_PATH], path[PP_SPOOL_PATH + 256];
	const char *const walked[2] = {root[0], root[1]};
	struct pp_spool_state state;
	struct dirent *e;
	int rc = 0;

	for (size_t i = 0; i < 3; i++)
		snprintf(root[i], sizeof(root[i]), "%s/podprof-%u", base[i], (unsigned)geteuid());
	for (size_t i = 0; i < 3 && !rc; i++) {
		DIR *d;

		if (i == 2 && !strcmp(root[1], root[2]))
			break;
		/* a directory of another user with our name is ignored */
		d = is_root(root[i]) ? opendir(root[i]) : NULL;
		while (d && !rc && (e = readdir(d))) {
			if (!strncmp(e->d_name, AT, strlen(AT)))
				rc = see_elsewhere(root[i], e->d_name, walked, see, data);
			if (e->d_name[0] == '.' || i == 2) /* the third has links alone for us */
				continue;
			snprintf(path, sizeof(path), "%s/%s", root[i], e->d_name);
			if (strlen(path) < PP_SPOOL_PATH && !pp_spool_read(path, &state))
				rc = see(&state, data);
		}
		if (d)
			closedir(d);
	}
	return rc;
}
