/* The forked writers' part of a gathering; see gather.h. Called by session.c. */
#include "aggregate/session/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/analyze/finish.h"
#include "aggregate/dataset/block.h"
#include "aggregate/dataset/merge.h"
#include "core/base/grow.h"

enum { PARTS_AT_ONCE = 64 };

struct parts {
	struct pp_dataset *part;
	size_t parts, room;
};

static void token_path(const struct pp_gather *g, const char *logdir, const char *session, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/podprof/%s/%s", logdir, session, g->token);
}

int pp_gather_name(const struct pp_gather *g, const char *logdir, const char *session, const struct pp_clock_map *map,
                   int64_t epoch_realtime_ns, int has_steps, struct pp_err *err)
{
	struct pp_gather_named named = {.map = *map, .epoch_realtime_ns = epoch_realtime_ns, .has_steps = has_steps};
	char path[PATH_MAX];
	int fd;

	snprintf(named.session, sizeof(named.session), "%s", session);
	snprintf(named.logdir, sizeof(named.logdir), "%s", logdir);
	if (strcmp(named.session, session) != 0 || strcmp(named.logdir, logdir) != 0)
		return pp_err_set(err, -ENAMETOOLONG, "cannot gather session '%s': its name is too long", session);
	token_path(g, logdir, session, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return pp_err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
	close(fd);
	close(g->parent_fd); /* so that this process sees the parent's end */
	if (send(g->fd, &named, sizeof(named), MSG_NOSIGNAL) != (ssize_t)sizeof(named))
		return pp_err_set(err, -errno, "cannot announce session '%s' to the other hosts: %s", session, strerror(errno));
	return 0;
}

void pp_gather_drop_token(const struct pp_gather *g, const char *logdir, const char *session)
{
	char path[PATH_MAX];

	token_path(g, logdir, session, path);
	unlink(path);
}

int pp_gather_is_shared(const struct pp_gather *g, const char *logdir)
{
	char path[PATH_MAX];

	token_path(g, logdir, g->session, path);
	return access(path, F_OK) == 0;
}

int pp_gather_give(const struct pp_gather *g, const struct pp_dataset *own, struct pp_err *err)
{
	char path[PP_GATHER_SPOOL + 64];
	size_t size = 0, at = 0;
	void *bytes = NULL;
	int fd, rc = pp_block_write(own, &bytes, &size, err);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/share-%llu.block", g->spool, (unsigned long long)g->number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	errno = fd < 0 ? errno : ENOSPC;
	while (fd >= 0 && at < size) {
		ssize_t n = write(fd, (char *)bytes + at, size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (fd < 0 || at < size)
		rc = pp_err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(bytes);
	return rc;
}

/* Reads a file of the spool; to be freed. */
static void *read_file(const struct pp_gather *g, const char *name, size_t *ret_size, struct pp_err *err)
{
	char path[PP_GATHER_SPOOL + 256];
	struct stat st = {.st_size = 0};
	char *bytes = NULL;
	size_t at = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%.200s", g->spool, name);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st))
		bytes = malloc((size_t)st.st_size + 1);
	while (bytes && at < (size_t)st.st_size) {
		ssize_t n = read(fd, bytes + at, (size_t)st.st_size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (!bytes)
		pp_err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	*ret_size = at;
	return bytes;
}

/* Waits until the parent has all shares. If it has died there are none. */
static void wait_for_parent(const struct pp_gather *g)
{
	char byte;
	ssize_t n;

	do
		n = recv(g->fd, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
}

static struct pp_dataset *more(struct parts *p)
{
	if (PP_GROW(p->part, p->parts, p->room))
		return NULL;
	memset(&p->part[p->parts], 0, sizeof(*p->part));
	return &p->part[p->parts++];
}

/* Merges and releases the parts from `first` on, with others before and after them (NULL: none). */
static int merge_from(struct parts *p, size_t first, struct pp_dataset *before, struct pp_dataset *after,
                      struct pp_dataset *ret_merged, struct pp_err *err)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a part */
	struct pp_dataset **list = calloc(p->parts - first + 2, sizeof(*list));
	size_t n = 0;
	int rc;

	if (!list)
		return pp_err_set(err, -ENOMEM, "cannot merge the shares of %zu hosts: no memory", p->parts + 1);
	if (before)
		list[n++] = before;
	for (size_t i = first; i < p->parts; i++)
		list[n++] = &p->part[i];
	if (after)
		list[n++] = after;
	rc = pp_dataset_merge_spend(list, n, ret_merged, err);
	/* NOLINTNEXTLINE(bugprone-multi-level-implicit-pointer-conversion): the pointers, not what they point to */
	free(list);
	for (size_t i = first; i < p->parts; i++)
		pp_dataset_release(&p->part[i]);
	p->parts = first;
	return rc;
}

static int read_part(const struct pp_gather *g, struct pp_intern *names, const struct pp_gather_row *row, struct parts *p,
                     struct pp_dataset *missing)
{
	struct pp_dataset *part = more(p);
	struct pp_err err = {""};
	size_t size = 0;
	void *bytes = part ? read_file(g, row->text, &size, &err) : NULL;

	if (!part)
		return -ENOMEM;
	if (!bytes || pp_block_read(bytes, size, names, part, &err)) {
		p->parts--;
		g->log("share of '%s': %s", row->host, err.text);
		pp_dataset_warn(missing, "the share of host '%s' is dropped: %s", row->host, err.text);
	}
	free(bytes);
	return 0;
}

/* Reads the shares of all rows; `missing` is the last part. Shares of many hosts are merged some at a time: the memory of those
 * serves the next ones, and operations of several hosts become few early. */
static int read_parts(const struct pp_gather *g, struct pp_dataset *own, struct pp_intern *names, const struct pp_gather_row *row,
                      size_t rows, struct parts *p, struct pp_dataset *missing, struct pp_err *err)
{
	struct pp_dataset one = {.names = NULL};
	size_t merged = 0;
	int rc = 0;

	for (size_t i = 0; i < rows && !rc; i++) {
		if (row[i].kind == PP_GATHER_MISSING && pp_dataset_add_missing(missing, row[i].rank, row[i].host, row[i].text))
			rc = -ENOMEM;
		if (row[i].kind == PP_GATHER_WARNING)
			pp_dataset_warn(missing, "%s", row[i].text);
		if (row[i].kind == PP_GATHER_CLOCK && own->host_clocks)
			pp_clock_metadata_scan(row[i].text, own->host_clock);
		if (row[i].kind == PP_GATHER_BLOCK)
			rc = read_part(g, names, &row[i], p, missing);
		if (rc) {
			pp_err_set(err, rc, "cannot merge the shares of other hosts: no memory");
		} else if (p->parts - merged == PARTS_AT_ONCE) {
			rc = merge_from(p, merged, NULL, NULL, &one, err);
			if (!rc)
				p->part[merged++] = one; /* in the place of the first of them */
			p->parts = merged;
		}
	}
	pp_dataset_sort_workers(missing);
	missing->names = own->names;
	missing->epoch_realtime_ns = own->epoch_realtime_ns;
	missing->steps_asked_first = own->steps_asked_first;
	missing->steps_asked_last = own->steps_asked_last;
	return rc;
}

static int merge_parts(struct pp_dataset *own, struct parts *p, struct pp_dataset *missing, struct pp_dataset *ret_dataset,
                       struct pp_err *err)
{
	int rc = merge_from(p, 0, own, missing, ret_dataset, err);

	if (rc)
		return rc;
	malloc_trim(0);
	for (size_t i = 0; i < missing->warnings; i++)
		pp_dataset_warn(ret_dataset, "%s", missing->warning[i].warning);
	rc = pp_dataset_finish(ret_dataset, err);
	if (rc)
		pp_dataset_release(ret_dataset);
	return rc;
}

int pp_gather_merge(const struct pp_gather *g, struct pp_dataset *own, struct pp_intern *names, struct pp_dataset *ret_dataset,
                    struct pp_err *err)
{
	struct pp_dataset missing = {.names = NULL}, merged = {.names = NULL};
	struct parts p = {.parts = 0};
	struct pp_err ignored = {""};
	struct pp_gather_row *row;
	char name[64];
	size_t size = 0;
	int rc;

	wait_for_parent(g);
	snprintf(name, sizeof(name), "gather-%llu.rows", (unsigned long long)g->number);
	row = read_file(g, name, &size, &ignored);
	if (!row)
		g->log("no other host's share: %s", ignored.text);
	rc = read_parts(g, own, names, row, row ? size / sizeof(*row) : 0, &p, &missing, err);
	if (!rc)
		rc = merge_parts(own, &p, &missing, &merged, err);
	for (size_t i = 0; i < p.parts; i++)
		pp_dataset_release(&p.part[i]);
	free(p.part);
	free(row);
	pp_dataset_release(&missing);
	if (!rc)
		*ret_dataset = merged;
	return rc;
}
