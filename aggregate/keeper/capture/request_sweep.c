/* What keepers that were killed left in the directory of request files; see request_file.h. Called by request_file.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_file.h"
#include "core/base/proc.h"

void pp_request_files_where(char *text, size_t size)
{
	char host[72] = "", boot[48] = "";

	gethostname(host, sizeof(host) - 1);
	pp_proc_read("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	boot[strcspn(boot, "\n")] = '\0';
	snprintf(text, size, "HOST=%s\nBOOT=%s\nSPACE=%" PRIu32 "\n", host, boot, pp_proc_pid_space());
}

int pp_request_files_clear(int directory, int all)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), answers = 0;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name);
		int is_answer = n > 7 && !strcmp(e->d_name + n - 7, ".answer");

		answers += is_answer;
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && (all || !is_answer))
			if (unlinkat(directory, e->d_name, 0))
				unlinkat(directory, e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	return answers;
}

/* Its keeper counted pids as this one does, and there is none of its number any more. */
static int is_left(int directory)
{
	int fd = openat(directory, PP_REQUESTS_KEEPER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), pid = 0;
	char text[1024], where[192];
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0 || !pp_proc_pid_space())
		return 0;
	text[n] = '\0';
	pp_request_files_where(where, sizeof(where));
	/* NOLINTNEXTLINE(cert-err34-c): a number out of range is no pid */
	return !strncmp(text, where, strlen(where)) && sscanf(text + strlen(where), "PID=%d\n", &pid) == 1 && pid > 0 &&
	       ((kill(pid, 0) && errno == ESRCH) || pp_proc_is_zombie(pid));
}

void pp_request_files_sweep(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd = e->d_name[0] == '.' ? -1 : openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && is_left(fd)) {
			pp_request_files_clear(fd, 1);
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		}
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}
