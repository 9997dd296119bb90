/* Who may be asked in a log directory, and asking by the socket; see asker.h. */
#include "launchers/ask/asker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request.h"
#include "core/base/proc.h"
#include "launchers/ask/asker_file.h"
#include "launchers/cmd.h"

struct find {
	const char *logdir;
	struct pp_asker_list *list;
};

/* A keeper whose windows are written takes requests while its ranks run. */
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

static int add_spool(const struct pp_spool_state *state, void *data)
{
	struct find *f = data;
	struct pp_asker_list *l = f->list;
	char path[PP_SPOOL_PATH + 16], text[8192];

	if (strcmp(state->output, f->logdir) || l->count == PP_ASKERS)
		return 0;
	if (state->life != PP_SPOOL_RECORDING &&
	    !((state->life == PP_SPOOL_WRITING || state->life == PP_SPOOL_DONE) && has_socket(state->path))) {
		l->over++;
		return 0;
	}
	l->job[l->count] = (struct pp_asker){.pid = state->keeper_pid};
	snprintf(l->job[l->count].spool, sizeof(l->job[0].spool), "%s", state->path);
	snprintf(path, sizeof(path), "%s/options", state->path);
	if (pp_proc_read(path, text, sizeof(text)) > 0)
		take_value(text, "JOB=", l->job[l->count].job, sizeof(l->job[0].job));
	l->count++;
	return 0;
}

/* One keeper's directory: its socket is better where it is on this node. */
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
	if (l->count < PP_ASKERS)
		l->job[l->count++] = job;
}

/* NULL, or why nobody should trust it. */
static const char *not_ours(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? "" : pp_why(errno);
	if (!S_ISDIR(st.st_mode))
		return "it is no directory";
	return st.st_uid != geteuid() ? "it is another user's" : st.st_mode & 077 ? "others may use it" : NULL;
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

static int send_line(const char *spool, const struct pp_wish *wish, struct pp_err *err)
{
	struct sockaddr_un address;
	int directory = -1, fd, n, rc = pp_requests_address(spool, &address, &directory);
	char line[PP_WISH_LINE];

	if (rc)
		return pp_err_set(err, rc, "cannot open '%s': %s", spool, pp_why(-rc));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		rc = pp_err_set(err, -errno, "cannot ask the keeper of '%s': %s. It takes requests while its job runs", spool,
		                pp_why(errno));
		goto close_files;
	}
	n = pp_wish_line(wish, line, sizeof(line));
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

size_t pp_asker_waits(char *text, size_t used, void (*progress)(const char *what))
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

static int ask_socket(const char *spool, const struct pp_wish *wish, void (*progress)(const char *what), char **ret_answer,
                      struct pp_err *err)
{
	size_t used = 0, room = 8192;
	char *text = malloc(room);
	int fd;

	if (!text)
		return pp_err_set(err, -ENOMEM, "no memory for an answer");
	fd = send_line(spool, wish, err);
	if (fd < 0) {
		free(text);
		return fd;
	}
	text[0] = '\0';
	for (;;) {
		ssize_t n = read(fd, text + used, room - 1 - used);
		char *more;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
		text[used] = '\0';
		used = pp_asker_waits(text, used, progress);
		if (room - used > 2048)
			continue;
		more = realloc(text, 2 * room);
		if (!more)
			break;
		text = more;
		room *= 2;
	}
	close(fd);
	*ret_answer = text;
	return 0;
}

int pp_asker_ask(const struct pp_asker *job, const struct pp_wish *wish, void (*progress)(const char *what), char **ret_answer,
                 struct pp_err *err)
{
	int rc = *job->spool ? ask_socket(job->spool, wish, progress, ret_answer, err) : -ENOENT;

	if (rc && *job->directory)
		rc = pp_asker_file(job, wish, progress, ret_answer, err);
	return rc;
}
