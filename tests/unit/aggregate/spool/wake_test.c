/* What ends the keeper's waits, and how long they are. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/keeper/pace.h"
#include "aggregate/spool/wake.h"
#include "aggregate/spool/watch.h"
#include "core/base/proc.h"
#include "tests/test.h"

enum { LONG_MS = 20000 }; /* a test that waits for so long fails by its own deadline */

static void make_file(const char *directory, const char *name, char *path, size_t size)
{
	int fd;

	snprintf(path, size, "%s/%s", directory, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	close(fd);
}

/* A file that is made, renamed or removed ends a wait; else there is nothing to look at. A directory that is gone is looked at in
 * each turn. */
TEST(spool)
{
	char directory[] = "/tmp/wake-XXXXXX", path[64], other[64];
	struct pp_wake w;
	unsigned changes;

	CHECK(mkdtemp(directory));
	pp_wake_open(&w, directory);
	if (w.spool_fd < 0) { /* the user has no inotify instance left: each turn looks */
		CHECK_INT(pp_wake_take(&w, PP_WAKE_SPOOL), 1);
		goto end;
	}
	pp_wake_wait(&w, 0);
	CHECK_INT(pp_wake_take(&w, PP_WAKE_SPOOL), 0);
	changes = w.changes;
	make_file(directory, "one", path, sizeof(path));
	pp_wake_wait(&w, LONG_MS);
	CHECK_INT(pp_wake_take(&w, PP_WAKE_PROCESS), 0);
	CHECK_INT(pp_wake_take(&w, PP_WAKE_SPOOL), 1);
	CHECK_INT(pp_wake_take(&w, PP_WAKE_SPOOL), 0);
	CHECK(w.changes != changes);
	snprintf(other, sizeof(other), "%s/other", directory);
	CHECK(!rename(path, other));
	pp_wake_wait(&w, LONG_MS);
	CHECK_INT(pp_wake_take(&w, PP_WAKE_SPOOL), 1);
	CHECK(!unlink(other) && !rmdir(directory));
	pp_wake_wait(&w, LONG_MS);
	CHECK_INT(w.spool_fd, -1);
	pp_wake_take(&w, PP_WAKE_SPOOL);
	CHECK_INT(pp_wake_take(&w, PP_WAKE_SPOOL), 1);
end:
	pp_wake_close(&w);
	rmdir(directory);
}

/* No set of events, or none for this directory: all is looked at. */
TEST(without)
{
	struct pp_wake none = {.fd = -1, .spool_fd = -1}, w;

	CHECK_INT(pp_wake_take(NULL, PP_WAKE_CLIENT), 1);
	CHECK_INT(pp_wake_take(&none, PP_WAKE_CLIENT), 1);
	CHECK_INT(pp_wake_add(&none, 0, PP_WAKE_CLIENT), 0);
	CHECK_INT(pp_wake_add(NULL, 0, PP_WAKE_CLIENT), 0);
	pp_wake_wait(&none, 1);
	CHECK_INT((int)none.changes, 1);
	pp_wake_open(&w, "/nowhere");
	CHECK_INT(w.spool_fd, -1);
	CHECK_INT(pp_wake_take(&w, PP_WAKE_SPOOL), 1);
	pp_wake_close(&w);
}

/* The end of a process is an event; who asks without it is told what was so at the event before. */
TEST(process)
{
	pid_t child = fork();
	struct pp_watch watch;
	struct pp_wake w;

	if (!child)
		for (;;)
			pause();
	CHECK(child > 0);
	pp_wake_open(&w, "/tmp");
	pp_watch_open(&watch, child, pp_proc_start_time(child));
	pp_watch_join(&watch, &w);
	if (watch.pidfd < 0) { /* this kernel has none: each question asks it */
		CHECK(!watch.wake);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		pp_wake_close(&w);
		return;
	}
	CHECK(watch.wake == &w);
	pp_watch_all(&watch, 1);
	CHECK_INT(pp_watch_gone(&watch), 0);
	kill(child, SIGKILL);
	while (!(w.seen & PP_WAKE_PROCESS))
		pp_wake_wait(&w, LONG_MS);
	CHECK_INT(pp_watch_gone(&watch), 0);
	pp_watch_all(&watch, 1);
	CHECK_INT(pp_watch_gone(&watch), 1);
	CHECK_INT(watch.end, SIGKILL);
	waitpid(child, NULL, 0);
	pp_wake_close(&w);
}

/* A quiet job reaches the longest pause by doubling; a rate fits the batch; a burst is followed at once. */
TEST(pace)
{
	struct pp_pace p = {.last_ms = 1000};
	int64_t now = 1000, old = 1000000, wide = 256;
	int ms = 0;

	for (int i = 0, last = 1; i < 8; i++, last = ms) {
		ms = pp_pace_next(&p, 0, wide, now, old);
		CHECK(i == 0 || ms <= 2 * last);
		now += ms;
	}
	CHECK_INT(ms, PP_PACE_MOST_MS);
	CHECK_INT(pp_pace_next(&p, 2 * PP_PACE_BATCH, wide, now, old), PP_PACE_MOST_MS / 2);
	CHECK_INT(pp_pace_next(&p, 1000000, wide, now + 25, old), PP_PACE_LEAST_MS);
	CHECK_INT(pp_pace_next(&p, 0, wide, now + 26, old), 2);
}

/* A small ring, and a young keeper, keep it short. */
TEST(pace_limits)
{
	struct pp_pace p = {0};
	int ms = 0;

	for (int64_t i = 0; i < 20; i++)
		ms = pp_pace_next(&p, 1, 4, 1000 + 4 * i, 1000000);
	CHECK_INT(ms, 4);
	for (int64_t i = 0; i < 20; i++)
		ms = pp_pace_next(&p, 0, 4, 2000 + 20 * i, 1000000);
	CHECK_INT(ms, 20);
	for (int64_t i = 0; i < 20; i++)
		ms = pp_pace_next(&p, 0, 256, 3000 + 20 * i, 1000);
	CHECK_INT(ms, 10);
	CHECK(pp_pace_next(&p, 0, 0, 4000, 0) >= PP_PACE_LEAST_MS);
}

int main(void)
{
	spool();
	without();
	process();
	pace();
	pace_limits();
	return test_end();
}
