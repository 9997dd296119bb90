/* Finds the keepers of a log directory, and asks them by socket or request file; see asker.h. */
#include "launchers/ask/asker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/capture/request_file.h"
#include "aggregate/spool/list.h"
#include "core/base/grow.h"
#include "core/base/now.h"
#include "core/base/proc.h"
#include "core/base/why.h"

enum {
	POLL_MS = 200,
	TAKEN_MS = 15000,  /* a keeper polls once a second; a shared file system shows the file some seconds later */
	SILENT_MS = 60000, /* the keeper touches the answer each second */
	ANSWER_MOST = 64 << 20,
	STATUS_S = 10, /* for the list of ranks, which a keeper sends after a second */
};

struct find {
	const char *logdir;
	struct pp_asker_list *list;
};

/* Does the keeper accept requests? It does so while its ranks run, also after its windows. */
static int has_socket(const char *spool)
{
	char path[PP_SPOOL_PATH + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/socket", spool);
	return !lstat(path, &st) && S_ISSOCK(st.st_mode);
}

static void take_value(const char *text, const char *name, char *to, size_t size)
{
	const char *at = strstr(text, name);

	to[0] = '\0';
	while (at && at != text && at[-1] != '\n')
		at = strstr(at + 1, name);
	if (at)
		snprintf(to, size, "%.*s", (int)strcspn(at + strlen(name), "\n"), at + strlen(name));
}

/* A keeper in the list that serves the requests of this one too; NULL: none. */
static struct pp_asker *joined(struct pp_asker_list *l, uint32_t pod)
{
	for (int i = 0; i < l->count; i++)
		if (pod && l->job[i].pod == pod)
			return &l->job[i];
	return NULL;
}

static int add_spool(const struct pp_spool_state *state, void *data)
{
	struct find *f = data;
	struct pp_asker_list *l = f->list;
	struct pp_asker *other = joined(l, state->pod), *job = other ? other : &l->job[l->count];
	char path[PP_SPOOL_PATH + 16], text[8192];

	if (strcmp(state->output, f->logdir) || (!other && l->count == PP_ASKERS) ||
	    (other && !pp_spool_keeper_is_stopped(other->pid)))
		return 0;
	if (state->life != PP_SPOOL_RECORDING &&
	    !((state->life == PP_SPOOL_WRITING || state->life == PP_SPOOL_DONE) && has_socket(state->path))) {
		l->over++;
		return 0;
	}
	*job = (struct pp_asker){.pid = state->keeper_pid, .pod = state->pod};
	snprintf(job->spool, sizeof(job->spool), "%s", state->path);
	snprintf(path, sizeof(path), "%s/options", state->path);
	if (pp_proc_read(path, text, sizeof(text)) > 0)
		take_value(text, "JOB=", job->job, sizeof(job->job));
	l->count += !other;
	return 0;
}

/* Adds one keeper's directory; prefers its socket where it is on this node. */
static void add_directory(struct pp_asker_list *l, const char *path)
{
	char file[PP_ASKER_PATH + 16], text[2048], boot[48] = "", mine[48] = "", pid[16] = "", name[128] = "";
	struct pp_asker job = {.pid = 0};
	struct pp_spool_state state;

	snprintf(file, sizeof(file), "%s/" PP_REQUESTS_KEEPER, path);
	if (pp_proc_read(file, text, sizeof(text)) < 0)
		return;
	snprintf(job.directory, sizeof(job.directory), "%s", path);
	take_value(text, "HOST=", job.host, sizeof(job.host));
	take_value(text, "SPOOL=", job.spool, sizeof(job.spool));
	take_value(text, "BOOT=", boot, sizeof(boot));
	take_value(text, "PID=", pid, sizeof(pid));
	job.pid = (int)strtol(pid, NULL, 10);
	take_value(text, "JOB=", name, sizeof(name));
	for (int i = 0; i < l->count; i++)
		if ((*name && !strcmp(l->job[i].job, name)) ||
		    (*job.spool && !strcmp(l->job[i].spool, job.spool) && l->job[i].pid == job.pid)) {
			memcpy(l->job[i].directory, job.directory, sizeof(job.directory));
			memcpy(l->job[i].host, job.host, sizeof(job.host));
			return;
		}
	pp_proc_read("/proc/sys/kernel/random/boot_id", mine, sizeof(mine));
	mine[strcspn(mine, "\n")] = '\0';
	if (strcmp(boot, mine) || pp_spool_read(job.spool, &state) || state.keeper_pid != job.pid || !has_socket(job.spool))
		job.spool[0] = '\0';
	else if (joined(l, state.pod))
		return;
	if (l->count < PP_ASKERS)
		l->job[l->count++] = job;
}

/* NULL, or why it is not trusted. */
static const char *not_ours(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? "" : pp_why(errno);
	if (!S_ISDIR(st.st_mode))
		return "it is not a directory";
	return st.st_uid != geteuid() ? "it belongs to another user" : st.st_mode & 077 ? "other users may access it" : NULL;
}

void pp_asker_find(const char *logdir, struct pp_asker_list *ret_list)
{
	struct find find = {.logdir = logdir, .list = ret_list};
	char path[PP_ASKER_PATH];
	struct dirent *e;
	const char *why;
	DIR *d;

	*ret_list = (struct pp_asker_list){.count = 0};
	pp_spool_each(add_spool, &find);
	snprintf(path, sizeof(path), "%.4000s/" PP_REQUESTS_DIR, logdir);
	why = not_ours(path);
	if (why && *why)
		snprintf(ret_list->refused, sizeof(ret_list->refused), "'%.4000s': %s", path, why);
	d = why ? NULL : opendir(path);
	while (d && (e = readdir(d))) {
		char one[PP_ASKER_PATH];

		if (e->d_name[0] == '.' || snprintf(one, sizeof(one), "%.4000s/%.255s", path, e->d_name) >= (int)sizeof(one) ||
		    not_ours(one))
			continue;
		add_directory(ret_list, one);
	}
	if (d)
		closedir(d);
}

static int send_line(const char *spool, const struct pp_capture_request *request, struct pp_err *err)
{
	struct sockaddr_un address;
	int directory = -1, fd, n, rc = pp_requests_address(spool, &address, &directory);
	char line[PP_CAPTURE_REQUEST_LINE];

	if (rc)
		return pp_err_set(err, rc, "cannot open '%s': %s", spool, pp_why(-rc));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		rc = pp_err_set(err, -errno, "cannot connect to the keeper of '%s': %s. A keeper takes requests while its job runs",
		                spool, pp_why(errno));
		goto close_files;
	}
	n = pp_capture_request_line(request, line, sizeof(line));
	if (send(fd, line, (size_t)n, MSG_NOSIGNAL) == n) {
		close(directory);
		return fd;
	}
	rc = pp_err_set(err, -EPIPE, "the keeper of '%s' did not take the request", spool);
close_files:
	if (fd >= 0)
		close(fd);
	close(directory);
	return rc;
}

/* Shows "wait ..." lines and removes them; returns the bytes left. */
static size_t show_waits(char *text, size_t used, void (*progress)(const char *what))
{
	char *end;

	while (used > 5 && !strncmp(text, "wait ", 5) && (end = memchr(text, '\n', used))) {
		size_t n = (size_t)(end - text) + 1;

		*end = '\0';
		if (progress)
			progress(text + 5);
		memmove(text, text + n, used - n);
		used -= n;
		text[used] = '\0';
	}
	return used;
}

static int ask_socket(const char *spool, const struct pp_capture_request *request, void (*progress)(const char *what),
                      char **ret_answer, struct pp_err *err)
{
	const struct timeval limit = {.tv_sec = STATUS_S};
	size_t used = 0, room = 8192;
	char *text = malloc(room);
	int fd;

	if (!text)
		return pp_err_set(err, -ENOMEM, "no memory for an answer");
	fd = send_line(spool, request, err);
	if (fd < 0) {
		free(text);
		return fd;
	}
	if (request->kind == PP_CAPTURE_REQUEST_STATUS) /* a keeper that is stopped, or hangs itself, does not answer */
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	text[0] = '\0';
	for (;;) {
		ssize_t n = read(fd, text + used, room - 1 - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
		text[used] = '\0';
		used = show_waits(text, used, progress);
		if (room - used > 2048)
			continue;
		if (PP_RESIZE(text, 2 * room))
			break;
		room *= 2;
	}
	close(fd);
	*ret_answer = text;
	return 0;
}

/* A request file, and the answer beside it: see aggregate/keeper/capture/request_file.h. */
struct files {
	char part[PP_ASKER_PATH + 32], answer[PP_ASKER_PATH + 32], request[PP_ASKER_PATH + 32];
};

static char cancelled[PP_ASKER_PATH + 32]; /* the file that Ctrl-C removes, by which the keeper cancels the request */

static void on_signal(int number)
{
	struct sigaction start = {.sa_handler = SIG_DFL};

	unlink(cancelled);
	sigaction(number, &start, NULL);
	raise(number);
}

static void take_signals(const char *request)
{
	static const int number[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = request ? on_signal : SIG_DFL};

	if (request)
		snprintf(cancelled, sizeof(cancelled), "%s", request);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		sigaction(number[i], &action, NULL);
}

static int put_request(const struct files *f, const struct pp_capture_request *request)
{
	char line[PP_CAPTURE_REQUEST_LINE];
	int n = pp_capture_request_line(request, line, sizeof(line)), rc = 0;
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

/* Reads a whole file, terminated; NULL: it does not exist. */
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

/* Shows the last line of progress. */
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
	int64_t moved_ms = pp_now_ms();
	struct timespec last = {0}, time;
	int taken = 0;

	for (;;) {
		char *text = read_all(f->answer, &time);

		if (text) {
			show_waits(text, strlen(text), NULL);
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
		if (pp_now_ms() - moved_ms > (taken ? SILENT_MS : TAKEN_MS))
			break;
		pp_nap_ms(POLL_MS);
	}
	unlink(f->request);
	if (taken)
		return pp_err_set(
		        err, -ETIMEDOUT,
		        "no answer from the keeper on %s for %d s after it took the request: the keeper, its host or the shared "
		        "file system has failed",
		        job->host, SILENT_MS / 1000);
	return pp_err_set(err, -ETIMEDOUT,
	                  "no keeper takes requests in '%s': the keeper (pid %d on %s) is gone, or its host does not see this "
	                  "directory. If the job still runs, ask on %s",
	                  job->directory, job->pid, job->host, job->host);
}

static int ask_file(const struct pp_asker *job, const struct pp_capture_request *request, void (*progress)(const char *what),
                    char **ret_answer, struct pp_err *err)
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
	rc = put_request(&f, request);
	snprintf(f.part, sizeof(f.part), "%s/%016llx.part", job->directory, (unsigned long long)name);
	if (rc == -ENOENT)
		pp_err_set(err, rc, "the job on %s is ending: its keeper takes no more requests",
		           job->host[0] ? job->host : "its host");
	else if (rc)
		pp_err_set(err, rc, "cannot write '%s': %s", f.request, pp_why(-rc));
	else
		rc = wait_for_answer(job, &f, progress, ret_answer, err);
	take_signals(NULL);
	return rc;
}

int pp_asker_ask(const struct pp_asker *job, const struct pp_capture_request *request, void (*progress)(const char *what),
                 char **ret_answer, struct pp_err *err)
{
	int rc;

	if (*job->spool && request->kind != PP_CAPTURE_REQUEST_STATUS && pp_spool_keeper_is_stopped(job->pid))
		return pp_err_set(err, -ETIMEDOUT, "the keeper (pid %d) is stopped. Continue it with 'kill -CONT %d'", job->pid,
		                  job->pid);
	rc = *job->spool ? ask_socket(job->spool, request, progress, ret_answer, err) : -ENOENT;

	if (rc && *job->directory)
		rc = ask_file(job, request, progress, ret_answer, err);
	return rc;
}
