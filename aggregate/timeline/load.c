/* From a session on disk to its timeline: what pod.h5 says of ranks, steps and clocks, and the spans of its event files. See
 * timeline.h. Called by aggregate/report and launchers. */
#include "aggregate/timeline/load.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/read/container.h"
#include "aggregate/read/h5/file.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "aggregate/timeline/timeline_private.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/base/why.h"
#include "core/base/wrap.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

#define TIME_MOST (INT64_MAX / 4)

enum { SUFFIX = sizeof(".xplane.pb") - 1 };

struct file { /* an event file */
	char path[PATH_MAX];
	uint32_t name;     /* of a given one, as /trace_file has it */
	int32_t rank;      /* the lowest of a given one; -1: it is podprof's, beside pod.h5 */
	int is_read;       /* the rest holds */
	int64_t epoch;     /* 0: it has no date */
	size_t from, upto; /* its ranks in the capture */
};

struct files {
	struct file *file;
	size_t files, room;
	char why[sizeof(((struct pp_err *)0)->text)]; /* the first that could not be read */
	size_t unread;
	uint8_t *is_taken; /* [ranks of the timeline] */
};

uint32_t pp_timeline_name(struct pp_timeline_maker *m, const char *text)
{
	return pp_intern_put(m->t->names, text, strlen(text));
}

static struct file *add_file(struct files *f)
{
	if (PP_GROW(f->file, f->files, f->room))
		return NULL;
	f->file[f->files] = (struct file){.rank = -1};
	return &f->file[f->files++];
}

PP_COMPARE(by_path, struct file, strcmp(x->path, y->path))

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

int pp_timeline_no_files(const char *directory, struct pp_err *err)
{
	return pp_err_set(err, -ENODATA, "no event file in '%s': it was removed, or is on another host. Copy it there", directory);
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

/* Paths are as typed: from this directory, else from the one that holds LOGDIR, where LOGDIR lies unless --output says else. */
static void find_given(char path[PATH_MAX], const char *pod)
{
	char beside[2 * PATH_MAX], *end = NULL;

	if (*path == '/' || !access(path, F_OK) || !realpath(pod, beside))
		return;
	for (int i = 0; i < 4; i++) { /* LOGDIR/podprof/SESSION/pod.h5 */
		end = strrchr(beside, '/');
		if (!end)
			return;
		*end = '\0';
	}
	snprintf(end, sizeof(beside) - (size_t)(end - beside), "/%s", path);
	if (strlen(beside) < PATH_MAX && !access(beside, F_OK))
		memcpy(path, beside, strlen(beside) + 1);
}

PP_COMPARE_BY_2(by_name_and_rank, struct file, name, rank)

PP_COMPARE_BY_2(by_first_rank, struct file, rank, name)

/* Files that were given to 'podprof analyze': each once, with the lowest of its ranks. */
static int list_given(struct files *f, const struct pp_dataset *d, const char *pod)
{
	size_t remaining = 0;

	for (size_t i = 0; i < d->trace_files; i++) {
		struct file *file = add_file(f);

		if (!file)
			return -ENOMEM;
		file->name = d->trace_file[i].name;
		file->rank = d->trace_file[i].worker;
	}
	if (!f->file)
		return 0;
	qsort(f->file, f->files, sizeof(*f->file), by_name_and_rank);
	for (size_t i = 0; i < f->files; i++)
		if (!i || f->file[i].name != f->file[remaining - 1].name)
			f->file[remaining++] = f->file[i];
	f->files = remaining;
	qsort(f->file, f->files, sizeof(*f->file), by_first_rank);
	for (size_t i = 0; i < f->files; i++) {
		snprintf(f->file[i].path, PATH_MAX, "%s", pp_intern_text(d->names, f->file[i].name, NULL));
		find_given(f->file[i].path, pod);
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

/* Within what differences of two times can hold; the order of times stays. */
static int64_t later(int64_t time, int64_t by)
{
	int64_t sum;

	if (__builtin_add_overflow(time, by, &sum))
		sum = by < 0 ? INT64_MIN : INT64_MAX;
	return sum < -TIME_MOST ? -TIME_MOST : sum > TIME_MOST ? TIME_MOST : sum;
}

static void shift_rank(struct pp_rank *r, int64_t by)
{
	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; i < r->thread[t].spans; i++) {
			r->thread[t].span[i].begin = later(r->thread[t].span[i].begin, by);
			r->thread[t].span[i].end = later(r->thread[t].span[i].end, by);
		}
	for (size_t i = 0; i < r->allocations; i++)
		r->allocation[i].time = later(r->allocation[i].time, by);
}

/* Moves the ranks; of two of one number the first counts. */
static int take_ranks(struct pp_timeline_maker *m, struct files *f, struct pp_capture *c, const uint32_t *to)
{
	struct pp_rank *more = realloc(m->capture.rank, (m->capture.ranks + c->ranks + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	m->capture.rank = more;
	for (size_t i = 0; i < c->ranks; i++) {
		size_t at = pp_timeline_rank_at(m->t, c->rank[i].rank);

		if (at == SIZE_MAX || f->is_taken[at])
			continue;
		f->is_taken[at] = 1;
		if (pp_timeline_wants(m, c->rank[i].rank)) {
			m->t->left.damaged += c->rank[i].trace.damaged;
			m->t->left.untimed += c->rank[i].trace.untimed;
			m->t->is_replay |= c->rank[i].device_replay;
			m->t->rank[at].missing[0] = '\0';
		}
		rename_rank(&c->rank[i], to);
		more[m->capture.ranks++] = c->rank[i];
		c->rank[i] = (struct pp_rank){.rank = c->rank[i].rank}; /* what it owned has moved */
	}
	return 0;
}

void pp_timeline_take(struct pp_timeline_maker *m)
{
	struct pp_capture *c = m->options->capture;
	size_t remaining = 0;

	for (size_t i = 0; i < c->ranks; i++) {
		const size_t at = pp_timeline_rank_at(m->t, c->rank[i].rank);

		if (at == SIZE_MAX)
			continue;
		m->t->is_replay |= c->rank[i].device_replay;
		m->t->rank[at].missing[0] = '\0';
		c->rank[remaining++] = c->rank[i];
	}
	c->ranks = remaining;
	m->capture = *c;
	m->capture.names = NULL; /* the timeline's */
	*c = (struct pp_capture){.names = NULL};
	snprintf(m->t->source, sizeof(m->t->source), "podprof");
}

/* Payloads become names of the timeline; 0, or -ENOMEM. */
static int rename_payloads(struct pp_timeline_maker *m, struct pp_capture *c)
{
	const uint32_t payloads = c->payloads ? pp_intern_count(c->payloads) : 0;
	uint32_t *to = payloads ? calloc(payloads, sizeof(*to)) : NULL;

	if (payloads && !to)
		return -ENOMEM;
	for (uint32_t i = 1; i < payloads; i++) {
		size_t length;
		const char *text = pp_intern_text(c->payloads, i, &length);

		to[i] = pp_intern_put(m->t->names, text, length);
	}
	for (size_t r = 0; to && r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads; t++)
			for (size_t i = 0; i < c->rank[r].thread[t].spans; i++) {
				struct pp_span *s = &c->rank[r].thread[t].span[i];

				if (s->kind == PP_SPAN_RANGE && s->range.payload_type == PP_PAYLOAD_EXT)
					s->range.payload = s->range.payload < payloads ? to[s->range.payload] : 0;
			}
	free(to);
	return 0;
}

static int adopt(struct pp_timeline_maker *m, struct files *f, struct pp_capture *c)
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
		rc = rename_payloads(m, c);
	if (!rc)
		rc = take_ranks(m, f, c, to);
	free(to);
	pp_capture_release(c);
	return rc;
}

/* The ranks of a file, as far as that is known without reading it. */
static int may_have(const struct pp_timeline_maker *m, const struct file *file, const struct pp_timeline_rank *r)
{
	const char *name = strrchr(file->path, '/');
	const size_t length = name ? strlen(name + 1) - SUFFIX : 0;

	if (file->rank < 0)
		return name && strlen(r->host) == length && !memcmp(name + 1, r->host, length);
	for (size_t i = 0; i < m->d->trace_files; i++)
		if (m->d->trace_file[i].name == file->name && m->d->trace_file[i].worker == r->rank)
			return 1;
	return 0;
}

static void add_unread(struct pp_timeline_maker *m, struct files *f, const struct file *file, const char *why)
{
	if (!f->unread++)
		snprintf(f->why, sizeof(f->why), "%s", why);
	for (size_t i = 0; i < m->t->ranks; i++)
		if (m->t->rank[i].missing[0] && pp_timeline_wants(m, m->t->rank[i].rank) && may_have(m, file, &m->t->rank[i]))
			snprintf(m->t->rank[i].missing, sizeof(m->t->rank[i].missing), "%s", why);
}

/* Why a given file is not there, and what helps: its path is from the directory of 'podprof analyze', or cut. */
static int is_there(const struct file *file, struct pp_err *why)
{
	if (file->rank < 0 || *file->path == '/' || !access(file->path, F_OK) || pp_container_archive(file->path))
		return 1;
	if (!strncmp(file->path, "...", 3))
		pp_err_set(why, -ENAMETOOLONG,
		           "cannot find '%s': its path is too long to be kept. Move it, and give 'podprof analyze' a shorter one",
		           file->path);
	else
		pp_err_set(why, -ENOENT,
		           "cannot find '%s': it is neither here nor beside the log directory. Go to the directory in which "
		           "'podprof analyze' was typed",
		           file->path);
	return 0;
}

static int read_file(struct pp_timeline_maker *m, struct files *f, struct file *file)
{
	int rc;
	const struct pp_trace_options how = {.rank = file->rank < 0 ? 0 : file->rank};
	struct pp_trace_glance glance;
	struct pp_capture c = {.names = NULL};
	struct pp_err why = {""};
	char producer[sizeof(m->t->source)];

	if (!is_there(file, &why) || pp_trace_glance(file->path, &glance, &why) ||
	    (file->rank >= 0 && !pp_timeline_wants(m, file->rank) && !glance.is_podprof) ||
	    pp_trace_read(file->path, &glance, &how, &c, &why)) {
		if (why.text[0])
			add_unread(m, f, file, why.text);
		return 0;
	}
	snprintf(producer, sizeof(producer), "%s",
	         c.ranks && c.rank->trace.producer[0] ? c.rank->trace.producer
	         : c.ranks                            ? c.rank->trace.format
	                                              : "");
	if (!m->t->source[0])
		snprintf(m->t->source, sizeof(m->t->source), "%s", producer);
	file->is_read = 1;
	file->epoch = c.epoch_realtime_ns;
	file->from = m->capture.ranks;
	rc = adopt(m, f, &c);
	file->upto = m->capture.ranks;
	return rc;
}

/* The date of a file whose ranks are not wanted; 0: it has none. */
static int64_t date_of(const struct file *file)
{
	const struct pp_trace_options how = {.rank = file->rank};
	struct pp_trace_glance glance;
	struct pp_capture c = {.names = NULL};
	struct pp_err why;
	int64_t date;

	if (pp_trace_glance(file->path, &glance, &why) || pp_trace_read(file->path, &glance, &how, &c, &why))
		return 0;
	date = c.epoch_realtime_ns;
	pp_capture_release(&c);
	return date;
}

/* The earliest date of the files; only files without one need it. */
static int64_t first_date(const struct files *f)
{
	int64_t first = 0;
	int needed = 0;

	for (size_t i = 0; i < f->files; i++)
		needed |= f->file[i].is_read && !f->file[i].epoch;
	for (size_t i = 0; i < f->files && needed; i++) {
		const int64_t date = f->file[i].is_read ? f->file[i].epoch : date_of(&f->file[i]);

		if (date && (!first || date < first))
			first = date;
	}
	return first;
}

/* What was added to the dates of its file. */
static int64_t aligned_by(const struct pp_timeline_maker *m, int32_t rank)
{
	const size_t w = m->d->trace_files ? pp_dataset_worker(m->d, rank) : SIZE_MAX;

	return w == SIZE_MAX || m->d->worker[w].joined_by != PP_JOINED_BY_COLLECTIVES ? 0
	                                                                              : pp_known_or(m->d->worker[w].offset_ns, 0);
}

/* Times of given files become the session's, by the rule of aggregate/session/analyze_merge.c: a file without a date begins with
 * the earliest of the others, and where dates are far apart each file does. What was aligned by collectives moves by that. Files
 * beside pod.h5 have job time. */
static void shift_files(struct pp_timeline_maker *m, const struct files *f)
{
	const int64_t first = m->d->trace_files ? first_date(f) : 0;
	int begin_together = !m->d->trace_files || !m->d->epoch_realtime_ns;

	for (size_t i = 0; i < m->d->warnings; i++)
		begin_together |= !strcmp(m->d->warning[i].warning, PP_WARNING_DATES_FAR);
	for (size_t i = 0; i < f->files; i++) {
		const struct file *file = &f->file[i];
		const int64_t epoch = file->epoch ? file->epoch : first;
		int64_t by = 0;

		if (!begin_together && epoch)
			by = pp_wrap_minus(epoch, m->d->epoch_realtime_ns);
		for (size_t r = file->from; r < file->upto; r++)
			shift_rank(&m->capture.rank[r], pp_wrap_plus(by, aligned_by(m, m->capture.rank[r].rank)));
	}
}

PP_COMPARE_BY(by_rank, struct pp_rank, rank)

int pp_timeline_files(struct pp_timeline_maker *m, const char *pod, struct pp_err *err)
{
	struct files f = {.file = NULL};
	char directory[PATH_MAX] = "";
	int rc;

	if (m->d->trace_files) {
		rc = list_given(&f, m->d, pod);
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
	f.is_taken = calloc(m->t->ranks + 1, 1);
	if (!rc && !f.is_taken)
		rc = -ENOMEM;
	for (size_t i = 0; i < f.files && !rc; i++)
		rc = read_file(m, &f, &f.file[i]);
	if (!rc)
		shift_files(m, &f);
	if (rc)
		pp_err_set(err, rc, "cannot read the events of '%s': %s", pod, pp_why(-rc));
	else if (!m->capture.ranks && f.unread)
		rc = pp_err_set(err, -ENODATA, "%s", f.why);
	else if (!f.files)
		rc = pp_timeline_no_files(directory, err);
	if (m->capture.ranks)
		qsort(m->capture.rank, m->capture.ranks, sizeof(*m->capture.rank), by_rank);
	free(f.file);
	free(f.is_taken);
	return rc;
}
