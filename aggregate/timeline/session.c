/* The timeline of a session: ranks, steps, clocks and communicators as pod.h5 has them, then what the other parts make of its event
 * files. See timeline.h. */
#include "aggregate/timeline/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/bounds.h"
#include "aggregate/read/h5/file.h"
#include "aggregate/read/h5/file_dataset.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/timeline/counter.h"
#include "aggregate/timeline/timeline_private.h"
#include "core/base/compare.h"
#include "core/base/huge.h"
#include "core/base/units.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

#define BIT(table) (UINT64_C(1) << PP_TABLE_##table)

static int fill_ranks(struct pp_timeline_maker *m)
{
	struct pp_timeline *t = m->t;

	t->rank = calloc(m->d->workers + 1, sizeof(*t->rank));
	if (!t->rank)
		return -ENOMEM;
	for (size_t w = 0; w < m->d->workers; w++) {
		const struct pp_row_worker *from = &m->d->worker[w];
		struct pp_timeline_rank *r = &t->rank[t->ranks++];

		*r = (struct pp_timeline_rank){
		        .rank = from->rank, .bound_ns = from->bound_ns, .domain = from->domain, .pid = (uint32_t)from->pid};
		snprintf(r->host, sizeof(r->host), "%s", from->host);
		if (!pp_timeline_wants(m, from->rank))
			snprintf(r->missing, sizeof(r->missing), "it is not in --ranks");
		else if (pp_worker_is_missing(from))
			snprintf(r->missing, sizeof(r->missing), "%s", from->status);
		else
			snprintf(r->missing, sizeof(r->missing), "no event file has it");
	}
	return 0;
}

static int fill_steps(struct pp_timeline_maker *m)
{
	struct pp_timeline *t = m->t;

	t->step = calloc(m->d->steps + 1, sizeof(*t->step));
	if (!t->step)
		return -ENOMEM;
	for (size_t s = 0; s < m->d->steps; s++) {
		struct pp_timeline_step *to = &t->step[t->steps++];

		*to = (struct pp_timeline_step){.number = m->d->step[s].number, .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
		for (size_t w = 0; w < m->d->workers; w++) {
			const struct pp_row_cell *cell = &m->d->cell[s * m->d->workers + w];

			if (!cell->present)
				continue;
			to->begin_ns = cell->begin_ns < to->begin_ns ? cell->begin_ns : to->begin_ns;
			to->end_ns = cell->end_ns > to->end_ns ? cell->end_ns : to->end_ns;
		}
		if (to->begin_ns > to->end_ns)
			to->begin_ns = to->end_ns = 0;
	}
	return 0;
}

static int fill_comms(struct pp_timeline_maker *m)
{
	struct pp_timeline *t = m->t;

	t->comm = calloc(m->d->communicators + 1, sizeof(*t->comm));
	if (!t->comm)
		return -ENOMEM;
	for (size_t i = 0; i < m->d->communicators; i++) {
		const struct pp_row_communicator *c = &m->d->communicator[i];

		t->comm[t->comms++] =
		        (struct pp_timeline_comm){c->id, pp_timeline_name(m, pp_intern_text(m->d->names, c->name, NULL)), c->size};
	}
	return 0;
}

/* As the summary says it (write/text/text_clock.c), in one sentence. */
static void say_clock(const struct pp_dataset *d, char *text, size_t size)
{
	const size_t clocks = pp_bounds_clocks(d);
	const int is_known = d->pair_bound_ns && d->pair_bound_ns != PP_BOUND_UNKNOWN; /* 0: a file of another profiler */
	char error[PP_TEXT_UNIT];
	int by_collectives = 0;

	pp_text_time(error, d->pair_bound_ns);
	for (size_t w = 0; w < d->workers; w++)
		by_collectives |= d->worker[w].joined_by == PP_JOINED_BY_COLLECTIVES;
	if (by_collectives && is_known)
		snprintf(text, size, "%zu clocks of files, aligned by collectives, clock error between them <= %s", clocks, error);
	else if (clocks > 1 && d->trace_files)
		snprintf(text, size, "each file has a clock of its own, and none was compared with another");
	else if (clocks > 1)
		snprintf(text, size, is_known ? "%zu clocks, clock error between compared ranks <= %s" : "%zu clocks, not compared",
		         clocks, error);
	else
		snprintf(text, size, is_known ? "all ranks share one clock, clock error <= %s" : "all ranks share one clock",
		         error);
}

static void fill_head(struct pp_timeline_maker *m)
{
	struct pp_timeline *t = m->t;

	snprintf(t->session, sizeof(t->session), "%s", m->d->session);
	snprintf(t->job, sizeof(t->job), "%s", m->d->job);
	t->epoch_realtime_ns = m->d->epoch_realtime_ns;
	say_clock(m->d, t->clock, sizeof(t->clock));
}

/* Extent of the events in the timeline, and the begin of --last. */
static void find_last(struct pp_timeline_maker *m)
{
	int64_t end = INT64_MIN;

	m->from_ns = INT64_MIN;
	for (size_t r = 0; m->options->last_ns && r < m->capture.ranks; r++)
		for (size_t t = 0; t < m->capture.rank[r].threads; t++)
			for (size_t i = 0; i < m->capture.rank[r].thread[t].spans; i++)
				if (m->capture.rank[r].thread[t].span[i].end > end)
					end = m->capture.rank[r].thread[t].span[i].end;
	if (end != INT64_MIN && __builtin_sub_overflow(end, m->options->last_ns, &m->from_ns))
		m->from_ns = INT64_MIN;
}

static void find_extent(struct pp_timeline *t)
{
	t->begin_ns = t->events ? INT64_MAX : 0;
	t->end_ns = t->events ? INT64_MIN : 0;
	for (size_t i = 0; i < t->events; i++) {
		t->begin_ns = t->event[i].begin_ns < t->begin_ns ? t->event[i].begin_ns : t->begin_ns;
		t->end_ns = t->event[i].end_ns > t->end_ns ? t->event[i].end_ns : t->end_ns;
	}
}

static int make_places(struct pp_timeline_maker *m)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a rank */
	m->event = calloc(m->capture.ranks + 1, sizeof(*m->event));
	if (!m->event)
		return -ENOMEM;
	for (size_t r = 0; r < m->capture.ranks; r++) {
		const struct pp_rank *rank = &m->capture.rank[r];

		/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a thread */
		m->event[r] = calloc(rank->threads + 1, sizeof(*m->event[r]));
		for (size_t t = 0; m->event[r] && t < rank->threads; t++) {
			m->event[r][t] = pp_huge_malloc((rank->thread[t].spans + 1) * sizeof(*m->event[r][t]));
			if (!m->event[r][t])
				return -ENOMEM;
			memset(m->event[r][t], 0xff, (rank->thread[t].spans + 1) * sizeof(*m->event[r][t]));
		}
		if (!m->event[r])
			return -ENOMEM;
	}
	return 0;
}

int pp_timeline_make(struct pp_timeline_maker *m)
{
	int rc = make_places(m);

	find_last(m);
	if (!rc)
		rc = pp_timeline_tracks(m);
	find_extent(m->t);
	if (!rc)
		rc = pp_timeline_messages(m);
	if (!rc)
		rc = pp_timeline_waits(m);
	if (!rc)
		rc = pp_timeline_flows(m);
	if (!rc)
		rc = pp_timeline_counters(m);
	for (size_t r = 0; r < m->t->ranks; r++)
		if (!pp_timeline_wants(m, m->t->rank[r].rank))
			m->t->left.by_ranks++;
		else
			m->t->left.ranks += m->t->rank[r].missing[0] != 0;
	return rc;
}

void pp_timeline_maker_release(struct pp_timeline_maker *m)
{
	for (size_t r = 0; m->event && r < m->capture.ranks; r++) {
		for (size_t t = 0; m->event[r] && t < m->capture.rank[r].threads; t++)
			free(m->event[r][t]);
		free(m->event[r]);
	}
	free(m->event);
	free(m->mark);
	free(m->range);
	pp_name_cache_release(&m->categories);
	pp_capture_release(&m->capture);
}

int pp_timeline_load_of(struct pp_h5_file *h5, const struct pp_timeline_options *options, struct pp_timeline *ret,
                        struct pp_err *err)
{
	struct pp_timeline t = {.names = options->capture ? options->capture->names : pp_intern_new()};
	struct pp_dataset d;
	struct pp_timeline_maker m = {.options = options, .t = &t, .d = &d};
	int rc = pp_h5_file_dataset(h5,
	                            BIT(communicator) | BIT(memory) | BIT(process_sample) | BIT(state) | BIT(clock_sample) |
	                                    BIT(clock_stretch) | BIT(collective) | BIT(arrival) | BIT(lone_call),
	                            &d, err);

	if (rc) {
		pp_intern_free(t.names);
		return rc;
	}
	rc = !t.names ? -ENOMEM : fill_ranks(&m);
	if (!rc)
		rc = fill_steps(&m);
	if (!rc)
		rc = fill_comms(&m);
	if (!rc) {
		fill_head(&m);
		if (options->capture)
			pp_timeline_take(&m);
		else
			rc = pp_timeline_files(&m, pp_h5_file_path(h5), err);
		if (!rc)
			rc = pp_timeline_make(&m);
	}
	pp_timeline_maker_release(&m);
	pp_dataset_release(&d);
	if (rc == -ENOMEM)
		pp_err_set(err, rc, "no memory for the timeline of '%s'. Give --ranks or --steps", pp_h5_file_path(h5));
	if (rc)
		pp_timeline_release(&t);
	else
		*ret = t;
	return rc;
}

int pp_timeline_load(const char *path, const struct pp_timeline_options *options, struct pp_timeline *ret, struct pp_err *err)
{
	struct pp_h5_file *h5;
	int rc = pp_h5_file_open(path, &h5, err);

	if (rc)
		return rc;
	rc = pp_timeline_load_of(h5, options, ret, err);
	pp_h5_file_close(h5);
	return rc;
}
