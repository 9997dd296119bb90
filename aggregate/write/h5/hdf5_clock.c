/* /clock of pod.h5: workers, hosts' clocks, and the tables that hang on them. Called by hdf5.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/h5/hdf5_tables.h"

#define MEMBER(h, variable, n, array, member)                                                                                      \
	pp_h5_put_member(h, variable, n, (array) ? &(array)->member : NULL, sizeof(*(array)), sizeof((array)->member))

#define HOST_TEXT(member)                                                                                                          \
	static const char *host_##member(const void *context, size_t i)                                                            \
	{                                                                                                                          \
		return ((const struct pp_dataset *)context)->host_clock[i].member;                                                 \
	}
HOST_TEXT(host)
HOST_TEXT(own)
HOST_TEXT(parent)

static const char *host_by(const void *context, size_t i)
{
	return ((const struct pp_dataset *)context)->host_clock[i].claim.by;
}

static void no_memory(struct pp_h5 *h)
{
	if (!h->code)
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for the rows of clocks");
}

static void put_index(struct pp_h5 *h, const char *dim, size_t n)
{
	int64_t *index = malloc((n + 1) * sizeof(*index));

	if (!index) {
		no_memory(h);
		return;
	}
	for (size_t i = 0; i < n; i++)
		index[i] = (int64_t)i;
	pp_h5_put(h, dim, index);
	free(index);
}

struct table { /* one kind of rows, of all hosts one after the other */
	void *row;
	int32_t *host;
	size_t rows;
};

static struct table table_of(struct pp_h5 *h, const struct pp_dataset *d, size_t array_at, size_t rows_at, size_t row_size)
{
	struct table t = {.rows = 0};
	size_t at = 0, n;

	for (size_t i = 0; i < d->host_clocks; i++) {
		memcpy(&n, (const char *)&d->host_clock[i] + rows_at, sizeof(n));
		t.rows += n;
	}
	t.row = malloc((t.rows + 1) * row_size);
	t.host = malloc((t.rows + 1) * sizeof(*t.host));
	if (!t.row || !t.host) {
		no_memory(h);
		t.rows = 0;
		return t;
	}
	for (size_t i = 0; i < d->host_clocks; i++) {
		const void *from;

		memcpy(&n, (const char *)&d->host_clock[i] + rows_at, sizeof(n));
		memcpy(&from, (const char *)&d->host_clock[i] + array_at, sizeof(from));
		if (n)
			memcpy((char *)t.row + at * row_size, from, n * row_size);
		for (size_t k = 0; k < n; k++)
			t.host[at++] = (int32_t)i;
	}
	return t;
}

#define TABLE(h, d, array, rows)                                                                                                   \
	table_of(h, d, offsetof(struct pp_host_clock, array), offsetof(struct pp_host_clock, rows), sizeof(*(d)->host_clock->array))

static void drop(struct table *t)
{
	free(t->row);
	free(t->host);
}

static void put_workers(struct pp_h5 *h, const struct pp_dataset *d)
{
	int32_t *host = malloc((d->workers + 1) * sizeof(*host));

	MEMBER(h, "worker", d->workers, d->worker, rank);
	MEMBER(h, "domain", d->workers, d->worker, domain);
	MEMBER(h, "offset_ns", d->workers, d->worker, offset_ns);
	MEMBER(h, "drift_ppb", d->workers, d->worker, drift_ppb);
	MEMBER(h, "bound_ns", d->workers, d->worker, bound_ns);
	for (size_t i = 0; host && i < d->workers; i++)
		host[i] = (int32_t)d->worker[i].host_clock - 1;
	if (host)
		pp_h5_put(h, "worker_host", host);
	else
		no_memory(h);
	free(host);
}

static void put_hosts(struct pp_h5 *h, const struct pp_dataset *d)
{
	const struct pp_host_clock *c = d->host_clock;
	size_t n = d->host_clocks;

	put_index(h, "host", n);
	pp_h5_put_texts(h, "name", n, host_host, d);
	pp_h5_put_texts(h, "own", n, host_own, d);
	pp_h5_put_texts(h, "parent", n, host_parent, d);
	MEMBER(h, "hops", n, c, hops);
	MEMBER(h, "host_offset_ns", n, c, offset_ns);
	MEMBER(h, "host_drift_ppb", n, c, drift_ppb);
	MEMBER(h, "host_drift_error_ppb", n, c, drift_error_ppb);
	MEMBER(h, "host_bound_ns", n, c, bound_ns);
	MEMBER(h, "rounds", n, c, rounds);
	MEMBER(h, "trips", n, c, trips);
	MEMBER(h, "lost", n, c, lost);
	MEMBER(h, "impossible", n, c, impossible);
	MEMBER(h, "foreign", n, c, foreign);
	MEMBER(h, "round_ns", n, c, round_ns);
	MEMBER(h, "cpu_ns", n, c, cpu_ns);
	MEMBER(h, "claim_known", n, c, claim.known);
	MEMBER(h, "claim_synchronised", n, c, claim.synchronised);
	MEMBER(h, "claim_error_ns", n, c, claim.error_ns);
	MEMBER(h, "claim_error_most_ns", n, c, claim.error_most_ns);
	MEMBER(h, "claim_frequency_ppb", n, c, claim.frequency_ppb);
	pp_h5_put_texts(h, "claim_by", n, host_by, d);
	MEMBER(h, "changes_lost", n, c, changes_lost);
}

static void put_samples(struct pp_h5 *h, const struct table *t)
{
	const struct pp_clock_sample *s = t->row;

	put_index(h, "sample", t->rows);
	pp_h5_put(h, "sample_host", t->host);
	MEMBER(h, "time_ns", t->rows, s, time_ns);
	MEMBER(h, "half_ns", t->rows, s, half_ns);
	MEMBER(h, "residual_ns", t->rows, s, residual_ns);
	MEMBER(h, "t1", t->rows, s, t1);
	MEMBER(h, "t2", t->rows, s, t2);
	MEMBER(h, "t3", t->rows, s, t3);
	MEMBER(h, "t4", t->rows, s, t4);
	MEMBER(h, "sample_trips", t->rows, s, trips);
	MEMBER(h, "sample_flags", t->rows, s, flags);
}

static void put_stretches(struct pp_h5 *h, const struct table *t)
{
	const struct pp_clock_stretch *s = t->row;

	put_index(h, "stretch", t->rows);
	pp_h5_put(h, "stretch_host", t->host);
	MEMBER(h, "begin_ns", t->rows, s, begin_ns);
	MEMBER(h, "end_ns", t->rows, s, end_ns);
	MEMBER(h, "bound_begin_ns", t->rows, s, bound_begin_ns);
	MEMBER(h, "bound_end_ns", t->rows, s, bound_end_ns);
	MEMBER(h, "bound_hump_ns", t->rows, s, bound_hump_ns);
	MEMBER(h, "stretch_flags", t->rows, s, flags);
}

static void put_wall(struct pp_h5 *h, const struct table *pairs, const struct table *changes)
{
	const struct pp_wall_pair *p = pairs->row;
	const struct pp_wall_change *c = changes->row;

	put_index(h, "wall", pairs->rows);
	pp_h5_put(h, "wall_host", pairs->host);
	MEMBER(h, "wall_time_ns", pairs->rows, p, time_ns);
	MEMBER(h, "wall_realtime_ns", pairs->rows, p, realtime_ns);
	MEMBER(h, "wall_half_ns", pairs->rows, p, half_ns);
	put_index(h, "change", changes->rows);
	pp_h5_put(h, "change_host", changes->host);
	MEMBER(h, "from_ns", changes->rows, c, from_ns);
	MEMBER(h, "to_ns", changes->rows, c, to_ns);
	MEMBER(h, "by_ns", changes->rows, c, by_ns);
	MEMBER(h, "error_ns", changes->rows, c, error_ns);
	MEMBER(h, "event", changes->rows, c, event);
}

void pp_h5_write_clock(struct pp_h5 *h, const struct pp_dataset *d)
{
	struct table samples = TABLE(h, d, sample, samples), stretches = TABLE(h, d, stretch, stretches);
	struct table pairs = TABLE(h, d, pair, pairs), changes = TABLE(h, d, change, changes);

	pp_h5_group_begin(h, "clock");
	pp_h5_dim(h, "worker", d->workers);
	pp_h5_dim(h, "host", d->host_clocks);
	pp_h5_dim(h, "sample", samples.rows);
	pp_h5_dim(h, "stretch", stretches.rows);
	pp_h5_dim(h, "wall", pairs.rows);
	pp_h5_dim(h, "change", changes.rows);
	put_workers(h, d);
	put_hosts(h, d);
	put_samples(h, &samples);
	put_stretches(h, &stretches);
	put_wall(h, &pairs, &changes);
	pp_h5_group_end(h);
	drop(&samples);
	drop(&stretches);
	drop(&pairs);
	drop(&changes);
}
