/* Reads a spool directory: rings, run files. Called by keeper.c and salvage.c. */
#include "aggregate/keeper/spool.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/spool/control.h"

static int ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

static int is_known(const struct pp_spool_view *v, const char *name)
{
	for (size_t i = 0; i < v->ring_names; i++)
		if (!strcmp(v->ring[i], name))
			return 1;
	return 0;
}

static int remember(struct pp_spool_view *v, const char *name)
{
	char(*ring)[64] = realloc(v->ring, (v->ring_names + 1) * sizeof(*ring));

	if (!ring)
		return -1;
	v->ring = ring;
	snprintf(ring[v->ring_names++], sizeof(ring[0]), "%.63s", name);
	return 0;
}

static int open_ring(struct pp_spool_view *v, const char *name)
{
	const struct pp_ring_header *h;
	struct pp_watch *rank = realloc(v->rank, (pp_rings_count(v->rings) + 1) * sizeof(*rank));
	struct pp_err err = {""};
	char path[4096];
	int rc;

	if (!rank)
		return -ENOMEM;
	v->rank = rank;
	snprintf(path, sizeof(path), "%s/%s", v->path, name);
	if (remember(v, name)) /* remembered before it is opened: no ring is read twice */
		return -ENOMEM;
	rc = pp_rings_open(v->rings, path, &err);
	if (rc == -EAGAIN && !v->salvaged) {
		v->ring_names--;
		v->again = 1;
		return 0;
	}
	if (rc) {
		pp_keeper_log("%s", err.text);
		pp_notes_add(&v->notes, "%s", err.text);
		v->refused++;
		return 0;
	}
	h = pp_rings_header(v->rings, pp_rings_count(v->rings) - 1);
	snprintf(path, sizeof(path), "%s/rank-%d.claim", v->path, h->rank);
	pp_watch_open_in(&v->rank[pp_rings_count(v->rings) - 1], h->pid, h->start_time, h->pid_space, path);
	pp_watch_join(&v->rank[pp_rings_count(v->rings) - 1], v->wake);
	pp_keeper_log("rank %d of %d, pid %d: ring '%s'", h->rank, h->size, h->pid, name);
	return 1;
}

static void open_run(struct pp_spool_view *v, const char *name)
{
	struct pp_run *run, one;

	pp_run_file_parse(name, &one.file);
	for (size_t i = 0; i < v->runs; i++)
		if (v->run[i].file.pid == one.file.pid && v->run[i].file.space == one.file.space)
			return;
	if (pp_run_file_read(v->path, name, &one.file))
		return;
	run = realloc(v->run, (v->runs + 1) * sizeof(*run));
	if (!run)
		return;
	v->run = run;
	pp_watch_open_in(&one.watch, one.file.pid, one.file.start_time, one.file.space, NULL);
	pp_watch_join(&one.watch, v->wake);
	run[v->runs++] = one;
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

void pp_spool_drop(struct pp_spool_view *v, size_t index)
{
	pp_watch_close(&v->rank[index]);
	pp_rings_take_out(v->rings, index);
	memmove(v->rank + index, v->rank + index + 1, (pp_rings_count(v->rings) - index) * sizeof(*v->rank));
}

void pp_spool_view_release(struct pp_spool_view *v)
{
	size_t rings = v->rings ? pp_rings_count(v->rings) : 0;

	for (size_t i = 0; i < rings && v->rank; i++)
		pp_watch_close(&v->rank[i]);
	for (size_t i = 0; i < v->runs; i++)
		pp_watch_close(&v->run[i].watch);
	free(v->ring);
	free(v->rank);
	free(v->still);
	free(v->run);
	pp_rings_free(v->rings);
	*v = (struct pp_spool_view){0};
}
