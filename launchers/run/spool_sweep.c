/* Removes what dead jobs left long ago, so that it does not fill /dev/shm. Called by podprof run of rank 0 or without ranks. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/spool.h"
#include "core/base/proc.h"
#include "core/ring/ring_file.h"
#include "launchers/run/spool.h"

enum { EMPTY_SECONDS = 3600, OLD_SECONDS = 7 * 24 * 3600 };

enum life { NONE, UNKNOWN, LIVES }; /* UNKNOWN: of another PID namespace, and it has no lock by which it could be seen */

/* A reused pid keeps the spool a while longer. */
static enum life life_of(int pid, uint32_t space)
{
	uint32_t own = pp_proc_pid_space();

	if (pid <= 0)
		return NONE;
	if (space && own && space != own)
		return UNKNOWN;
	return kill(pid, 0) ? NONE : LIVES;
}

/* The lock of a rank is seen from every PID namespace. */
static enum life life_of_claim(int dir, const char *name)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum life life = fd >= 0 && !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK ? LIVES : NONE;

	if (fd >= 0)
		close(fd);
	return life;
}

/* Its lock says whether a rank of another namespace lives, but the rank may have closed all its descriptors. */
static enum life life_of_ring(int dir, const char *name)
{
	struct pp_ring_header h;
	const size_t size = offsetof(struct pp_ring_header, start_time);
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), pid = 0;
	int is_ring = fd >= 0 && pread(fd, &h, size, 0) == (ssize_t)size && !memcmp(h.magic, PP_RING_MAGIC, sizeof(h.magic)) &&
	              h.version == PP_RING_VERSION;

	if (fd >= 0)
		close(fd);
	if (is_ring)
		return life_of(h.pid, h.pid_space) == LIVES ? LIVES : NONE;
	return sscanf(name, "rank-%*d-%d", &pid) == 1 ? life_of(pid, 0) : NONE;
}

/* "run-PID", "run-PID-SPACE", "rank-R.claim", "rank-R-PID.ring": a rank may train on for weeks after its keeper died. */
static enum life life_of_file(int dir, const char *name)
{
	const char *dot = strrchr(name, '.');
	uint32_t space = PP_PID_SPACE_FIRST;
	int pid = 0;

	if (sscanf(name, "run-%d-%" SCNu32, &pid, &space) >= 1)
		return life_of(pid, space);
	if (strncmp(name, "rank-", 5) || !dot)
		return NONE;
	return !strcmp(dot, ".claim") ? life_of_claim(dir, name) : !strcmp(dot, ".ring") ? life_of_ring(dir, name) : NONE;
}

static enum life life_in(const char *spool)
{
	DIR *d = opendir(spool);
	enum life found = NONE, life;
	struct dirent *e;

	while (d && found != LIVES && (e = readdir(d))) {
		life = life_of_file(dirfd(d), e->d_name);
		found = life > found ? life : found;
	}
	if (d)
		closedir(d);
	return found;
}

int pp_spool_has_processes(const char *spool)
{
	return life_in(spool) == LIVES;
}

static int is_stale(const char *path, time_t now)
{
	struct pp_spool_state state;
	enum life life;
	struct stat st;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || now - st.st_mtime < EMPTY_SECONDS)
		return 0;
	if (pp_spool_read(path, &state) || state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING)
		return 0;
	life = life_in(path);
	return life != LIVES && ((!state.rings && life == NONE) || now - st.st_mtime > OLD_SECONDS);
}

int pp_spool_sweep(const char *spool)
{
	char path[PP_SPOOL_PATH + 256];
	const char *slash = strrchr(spool, '/');
	time_t now = time(NULL);
	struct dirent *e;
	char own[40];
	int swept = 0, length = slash ? (int)(slash - spool) : 0;
	DIR *d;

	/* Beside a spool that --spool named there is nothing of ours. */
	snprintf(own, sizeof(own), "/podprof-%u", (unsigned)geteuid());
	if (length <= (int)strlen(own) || memcmp(slash - strlen(own), own, strlen(own)))
		return 0;
	snprintf(path, sizeof(path), "%.*s", length, spool);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, slash + 1))
			continue;
		snprintf(path, sizeof(path), "%.*s/%s", length, spool, e->d_name);
		if (!is_stale(path, now))
			continue;
		pp_spool_remove(path);
		swept += access(path, F_OK) != 0;
	}
	if (d)
		closedir(d);
	return swept;
}
