/* Appends a whole line by one write, and replaces the metrics by rename; see site_log.h. The log may be a directory's that others
 * write, and on a file system that is full or slow. */
#include "aggregate/session/site_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/fleet/job.h"
#include "aggregate/fleet/metrics.h"
#include "aggregate/session/message.h"
#include "aggregate/tools/answer.h"
#include "aggregate/tools/sums.h"
#include "core/base/why.h"

enum { LOCK_TRIES = 50, LOCK_NS = 10 * 1000 * 1000 };

/* Most half a second; a lock that is held longer, or a file system without locks, is left: the write appends as a whole. */
static void lock(int fd)
{
	for (int i = 0; i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; i++)
		nanosleep(&(struct timespec){.tv_nsec = LOCK_NS}, NULL);
}

/* Does the log end in the middle of a line, which a full disk has cut? */
static int is_cut(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char last = '\n';

	return end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

/* O_NONBLOCK: no pipe holds the keeper up; O_NOFOLLOW: nobody else's link leads elsewhere */
enum { FLAGS = O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

static int append(const char *path, const char *line, size_t length)
{
	char text[PP_FLEET_LINE + 2];
	int fd = open(path, O_RDWR | FLAGS, 0666), rc = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == EACCES)
		fd = open(path, O_WRONLY | FLAGS, 0666); /* users may append, but not read: no cut line is seen */
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	lock(fd);
	n = snprintf(text, sizeof(text), "%s%.*s", is_cut(fd) ? "\n" : "", (int)length, line);
	length = (size_t)n;
	n = write(fd, text, length);
	if (n < 0)
		rc = -errno;
	else if ((size_t)n < length)
		rc = -ENOSPC;
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

static int replace(const char *path, const struct pp_fleet_job *job)
{
	char part[PATH_MAX];
	FILE *to = NULL;
	int fd, rc = 0;

	if (snprintf(part, sizeof(part), "%s.part-%ld", path, (long)getpid()) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	to = fdopen(fd, "w");
	if (!to) {
		rc = -errno;
		close(fd);
	} else {
		pp_metrics_write(job, to);
		if (fflush(to))
			rc = -errno;
		if (fclose(to) && !rc)
			rc = -errno;
	}
	if (!rc && rename(part, path))
		rc = -errno;
	if (rc)
		unlink(part);
	return rc;
}

static const char *why(int rc)
{
	return rc == -EINVAL ? "it is no regular file" : rc == -ELOOP ? "it is a symbolic link" : pp_why(-rc);
}

static void write_both(const struct pp_fleet_job *job, const struct pp_site_files *o, struct pp_message *message)
{
	char line[PP_FLEET_LINE + 1];
	int rc = 0;

	if (o->site_log && *o->site_log) {
		size_t length = pp_fleet_job_write(job, line);

		rc = length ? append(o->site_log, line, length) : -ENOMEM;
		if (rc)
			pp_message_add(message, "cannot append to the site log '%s': %s", o->site_log, why(rc));
	}
	if (o->metrics && *o->metrics) {
		rc = replace(o->metrics, job);
		if (rc)
			pp_message_add(message, "cannot write the metrics '%s': %s", o->metrics, why(rc));
	}
}

void pp_site_record(const struct pp_dataset *d, const struct pp_site_files *o, struct pp_message *message)
{
	struct pp_answer *answer;
	struct pp_fleet_job *job;
	struct pp_sums sums;

	if ((!o->site_log || !*o->site_log) && (!o->metrics || !*o->metrics))
		return;
	answer = calloc(1, sizeof(*answer));
	job = calloc(1, sizeof(*job));
	if (!answer || !job || pp_sums_of(d, &sums)) {
		pp_message_add(message, "no memory for the line of the site log");
	} else {
		if (pp_answer_of(d, &sums, o->logdir, answer)) {
			pp_message_add(message, "no memory for the line of the site log");
		} else {
			pp_fleet_job_of(d, &sums, answer, job);
			write_both(job, o, message);
		}
		pp_sums_release(&sums);
	}
	free(answer);
	free(job);
}
