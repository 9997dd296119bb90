/* Joins two captures; see join.h. All memory is taken first, then nothing can fail. Called by readers of several sources. */
#include "core/capture/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture/capture.h"
#include "core/capture/join_side.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

struct rank_join {
	struct pp_rank *into;     /* NULL: it is new */
	struct pp_thread *thread; /* room for the threads of both */
	uint32_t *place;          /* [threads of from] index in `thread` */
	struct pp_span **span;    /* [threads of from] room for the spans of both; NULL: the thread is new */
	struct pp_side_join side[PP_SIDE_IDS];
};

struct join {
	struct pp_capture *into, *from;
	uint32_t *name, *payload; /* ids in `into`; NULL: the same */
	struct pp_rank *rank;     /* room for the ranks of both */
	struct rank_join *joins;  /* [ranks of from] */
};

/* Ids of all texts of `from` in `into`; NULL where that has no table: it gets this one. */
static int intern_all(struct pp_intern *into, const struct pp_intern *from, uint32_t **ret_ids)
{
	uint32_t n = from ? pp_intern_count(from) : 0, *ids;

	*ret_ids = NULL;
	if (!into || !from)
		return 0;
	ids = calloc((size_t)n + 1, sizeof(*ids));
	*ret_ids = ids;
	for (uint32_t i = 1; ids && i < n; i++) {
		size_t length;
		const char *text = pp_intern_text(from, i, &length);

		ids[i] = pp_intern_put(into, text, length);
		if (length && !ids[i])
			return -ENOMEM;
	}
	return ids ? 0 : -ENOMEM;
}

/* The n-th thread of the identity in `from` is the n-th of it in `into`. */
static uint32_t find_thread(const struct pp_rank *into, const struct pp_rank *from, size_t t)
{
	size_t n = 0;

	for (size_t i = 0; i < t; i++)
		n += from->thread[i].tid == from->thread[t].tid && from->thread[i].device == from->thread[t].device;
	for (size_t i = 0; i < into->threads; i++)
		if (into->thread[i].tid == from->thread[t].tid && into->thread[i].device == from->thread[t].device && !n--)
			return (uint32_t)i;
	return UINT32_MAX;
}

static int prepare_rank(struct rank_join *j, const struct pp_rank *from)
{
	size_t threads = j->into->threads;

	j->thread = calloc(threads + from->threads + 1, sizeof(*j->thread));
	j->place = calloc(from->threads + 1, sizeof(*j->place));
	j->span = calloc(from->threads + 1, sizeof(struct pp_span *));
	if (!j->thread || !j->place || !j->span)
		return -ENOMEM;
	for (size_t t = 0; t < from->threads; t++) {
		j->place[t] = find_thread(j->into, from, t);
		if (j->place[t] == UINT32_MAX) {
			j->place[t] = (uint32_t)threads++;
			continue;
		}
		j->span[t] = malloc((j->into->thread[j->place[t]].spans + from->thread[t].spans + 1) * sizeof(struct pp_span));
		if (!j->span[t])
			return -ENOMEM;
	}
	for (int id = 0; id < PP_SIDE_IDS; id++)
		if (pp_side_join_prepare(&j->side[id], &pp_side_arrays[id], j->into, from))
			return -ENOMEM;
	return 0;
}

static int prepare(struct join *j)
{
	int rc = intern_all(j->into->names, j->from->names, &j->name);

	if (!rc)
		rc = intern_all(j->into->payloads, j->from->payloads, &j->payload);
	j->rank = calloc(j->into->ranks + j->from->ranks + 1, sizeof(*j->rank));
	j->joins = calloc(j->from->ranks + 1, sizeof(*j->joins));
	if (rc || !j->rank || !j->joins)
		return -ENOMEM;
	for (size_t i = 0; i < j->from->ranks && !rc; i++) {
		j->joins[i].into = pp_capture_rank(j->into, j->from->rank[i].rank);
		if (j->joins[i].into)
			rc = prepare_rank(&j->joins[i], &j->from->rank[i]);
	}
	return rc;
}

static void release(struct join *j)
{
	for (size_t i = 0; j->joins && i < j->from->ranks; i++) {
		struct rank_join *r = &j->joins[i];

		for (size_t t = 0; r->span && t < j->from->rank[i].threads; t++)
			free(r->span[t]);
		for (int id = 0; id < PP_SIDE_IDS; id++)
			pp_side_join_release(&r->side[id]);
		free(r->span);
		free(r->place);
		free(r->thread);
	}
	free(j->joins);
	free(j->rank);
	free(j->name);
	free(j->payload);
}

static void renumber_span(const struct join *j, struct pp_span *s)
{
	if (j->name)
		s->name = j->name[s->name];
	if (j->name && s->kind == PP_SPAN_DEVICE)
		s->device.op = j->name[s->device.op];
	if (j->payload && s->kind <= PP_SPAN_MARK && s->range.payload_type == PP_PAYLOAD_EXT &&
	    s->range.payload < pp_intern_count(j->from->payloads))
		s->range.payload = j->payload[s->range.payload];
}

/* Ids of `from` become those of `into`. */
static void renumber(const struct join *j, struct pp_rank *rank)
{
	for (size_t t = 0; t < rank->threads; t++) {
		struct pp_thread *thread = &rank->thread[t];

		thread->name = j->name ? j->name[thread->name] : thread->name;
		for (size_t i = 0; i < thread->spans; i++)
			renumber_span(j, &thread->span[i]);
	}
	for (int id = 0; id < PP_SIDE_IDS && j->name; id++)
		pp_side_renumber(&pp_side_arrays[id], rank, j->name);
}

/* Spans of `from` refer to the joined rows and threads. */
static void refer(const struct rank_join *j, struct pp_rank *from)
{
	for (size_t t = 0; t < from->threads; t++)
		for (size_t i = 0; i < from->thread[t].spans; i++) {
			struct pp_span *s = &from->thread[t].span[i];

			for (int id = 0; id < PP_SIDE_IDS; id++) {
				uint32_t *index = pp_side_index(s, (enum pp_side_id)id);

				if (index && *index && *index <= j->side[id].from)
					*index = j->side[id].place[*index - 1] + 1;
			}
			if (s->kind == PP_SPAN_DEVICE && s->device.host_thread && s->device.host_thread <= from->threads)
				s->device.host_thread = j->place[s->device.host_thread - 1] + 1;
		}
}

static void merge_spans(const struct pp_thread *a, const struct pp_thread *b, struct pp_span *to)
{
	size_t i = 0, k = 0;

	while (i < a->spans || k < b->spans)
		if (k == b->spans || (i < a->spans && !pp_span_before(&b->span[k], &a->span[i])))
			*to++ = a->span[i++];
		else
			*to++ = b->span[k++];
}

static void join_thread(struct pp_thread *into, struct pp_thread *from, struct pp_span *span)
{
	struct pp_thread all = *into;

	merge_spans(into, from, span);
	all.span = span;
	all.spans = into->spans + from->spans;
	all.mapped = all.others = 0;
	all.other = NULL;
	all.name = into->name ? into->name : from->name;
	all.is_main |= from->is_main;
	all.kinds = (!into->kinds && into->spans) || (!from->kinds && from->spans) ? 0 : into->kinds | from->kinds;
	if (from->spans || from->first || from->last) { /* 0 and 0: nothing was recorded */
		int has = into->spans || into->first || into->last;

		all.first = has && into->first < from->first ? into->first : from->first;
		all.last = has && into->last > from->last ? into->last : from->last;
	}
	pp_thread_release(into);
	pp_thread_release(from);
	*into = all;
	pp_thread_list_others(into);
}

static void join_threads(struct rank_join *j, struct pp_rank *from)
{
	if (j->into->threads)
		memcpy(j->thread, j->into->thread, j->into->threads * sizeof(*j->thread));
	free(j->into->thread);
	j->into->thread = j->thread;
	j->thread = NULL;
	for (size_t t = 0; t < from->threads; t++) {
		if (j->span[t]) {
			join_thread(&j->into->thread[j->place[t]], &from->thread[t], j->span[t]);
			j->span[t] = NULL;
		} else {
			j->into->thread[j->into->threads++] = from->thread[t];
		}
	}
	free(from->thread);
	from->thread = NULL;
}

static void take_text(char *into, const char *from, size_t size)
{
	if (!into[0])
		memcpy(into, from, size);
}

static void join_trace(struct pp_trace_metadata *a, const struct pp_trace_metadata *b)
{
	if (!a->file[0]) {
		*a = *b;
	} else {
		a->bytes += b->bytes;
		a->events += b->events;
		a->derived += b->derived;
		a->untimed += b->untimed;
		a->damaged += b->damaged;
	}
}

static void join_counts(struct pp_rank *a, const struct pp_rank *b)
{
	for (size_t i = 0; i < sizeof(a->lost) / sizeof(a->lost[0]); i++)
		a->lost[i] += b->lost[i];
	a->records += b->records;
	a->ring_bytes = a->ring_bytes > b->ring_bytes ? a->ring_bytes : b->ring_bytes;
	a->unlaunched += b->unlaunched;
	a->unrun += b->unrun;
	a->c10d.calls += b->c10d.calls;
	a->c10d.unannotated += b->c10d.unannotated;
	a->c10d.recorder_off += b->c10d.recorder_off;
	a->c10d.unended += b->c10d.unended;
	a->c10d.enqueued += b->c10d.enqueued;
	a->c10d.rootless += b->c10d.rootless;
	for (uint32_t i = 0; i < b->remarks; i++)
		if (i < PP_REMARKS)
			pp_remark_add(a->remark, &a->remarks, b->remark[i]);
		else
			a->remarks++;
}

static void join_times(struct pp_rank *a, const struct pp_rank *b)
{
	const struct pp_rank *first = b->recorded_from < a->recorded_from ? b : a, *then = first == a ? b : a;

	a->horizon = then->horizon > first->recorded_to ? then->horizon : first->horizon;
	if (b->recorded_to != INT64_MIN && b->recorded_from < a->recorded_from)
		a->recorded_from = b->recorded_from;
	if (b->recorded_to > a->recorded_to)
		a->recorded_to = b->recorded_to;
	if (b->open_tick < a->open_tick)
		a->open_tick = b->open_tick;
	if (b->last_step > a->last_step)
		a->last_step = b->last_step;
}

static void join_values(struct pp_rank *a, const struct pp_rank *b)
{
	if (b->recorded_to > a->recorded_to && b->last_place[0])
		memcpy(a->last_place, b->last_place, sizeof(a->last_place));
	if (b->exit_known && (!a->exit_known || b->recorded_to > a->recorded_to)) {
		a->exit_known = 1;
		a->exit_status = b->exit_status;
	}
	a->size = a->size > b->size ? a->size : b->size;
	take_text(a->host, b->host, sizeof(a->host));
	take_text(a->status, b->status, sizeof(a->status));
	take_text(a->options, b->options, sizeof(a->options));
	take_text(a->version, b->version, sizeof(a->version));
	take_text(a->command, b->command, sizeof(a->command));
	take_text(a->last_place, b->last_place, sizeof(a->last_place));
	take_text(a->step_rule, b->step_rule, sizeof(a->step_rule));
	take_text(a->clock, b->clock, sizeof(a->clock));
	a->pid = a->pid ? a->pid : b->pid;
	a->cores = a->cores ? a->cores : b->cores;
	a->host_cores = a->host_cores ? a->host_cores : b->host_cores;
	a->step_marks |= b->step_marks;
	a->device_replay |= b->device_replay;
	a->device_error_ns = b->device_error_ns > a->device_error_ns ? b->device_error_ns : a->device_error_ns;
	join_trace(&a->trace, &b->trace);
	join_counts(a, b);
	join_times(a, b);
}

/* A rank that only `from` has; its clock's domain is numbered among those of `into`. */
static void add_rank(struct pp_capture *into, const struct pp_rank *rank, const struct pp_capture *from)
{
	size_t at = into->ranks;
	int32_t domain = -1, most = -1;

	for (size_t i = 0; i < into->ranks; i++) {
		most = into->rank[i].domain > most ? into->rank[i].domain : most;
		if (rank->clock[0] && !strcmp(into->rank[i].clock, rank->clock))
			domain = into->rank[i].domain;
	}
	for (const struct pp_rank *r = from->rank; r < rank && domain < 0; r++) /* added before, of the same domain */
		if (r->domain == rank->domain && pp_capture_rank(into, r->rank))
			domain = pp_capture_rank(into, r->rank)->domain;
	for (; at > 0 && into->rank[at - 1].rank > rank->rank; at--)
		into->rank[at] = into->rank[at - 1];
	into->rank[at] = *rank;
	into->rank[at].domain = domain >= 0 ? domain : most + 1;
	into->ranks++;
}

static void join_rank(struct rank_join *j, struct pp_rank *from)
{
	for (int id = 0; id < PP_SIDE_IDS; id++)
		pp_side_join(&j->side[id], &pp_side_arrays[id], j->into, from);
	refer(j, from);
	join_threads(j, from);
	join_values(j->into, from);
}

static void commit(struct join *j)
{
	for (size_t i = 0; i < j->from->ranks; i++) {
		renumber(j, &j->from->rank[i]);
		if (j->joins[i].into)
			join_rank(&j->joins[i], &j->from->rank[i]);
	}
	if (j->into->ranks)
		memcpy(j->rank, j->into->rank, j->into->ranks * sizeof(*j->rank));
	free(j->into->rank);
	j->into->rank = j->rank;
	j->rank = NULL;
	for (size_t i = 0; i < j->from->ranks; i++)
		if (!j->joins[i].into)
			add_rank(j->into, &j->from->rank[i], j->from);
}

int pp_capture_join(struct pp_capture *into, struct pp_capture *from, struct pp_err *err)
{
	struct join j = {.into = into, .from = from};
	int rc = prepare(&j);

	if (rc) {
		release(&j);
		return pp_err_set(err, rc, "cannot join two captures: no memory. Give a smaller --window-buffer");
	}
	commit(&j);
	release(&j);
	if (!into->names) {
		into->names = from->names;
		from->names = NULL;
	}
	if (!into->payloads) {
		into->payloads = from->payloads;
		from->payloads = NULL;
	}
	into->ranks_asked = into->ranks_asked > from->ranks_asked ? into->ranks_asked : from->ranks_asked;
	into->epoch_realtime_ns = into->epoch_realtime_ns ? into->epoch_realtime_ns : from->epoch_realtime_ns;
	into->memory_period_ns = from->memory_period_ns ? from->memory_period_ns : into->memory_period_ns;
	from->ranks = 0; /* what they owned has moved */
	pp_capture_release(from);
	return 0;
}
