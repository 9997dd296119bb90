/* /gpu: the state of each GPU of each rank over the window, from its samples. A GPU without work lowers its clock within
 * seconds, so clock, power and their reason are of samples under load. Called by build.c; docs/gpu.md has the rules. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/growth.h"
#include "aggregate/analyze/join.h"
#include "core/base/known.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

/* A sample may be that far from a kernel: a pause between kernels is no idleness. */
static const int64_t near_ns = 20000000;

struct mean {
	double sum;
	uint64_t samples;
};

static void add(struct mean *m, int64_t value)
{
	if (value < 0) /* unknown */
		return;
	m->sum += (double)value;
	m->samples++;
}

static int64_t mean_of(const struct mean *m)
{
	return m->samples ? (int64_t)(m->sum / (double)m->samples + 0.5) : PP_UNKNOWN;
}

/* Does a span of the stream lie within near_ns of the time? They are in order of their begins. */
static int is_near(const struct pp_thread *stream, int64_t time)
{
	size_t low = 0, high = stream->spans;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (stream->span[middle].begin > time + near_ns)
			high = middle;
		else
			low = middle + 1;
	}
	for (size_t i = low; i > 0 && low - i < 8; i--)
		if (stream->span[i - 1].kind == PP_SPAN_DEVICE && stream->span[i - 1].end >= time - near_ns)
			return 1;
	return 0;
}

/* By the rank's own kernels; where none is recorded, by the driver's word. */
static int is_under_load(const struct pp_rank *rank, const struct pp_state *state)
{
	int any = 0;

	for (size_t t = 0; t < rank->threads; t++) {
		if (rank->thread[t].device != state->device || !rank->thread[t].spans)
			continue;
		any = 1;
		if (is_near(&rank->thread[t], state->time))
			return 1;
	}
	return !any && state->busy > 0;
}

struct over { /* one GPU over the window */
	struct mean clock, memory, power, busy;
	struct pp_growth energy, power_ns, thermal_ns, corrected, uncorrected, replays;
	struct pp_growth pcie_sent, pcie_received, nvlink_sent, nvlink_received, nvlink_errors;
};

static void raise_to(int64_t *most, int64_t value)
{
	if (value >= 0 && (*most == PP_UNKNOWN || value > *most))
		*most = value;
}

static void see_load(struct over *o, const struct pp_state *s, struct pp_row_gpu *row)
{
	add(&o->clock, s->clock_hz);
	add(&o->memory, s->memory_hz);
	add(&o->power, s->power_mw);
	if (s->reason >= 0)
		row->reason = (row->reason == PP_UNKNOWN ? 0 : row->reason) | s->reason;
	row->under_load++;
}

static void see_counts(struct over *o, const struct pp_state *s)
{
	pp_growth_see(&o->energy, s->energy_mj);
	pp_growth_see(&o->power_ns, s->power_ns);
	pp_growth_see(&o->thermal_ns, s->thermal_ns);
	pp_growth_see(&o->corrected, s->ecc_corrected);
	pp_growth_see(&o->uncorrected, s->ecc_uncorrected);
	pp_growth_see(&o->replays, s->pcie_replays);
	pp_growth_see(&o->pcie_sent, s->pcie_sent);
	pp_growth_see(&o->pcie_received, s->pcie_received);
	pp_growth_see(&o->nvlink_sent, s->nvlink_sent);
	pp_growth_see(&o->nvlink_received, s->nvlink_received);
	pp_growth_see(&o->nvlink_errors, s->nvlink_errors);
}

static void put(const struct over *o, struct pp_row_gpu *row)
{
	row->clock_hz = mean_of(&o->clock);
	row->memory_hz = mean_of(&o->memory);
	row->power_mw = mean_of(&o->power);
	if (o->busy.samples)
		row->busy = o->busy.sum / (double)o->busy.samples;
	row->energy_mj = pp_growth_of(&o->energy);
	row->power_ns = pp_growth_of(&o->power_ns);
	row->thermal_ns = pp_growth_of(&o->thermal_ns);
	row->ecc_corrected = pp_growth_of(&o->corrected);
	row->ecc_uncorrected = pp_growth_of(&o->uncorrected);
	row->pcie_replays = pp_growth_of(&o->replays);
	row->pcie_sent = pp_growth_of(&o->pcie_sent);
	row->pcie_received = pp_growth_of(&o->pcie_received);
	row->nvlink_sent = pp_growth_of(&o->nvlink_sent);
	row->nvlink_received = pp_growth_of(&o->nvlink_received);
	row->nvlink_errors = pp_growth_of(&o->nvlink_errors);
}

/* The samples of a rank are in order of time. */
static int add_gpu(struct pp_table *t, const struct pp_rank *rank, uint32_t device)
{
	struct pp_row_gpu *row = pp_table_add(t);
	struct over o = {.clock = {0, 0}};
	int64_t first = 0;

	if (!row)
		return -ENOMEM;
	row->worker = rank->rank;
	row->device = device;
	for (size_t i = 0; i < rank->states; i++) {
		const struct pp_state *s = &rank->state[i];

		if (s->device != device + 1)
			continue;
		if (!row->samples++)
			first = s->time;
		row->covered_ns = s->time - first;
		see_counts(&o, s);
		add(&o.busy, s->busy);
		raise_to(&row->max_hz, s->max_hz);
		raise_to(&row->limit_mw, s->limit_mw);
		raise_to(&row->default_mw, s->default_mw);
		raise_to(&row->temperature, s->temperature);
		raise_to(&row->used_bytes, s->used_bytes);
		raise_to(&row->processes, s->processes);
		raise_to(&row->remap, s->remap);
		if (is_under_load(rank, s))
			see_load(&o, s, row);
	}
	put(&o, row);
	return 0;
}

/* The least device from `from` on that has samples; SIZE_MAX: none. */
static size_t next_device(const struct pp_rank *rank, size_t from)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < rank->states; i++)
		if (rank->state[i].device > from && rank->state[i].device - 1 < least)
			least = rank->state[i].device - 1;
	return least;
}

int pp_join_gpu(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct pp_table t = {.desc = pp_table_desc(PP_TABLE_gpu)};
	int rc = 0;

	for (size_t r = 0; r < capture->ranks && !rc; r++)
		for (size_t d = 0; !rc && (d = next_device(&capture->rank[r], d)) != SIZE_MAX; d++)
			rc = add_gpu(&t, &capture->rank[r], (uint32_t)d);
	j->d->gpu = t.row;
	j->d->gpus = t.rows;
	return rc;
}
