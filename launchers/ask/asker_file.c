/* A request file, and the answer beside it, see aggregate/keeper/capture/request_file.h. Called by asker.c. */
#include "launchers/ask/asker_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/now.h"
#include "launchers/cmd.h"

enum {
	POLL_MS = 200,
	TAKEN_MS = 15000, /* a keeper looks once a second; a shared file system shows it some seconds later */
	QUIET_MS = 60000, /* it touches the answer each second */
	ANSWER_MOST = 4 << 20,
};

struct files {
	char part[PP_ASKER_PATH + 32], answer[PP_ASKER_PATH + 32], request[PP_ASKER_PATH + 32];
};

static char taken_back[PP_ASKER_PATH + 32]; /* what Ctrl-C removes: the keeper sees it and forgets the request */

static void on_signal(int number)
{
	struct sigaction start = {.sa_handler = SIG_DFL};

	unlink(taken_back);
	sigaction(number, &start, NULL);
	raise(number);
}

static void take_signals(const char *request)
{
	static const int number[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = request ? on_signal : SIG_DFL};

	if (request)
		snprintf(taken_back, sizeof(taken_back), "%s", request);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		sigaction(number[i], &action, NULL);
}

static int put_request(const struct files *f, const struct pp_wish *wish)
{
	char line[PP_WISH_LINE];
	int n = pp_wish_line(wish, line, sizeof(line)), rc = 0;
	int fd = open(f->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0600) || write(fd, line, (size_t)n) != n || fsync(fd) || rename(f->part, f->request))
		rc = errno ? -errno : -EIO;
	close(fd);
	if (rc)
		unlink(f->part);
	return rc;
}

/* All of a file, terminated; NULL: it is not there. */
static char *read_all(const char *path, struct timespec *ret_time)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size <= ANSWER_MOST)
		text = malloc((size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : 0;
	if (text) {
		text[n > 0 ? n : 0] = '\0';
		*ret_time = st.st_mtim;
	}
	close(fd);
	return text;
}

/* The last line of what is waited for. */
static void show(char *text, void (*progress)(const char *what))
{
	char *line = text, *next;

	if (!progress || strncmp(text, "wait ", 5))
		return;
	text[strlen(text) - (text[strlen(text) - 1] == '\n')] = '\0';
	while ((next = strstr(line, "\nwait ")))
		line = next + 1;
	progress(line + 5);
}

static int wait_for_answer(const struct pp_asker *job, const struct files *f, void (*progress)(const char *what), char **ret_answer,
                           struct pp_err *err)
{
	const struct timespec nap = {.tv_nsec = POLL_MS * 1000000L};
	int64_t moved_ms = pp_now_ms();
	struct timespec last = {0}, time;
	int taken = 0;

	for (;;) {
		char *text = read_all(f->answer, &time);

		if (text) {
			pp_asker_waits(text, strlen(text), NULL);
			unlink(f->answer);
			*ret_answer = text;
			return 0;
		}
		text = read_all(f->part, &time);
		if (text && (!taken || time.tv_sec != last.tv_sec || time.tv_nsec != last.tv_nsec)) {
			taken = 1;
			last = time;
			moved_ms = pp_now_ms();
			show(text, progress);
		}
		free(text);
		if (access(job->directory, F_OK) && errno == ENOENT) {
			*ret_answer = strdup("");
			return *ret_answer ? 0 : pp_err_set(err, -ENOMEM, "no memory for an answer");
		}
		if (pp_now_ms() - moved_ms > (taken ? QUIET_MS : TAKEN_MS))
			break;
		nanosleep(&nap, NULL);
	}
	unlink(f->request);
	if (taken)
		return pp_err_set(
		        err, -ETIMEDOUT,
		        "the keeper on %s took the request and was not heard of for %d s: it, its host or the way to the log "
		        "directory is gone",
		        job->host, QUIET_MS / 1000);
	return pp_err_set(err, -ETIMEDOUT,
	                  "nobody takes requests in '%s': its keeper (%d on %s) is gone, or its host does not see this directory. "
	                  "Remove '%s' if that job is over",
	                  job->directory, job->pid, job->host, job->directory);
}

int pp_asker_file(const struct pp_asker *job, const struct pp_wish *wish, void (*progress)(const char *what), char **ret_answer,
                  struct pp_err *err)
{
	struct files f;
	uint64_t name = 0;
	int rc;

	if (getrandom(&name, sizeof(name), 0) != (ssize_t)sizeof(name))
		return pp_err_set(err, -EIO, "cannot find a name for the request");
	snprintf(f.request, sizeof(f.request), "%s/%016llx.request", job->directory, (unsigned long long)name);
	snprintf(f.part, sizeof(f.part), "%s/%016llx.new", job->directory, (unsigned long long)name);
	snprintf(f.answer, sizeof(f.answer), "%s/%016llx.answer", job->directory, (unsigned long long)name);
	take_signals(f.request);
	rc = put_request(&f, wish);
	snprintf(f.part, sizeof(f.part), "%s/%016llx.part", job->directory, (unsigned long long)name);
	if (rc == -ENOENT)
		pp_err_set(err, rc, "the job on %s takes no requests any more: it is at its end",
		           job->host[0] ? job->host : "its host");
	else if (rc)
		pp_err_set(err, rc, "cannot write '%s': %s", f.request, pp_why(-rc));
	else
		rc = wait_for_answer(job, &f, progress, ret_answer, err);
	take_signals(NULL);
	return rc;
}
