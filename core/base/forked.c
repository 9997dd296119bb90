/* fork() beside other threads, and local time in the child; see forked.h. Called by forked_work.c, the session's forked writer
 * and files that name times. */
#include "core/base/forked.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHANGES = 8, DAY_S = 86400 };

static struct pp_forked_lock *list;
static int is_child;
static struct { /* the time zone's offset from a time on, oldest first */
	time_t from;
	long offset;
} change[CHANGES];
static int changes;
static time_t learned;

void pp_forked_register(struct pp_forked_lock *lock)
{
	lock->next = list;
	list = lock;
}

void pp_forked_forget(struct pp_forked_lock *lock)
{
	struct pp_forked_lock **at = &list;

	while (*at && *at != lock)
		at = &(*at)->next;
	if (*at)
		*at = lock->next;
}

static long offset_at(time_t when)
{
	struct tm tm = {.tm_gmtoff = 0};

	localtime_r(&when, &tm);
	return tm.tm_gmtoff;
}

static void add_change(time_t from, long offset)
{
	if (changes == CHANGES) {
		memmove(change, change + 1, (CHANGES - 1) * sizeof(change[0]));
		changes--;
	}
	change[changes].from = from;
	change[changes++].offset = offset;
}

/* The table begins with the first fork, or up to a day before it. */
static void learn_zone(void)
{
	time_t now = time(NULL), before, after = now;
	long offset;

	if (!changes) {
		learned = now - DAY_S;
		add_change(learned, offset_at(learned));
	}
	offset = offset_at(now);
	before = learned;
	learned = now;
	if (offset == change[changes - 1].offset)
		return;
	while (after - before > 1) {
		time_t middle = before + (after - before) / 2;

		if (offset_at(middle) == offset)
			after = middle;
		else
			before = middle;
	}
	add_change(after, offset);
}

/* Closes connections and listening ports in the child: they belong to the parent, and a peer must not wait for a child that
 * never answers. The socket pair between child and parent stays open. */
static void close_network(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd = (int)strtol(e->d_name, NULL, 10), domain = 0, listens = 0;
		socklen_t size = sizeof(domain);

		if (fd > STDERR_FILENO && !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) &&
		    !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) &&
		    (domain == AF_INET || domain == AF_INET6 || listens))
			close(fd);
	}
	if (d)
		closedir(d);
}

pid_t pp_forked(void)
{
	pid_t pid;
	int saved;

	learn_zone();
	for (struct pp_forked_lock *l = list; l; l = l->next)
		l->lock(l->context);
	pid = fork();
	saved = errno;
	if (!pid)
		is_child = 1;
	for (struct pp_forked_lock *l = list; l; l = l->next)
		l->unlock(l->context);
	if (!pid)
		close_network();
	errno = saved;
	return pid;
}

/* Days since 1970 to a date of the Gregorian calendar, by eras of 400 years that begin in March. */
static void date_of(int64_t days, struct tm *tm)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;

	tm->tm_mday = (int)(doy - (153 * mp + 2) / 5 + 1);
	tm->tm_mon = (int)(mp < 10 ? mp + 2 : mp - 10);
	tm->tm_year = (int)(yoe + era * 400 + (tm->tm_mon <= 1) - 1900);
}

void pp_local_time(time_t when, struct tm *ret_tm)
{
	int64_t local, days, left;
	int i = changes - 1;

	memset(ret_tm, 0, sizeof(*ret_tm));
	if (!is_child) {
		localtime_r(&when, ret_tm);
		return;
	}
	while (i > 0 && change[i].from > when)
		i--;
	local = (int64_t)when + change[i].offset;
	days = local >= 0 ? local / DAY_S : -((DAY_S - 1 - local) / DAY_S);
	left = local - days * DAY_S;
	date_of(days, ret_tm);
	ret_tm->tm_hour = (int)(left / 3600);
	ret_tm->tm_min = (int)(left / 60 % 60);
	ret_tm->tm_sec = (int)(left % 60);
	ret_tm->tm_gmtoff = change[i].offset;
}
