/* Writes XSpace files for TensorBoard and xprof: one per host, or one per rank. docs/formats.md says what xprof needs and shows.
 * Called through writer_list. */
#include "aggregate/write/xspace/xspace.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/read/xspace/xspace.h"
#include "aggregate/tools/finding_word.h"
#include "aggregate/write/output.h"
#include "aggregate/write/xspace/xspace_device.h"
#include "aggregate/write/xspace/xspace_rank.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

enum { PLANE_ID = 1000, NAME_ROOM = 64 << 20, MOST_DEVICE_ROOM = 512 << 20 };

struct host { /* the ranks of one file */
	char stem[96];
	size_t *rank; /* indexes into capture->rank, ascending */
	size_t ranks;
	size_t steps_of; /* index into capture->rank: its steps are the file's; SIZE_MAX: none has steps */
};

static void describe_clock(const struct pp_dataset *d, const struct pp_row_worker *w, char *text, size_t size)
{
	const struct pp_row_host_clock *c = w->host_clock ? &d->host_clock[w->host_clock - 1] : NULL;

	if (!c)
		snprintf(text, size, "unknown: not recorded");
	else if (c->host_bound_ns == PP_BOUND_UNKNOWN)
		snprintf(text, size, "not compared with rank 0's clock: timestamps of other hosts are not comparable");
	else if (!c->hops)
		snprintf(text, size, "job time: rank 0's clock");
	else
		snprintf(text, size, "compared with '%s', %" PRId32 " hop%s from rank 0's clock", c->parent, c->hops,
		         c->hops == 1 ? "" : "s");
}

/* The clock of the plane's times, and their error: the worst of the file's ranks. */
static void write_clock(struct pp_xfile *f, const size_t *rank, size_t ranks)
{
	const struct pp_dataset *d = f->out->dataset;
	const struct pp_row_worker *worst = NULL;
	struct pp_xstat bound = {.id = PP_XSTAT_CLOCK_BOUND, .kind = PP_XSTAT_INT};
	char text[256];

	for (size_t i = 0; d && i < ranks; i++) {
		size_t w = pp_dataset_worker(d, f->out->capture->rank[rank[i]].rank);

		if (w != SIZE_MAX && (!worst || d->worker[w].bound_ns > worst->bound_ns || !d->worker[w].host_clock))
			worst = &d->worker[w];
	}
	if (!worst)
		return;
	describe_clock(d, worst, text, sizeof(text));
	pp_xplane_text(f, PP_XSTAT_CLOCK, text);
	bound.i = worst->bound_ns;
	if (worst->host_clock && worst->bound_ns != PP_BOUND_UNKNOWN)
		pp_xstream_stat(&f->stream, PP_XPLANE_STATS, &bound);
}

void pp_xspace_stem(const char *name, char *stem, size_t size)
{
	char host[72];
	size_t n = 0;

	for (const char *p = name; *p && n + 1 < sizeof(host); p++) {
		int plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '.' ||
		            *p == '_' || *p == '-';

		host[n++] = (char)(plain ? *p : '_');
	}
	host[n] = '\0';
	snprintf(stem, size, "%s", n && strcmp(host, ".") ? host : "localhost");
}

static void stem_of(const struct pp_rank *r, int per_rank, char *stem, size_t size)
{
	size_t n;

	pp_xspace_stem(r->host, stem, size);
	n = strlen(stem);
	if (per_rank)
		snprintf(stem + n, size - n, "-rank%04d", r->rank);
}

static int rank_has_steps(const struct pp_xfile *f, size_t rank)
{
	for (size_t i = 0; i < f->labels; i++)
		if (f->label[i].cell[rank].present)
			return 1;
	return 0;
}

static void remove_matching(const char *dir, const char *const *pattern)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		for (const char *const *p = pattern; *p; p++)
			if (!fnmatch(*p, e->d_name, 0)) {
				unlinkat(dirfd(d), e->d_name, 0);
				break;
			}
	closedir(d);
}

/* xprof answers from its caches even when the file behind them is new. */
static void remove_caches(const char *dir)
{
	static const char *const pattern[] = {
	        "*.op_stats*.pb",        "*SSTABLE",       ".cached_tools.json",        "cache_version.txt",
	        "*.smart_suggestion.pb", "*.hlo_proto.pb", "*.dcn_collective_stats.pb", NULL};

	remove_matching(dir, pattern);
}

static int write_host_plane(struct pp_xfile *f, const struct host *h, struct pp_err *err)
{
	uint64_t plane = pp_xplane_begin(f, PLANE_ID, "/host:CPU");
	int code = 0;

	for (size_t i = 0; i < h->ranks && !code; i++)
		code = pp_xfile_rank(f, h->rank[i], h->rank[i] == h->steps_of, err);
	if (code)
		return code;
	write_clock(f, h->rank, h->ranks);
	return pp_xplane_end(f, plane, err);
}

static void write_named_stat(struct pp_xstream *s, uint32_t id, const char *name)
{
	uint64_t entry = pp_xstream_begin(s, PP_XPLANE_STAT_METADATA), meta;

	pp_xstream_varint(s, 1, id);
	meta = pp_xstream_begin(s, 2);
	pp_xstream_varint(s, PP_XMETA_ID, id);
	pp_xstream_text(s, PP_XMETA_NAME, name, strlen(name));
	pp_xstream_end(s, meta);
	pp_xstream_end(s, entry);
}

/* Writes the wall clock of the job's epoch: lines count from 0. */
static void write_environment_plane(struct pp_xfile *f)
{
	static const char name[] = "Task Environment";
	const struct pp_dataset *d = f->out->dataset;
	int64_t start = f->out->capture->epoch_realtime_ns;
	struct pp_xstat begin = {.id = 2, .kind = PP_XSTAT_UINT, .u = (uint64_t)start};
	struct pp_xstat end = {.id = 3, .kind = PP_XSTAT_UINT, .u = (uint64_t)(start + (d ? d->window_end_ns : 0))};
	uint64_t plane = pp_xstream_begin(&f->stream, PP_XSPACE_PLANES);

	pp_xstream_varint(&f->stream, PP_XPLANE_ID, PLANE_ID + 1);
	pp_xstream_text(&f->stream, PP_XPLANE_NAME, name, strlen(name));
	write_named_stat(&f->stream, 1, "group_id");
	write_named_stat(&f->stream, 2, "profile_start_time");
	write_named_stat(&f->stream, 3, "profile_stop_time");
	pp_xstream_stat(&f->stream, PP_XPLANE_STATS, &begin);
	pp_xstream_stat(&f->stream, PP_XPLANE_STATS, &end);
	pp_xstream_end(&f->stream, plane);
}

static void warn(struct pp_xfile *f, const struct host *h, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Adds a warning. xprof shows those of all hosts together, so the text names the host. */
static void warn(struct pp_xfile *f, const struct host *h, const char *fmt, ...)
{
	char text[400];
	int n = snprintf(text, sizeof(text), "podprof: %s: ", h->stem);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	pp_xstream_text(&f->stream, PP_XSPACE_WARNINGS, text, strlen(text));
}

/* A rank may have begun before the epoch, which is rank 0's first record. */
static uint64_t before_epoch(const struct pp_rank *r)
{
	uint64_t before = 0;

	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; r->thread[t].first < 0 && i < r->thread[t].spans; i++)
			before += r->thread[t].span[i].begin < 0;
	return before;
}

static void write_warnings(struct pp_xfile *f, const struct host *h)
{
	uint64_t lost = 0, before = 0;
	int is_replay = 0;

	for (size_t i = 0; i < h->ranks; i++) {
		const struct pp_rank *r = &f->out->capture->rank[h->rank[i]];

		for (size_t c = 0; c < PP_LOSSES; c++)
			lost += r->lost[c];
		before += before_epoch(r);
		is_replay |= r->device_replay;
	}
	if (f->steps_of >= 0 && pp_xfile_device_count(f, h->rank, h->ranks))
		warn(f, h, PP_XSPACE_STEPS_OF "%" PRId32, f->steps_of);
	if (is_replay)
		warn(f, h, "device records are a replay of recorded data: no device ran");
	if (before)
		warn(f, h, "%" PRIu64 " events began before rank 0's first event: the trace shows them from there", before);
	if (lost)
		warn(f, h, "%" PRIu64 " records were lost, see the group quality of pod.h5", lost);
	if (f->stream.skipped)
		warn(f, h, "%" PRIu64 " events dropped: readers refuse files of 2 GiB", f->stream.skipped);
	if (f->not_finite)
		warn(f, h, "%" PRIu64 " counter values dropped: xprof cannot show NaN or infinity", f->not_finite);
	if (f->unplaced)
		warn(f, h, "%" PRIu64 " overlapping events dropped: too many at a time", f->unplaced);
}

static int write_messages(struct pp_xfile *f, const struct host *h, struct pp_err *err)
{
	int code;

	pp_xstream_text(&f->stream, PP_XSPACE_HOSTNAMES, h->stem, strlen(h->stem));
	code = write_host_plane(f, h, err);
	if (!code)
		code = pp_xfile_devices(f, h->rank, h->ranks, h->steps_of, err);
	if (code)
		return code;
	write_environment_plane(f);
	write_warnings(f, h);
	return pp_xstream_finish(&f->stream, err);
}

/* Names follow the events of their plane: each may be written as a name, a label and once more per category. Planes of devices
 * have few of them. */
static uint64_t room_for_names(const struct pp_xfile *f, const struct host *h)
{
	const struct pp_capture *c = f->out->capture;
	uint64_t names = 6 * pp_intern_bytes(c->names), room = NAME_ROOM + names;
	uint64_t devices = pp_xfile_device_count(f, h->rank, h->ranks) * names;

	room += c->payloads ? pp_intern_bytes(c->payloads) : 0;
	return room + (devices < MOST_DEVICE_ROOM ? devices : MOST_DEVICE_ROOM);
}

static int write_file(struct pp_xfile *f, const struct host *h, const char *dir, struct pp_err *err)
{
	char *path;
	int fd, code;

	if (asprintf(&path, "%s/%s.xplane.pb", dir, h->stem) < 0)
		return pp_err_set(err, -ENOMEM, "no memory for the name of a file");
	fd = pp_output_create(path, err);
	if (fd < 0) {
		free(path);
		return fd;
	}
	f->line = 0;
	f->unplaced = f->not_finite = 0;
	f->names = (struct pp_xnames){0};
	f->steps_of = h->steps_of != SIZE_MAX && f->out->capture->ranks_asked > 1 ? f->out->capture->rank[h->steps_of].rank : -1;
	code = pp_xstream_init(&f->stream, fd, room_for_names(f, h), err);
	if (!code)
		code = write_messages(f, h, err);
	pp_xnames_release(&f->names);
	pp_xstream_release(&f->stream);
	if (code) {
		pp_output_abandon(fd, path);
		pp_err_wrap(err, code, "cannot write '%s'", path);
	} else {
		code = pp_output_commit(fd, path, err);
	}
	free(path);
	return code;
}

static void free_hosts(struct host *h, size_t hosts)
{
	for (size_t i = 0; h && i < hosts; i++)
		free(h[i].rank);
	free(h);
}

/* The lowest rank that the first finding names; -1: none, or not known before the other hosts' ranks are. */
static int32_t rank_of_verdict(const struct pp_output *out)
{
	const struct pp_dataset *d = out->partial ? NULL : out->dataset;

	return d && d->findings && pp_finding_names_ranks(d->finding) ? d->finding->finding_worker : -1;
}

/* xprof shows the steps of one rank per file: of the verdict's rank if it is in the file, else of the lowest. */
static void take_steps(struct host *h, size_t rank, int32_t number, int32_t verdict)
{
	if (h->steps_of == SIZE_MAX || number == verdict)
		h->steps_of = rank;
}

static struct host *find_hosts(const struct pp_xfile *f, size_t *ret_hosts, struct pp_err *err)
{
	const struct pp_capture *c = f->out->capture;
	struct host *h = calloc(c->ranks + 1, sizeof(*h));
	int32_t verdict = rank_of_verdict(f->out);
	size_t hosts = 0;

	*ret_hosts = 0;
	if (!h)
		goto no_memory;
	for (size_t r = 0; r < c->ranks; r++) {
		char stem[96];
		size_t i = 0;

		if (!c->rank[r].threads || (f->out->ranks && !pp_rank_list_has(f->out->ranks, c->rank[r].rank)))
			continue; /* no file for a missing rank, or for one whose events are not requested */
		stem_of(&c->rank[r], f->out->xspace_per_rank, stem, sizeof(stem));
		while (i < hosts && strcmp(h[i].stem, stem))
			i++;
		if (i == hosts) {
			memcpy(h[hosts].stem, stem, sizeof(stem));
			h[hosts].rank = calloc(c->ranks, sizeof(*h->rank));
			if (!h[hosts].rank) {
				free_hosts(h, hosts);
				goto no_memory;
			}
			h[hosts].steps_of = SIZE_MAX;
			hosts++;
		}
		h[i].rank[h[i].ranks++] = r;
		if (rank_has_steps(f, r))
			take_steps(&h[i], r, c->rank[r].rank, verdict);
	}
	*ret_hosts = hosts;
	return h;
no_memory:
	pp_err_set(err, -ENOMEM, "no memory for the list of hosts");
	return NULL;
}

/* A session written again in the other form (host, rank) would count every rank twice. */
static void remove_other_form(const struct pp_output *out, const struct host *h, const char *dir)
{
	const struct pp_rank *r = &out->capture->rank[h->rank[0]];
	char stem[96], pattern[128];
	const char *const list[] = {pattern, NULL};

	stem_of(r, 0, stem, sizeof(stem));
	snprintf(pattern, sizeof(pattern), out->xspace_per_rank ? "%s.xplane.pb" : "%s-rank[0-9]*.xplane.pb", stem);
	remove_matching(dir, list);
}

/* Files of hosts without steps go to a session of their own: one such file empties xprof's pod tools for all. */
static int write_files(struct pp_xfile *f, const struct host *h, size_t hosts, struct pp_err *err)
{
	const struct pp_output *out = f->out;
	char *name[2] = {NULL, NULL};
	struct pp_output nosteps = *out;
	char *nosteps_session = NULL;
	int any = out->others_have_steps, code = -ENOMEM;

	for (size_t i = 0; i < hosts; i++)
		any |= h[i].steps_of != SIZE_MAX;
	if (asprintf(&name[0], "%s/plugins/profile/%s", out->logdir, out->session) < 0)
		name[0] = NULL;
	if (asprintf(&name[1], "%s/plugins/profile/%s-nosteps", out->logdir, out->session) < 0)
		name[1] = NULL;
	if (asprintf(&nosteps_session, "%s-nosteps", out->session) < 0)
		nosteps_session = NULL;
	if (!name[0] || !name[1] || !nosteps_session) {
		pp_err_set(err, code, "no memory for the name of a directory");
		goto free_names;
	}
	nosteps.session = nosteps_session;
	code = pp_output_make_dirs(out, err);
	for (size_t i = 0; i < hosts && !code; i++) {
		int to = any && h[i].steps_of == SIZE_MAX;

		if (to)
			code = pp_output_make_xspace_dir(&nosteps, err);
		if (!code)
			code = write_file(f, &h[i], name[to], err);
		if (!code)
			remove_other_form(out, &h[i], name[to]);
		remove_caches(name[to]);
	}
free_names:
	free(nosteps_session);
	free(name[1]);
	free(name[0]);
	return code;
}

static int write_xspace(const struct pp_output *out, struct pp_err *err)
{
	struct pp_xfile f = {.out = out};
	struct host *h = NULL;
	size_t hosts = 0;
	int code = pp_xfile_labels(&f, err);

	if (pp_name_cache_init(&f.categories, out->capture->names) && !code)
		code = pp_err_set(err, -ENOMEM, "no memory for the names of an XSpace");
	if (!code) {
		h = find_hosts(&f, &hosts, err);
		code = h ? write_files(&f, h, hosts, err) : -ENOMEM;
	}
	free_hosts(h, hosts);
	pp_name_cache_release(&f.categories);
	free(f.stack);
	free(f.label);
	return code;
}

const struct pp_writer_ops pp_writer_xspace = {
        .name = "xspace",
        .file = "XSpace",
        .flags = PP_WRITER_OF_HOST,
        .write = write_xspace,
};
