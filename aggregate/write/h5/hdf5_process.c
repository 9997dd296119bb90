/* /memory and /process of pod.h5. Called by hdf5_tables.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/write/h5/hdf5_tables.h"

#define MEMBER(h, variable, n, array, member)                                                                                      \
	pp_h5_put_member(h, variable, n, (array) ? &(array)->member : NULL, sizeof(*(array)), sizeof((array)->member))

static int any_cell(const struct pp_dataset *d)
{
	for (size_t i = 0; d->process && i < d->steps * d->workers; i++)
		if (d->process[i].present || d->process[i].rss_present)
			return 1;
	return 0;
}

int pp_h5_has_process(const struct pp_dataset *d)
{
	return d->memories || any_cell(d);
}

static void put_samples(struct pp_h5 *h, const struct pp_dataset *d)
{
	int64_t *index = malloc((d->memories + 1) * sizeof(*index));

	if (!index) {
		if (!h->code)
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for the samples of '%s'", h->group_name);
		return;
	}
	for (size_t i = 0; i < d->memories; i++)
		index[i] = (int64_t)i;
	pp_h5_put(h, "sample", index);
	free(index);
}

static void write_memory(struct pp_h5 *h, const struct pp_dataset *d)
{
	const struct pp_memory_row *m = d->memory;
	int8_t *pss = calloc(d->memories + 1, sizeof(*pss));
	size_t n = d->memories;

	pp_h5_group_begin(h, "memory");
	pp_h5_dim(h, "sample", n);
	put_samples(h, d);
	MEMBER(h, "worker", n, m, worker);
	MEMBER(h, "time_ns", n, m, m.time);
	MEMBER(h, "rss_bytes", n, m, m.rss);
	for (size_t i = 0; pss && i < n; i++)
		pss[i] = (int8_t)(m[i].m.pss_present != 0);
	if (pss)
		pp_h5_put(h, "pss_present", pss);
	else if (!h->code)
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for the samples of memory");
	MEMBER(h, "pss_bytes", n, m, m.pss);
	MEMBER(h, "children_rss_bytes", n, m, m.children_rss);
	MEMBER(h, "children", n, m, m.children);
	pp_h5_put(h, "period_ns", &d->memory_period_ns);
	pp_h5_group_end(h);
	free(pss);
}

static void put_cells(struct pp_h5 *h, const struct pp_dataset *d)
{
	const struct pp_process_cell *p = d->process;
	size_t n = d->steps * d->workers;

	pp_h5_put(h, "step", d->step_number);
	MEMBER(h, "worker", d->workers, d->worker, rank);
	MEMBER(h, "present", n, p, present);
	MEMBER(h, "cpu_user_ns", n, p, cpu_user_ns);
	MEMBER(h, "cpu_system_ns", n, p, cpu_system_ns);
	MEMBER(h, "voluntary_switches", n, p, voluntary);
	MEMBER(h, "involuntary_switches", n, p, involuntary);
	MEMBER(h, "minor_faults", n, p, minor);
	MEMBER(h, "major_faults", n, p, major);
	MEMBER(h, "rss_present", n, p, rss_present);
	MEMBER(h, "rss_peak_bytes", n, p, rss_peak);
}

static void write_process(struct pp_h5 *h, const struct pp_dataset *d)
{
	const struct pp_memory_row *m = d->memory;
	size_t n = d->memories;

	pp_h5_group_begin(h, "process");
	pp_h5_dim(h, "step", d->steps);
	pp_h5_dim(h, "worker", d->workers);
	pp_h5_dim(h, "sample", n);
	if (d->steps && d->workers && d->process)
		put_cells(h, d);
	if (n) {
		put_samples(h, d);
		MEMBER(h, "sample_worker", n, m, worker);
		MEMBER(h, "sample_time_ns", n, m, m.time);
		MEMBER(h, "sample_cpu_user_ns", n, m, m.user_ns);
		MEMBER(h, "sample_cpu_system_ns", n, m, m.system_ns);
		MEMBER(h, "sample_minor_faults", n, m, m.minor_faults);
		MEMBER(h, "sample_major_faults", n, m, m.major_faults);
		MEMBER(h, "sample_children_cpu_ns", n, m, m.children_cpu_ns);
		MEMBER(h, "sample_run_queue_ns", n, m, m.run_queue_ns);
	}
	pp_h5_group_end(h);
}

void pp_h5_write_process(struct pp_h5 *h, const struct pp_dataset *d)
{
	if (d->memories)
		write_memory(h, d);
	if (pp_h5_has_process(d))
		write_process(h, d);
}
