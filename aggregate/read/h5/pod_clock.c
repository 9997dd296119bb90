/* Hosts' clocks out of /clock of pod.h5. See pod_fill.h; called by pod_dataset.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/h5/pod_fill.h"

static const char group[] = "clock";

#define HOST(variable, member) PP_POD_FILL_PUT(f, group, variable, f->d->host_clock, pp_host_clock, member, f->d->host_clocks)

/* Rows that a coordinate has; 0: there is none. */
static size_t rows_of(struct pp_pod_fill *f, const char *dimension)
{
	struct pp_pod_file_column c;

	if (f->code || !pp_pod_file_has(f->pod, group, dimension))
		return 0;
	f->code = pp_pod_file_look(f->pod, group, dimension, &c, f->err);
	return f->code ? 0 : c.n;
}

static void damaged(struct pp_pod_fill *f, const char *variable)
{
	if (!f->code)
		f->code = pp_err_set(
		        f->err, -EINVAL,
		        "cannot read '%s': /%s/%s names a host that is not in it. The file is damaged: copy it again, or "
		        "record the job again",
		        pp_pod_file_path(f->pod), group, variable);
}

static void *room(struct pp_pod_fill *f, size_t n, size_t size)
{
	void *row = calloc(n + 1, size);

	if (!row && !f->code)
		f->code = pp_err_set(f->err, -ENOMEM, "no memory for %zu rows of clocks", n);
	return row;
}

/* Which rows of a table are the host's: they lie together. Returns the first. */
static size_t rows_of_host(const struct pp_pod_file_column *host, size_t at, size_t which, size_t *ret_rows)
{
	size_t end = at;

	while (end < host->n && host->data.i[end] == (int64_t)which)
		end++;
	*ret_rows = end - at;
	return at;
}

/* The table's rows to their hosts; `row` has all of them. */
static void hand_out(struct pp_pod_fill *f, const char *variable, const void *row, size_t n, size_t size, size_t array_at,
                     size_t rows_at)
{
	struct pp_pod_file_column host;
	size_t at = 0;

	if (!pp_pod_fill_get(f, group, variable, n, 1u << PP_POD_FILE_INT, &host))
		return;
	for (size_t i = 0; i < f->d->host_clocks && !f->code; i++) {
		char *to = (char *)&f->d->host_clock[i];
		size_t rows;
		void *copy;

		at = rows_of_host(&host, at, i, &rows);
		copy = room(f, rows, size);
		if (copy && rows)
			memcpy(copy, (const char *)row + at * size, rows * size);
		memcpy(to + array_at, &copy, sizeof(copy));
		rows = copy ? rows : 0;
		memcpy(to + rows_at, &rows, sizeof(rows));
		at += rows;
	}
	if (at != n)
		damaged(f, variable);
	pp_pod_file_release(&host);
}

#define HAND_OUT(f, variable, row, n, array, rows)                                                                                 \
	hand_out(f, variable, row, n, sizeof(*(row)), offsetof(struct pp_host_clock, array), offsetof(struct pp_host_clock, rows))

static void fill_samples(struct pp_pod_fill *f)
{
	size_t n = rows_of(f, "sample");
	struct pp_clock_sample *s = room(f, n, sizeof(*s));

	if (s && n) {
		PP_POD_FILL_PUT(f, group, "time_ns", s, pp_clock_sample, time_ns, n);
		PP_POD_FILL_PUT(f, group, "half_ns", s, pp_clock_sample, half_ns, n);
		PP_POD_FILL_PUT(f, group, "residual_ns", s, pp_clock_sample, residual_ns, n);
		PP_POD_FILL_PUT(f, group, "t1", s, pp_clock_sample, t1, n);
		PP_POD_FILL_PUT(f, group, "t2", s, pp_clock_sample, t2, n);
		PP_POD_FILL_PUT(f, group, "t3", s, pp_clock_sample, t3, n);
		PP_POD_FILL_PUT(f, group, "t4", s, pp_clock_sample, t4, n);
		PP_POD_FILL_PUT(f, group, "sample_trips", s, pp_clock_sample, trips, n);
		PP_POD_FILL_PUT(f, group, "sample_flags", s, pp_clock_sample, flags, n);
		HAND_OUT(f, "sample_host", s, n, sample, samples);
	}
	free(s);
}

static void fill_stretches(struct pp_pod_fill *f)
{
	size_t n = rows_of(f, "stretch");
	struct pp_clock_stretch *s = room(f, n, sizeof(*s));

	if (s && n) {
		PP_POD_FILL_PUT(f, group, "begin_ns", s, pp_clock_stretch, begin_ns, n);
		PP_POD_FILL_PUT(f, group, "end_ns", s, pp_clock_stretch, end_ns, n);
		PP_POD_FILL_PUT(f, group, "bound_begin_ns", s, pp_clock_stretch, bound_begin_ns, n);
		PP_POD_FILL_PUT(f, group, "bound_end_ns", s, pp_clock_stretch, bound_end_ns, n);
		PP_POD_FILL_PUT(f, group, "bound_hump_ns", s, pp_clock_stretch, bound_hump_ns, n);
		PP_POD_FILL_PUT(f, group, "stretch_flags", s, pp_clock_stretch, flags, n);
		HAND_OUT(f, "stretch_host", s, n, stretch, stretches);
	}
	free(s);
}

static void fill_wall(struct pp_pod_fill *f)
{
	size_t pairs = rows_of(f, "wall"), changes = rows_of(f, "change");
	struct pp_wall_pair *p = room(f, pairs, sizeof(*p));
	struct pp_wall_change *c = room(f, changes, sizeof(*c));

	if (p && pairs) {
		PP_POD_FILL_PUT(f, group, "wall_time_ns", p, pp_wall_pair, time_ns, pairs);
		PP_POD_FILL_PUT(f, group, "wall_realtime_ns", p, pp_wall_pair, realtime_ns, pairs);
		PP_POD_FILL_PUT(f, group, "wall_half_ns", p, pp_wall_pair, half_ns, pairs);
		HAND_OUT(f, "wall_host", p, pairs, pair, pairs);
	}
	if (c && changes) {
		PP_POD_FILL_PUT(f, group, "from_ns", c, pp_wall_change, from_ns, changes);
		PP_POD_FILL_PUT(f, group, "to_ns", c, pp_wall_change, to_ns, changes);
		PP_POD_FILL_PUT(f, group, "by_ns", c, pp_wall_change, by_ns, changes);
		PP_POD_FILL_PUT(f, group, "error_ns", c, pp_wall_change, error_ns, changes);
		PP_POD_FILL_PUT(f, group, "event", c, pp_wall_change, event, changes);
		HAND_OUT(f, "change_host", c, changes, change, changes);
	}
	free(p);
	free(c);
}

static void put_text(struct pp_pod_fill *f, const char *variable, char *first, size_t size)
{
	struct pp_pod_file_column c;

	if (!pp_pod_fill_get(f, group, variable, f->d->host_clocks, 1u << PP_POD_FILE_TEXT, &c))
		return;
	for (size_t i = 0; i < c.n; i++)
		snprintf(first + i * sizeof(struct pp_host_clock), size, "%s", pp_pod_file_text(&c, i));
	pp_pod_file_release(&c);
}

static void fill_hosts(struct pp_pod_fill *f)
{
	struct pp_host_clock *c = f->d->host_clock;

	put_text(f, "name", c->host, sizeof(c->host));
	put_text(f, "own", c->own, sizeof(c->own));
	put_text(f, "parent", c->parent, sizeof(c->parent));
	put_text(f, "claim_by", c->claim.by, sizeof(c->claim.by));
	HOST("hops", hops);
	HOST("host_offset_ns", offset_ns);
	HOST("host_drift_ppb", drift_ppb);
	HOST("host_drift_error_ppb", drift_error_ppb);
	HOST("host_bound_ns", bound_ns);
	HOST("rounds", rounds);
	HOST("trips", trips);
	HOST("lost", lost);
	HOST("impossible", impossible);
	HOST("foreign", foreign);
	HOST("round_ns", round_ns);
	HOST("cpu_ns", cpu_ns);
	HOST("claim_known", claim.known);
	HOST("claim_synchronised", claim.synchronised);
	HOST("claim_error_ns", claim.error_ns);
	HOST("claim_error_most_ns", claim.error_most_ns);
	HOST("claim_frequency_ppb", claim.frequency_ppb);
	HOST("changes_lost", changes_lost);
}

static void fill_whose(struct pp_pod_fill *f)
{
	struct pp_pod_file_column c;

	if (!pp_pod_fill_get(f, group, "worker_host", f->d->workers, 1u << PP_POD_FILE_INT, &c))
		return;
	for (size_t i = 0; i < c.n; i++) {
		if (c.data.i[i] < -1 || c.data.i[i] >= (int64_t)f->d->host_clocks)
			damaged(f, "worker_host");
		else
			f->d->worker[i].host_clock = (uint32_t)(c.data.i[i] + 1);
	}
	pp_pod_file_release(&c);
}

void pp_pod_fill_clock(struct pp_pod_fill *f)
{
	size_t n = rows_of(f, "host");

	if (!n)
		return;
	f->d->host_clock = room(f, n, sizeof(*f->d->host_clock));
	if (!f->d->host_clock)
		return;
	f->d->host_clocks = n;
	fill_hosts(f);
	fill_whose(f);
	fill_samples(f);
	fill_stretches(f);
	fill_wall(f);
}
