/* Small files of /proc and /sys as text; used by the claim and by the keeper. */
#include "core/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/now.h"

long pp_proc_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe in place of a file must not hang */
	size_t used = 0;
	ssize_t n = 0;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		used += (size_t)n;
	}
	if (n < 0 && !used)
		n = -errno;
	close(fd);
	text[used] = '\0';
	return used || !n ? (long)used : (long)n;
}

void pp_proc_boot_id(char *text, size_t size)
{
	pp_proc_read("/proc/sys/kernel/random/boot_id", text, size);
	text[strcspn(text, "\n")] = '\0';
}

void pp_proc_timens(char *text, size_t size)
{
	char raw[256];
	size_t n = 0;

	pp_proc_read("/proc/self/timens_offsets", raw, sizeof(raw));
	for (const char *p = raw; *p && n + 1 < size; p++) {
		char c = (char)(*p == '\n' || *p == '\t' ? ' ' : *p);

		if (c != ' ' || (n && text[n - 1] != ' '))
			text[n++] = c;
	}
	text[n] = '\0';
}

/* Of /proc/PID/stat, what follows the second field; NULL where there is no such process. */
static char *read_stat(int pid, char *text, size_t size)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (pp_proc_read(path, text, size) <= 0)
		return NULL;
	return strrchr(text, ')'); /* the name may hold blanks and brackets */
}

int pp_proc_is_zombie(int pid)
{
	char text[1024];
	const char *p = read_stat(pid, text, sizeof(text));

	return p && p[1] == ' ' && (p[2] == 'Z' || p[2] == 'X');
}

int pp_proc_parent(int pid)
{
	char text[1024];
	const char *p = read_stat(pid, text, sizeof(text));

	return p && p[1] && p[2] ? (int)strtol(p + 3, NULL, 10) : 0;
}

/* Of the text behind the name. */
static uint64_t start_time_in(const char *p)
{
	for (int field = 2; field < 22; field++) {
		p = strchr(p + 1, ' ');
		if (!p)
			return 0;
	}
	return strtoull(p, NULL, 10);
}

uint64_t pp_proc_start_time(int pid)
{
	char text[1024];
	const char *p = read_stat(pid, text, sizeof(text));

	return p ? start_time_in(p) : 0;
}

/* By "self": in a container /proc may be that of another pid namespace. The kernel rounds the start down, and counts both times
 * from the begin of the same time namespace. */
int64_t pp_proc_age_ns(void)
{
	char text[1024];
	const char *p = pp_proc_read("/proc/self/stat", text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
	const uint64_t start = p ? start_time_in(p) : 0;
	const long per_second = sysconf(_SC_CLK_TCK);
	int64_t age;

	if (!start || per_second <= 0)
		return 0;
	age = pp_clock_ns(CLOCK_BOOTTIME) - (int64_t)((double)start / (double)per_second * 1e9);
	return age > 0 ? age : 0;
}

uint32_t pp_proc_pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
}

uint64_t pp_proc_memory_free(void)
{
	static const char name[] = "MemAvailable:";
	char text[512];
	const char *p = pp_proc_read("/proc/meminfo", text, sizeof(text)) > 0 ? strstr(text, name) : NULL;

	return p ? strtoull(p + sizeof(name) - 1, NULL, 10) << 10 : 0;
}
