/* /clock of pod.h5: workers, hosts' clocks, and the tables that hang on them. Called by hdf5.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/write/h5/hdf5_tables.h"
#include "aggregate/write/h5/table_write.h"

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

void pp_h5_write_clock(struct pp_h5 *h, const struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(d, table);
	pp_h5_group_begin(h, "clock");
	pp_h5_dim(h, "worker", d->workers);
	pp_h5_dim(h, "host", d->host_clocks);
	put_workers(h, d);
	put_hosts(h, d);
	pp_h5_put_tables(h, table, PP_TABLES, d);
	pp_h5_group_end(h);
}
