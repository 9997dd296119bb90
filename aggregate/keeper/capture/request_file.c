/* The directory of request files; see request_file.h. Called by request.c. */
#include "aggregate/keeper/capture/request_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/spool/control.h"
#include "core/base/hash.h"
#include "core/base/now.h"
#include "core/base/proc.h"

enum {
	CHECK_MS = 1000,
	ALONE_MS = 5000,  /* without rank 0 here: this keeper leads the ranks that it has */
	AGAIN_MS = 30000, /* after a directory could not be made */
	FETCH_MS = 2000,  /* for answers to be fetched at the end */
	MOST = 64,        /* names at a look */
	NAME = 16,        /* of a request: number of characters 0-9a-f */
};

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* NULL, or why the file is not trusted. */
static const char *not_ours(const struct stat *st)
{
	if (!S_ISDIR(st->st_mode))
		return "it is not a directory";
	if (st->st_uid != geteuid())
		return "it is another user's";
	return st->st_mode & 077 ? "others may use it" : NULL;
}

static int make_one(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return lstat(path, &st) ? -errno : not_ours(&st) ? -EPERM : 0;
}

/* The first lines of the file "keeper". */
static void where_of(char *text, size_t size)
{
	char host[72] = "", boot[48] = "";

	gethostname(host, sizeof(host) - 1);
	pp_proc_read("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	boot[strcspn(boot, "\n")] = '\0';
	snprintf(text, size, "HOST=%s\nBOOT=%s\nSPACE=%" PRIu32 "\n", host, boot, pp_proc_pid_space());
}

/* Removes all files of a directory except answers, returns how many answers there are; `all`: those too. */
static int clear(int directory, int all)
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

/* Did a keeper of the same PID namespace leave this directory, and has its process ended? */
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
	where_of(where, sizeof(where));
	/* NOLINTNEXTLINE(cert-err34-c): a number out of range is no pid */
	return !strncmp(text, where, strlen(where)) && sscanf(text + strlen(where), "PID=%d\n", &pid) == 1 && pid > 0 &&
	       ((kill(pid, 0) && errno == ESRCH) || pp_proc_is_zombie(pid));
}

/* Removes what killed keepers left, where their pids can be checked; `parent` is owner-only. */
static void sweep(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd = e->d_name[0] == '.' ? -1 : openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && is_left(fd)) {
			clear(fd, 1);
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		}
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

/* Writes the file from which the CLI knows which keeper this is. Its time is the directory's. */
static int write_keeper(struct pp_request_files *f, const char *spool, const char *job)
{
	int fd = openat(f->fd, PP_REQUESTS_KEEPER ".part", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	char where[192], text[1024];
	struct stat st;
	int n, rc = 0;

	if (fd < 0)
		return -errno;
	where_of(where, sizeof(where));
	n = snprintf(text, sizeof(text), "%sPID=%d\nSPOOL=%s\nJOB=%.200s\n", where, (int)getpid(), spool, job);
	errno = ENOSPC; /* a short write */
	if (write(fd, text, (size_t)n) != n || fstat(fd, &st) ||
	    renameat(f->fd, PP_REQUESTS_KEEPER ".part", f->fd, PP_REQUESTS_KEEPER))
		rc = -errno;
	else
		f->made_ns = ns_of(&st.st_mtim);
	close(fd);
	if (rc)
		unlinkat(f->fd, PP_REQUESTS_KEEPER ".part", 0);
	return rc;
}

static void name_of(const struct pp_windows_job *job, char *name, size_t size)
{
	char host[32] = "";

	gethostname(host, sizeof(host) - 1);
	snprintf(name, size, "%.80s-%s-%d", job->options->job && *job->options->job ? job->options->job : "job", host,
	         (int)getpid());
	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("-_.", *p)))
			*p = '_';
	if (name[0] == '.')
		name[0] = '_';
}

static void make(struct pp_requests *r, const struct pp_windows_job *job, int64_t now_ms)
{
	struct pp_request_files *f = &r->files;
	char name[160], parent[4224];
	int rc;

	f->retry_ms = now_ms + AGAIN_MS;
	name_of(job, name, sizeof(name));
	snprintf(parent, sizeof(parent), "%.4000s/" PP_REQUESTS_DIR, job->options->logdir);
	snprintf(f->path, sizeof(f->path), "%s/%.120s", parent, name);
	rc = make_one(parent);
	if (!rc)
		sweep(parent);
	if (!rc)
		rc = mkdir(f->path, 0700) ? -errno : 0;
	if (!rc) {
		f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		rc = f->fd < 0 ? -errno : write_keeper(f, r->spool, job->options->job ? job->options->job : "");
	}
	if (rc) {
		pp_keeper_log("captures can be requested on this node only: '%s': %s", f->path, strerror(-rc));
		if (f->fd >= 0)
			close(f->fd);
		f->fd = -1;
		rmdir(f->path);
		return;
	}
	f->again = 1;
}

static int leads(struct pp_request_files *f, const struct pp_windows_job *job, int64_t now_ms)
{
	size_t rings = pp_rings_count(job->rings);

	if (rings && !f->begun_ms)
		f->begun_ms = now_ms;
	for (size_t i = 0; i < rings; i++)
		if (pp_rings_header(job->rings, i)->rank == 0)
			return 1;
	return pp_pod_role(job->pod) == PP_POD_ALONE && rings && now_ms - f->begun_ms > ALONE_MS;
}

static int was_seen(const struct pp_request_files *f, const char *name)
{
	for (uint32_t i = 0; i < f->seens && i < PP_REQUEST_NAMES; i++)
		if (f->seen[i] == pp_hash_text(name))
			return 1;
	return 0;
}

/* Reads the line of a request file. NULL, or why the file is not trusted. */
static const char *read_request(const struct pp_request_files *f, const char *file, char *line, size_t size)
{
	int fd = openat(f->fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	const char *why = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ELOOP ? "it is a link" : strerror(errno);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		why = "it is not a plain file";
	else if (st.st_uid != geteuid() || (st.st_mode & 077))
		why = "others own it or may use it";
	else if (st.st_nlink != 1)
		why = "it has another name";
	else if (st.st_size <= 0 || (size_t)st.st_size >= size)
		why = "it is empty or too large";
	else if (ns_of(&st.st_mtim) < f->made_ns)
		why = "it is older than this job";
	n = why ? 0 : read(fd, line, size - 1);
	close(fd);
	if (!why && (n <= 0 || line[n - 1] != '\n'))
		why = "it has no line";
	if (!why) {
		line[n - 1] = '\0';
		line[strcspn(line, "\n")] = '\0';
	}
	return why;
}

static void take(struct pp_requests *r, const char *name, const char *file)
{
	struct pp_request_files *f = &r->files;
	struct pp_client *c = NULL;
	char line[PP_CAPTURE_REQUEST_LINE], part[PP_REQUEST_FILE_NAME + 16];
	const char *why;

	for (int i = 0; i < PP_REQUEST_CLIENTS && !c; i++)
		if (r->client[i].state == PP_CLIENT_FREE)
			c = &r->client[i];
	if (!c) /* no free slot: the file waits in the directory */
		return;
	f->seen[f->seens++ % PP_REQUEST_NAMES] = pp_hash_text(name);
	why = read_request(f, file, line, sizeof(line));
	if (why) {
		pp_keeper_log("request file '%s/%s' is refused: %s", f->path, file, why);
		return;
	}
	snprintf(part, sizeof(part), "%s.part", name);
	*c = (struct pp_client){.fd = openat(f->fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
	                        .directory = f->fd};
	if (c->fd < 0) {
		pp_keeper_log("request file '%s/%s' is refused: '%s': %s", f->path, file, part, strerror(errno));
		return;
	}
	snprintf(c->file, sizeof(c->file), "%s", name);
	pp_client_take(r, c, line, PP_BY_FILE);
}

/* "0123456789abcdef.request" */
static int is_request(const char *file, char *name)
{
	if (strlen(file) != NAME + strlen(".request") || strcmp(file + NAME, ".request") ||
	    strspn(file, "0123456789abcdef") != NAME)
		return 0;
	memcpy(name, file, NAME);
	name[NAME] = '\0';
	return 1;
}

static void scan(struct pp_requests *r)
{
	int fd = openat(r->files.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	char name[PP_REQUEST_FILE_NAME];
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (found < MOST && (e = readdir(d)))
		if (is_request(e->d_name, name) && !was_seen(&r->files, name)) {
			found++;
			take(r, name, e->d_name);
		}
	closedir(d);
	r->files.again |= found == MOST;
}

/* Finds clients that removed their request, and touches the answers of the others as a sign of life. */
static void check_clients(struct pp_requests *r)
{
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++) {
		struct pp_client *c = &r->client[i];
		char file[PP_REQUEST_FILE_NAME + 16];
		struct stat st;

		if (c->state == PP_CLIENT_FREE || !c->file[0])
			continue;
		snprintf(file, sizeof(file), "%s.request", c->file);
		c->gone = fstatat(r->files.fd, file, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
		futimens(c->fd, NULL);
	}
}

void pp_request_files_run(struct pp_requests *r, const struct pp_windows_job *job, int64_t now_ms)
{
	struct pp_request_files *f = &r->files;
	struct stat st;
	int fd, waiting = 0;

	if (f->fd < 0 && now_ms >= f->retry_ms && job->options->logdir && leads(f, job, now_ms))
		make(r, job, now_ms);
	if (f->fd < 0 || now_ms - f->checked_ms < CHECK_MS)
		return;
	f->checked_ms = now_ms;
	check_clients(r);
	/* Opened by name each time: a network file system shows other hosts' changes to a new open(), not to an open descriptor. */
	fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++)
		waiting += r->client[i].state != PP_CLIENT_FREE;
	if (!fstat(fd, &st) && (ns_of(&st.st_mtim) != f->changed_ns || f->again)) {
		f->again = ns_of(&st.st_mtim) != f->changed_ns || waiting == PP_REQUEST_CLIENTS;
		f->changed_ns = ns_of(&st.st_mtim);
		scan(r);
	}
	close(fd);
}

void pp_request_files_release(struct pp_request_files *f)
{
	int64_t end_ms = pp_now_ms() + FETCH_MS;
	char *slash;

	if (f->fd < 0)
		return;
	while (clear(f->fd, 0) && pp_now_ms() < end_ms)
		pp_nap_ms(50);
	clear(f->fd, 1);
	rmdir(f->path);
	slash = strrchr(f->path, '/');
	if (slash) {
		*slash = '\0';
		rmdir(f->path); /* fails where another job has a directory in it */
	}
	close(f->fd);
	f->fd = -1;
}
