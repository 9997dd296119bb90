/* Looks for processes of a spool by run files, claims and ring headers; see processes.h. */
#include "aggregate/spool/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/proc.h"
#include "core/ring/ring_file.h"

/* A reused pid keeps the spool a while longer. */
enum pp_spool_processes pp_spool_process(int pid, uint32_t space)
{
	uint32_t own = pp_proc_pid_space();

	if (pid <= 0)
		return PP_PROCESSES_NONE;
	if (space && own && space != own)
		return PP_PROCESSES_UNKNOWN;
	return kill(pid, 0) ? PP_PROCESSES_NONE : PP_PROCESSES_LIVE;
}

/* The lock of a rank is seen from every PID namespace. */
static enum pp_spool_processes life_of_claim(int dir, const char *name)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum pp_spool_processes life =
	        fd >= 0 && !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK ? PP_PROCESSES_LIVE : PP_PROCESSES_NONE;

	if (fd >= 0)
		close(fd);
	return life;
}

/* Its lock says whether a rank of another namespace lives, but the rank may have closed all its descriptors. */
static enum pp_spool_processes life_of_ring(int dir, const char *name)
{
	struct pp_ring_header h;
	const size_t size = offsetof(struct pp_ring_header, start_time);
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), pid = 0;
	int is_ring = fd >= 0 && pread(fd, &h, size, 0) == (ssize_t)size && !memcmp(h.magic, PP_RING_MAGIC, sizeof(h.magic)) &&
	              h.version == PP_RING_VERSION;

	if (fd >= 0)
		close(fd);
	if (is_ring)
		return pp_spool_process(h.pid, h.pid_space) == PP_PROCESSES_LIVE ? PP_PROCESSES_LIVE : PP_PROCESSES_NONE;
	return sscanf(name, "rank-%*d-%d", &pid) == 1 ? pp_spool_process(pid, 0) : PP_PROCESSES_NONE;
}

/* "run-PID", "run-PID-SPACE", "rank-R.claim", "rank-R-PID.ring": a rank may train on for weeks after its keeper died. */
static enum pp_spool_processes life_of_file(int dir, const char *name)
{
	const char *dot = strrchr(name, '.');
	uint32_t space = PP_PID_SPACE_FIRST;
	int pid = 0;

	if (sscanf(name, "run-%d-%" SCNu32, &pid, &space) >= 1)
		return pp_spool_process(pid, space);
	if (strncmp(name, "rank-", 5) || !dot)
		return PP_PROCESSES_NONE;
	return !strcmp(dot, ".claim")  ? life_of_claim(dir, name)
	       : !strcmp(dot, ".ring") ? life_of_ring(dir, name)
	                               : PP_PROCESSES_NONE;
}

enum pp_spool_processes pp_spool_processes(const char *spool)
{
	DIR *d = opendir(spool);
	enum pp_spool_processes found = PP_PROCESSES_NONE, life;
	struct dirent *e;

	while (d && found != PP_PROCESSES_LIVE && (e = readdir(d))) {
		life = life_of_file(dirfd(d), e->d_name);
		found = life > found ? life : found;
	}
	if (d)
		closedir(d);
	return found;
}
