/* Finds time daemons by name in /proc, and PTP hardware clocks in /dev; see wall_claim.h. Called by wall_watch.c when a keeper
 * begins. */
#include "aggregate/keeper/host/wall_claim.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMM = 15, PROCESSES_MOST = 65536 };

#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu /* its inode: the kernel's PROC_PID_INIT_INO */

static const char *const daemon_name[] = {"chronyd", "ntpd", "systemd-timesyncd", "ptp4l", "phc2sys"};

enum { DAEMONS = sizeof(daemon_name) / sizeof(daemon_name[0]) };

int pp_wall_claim_sees_host(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == INITIAL_PID_NAMESPACE;
}

/* Index of the daemon that the process is; -1: none. The kernel keeps 15 characters of a name. */
static int daemon_of(int proc, const char *pid)
{
	char path[300], comm[COMM + 2] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/comm", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, comm, sizeof(comm) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	comm[strcspn(comm, "\n")] = '\0';
	for (int i = 0; i < DAEMONS; i++)
		if (*comm && !strncmp(comm, daemon_name[i], COMM))
			return i;
	return -1;
}

static unsigned find_daemons(const char *proc)
{
	DIR *d = opendir(proc);
	unsigned found = 0;
	struct dirent *e;

	for (int i = 0; d && i < PROCESSES_MOST && (e = readdir(d)); i++) {
		int which = isdigit((unsigned char)e->d_name[0]) ? daemon_of(dirfd(d), e->d_name) : -1;

		found |= which >= 0 ? 1u << which : 0;
	}
	if (d)
		closedir(d);
	return found;
}

static int count_clocks(const char *dev)
{
	DIR *d = opendir(dev);
	struct dirent *e;
	int clocks = 0;

	while (d && (e = readdir(d)))
		clocks += !strncmp(e->d_name, "ptp", 3) && isdigit((unsigned char)e->d_name[3]);
	if (d)
		closedir(d);
	return clocks;
}

/* Appends whole words only. */
static void add(char by[PP_WALL_CLAIM_BY], const char *word)
{
	size_t n = strlen(by);

	if (n + 2 + strlen(word) < PP_WALL_CLAIM_BY)
		snprintf(by + n, PP_WALL_CLAIM_BY - n, ", %s", word);
}

void pp_wall_claim_by(const char *proc, const char *dev, char by[PP_WALL_CLAIM_BY])
{
	unsigned found = proc ? find_daemons(proc) : 0;
	int clocks = dev ? count_clocks(dev) : 0;
	char word[32];

	snprintf(by, PP_WALL_CLAIM_BY, "kernel");
	for (int i = 0; i < DAEMONS; i++)
		if (found & 1u << i)
			add(by, daemon_name[i]);
	snprintf(word, sizeof(word), "%d PTP clock%s", clocks, clocks == 1 ? "" : "s");
	if (clocks)
		add(by, word);
}
