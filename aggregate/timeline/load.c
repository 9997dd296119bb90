/* From a session on disk to its timeline: what pod.h5 says of ranks, steps and clocks, and the spans of its event files. See
 * timeline.h. Called by aggregate/report and launchers. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/h5/pod.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "aggregate/timeline/timeline_private.h"
#include "core/base/units.h"
#include "core/base/why.h"

enum { SUFFIX = sizeof(".xplane.pb") - 1 };

struct file { /* an event file */
	char path[PATH_MAX];
	int32_t rank; /* of a file of another profiler; -1: it has its ranks' numbers */
};

struct files {
	struct file *file;
	size_t files, room;
	char why[sizeof(((struct pp_err *)0)->text)]; /* the first that could not be read */
	size_t unread;
	int64_t first_epoch, last_epoch;
};

uint32_t pp_timeline_name(struct pp_timeline_maker *m, const char *text)
{
	return pp_intern_put(m->t->names, text, strlen(text));
}

size_t pp_timeline_rank_at(const struct pp_timeline *t, int32_t rank)
{
	size_t low = 0, high = t->ranks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->rank[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->ranks && t->rank[low].rank == rank ? low : SIZE_MAX;
}

static struct file *add_file(struct files *f)
{
	struct file *more;

	if (f->files == f->room) {
		more = realloc(f->file, (f->room ? 2 * f->room : 16) * sizeof(*more));
		if (!more)
			return NULL;
		f->file = more;
		f->room = f->room ? 2 * f->room : 16;
	}
	f->file[f->files] = (struct file){.rank = -1};
	return &f->file[f->files++];
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

int pp_timeline_directory(const char *pod, char directory[PATH_MAX])
{
	char whole[PATH_MAX], *session, *parent;
	const char *name;

	if (!realpath(pod, whole))
		return -errno;
	session = strrchr(whole, '/');
	if (!session || session == whole)
		return -ENOENT;
	*session = '\0'; /* LOGDIR/podprof/SESSION */
	session = strrchr(whole, '/');
	if (!session)
		return -ENOENT;
	*session = '\0';
	parent = strrchr(whole, '/');
	name = session + 1;
	if (!parent || strcmp(parent, "/podprof"))
		return -ENOENT;
	*parent = '\0';
	return snprintf(directory, PATH_MAX, "%s/plugins/profile/%s", whole, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Files of podprof itself: those beside pod.h5. */
static int list_own(struct files *f, const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *e;
	int rc = 0;

	if (!dir)
		return -errno;
	while (!rc && (e = readdir(dir))) {
		size_t length = strlen(e->d_name);
		struct file *file;

		if (length <= SUFFIX || strcmp(e->d_name + length - SUFFIX, ".xplane.pb"))
			continue;
		file = add_file(f);
		rc = !file ? -ENOMEM : 0;
		if (file && snprintf(file->path, PATH_MAX, "%s/%s", directory, e->d_name) >= PATH_MAX)
			f->files--;
	}
	closedir(dir);
	if (f->files)
		qsort(f->file, f->files, sizeof(*f->file), by_path);
	return rc;
}

/* Files of other profilers, as they were given to 'podprof analyze'. */
static int list_given(struct files *f, const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->trace_files; i++) {
		const char *path = pp_intern_text(d->names, d->trace_file[i].name, NULL);
		struct file *file;

		if (f->files && !strcmp(f->file[f->files - 1].path, path)) /* a file of several ranks: it begins with the lowest */
			continue;
		file = add_file(f);
		if (!file)
			return -ENOMEM;
		file->rank = d->trace_file[i].worker;
		if (snprintf(file->path, PATH_MAX, "%s", path) >= PATH_MAX)
			f->files--;
	}
	return 0;
}

static void rename_span(struct pp_span *s, const uint32_t *to)
{
	s->name = to[s->name];
	if (s->kind == PP_SPAN_DEVICE)
		s->device.op = to[s->device.op];
}

static void rename_rank(struct pp_rank *r, const uint32_t *to)
{
	for (size_t t = 0; t < r->threads; t++) {
		r->thread[t].name = to[r->thread[t].name];
		for (size_t i = 0; i < r->thread[t].spans; i++)
			rename_span(&r->thread[t].span[i], to);
	}
	for (size_t i = 0; i < r->comms; i++)
		r->comm[i].name = to[r->comm[i].name];
	for (size_t i = 0; i < r->allocations; i++)
		r->allocation[i].allocator = to[r->allocation[i].allocator];
}

static void shift_rank(struct pp_rank *r, int64_t by)
{
	for (size_t t = 0; by && t < r->threads; t++)
		for (size_t i = 0; i < r->thread[t].spans; i++) {
			r->thread[t].span[i].begin += by;
			r->thread[t].span[i].end += by;
		}
	for (size_t i = 0; by && i < r->allocations; i++)
		r->allocation[i].time += by;
}

static int wanted(const struct pp_timeline_maker *m, int32_t rank)
{
	return !m->options->ranks || pp_rank_list_has(m->options->ranks, rank);
}

/* Moves the ranks that are wanted; of two of one number the first counts. */
static int take_ranks(struct pp_timeline_maker *m, struct pp_capture *c, const uint32_t *to, int64_t shift_ns)
{
	struct pp_rank *more = realloc(m->capture.rank, (m->capture.ranks + c->ranks + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	m->capture.rank = more;
	for (size_t i = 0; i < c->ranks; i++) {
		size_t at = pp_timeline_rank_at(m->t, c->rank[i].rank);
		int is_known = 0;

		for (size_t k = 0; k < m->capture.ranks; k++)
			is_known |= more[k].rank == c->rank[i].rank;
		m->t->left.damaged += c->rank[i].trace.damaged;
		m->t->left.untimed += c->rank[i].trace.untimed;
		m->t->is_replay |= c->rank[i].device_replay;
		if (at == SIZE_MAX || is_known || !wanted(m, c->rank[i].rank))
			continue;
		rename_rank(&c->rank[i], to);
		shift_rank(&c->rank[i], shift_ns);
		m->t->rank[at].missing[0] = '\0';
		more[m->capture.ranks++] = c->rank[i];
		c->rank[i] = (struct pp_rank){.rank = c->rank[i].rank}; /* what it owned has moved */
	}
	return 0;
}

int pp_timeline_adopt(struct pp_timeline_maker *m, struct pp_capture *c, int64_t shift_ns)
{
	const uint32_t names = pp_intern_count(c->names);
	uint32_t *to = malloc((names + (size_t)1) * sizeof(*to));
	int rc = to ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < names && to; i++) {
		size_t length;
		const char *text = pp_intern_text(c->names, i, &length);

		to[i] = pp_intern_put(m->t->names, text, length);
		if (length && !to[i])
			rc = -ENOMEM;
	}
	if (!rc)
		rc = take_ranks(m, c, to, shift_ns);
	free(to);
	pp_capture_release(c);
	return rc;
}

/* Job time begins at the session's epoch, as in aggregate/session/analyze_merge.c: a file without a date begins with it. */
static int64_t shift_of(const struct pp_timeline_maker *m, const struct file *file, const struct pp_capture *c)
{
	int64_t by;

	if (file->rank < 0 || !c->epoch_realtime_ns || !m->d->epoch_realtime_ns ||
	    __builtin_sub_overflow(c->epoch_realtime_ns, m->d->epoch_realtime_ns, &by) || by < 0 || by > PP_TABLE_TIME_MAX / 4)
		return 0;
	return by;
}

static void note_unread(struct pp_timeline_maker *m, struct files *f, const struct file *file, const char *why)
{
	if (!f->unread++)
		snprintf(f->why, sizeof(f->why), "%s", why);
	for (size_t i = 0; i < m->t->ranks; i++)
		if (file->rank == m->t->rank[i].rank)
			snprintf(m->t->rank[i].missing, sizeof(m->t->rank[i].missing), "%s", why);
}

static int read_file(struct pp_timeline_maker *m, struct files *f, const struct file *file)
{
	const struct pp_trace_options how = {.rank = file->rank < 0 ? 0 : file->rank};
	struct pp_trace_glance glance;
	struct pp_capture c = {.names = NULL};
	struct pp_err why = {""};
	char producer[sizeof(m->t->source)];

	if (pp_trace_glance(file->path, &glance, &why) || (file->rank >= 0 && !wanted(m, file->rank) && !glance.is_podprof) ||
	    pp_trace_read(file->path, &glance, &how, &c, &why)) {
		if (why.text[0])
			note_unread(m, f, file, why.text);
		return 0;
	}
	snprintf(producer, sizeof(producer), "%s",
	         c.ranks && c.rank->trace.producer[0] ? c.rank->trace.producer
	         : c.ranks                            ? c.rank->trace.format
	                                              : "");
	if (!m->t->source[0])
		snprintf(m->t->source, sizeof(m->t->source), "%s", producer);
	return pp_timeline_adopt(m, &c, glance.is_podprof ? 0 : shift_of(m, file, &c));
}

static int by_rank(const void *a, const void *b)
{
	const struct pp_rank *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

int pp_timeline_files(struct pp_timeline_maker *m, const char *pod, struct pp_err *err)
{
	struct files f = {.file = NULL};
	char directory[PATH_MAX] = "";
	int rc;

	if (m->d->trace_files) {
		rc = list_given(&f, m->d);
	} else {
		rc = pp_timeline_directory(pod, directory);
		if (rc == -ENOENT && !directory[0])
			return pp_err_set(
			        err, -ENOENT,
			        "no events of '%s': it is not in a log directory. Copy LOGDIR/plugins/profile/SESSION too, "
			        "beside LOGDIR/podprof/SESSION",
			        pod);
		if (!rc)
			rc = list_own(&f, directory);
		if (rc == -ENOENT)
			rc = 0;
	}
	for (size_t i = 0; i < f.files && !rc; i++)
		rc = read_file(m, &f, &f.file[i]);
	if (rc)
		pp_err_set(err, rc, "cannot read the events of '%s': %s", pod, pp_why(-rc));
	else if (!m->capture.ranks && f.unread)
		rc = pp_err_set(err, -ENODATA, "%s", f.why);
	else if (!f.files)
		rc = pp_err_set(err, -ENODATA, "no event file in '%s': it was removed, or is on another host. Copy it there",
		                directory);
	if (m->capture.ranks)
		qsort(m->capture.rank, m->capture.ranks, sizeof(*m->capture.rank), by_rank);
	free(f.file);
	return rc;
}
