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

	f->d->host_clock = n ? room(f, n, sizeof(*f->d->host_clock)) : NULL;
	f->d->host_clocks = f->d->host_clock ? n : 0;
	if (n) {
		fill_hosts(f);
		fill_whose(f);
	}
	if (!f->code && pp_dataset_link_clocks(f->d))
		damaged(f, "");
}
