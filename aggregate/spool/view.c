/* Reads a spool directory: headers of rings, run files; see view.h. */
#include "aggregate/spool/view.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/spool/control.h"
#include "core/base/grow.h"

static int ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

static int is_known(const struct pp_spool_view *v, const char *name)
{
	for (size_t i = 0; i < v->names; i++)
		if (!strcmp(v->name[i], name))
			return 1;
	return 0;
}

static int remember(struct pp_spool_view *v, const char *name)
{
	if (PP_RESIZE(v->name, v->names + 1))
		return -1;
	snprintf(v->name[v->names++], sizeof(v->name[0]), "%.63s", name);
	return 0;
}

void pp_spool_refuse(struct pp_spool_view *v, const char *why)
{
	pp_keeper_log("%s", why);
	if (!PP_RESIZE(v->refusal, v->refused + 1))
		snprintf(v->refusal[v->refused++], sizeof(v->refusal[0]), "%s", why);
}

static int open_ring(struct pp_spool_view *v, const char *name)
{
	const struct pp_ring_header *h;
	struct pp_spool_ring one;
	struct pp_err err = {""};
	char path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", v->path, name);
	if (PP_RESIZE(v->ring, v->rings + 1) || PP_RESIZE(v->rank, v->rings + 1) ||
	    remember(v, name)) /* remembered before it is opened: no ring is read twice */
		return -ENOMEM;
	one.path = strdup(path);
	rc = one.path ? pp_drain_open(path, v->is_private ? PP_DRAIN_PRIVATE : 0, &one.drain, &err) : -ENOMEM;
	if (rc)
		free(one.path);
	if (rc == -EAGAIN && !v->salvaged) {
		v->names--;
		v->again = 1;
		return 0;
	}
	if (rc) {
		pp_spool_refuse(v, *err.text ? err.text : "no memory to read a ring");
		return 0;
	}
	h = pp_drain_header(one.drain);
	snprintf(path, sizeof(path), "%s/rank-%d.claim", v->path, h->rank);
	pp_watch_open_in(&v->rank[v->rings], h->pid, h->start_time, h->pid_space, path);
	pp_watch_join(&v->rank[v->rings], v->wake);
	v->ring[v->rings++] = one;
	pp_keeper_log("rank %d of %d, pid %d: ring '%s'", h->rank, h->size, h->pid, name);
	return 1;
}

static void open_run(struct pp_spool_view *v, const char *name)
{
	struct pp_run one;

	pp_run_file_parse(name, &one.file);
	for (size_t i = 0; i < v->runs; i++)
		if (v->run[i].file.pid == one.file.pid && v->run[i].file.space == one.file.space)
			return;
	if (pp_run_file_read(v->path, name, &one.file) || PP_RESIZE(v->run, v->runs + 1))
		return;
	pp_watch_open_in(&one.watch, one.file.pid, one.file.start_time, one.file.space, NULL);
	pp_watch_join(&one.watch, v->wake);
	v->run[v->runs++] = one;
}

int pp_spool_scan(struct pp_spool_view *v)
{
	DIR *dir = opendir(v->path);
	struct dirent *e;
	int opened = 0, failed = 0, rc;

	if (!dir)
		return -errno;
	v->again = 0;
	while (errno = 0, (e = readdir(dir))) {
		if (!strncmp(e->d_name, "run-", 4))
			open_run(v, e->d_name);
		v->followed |= !strcmp(e->d_name, "followed");
		if (strncmp(e->d_name, "rank-", 5) || !ends_with(e->d_name, ".ring") || strlen(e->d_name) >= 64 ||
		    is_known(v, e->d_name))
			continue;
		rc = open_ring(v, e->d_name);
		opened += rc > 0;
		failed = rc < 0 ? rc : failed;
		v->again |= rc < 0;
	}
	if (errno)
		failed = -errno;
	closedir(dir);
	return failed && !opened ? failed : opened;
}

size_t pp_spool_count(const struct pp_spool_view *v)
{
	return v->rings;
}

const struct pp_ring_header *pp_spool_header(const struct pp_spool_view *v, size_t ring)
{
	return pp_drain_header(v->ring[ring].drain);
}

int pp_spool_is_excluded(const struct pp_spool_view *v, size_t ring)
{
	return (pp_ring_flags(pp_spool_header(v, ring)) & PP_RING_NO_RANK) != 0;
}

static void close_ring(struct pp_spool_view *v, size_t index)
{
	pp_watch_close(&v->rank[index]);
	pp_drain_close(v->ring[index].drain);
	free(v->ring[index].path);
}

void pp_spool_drop(struct pp_spool_view *v, size_t index)
{
	close_ring(v, index);
	v->rings--;
	memmove(v->ring + index, v->ring + index + 1, (v->rings - index) * sizeof(*v->ring));
	memmove(v->rank + index, v->rank + index + 1, (v->rings - index) * sizeof(*v->rank));
}

void pp_spool_view_release(struct pp_spool_view *v)
{
	for (size_t i = 0; i < v->rings; i++)
		close_ring(v, i);
	for (size_t i = 0; i < v->runs; i++)
		pp_watch_close(&v->run[i].watch);
	free(v->ring);
	free(v->rank);
	free(v->name);
	free(v->refusal);
	free(v->still);
	free(v->run);
	*v = (struct pp_spool_view){0};
}
