/* Values over time: memory and CPU of processes, counters of programs, memory of devices' allocators, state of GPUs;
 * see counter.h. */
#include "aggregate/timeline/counter.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/timeline/timeline_private.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/known.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

static int begin_counter(struct pp_timeline_maker *m, size_t rank, uint32_t name, const char *unit)
{
	struct pp_timeline_counter *more = pp_grow(m->t->counter, m->t->counters, &m->counter_room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	m->t->counter = more;
	more[m->t->counters] =
	        (struct pp_timeline_counter){.rank = (uint32_t)rank, .name = name, .sample = (uint32_t)m->t->samples};
	snprintf(more[m->t->counters++].unit, sizeof(more->unit), "%s", unit);
	return 0;
}

/* Values beside the timeline's events, where options cut it, are none of it. */
static int add_sample(struct pp_timeline_maker *m, int64_t time, double value)
{
	struct pp_timeline_sample *more;

	if (!isfinite(value) || ((m->options->last_ns || m->options->steps_last > m->options->steps_first) &&
	                         (time < m->t->begin_ns || time > m->t->end_ns)))
		return 0;
	more = pp_grow(m->t->sample, m->t->samples, &m->sample_room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->t->sample = more;
	more[m->t->samples++] = (struct pp_timeline_sample){time, value};
	return 0;
}

/* One without samples is taken back. */
static void end_counter(struct pp_timeline_maker *m, int begun)
{
	struct pp_timeline_counter *c = begun ? NULL : &m->t->counter[m->t->counters - 1];

	if (!c)
		return;
	c->samples = (uint32_t)m->t->samples - c->sample;
	if (c->samples)
		m->t->rank[c->rank].counters++;
	else
		m->t->counters--;
}

enum what { RSS, PSS, CHILDREN, WHATS };

static const struct {
	const char *name, *unit;
} memory_name[WHATS] = {{"RSS", "byte"}, {"PSS", "byte"}, {"RSS of children", "byte"}};

/* Samples of each rank: `row` has them by rank, in their order; those of rank i are first[i] to first[i + 1] - 1. */
struct samples {
	size_t *first;
	uint32_t *row;
};

/* `ranks[]`: index of the rank of each of n samples; SIZE_MAX: none. */
static int group(struct samples *s, const size_t *rank, size_t n, size_t ranks)
{
	s->first = calloc(ranks + 2, sizeof(*s->first));
	s->row = malloc((n + 1) * sizeof(*s->row));
	if (!s->first || !s->row)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (rank[i] != SIZE_MAX)
			s->first[rank[i] + 2]++;
	for (size_t r = 2; r < ranks + 2; r++)
		s->first[r] += s->first[r - 1];
	for (size_t i = 0; i < n; i++)
		if (rank[i] != SIZE_MAX)
			s->row[s->first[rank[i] + 1]++] = (uint32_t)i;
	return 0;
}

static int group_samples(const struct pp_timeline_maker *m, struct samples *memory, struct samples *cpu)
{
	const struct pp_dataset *d = m->d;
	size_t n = d->memories > d->process_samples ? d->memories : d->process_samples;
	size_t *rank = malloc((n + 1) * sizeof(*rank));
	int rc = n < UINT32_MAX ? 0 : -ENOMEM;

	if (!rank)
		return -ENOMEM;
	for (size_t i = 0; i < d->memories && !rc; i++)
		rank[i] = pp_timeline_rank_at(m->t, d->memory[i].worker);
	if (!rc)
		rc = group(memory, rank, d->memories, m->t->ranks);
	for (size_t i = 0; i < d->process_samples && !rc; i++)
		rank[i] = pp_timeline_rank_at(m->t, d->process_sample[i].sample_worker);
	if (!rc)
		rc = group(cpu, rank, d->process_samples, m->t->ranks);
	free(rank);
	return rc;
}

static int add_memory(struct pp_timeline_maker *m, const struct samples *of, size_t rank, enum what what)
{
	int rc = begin_counter(m, rank, pp_timeline_name(m, memory_name[what].name), memory_name[what].unit), begun = rc;
	int any = 0;

	for (size_t i = of->first[rank]; i < of->first[rank + 1] && !any; i++)
		any = m->d->memory[of->row[i]].children_rss_bytes > 0;
	for (size_t i = of->first[rank]; i < of->first[rank + 1] && !rc; i++) {
		const struct pp_row_memory *s = &m->d->memory[of->row[i]];
		const uint64_t value = what == RSS ? s->rss_bytes : what == PSS ? (uint64_t)s->pss_bytes : s->children_rss_bytes;

		if ((what != PSS || s->pss_present) && (what != CHILDREN || any))
			rc = add_sample(m, s->time_ns, (double)value);
	}
	end_counter(m, begun);
	return rc;
}

/* Cores busy from a sample to the next one: a value holds until the next. */
static int add_cpu(struct pp_timeline_maker *m, const struct samples *of, size_t rank)
{
	const struct pp_row_process_sample *last = NULL;
	int rc = begin_counter(m, rank, pp_timeline_name(m, "CPU"), "core"), begun = rc;

	for (size_t i = of->first[rank]; i < of->first[rank + 1] && !rc; i++) {
		const struct pp_row_process_sample *s = &m->d->process_sample[of->row[i]];
		uint64_t used;

		if (last && s->sample_time_ns > last->sample_time_ns && last->sample_time_ns > INT64_MIN / 2 &&
		    s->sample_time_ns < INT64_MAX / 2) {
			used = s->sample_cpu_user_ns + s->sample_cpu_system_ns - last->sample_cpu_user_ns -
			       last->sample_cpu_system_ns;
			if (used <= INT64_MAX)
				rc = add_sample(m, last->sample_time_ns,
				                (double)used / (double)(s->sample_time_ns - last->sample_time_ns));
		}
		last = s;
	}
	end_counter(m, begun);
	return rc;
}

struct value {
	uint32_t name;
	const char *text; /* of the name */
	int64_t time;
	double value;
};

/* By the text: the numbers of names depend on what was read first. */
PP_COMPARE(by_name, struct value, x->name != y->name ? strcmp(x->text, y->text) : PP_UP(time))

static int add_values(struct pp_timeline_maker *m, size_t rank, struct value *list, size_t n, const char *unit)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		list[i].text = pp_intern_text(m->t->names, list[i].name, NULL);
	qsort(list, n, sizeof(*list), by_name);
	for (size_t i = 0; i < n && !rc;) {
		const uint32_t name = list[i].name;
		int begun = rc = begin_counter(m, rank, name, unit);

		for (; i < n && list[i].name == name && !rc; i++)
			rc = add_sample(m, list[i].time, list[i].value);
		end_counter(m, begun);
	}
	return rc;
}

/* Counters of the program. */
static int add_program(struct pp_timeline_maker *m, const struct pp_rank *r, size_t rank)
{
	struct value *list;
	size_t n = 0;
	int rc;

	for (size_t t = 0; t < r->threads; t++)
		for (size_t k = 0; k < pp_thread_others(&r->thread[t], PP_SPAN_BIT(PP_SPAN_COUNTER)); k++)
			n += r->thread[t].span[pp_thread_other(&r->thread[t], k)].kind == PP_SPAN_COUNTER;
	list = n ? malloc(n * sizeof(*list)) : NULL;
	if (!list)
		return n ? -ENOMEM : 0;
	n = 0;
	for (size_t t = 0; t < r->threads; t++)
		for (size_t k = 0; k < pp_thread_others(&r->thread[t], PP_SPAN_BIT(PP_SPAN_COUNTER)); k++) {
			const struct pp_span *s = &r->thread[t].span[pp_thread_other(&r->thread[t], k)];

			if (s->kind == PP_SPAN_COUNTER)
				list[n++] = (struct value){s->name, NULL, s->begin, s->value};
		}
	rc = add_values(m, rank, list, n, "1");
	free(list);
	return rc;
}

/* Memory in use of each allocator, where it is known. */
static int add_allocators(struct pp_timeline_maker *m, const struct pp_rank *r, size_t rank)
{
	struct value *list = r->allocations ? malloc(r->allocations * sizeof(*list)) : NULL;
	size_t n = 0;
	int rc;

	if (!list)
		return r->allocations ? -ENOMEM : 0;
	for (size_t i = 0; i < r->allocations; i++)
		if (r->allocation[i].allocated >= 0)
			list[n++] = (struct value){r->allocation[i].allocator, NULL, r->allocation[i].time,
			                           (double)r->allocation[i].allocated};
	rc = add_values(m, rank, list, n, "byte");
	free(list);
	return rc;
}

/* What is shown of a GPU's state, in this unit. */
static const struct {
	const char *name, *unit;
	size_t offset; /* of the value in a row of /state */
	double per_unit;
} gpu_value[] = {{"SM clock", "MHz", offsetof(struct pp_row_state, clock_hz), 1e6},
                 {"power", "W", offsetof(struct pp_row_state, power_mw), 1e3},
                 {"temperature", "degC", offsetof(struct pp_row_state, temperature), 1},
                 {"memory in use", "byte", offsetof(struct pp_row_state, used_bytes), 1}};

/* Rows of the worker in /state, which are in order of workers: from the index returned on, *ret_end is behind them. */
static size_t states_of(const struct pp_dataset *d, int32_t worker, size_t *ret_end)
{
	size_t low = 0, high = d->states;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (d->state[middle].worker < worker)
			low = middle + 1;
		else
			high = middle;
	}
	for (*ret_end = low; *ret_end < d->states && d->state[*ret_end].worker == worker;)
		++*ret_end;
	return low;
}

/* The state of the rank's GPUs. */
static int add_gpus(struct pp_timeline_maker *m, int32_t worker, size_t rank)
{
	size_t end, first = states_of(m->d, worker, &end);
	struct value *list = end > first ? malloc((end - first) * sizeof(*list)) : NULL;
	int rc = 0;

	if (!list)
		return end > first ? -ENOMEM : 0;
	for (size_t v = 0; v < sizeof(gpu_value) / sizeof(*gpu_value) && !rc; v++) {
		size_t n = 0;

		for (size_t i = first; i < end; i++) {
			const struct pp_row_state *s = &m->d->state[i];
			char name[48];
			int64_t value;

			memcpy(&value, (const char *)s + gpu_value[v].offset, sizeof(value));
			if (!s->device || !pp_is_known(value))
				continue;
			snprintf(name, sizeof(name), "GPU %" PRIu32 " %s", s->device - 1, gpu_value[v].name);
			list[n++] =
			        (struct value){pp_timeline_name(m, name), NULL, s->time_ns, (double)value / gpu_value[v].per_unit};
		}
		rc = add_values(m, rank, list, n, gpu_value[v].unit);
	}
	free(list);
	return rc;
}

int pp_timeline_counters(struct pp_timeline_maker *m)
{
	struct samples memory = {NULL, NULL}, cpu = {NULL, NULL};
	int rc = group_samples(m, &memory, &cpu);

	for (size_t r = 0; r < m->capture.ranks && !rc; r++) {
		size_t rank = pp_timeline_rank_at(m->t, m->capture.rank[r].rank);

		if (!pp_timeline_wants(m, m->capture.rank[r].rank))
			continue;
		m->t->rank[rank].counter = (uint32_t)m->t->counters;
		for (int what = 0; what < WHATS && !rc; what++)
			rc = add_memory(m, &memory, rank, (enum what)what);
		if (!rc)
			rc = add_cpu(m, &cpu, rank);
		if (!rc)
			rc = add_program(m, &m->capture.rank[r], rank);
		if (!rc)
			rc = add_allocators(m, &m->capture.rank[r], rank);
		if (!rc)
			rc = add_gpus(m, m->capture.rank[r].rank, rank);
	}
	free(memory.first);
	free(memory.row);
	free(cpu.first);
	free(cpu.row);
	return rc;
}
