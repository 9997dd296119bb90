/* /torch_memory: what PyTorch's caching allocator held at the end of each step, by counters "cuda:0 memory WHAT" that the shim
 * (launchers/python/podprof/_torch_memory.py) writes when a step has ended; a DataLoader's next batch may come between. Called by
 * build.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

enum { DEVICES = 64 };

enum what { ALLOCATED, ACTIVE, RESERVED, ALLOCATED_PEAK, RESERVED_PEAK, RETRIES, OUT_OF_MEMORY, NEXT_STEP, WHATS };

#define NO_STEP (UINT64_C(1) << 53) /* as the next step: none was to begin */

struct counter { /* what the name of a counter means */
	uint8_t is_known, is_ours, device, what;
};

struct before { /* a device's counters at the end of the step before */
	uint64_t value[WHATS];
	int is_there;
};

struct work {
	struct pp_join *j;
	struct pp_table out;
	struct counter *counter; /* [names] */
	uint32_t names;
	struct before before[DEVICES];
};

static struct counter parse(const char *name)
{
	static const char *const words[WHATS] = {"allocated",     "active",  "reserved",      "allocated peak",
	                                         "reserved peak", "retries", "out of memory", "next step"};
	static const char first[] = "cuda:", second[] = " memory ";
	struct counter c = {.is_known = 1};
	unsigned long device;
	char *end;

	if (strncmp(name, first, sizeof(first) - 1) != 0)
		return c;
	device = strtoul(name + sizeof(first) - 1, &end, 10);
	if (end == name + sizeof(first) - 1 || device >= DEVICES || strncmp(end, second, sizeof(second) - 1) != 0)
		return c;
	for (int i = 0; i < WHATS; i++) {
		if (strcmp(end + sizeof(second) - 1, words[i]) != 0)
			continue;
		c.is_ours = 1;
		c.device = (uint8_t)device;
		c.what = (uint8_t)i;
	}
	return c;
}

static const struct counter *counter_of(struct work *w, uint32_t name)
{
	struct counter *c;

	if (name >= w->names)
		return NULL;
	c = &w->counter[name];
	if (!c->is_known)
		*c = parse(pp_intern_text(w->j->in->capture->names, name, NULL));
	return c->is_ours ? c : NULL;
}

/* Place of the step that had ended when the next one was to begin; where none was, of the last that had begun. SIZE_MAX: it is not
 * shown. */
static size_t step_at(const struct pp_join *j, size_t rank, int64_t when, uint64_t next)
{
	const struct pp_steps *steps = j->in->steps;
	const size_t ranks = j->in->capture->ranks;
	size_t low = next == NO_STEP ? 0 : PP_PARTITION(steps->steps, at, steps->number[at] < (int64_t)next);

	if (next != NO_STEP && low == steps->steps && low && steps->number[low - 1] + 1 < (int64_t)next)
		return SIZE_MAX;
	for (low = next == NO_STEP ? steps->steps : low; low > 0; low--) {
		const struct pp_step_cell *cell = &steps->cell[(low - 1) * ranks + rank];

		if (cell->present && cell->begin < when)
			return low - 1;
	}
	return SIZE_MAX;
}

static uint64_t since(const struct before *b, enum what what, uint64_t now)
{
	return b->is_there && now > b->value[what] ? now - b->value[what] : 0;
}

static void remember(struct work *w, uint32_t device, const uint64_t *v)
{
	memcpy(w->before[device].value, v, sizeof(w->before[device].value));
	w->before[device].is_there = 1;
}

static int add(struct work *w, int32_t worker, int64_t step, uint32_t device, const uint64_t *v)
{
	const struct before *b = &w->before[device];
	struct pp_row_torch_memory *row = pp_table_add(&w->out);

	if (!row)
		return -ENOMEM;
	*row = (struct pp_row_torch_memory){.worker = worker,
	                                    .device = (int32_t)device,
	                                    .step = step,
	                                    .allocated_bytes = v[ALLOCATED],
	                                    .active_bytes = v[ACTIVE],
	                                    .reserved_bytes = v[RESERVED],
	                                    .allocated_peak_bytes = v[ALLOCATED_PEAK],
	                                    .reserved_peak_bytes = v[RESERVED_PEAK],
	                                    .peak_rose = (int8_t)(since(b, ALLOCATED_PEAK, v[ALLOCATED_PEAK]) > 0),
	                                    .retries = since(b, RETRIES, v[RETRIES]),
	                                    .out_of_memory = since(b, OUT_OF_MEMORY, v[OUT_OF_MEMORY])};
	remember(w, device, v);
	return 0;
}

static int look_at_thread(struct work *w, size_t rank, const struct pp_thread *thread)
{
	const int32_t number = w->j->in->capture->rank[rank].rank;
	uint64_t value[DEVICES][WHATS] = {{0}};
	uint64_t seen[DEVICES] = {0}; /* bits of enum what: a device's counters at one edge follow each other */
	int rc = 0;

	for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_COUNTER)) && !rc; k++) {
		const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];
		const struct counter *c = span->kind == PP_SPAN_COUNTER ? counter_of(w, span->name) : NULL;
		size_t at;

		if (!c || !isfinite(span->value) || span->value < 0 || span->value > 0x1p53)
			continue;
		value[c->device][c->what] = (uint64_t)span->value;
		seen[c->device] |= UINT64_C(1) << c->what;
		if (seen[c->device] != (UINT64_C(1) << WHATS) - 1)
			continue;
		seen[c->device] = 0;
		at = step_at(w->j, rank, span->begin, value[c->device][NEXT_STEP]);
		if (at != SIZE_MAX)
			rc = add(w, number, w->j->in->steps->number[at], c->device, value[c->device]);
		else /* at the end of a step that is not shown */
			remember(w, c->device, value[c->device]);
	}
	return rc; /* NOLINT(clang-analyzer-unix.Malloc): the rows are in w->out */
}

int pp_join_torch_memory(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct work w = {.j = j, .out = {.desc = pp_table_desc(PP_TABLE_torch_memory)}, .names = pp_intern_count(capture->names)};
	int rc = 0;

	w.counter = calloc((size_t)w.names + 1, sizeof(*w.counter));
	if (!w.counter)
		return -ENOMEM;
	for (size_t r = 0; r < capture->ranks && !rc; r++) {
		memset(w.before, 0, sizeof(w.before));
		for (size_t t = 0; t < capture->rank[r].threads && !rc; t++)
			if (pp_thread_may_have(&capture->rank[r].thread[t], PP_SPAN_BIT(PP_SPAN_COUNTER)))
				rc = look_at_thread(&w, r, &capture->rank[r].thread[t]);
	}
	free(w.counter);
	j->d->torch_memory = w.out.row;
	j->d->torch_memories = w.out.rows;
	return rc;
}
