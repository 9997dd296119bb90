/* keeper.lock, control and keeper.log; see control.h. */
#include "aggregate/spool/control.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/forked.h"
#include "core/base/lock.h"
#include "core/base/mapped.h"
#include "core/base/plain.h"

int pp_keeper_lock(const char *spool, struct pp_err *err)
{
	char path[4096];
	int fd, saved;

	snprintf(path, sizeof(path), "%s/keeper.lock", spool);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return pp_err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (fchmod(fd, 0600)) { /* other processes open it to ask whether a keeper lives, whatever the umask */
		saved = errno;
		close(fd);
		return pp_err_set(err, -saved, "cannot open '%s': %s", path, strerror(saved));
	}
	saved = -pp_lock_take(fd);
	if (!saved)
		return fd;
	close(fd);
	if (saved == EAGAIN)
		return pp_err_set(err, -EBUSY, "a keeper is running in '%s'", spool);
	return pp_err_set(err, -saved, "cannot lock '%s': %s", path, strerror(saved));
}

static struct pp_mapped guard; /* the one control page of this process */
/* The kernel walks this list when the thread ends; nothing else here has robust futexes. */
static struct robust_list_head robust;
static struct robust_list life; /* the entry for the page's keeper_life, or in the guard for its guard_life */

static void hold(_Atomic uint32_t *word)
{
	life.next = &robust.list;
	robust = (struct robust_list_head){.list = {&life}, .futex_offset = (char *)word - (char *)&life};
	if (!syscall(SYS_set_robust_list, &robust, sizeof(robust)))
		atomic_store(word, (uint32_t)syscall(SYS_gettid));
}

void pp_control_close(struct pp_control *c)
{
	if (c) {
		robust.list.next = &robust.list;
		atomic_fetch_or(&c->keeper_life, FUTEX_OWNER_DIED);
		pp_mapped_forget(&guard);
		munmap(c, sizeof(*c));
	}
}

int pp_control_make(const char *spool, struct pp_control **ret_control, struct pp_err *err)
{
	char part[4096], path[4096];
	struct pp_control *c;
	int fd, rc;

	snprintf(part, sizeof(part), "%s/.control-%d", spool, (int)getpid());
	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return pp_err_set(err, -errno, "cannot make '%s': %s", part, strerror(errno));
	/* Reserved, not only sized: a store into a full tmpfs would be SIGBUS. */
	rc = -posix_fallocate(fd, 0, sizeof(*c));
	if (rc) {
		pp_err_set(err, rc, "cannot make '%s': %s", path, strerror(-rc));
		goto close_file;
	}
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED) {
		rc = pp_err_set(err, -errno, "cannot map '%s': %s", path, strerror(errno));
		goto close_file;
	}
	guard = (struct pp_mapped){.at = (char *)c, .bytes = sizeof(*c)};
	pp_mapped_watch(&guard);
	memcpy(c->magic, PP_CONTROL_MAGIC, sizeof(c->magic));
	c->version = PP_RING_VERSION;
	c->byte_order = PP_RING_BYTE_ORDER;
	hold(&c->keeper_life);
	pp_control_set_keeper_pid(c, (int32_t)getpid());
	pp_control_set_keeper_state(c, PP_KEEPER_DRAINING);
	if (rename(part, path)) {
		rc = pp_err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
		pp_control_close(c);
		goto close_file;
	}
	close(fd);
	*ret_control = c;
	return 0;

close_file:
	close(fd);
	unlink(part);
	return rc;
}

/* The page of a spool, whole and of this podprof; NULL: there is none. */
static struct pp_control *map_present(const char *spool)
{
	char path[4096];
	struct pp_control *c = MAP_FAILED;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(*c))
		c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		return NULL;
	guard = (struct pp_mapped){.at = (char *)c, .bytes = sizeof(*c)};
	pp_mapped_watch(&guard);
	if (!memcmp(c->magic, PP_CONTROL_MAGIC, sizeof(c->magic)) && c->version == PP_RING_VERSION &&
	    c->byte_order == PP_RING_BYTE_ORDER)
		return c;
	pp_mapped_forget(&guard);
	munmap(c, sizeof(*c));
	return NULL;
}

int pp_control_take(const char *spool, struct pp_control **ret_control, struct pp_err *err)
{
	struct pp_control *c = map_present(spool);

	if (!c)
		return pp_err_set(err, -ENOENT, "'%s' has lost its control page", spool);
	hold(&c->keeper_life);
	pp_control_set_keeper_pid(c, (int32_t)getpid());
	pp_control_set_keeper_state(c, PP_KEEPER_DRAINING);
	*ret_control = c;
	return 0;
}

void pp_control_guard(const char *spool, int keeper)
{
	struct pp_control *c = map_present(spool);

	if (!c)
		return;
	if (pp_control_keeper_pid(c) == keeper)
		hold(&c->guard_life);
	pp_mapped_forget(&guard);
	if (pp_control_keeper_pid(c) != keeper)
		munmap(c, sizeof(*c));
}

void pp_control_set(struct pp_control *c, enum pp_keeper_state state, const char *message)
{
	if (message) {
		snprintf(c->message, sizeof(c->message), "%s", message);
		pp_plain(c->message, "\n"); /* rank 0 prints it */
	}
	/* Release: a reader that sees the state sees the whole message. */
	pp_control_set_keeper_state(c, state);
}

static int logging;

void pp_keeper_log_start(void)
{
	logging = 1;
}

/* A flood of requests must not fill the spool: so many lines, then one a second. Returns whether one more is written; *ret_missed:
 * how many were not since the last one. */
static int may_log(time_t now, unsigned long *ret_missed)
{
	enum { LINES = 1000 };
	static unsigned long missed;
	static time_t last;
	static int left;

	if (now > last) {
		left = now - last > LINES - left ? LINES : left + (int)(now - last);
		last = now;
	}
	*ret_missed = missed;
	missed = left > 0 ? 0 : missed + 1;
	left -= left > 0;
	return !missed;
}

void pp_keeper_log(const char *fmt, ...)
{
	char line[1024];
	unsigned long missed;
	struct timespec now;
	struct tm tm;
	va_list args;
	size_t n;

	if (!logging)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!may_log(now.tv_sec, &missed))
		return;
	pp_local_time(now.tv_sec, &tm);
	n = strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S", &tm);
	n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03ld ", now.tv_nsec / 1000000);
	va_start(args, fmt);
	vsnprintf(line + n, sizeof(line) - n, fmt, args);
	va_end(args);
	for (char *end = strchr(line, '\n'); end; end = strchr(end, '\n'))
		*end = ' '; /* a message of several sentences */
	if (missed)
		fprintf(stderr, "(%lu lines are left out here: too many in a short time)\n", missed);
	fprintf(stderr, "%s\n", pp_plain(line, ""));
}
