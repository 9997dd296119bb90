/* Memory profile: calls of frameworks' allocators, memory in use over time, and what was allocated at the peak. Called by build.c;
 * docs/tools.md has the rules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/table/word.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

enum { TIMELINE_MOST = 1000, PEAK_MOST = 1000 }; /* rows per worker and allocator */

struct call { /* of one allocator, in order of time */
	const struct pp_allocation *a;
	size_t number;     /* of the rank's calls */
	struct call *from; /* of a free: its allocation; NULL: not recorded */
	int64_t heap;      /* in use after it */
	int64_t step;
	int32_t is_freed; /* by a later call, up to the peak */
};

struct window { /* a step of this rank */
	int64_t begin, end, number;
};

struct profile {
	struct pp_table allocator, timeline, peak;
	const struct pp_intern *names;
	int32_t worker;
	struct call *call; /* [calls] of all allocators of the rank, those of one in a row */
	size_t calls;
	struct call **by; /* [calls] sorted by address, or by what /memory_peak groups */
	struct window *window;
	size_t windows;
};

static int64_t add_sizes(int64_t a, int64_t b)
{
	int64_t sum;

	a = a < 0 ? 0 : a;
	b = b < 0 ? 0 : b;
	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* In a capture -1 is unknown; files may hold any bits. */
static int64_t size_of(int64_t bytes)
{
	return bytes < 0 ? PP_UNKNOWN : bytes;
}

static double share_of(double v)
{
	return v >= 0 && v <= 1 ? v : (double)NAN;
}

PP_COMPARE_BY(compare_window, struct window, begin)

PP_COMPARE_BY_2(compare_allocator, struct call, a->allocator, number)

static int compare_address(const void *a, const void *b)
{
	const struct call *x = *(struct call *const *)a, *y = *(struct call *const *)b;

	if (x->a->address != y->a->address)
		return x->a->address < y->a->address ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int list_windows(struct profile *p, const struct pp_steps *steps, size_t rank, size_t ranks)
{
	free(p->window);
	p->windows = 0;
	p->window = calloc(steps->steps + 1, sizeof(*p->window));
	if (!p->window)
		return -ENOMEM;
	for (size_t s = 0; s < steps->steps; s++) {
		const struct pp_step_cell *cell = &steps->cell[s * ranks + rank];

		if (cell->present && cell->end > cell->begin)
			p->window[p->windows++] = (struct window){cell->begin, cell->end, steps->number[s]};
	}
	qsort(p->window, p->windows, sizeof(*p->window), compare_window);
	return 0;
}

/* As the file says, else the step that the call is in; -1: none. */
static int64_t step_of(const struct profile *p, const struct pp_allocation *a)
{
	size_t low;

	if (a->step >= 0)
		return a->step;
	low = PP_PARTITION(p->windows, at, p->window[at].begin <= a->time);
	return low && a->time < p->window[low - 1].end ? p->window[low - 1].number : -1;
}

/* Links every free to the allocation of its address. Returns the frees whose allocation was not recorded. */
static uint64_t match(struct call *call, size_t calls, struct call **by)
{
	struct call *open = NULL;
	uint64_t unmatched = 0;

	for (size_t i = 0; i < calls; i++)
		by[i] = &call[i];
	qsort(by, calls, sizeof(*by), compare_address); /* NOLINT(bugprone-sizeof-expression): pointers */
	for (size_t i = 0; i < calls; i++) {
		if (open && open->a->address != by[i]->a->address)
			open = NULL;
		if (!by[i]->a->is_free) {
			open = by[i];
			continue;
		}
		by[i]->from = open;
		unmatched += !open;
		open = NULL;
	}
	return unmatched;
}

static int64_t bytes_of(const struct call *c)
{
	return c->a->bytes > 0 || !c->from ? size_of(c->a->bytes) : size_of(c->from->a->bytes);
}

/* Sets the heap after each call: as the allocator reports it, else the sum of its calls. Returns the call at the peak, the last of
 * equal ones. */
static size_t find_peak(struct call *call, size_t calls, int *ret_is_counted)
{
	int64_t heap = 0, most = -1;
	size_t peak = 0;

	*ret_is_counted = 0;
	for (size_t i = 0; i < calls; i++) {
		const struct pp_allocation *a = call[i].a;
		int64_t bytes = bytes_of(&call[i]) < 0 ? 0 : bytes_of(&call[i]);

		if (a->allocated >= 0) {
			heap = a->allocated;
			*ret_is_counted |= a->is_counted != 0;
		} else {
			heap = a->is_free ? (heap > bytes ? heap - bytes : 0) : add_sizes(heap, bytes);
			*ret_is_counted = 1;
		}
		call[i].heap = heap;
		if (add_sizes(heap, a->reserved) >= most) {
			most = add_sizes(heap, a->reserved);
			peak = i;
		}
	}
	return peak;
}

static int add_point(struct profile *p, const struct call *c, size_t number)
{
	const struct pp_allocation *a = c->a, *from = c->from ? c->from->a : a;
	struct pp_row_memory_timeline *row = pp_table_add(&p->timeline);
	int64_t bytes = bytes_of(c);

	if (!row)
		return -ENOMEM;
	*row = (struct pp_row_memory_timeline){.worker = p->worker,
	                                       .allocator = a->allocator,
	                                       .call = number,
	                                       .time_ns = a->time,
	                                       .action = (int8_t)(a->is_free != 0),
	                                       .requested_bytes = size_of(a->requested > 0 ? a->requested : from->requested),
	                                       .bytes = a->is_free && bytes > 0 ? -bytes : bytes,
	                                       .op = a->op ? a->op : from->op,
	                                       .step = c->step,
	                                       .region = a->region ? a->region : from->region,
	                                       .type = a->type ? a->type : from->type,
	                                       .shape = a->shape ? a->shape : from->shape,
	                                       .in_use_bytes = add_sizes(c->heap, a->reserved),
	                                       .stack_bytes = add_sizes(0, a->reserved),
	                                       .heap_bytes = c->heap,
	                                       .free_bytes = size_of(a->available),
	                                       .fragmentation = share_of(a->fragmentation)};
	return 0;
}

/* Of more calls than the timeline has points, boxes of equal numbers of calls, each with the one that has most memory in use. */
static int add_timeline(struct profile *p, const struct call *call, size_t calls)
{
	size_t points = calls < TIMELINE_MOST ? calls : TIMELINE_MOST;
	int rc = 0;

	for (size_t b = 0; b < points && !rc; b++) {
		size_t first = b * calls / points, end = (b + 1) * calls / points, best = first;

		for (size_t i = first; i < end; i++)
			if (add_sizes(call[i].heap, call[i].a->reserved) >= add_sizes(call[best].heap, call[best].a->reserved))
				best = i;
		rc = add_point(p, &call[best], best);
	}
	return rc;
}

/* What /memory_peak groups by; texts by id, which is enough to group. */
static int compare_alike(const void *a, const void *b)
{
	const struct pp_allocation *x = (*(struct call *const *)a)->a, *y = (*(struct call *const *)b)->a;

	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	if (x->requested != y->requested)
		return x->requested < y->requested ? -1 : 1;
	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return (x->shape > y->shape) - (x->shape < y->shape);
}

static int64_t all_bytes(const struct pp_row_memory_peak *row)
{
	int64_t all;

	return __builtin_mul_overflow(row->bytes < 0 ? 0 : row->bytes, (int64_t)row->occurrences, &all) ? INT64_MAX : all;
}

static int compare_peak(const void *a, const void *b, void *names)
{
	const struct pp_row_memory_peak *x = a, *y = b;
	const uint32_t text[4][2] = {{x->op, y->op}, {x->region, y->region}, {x->type, y->type}, {x->shape, y->shape}};

	if (x->kind != y->kind)
		return x->kind - y->kind;
	if (all_bytes(x) != all_bytes(y))
		return all_bytes(x) < all_bytes(y) ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->requested_bytes != y->requested_bytes)
		return x->requested_bytes < y->requested_bytes ? 1 : -1;
	for (int i = 0; i < 4; i++)
		if (text[i][0] != text[i][1])
			return strcmp(pp_intern_text(names, text[i][0], NULL), pp_intern_text(names, text[i][1], NULL));
	return 0;
}

static struct pp_row_memory_peak *add_peak(struct profile *p, uint32_t allocator, int kind, int64_t bytes)
{
	struct pp_row_memory_peak *row = pp_table_add(&p->peak);

	if (row)
		*row = (struct pp_row_memory_peak){.worker = p->worker,
		                                   .allocator = allocator,
		                                   .kind = (int8_t)kind,
		                                   .bytes = bytes,
		                                   .requested_bytes = PP_UNKNOWN,
		                                   .occurrences = 1};
	return row;
}

/* Rows of what the calls up to the peak left allocated, alike ones as one. */
static int add_alive(struct profile *p, const struct call *call, size_t alive, int64_t peak_step, int64_t *ret_bytes)
{
	struct pp_row_memory_peak *row = NULL;

	*ret_bytes = 0;
	qsort(p->by, alive, sizeof(*p->by), compare_alike); /* NOLINT(bugprone-sizeof-expression): pointers */
	for (size_t i = 0; i < alive; i++) {
		const struct pp_allocation *a = p->by[i]->a;

		*ret_bytes = add_sizes(*ret_bytes, a->bytes);
		if (!i || compare_alike(&p->by[i - 1], &p->by[i])) {
			row = add_peak(p, call->a->allocator, PP_MEMORY_ALLOCATION, size_of(a->bytes));
			if (!row)
				return -ENOMEM;
			row->requested_bytes = size_of(a->requested);
			row->occurrences = 0;
			row->op = a->op;
			row->region = a->region;
			row->type = a->type;
			row->shape = a->shape;
		}
		row->occurrences++;
		row->of_peak_step += peak_step >= 0 && p->by[i]->step == peak_step;
	}
	return 0;
}

/* Keeps the rows with most bytes, adds the rest as one, and numbers them. */
static int finish_peak(struct profile *p, uint32_t allocator, size_t first)
{
	struct pp_row_memory_peak *row = p->peak.row;
	size_t rows = p->peak.rows - first;
	int64_t rest = 0;
	uint64_t left_out = 0;

	if (rows)
		qsort_r(row + first, rows, sizeof(*row), compare_peak, (void *)p->names);
	for (size_t i = first + PEAK_MOST; i < p->peak.rows; i++) {
		rest = add_sizes(rest, all_bytes(&row[i]));
		left_out += row[i].occurrences;
	}
	if (left_out) {
		p->peak.rows = first + PEAK_MOST;
		row = add_peak(p, allocator, PP_MEMORY_REST, rest);
		if (!row)
			return -ENOMEM;
	}
	return 0;
}

static int add_rest(struct profile *p, uint32_t allocator, size_t first, int64_t earlier, int64_t stack)
{
	if (earlier > 0 && !add_peak(p, allocator, PP_MEMORY_EARLIER, earlier))
		return -ENOMEM;
	if (stack > 0 && !add_peak(p, allocator, PP_MEMORY_STACK, stack))
		return -ENOMEM;
	for (size_t i = first; i < p->peak.rows; i++)
		((struct pp_row_memory_peak *)p->peak.row)[i].number = (int64_t)(i - first);
	return 0;
}

static int add_peaks(struct profile *p, struct call *call, size_t peak)
{
	size_t first = p->peak.rows, alive = 0;
	uint32_t allocator = call->a->allocator;
	int64_t bytes;
	int rc;

	for (size_t i = 0; i <= peak; i++)
		if (call[i].from)
			call[i].from->is_freed = 1;
	for (size_t i = 0; i <= peak; i++)
		if (!call[i].a->is_free && !call[i].is_freed)
			p->by[alive++] = &call[i];
	rc = add_alive(p, call, alive, call[peak].step, &bytes);
	if (!rc)
		rc = finish_peak(p, allocator, first);
	if (!rc)
		rc = add_rest(p, allocator, first, call[peak].heap - bytes, call[peak].a->reserved);
	return rc;
}

/* Allocators of devices are named GPU_0, GPU_0_bfc, MTIA_3 and so on. -1: it has none. */
static int32_t device_of(const struct profile *p, uint32_t allocator)
{
	const char *name = pp_intern_text(p->names, allocator, NULL), *at = strchr(name, '_');
	unsigned long number;
	char *end;

	if (!at || at[1] < '0' || at[1] > '9' || !strncmp(name, "CPU_", 4))
		return -1;
	number = strtoul(at + 1, &end, 10);
	return (*end && *end != '_') || number > UINT16_MAX ? -1 : (int32_t)number;
}

static int64_t bytes_of_device(const struct pp_rank *rank, int32_t device)
{
	for (size_t i = 0; i < rank->devices && device >= 0; i++)
		if (rank->device[i].number == (uint32_t)device && rank->device[i].memory)
			return rank->device[i].memory < INT64_MAX ? (int64_t)rank->device[i].memory : PP_UNKNOWN;
	return PP_UNKNOWN;
}

static int add_allocator(struct profile *p, const struct pp_rank *rank, struct call *call, size_t calls)
{
	uint64_t unmatched = match(call, calls, p->by);
	struct pp_row_allocator row = {.worker = p->worker, .allocator = call->a->allocator, .unmatched = unmatched}, *to;
	const struct pp_allocation *a;
	int is_counted, rc;
	size_t peak;

	for (size_t i = 0; i < calls; i++) {
		row.deallocations += call[i].a->is_free != 0;
		call[i].step = step_of(p, call[i].a);
		if (call[i].a->peak >= 0 && !call[i].a->is_counted)   /* counted is since the recording began only */
			row.peak_since_start_bytes = call[i].a->peak; /* the last one */
	}
	row.allocations = calls - row.deallocations;
	peak = find_peak(call, calls, &is_counted);
	a = call[peak].a;
	row.is_counted = (int8_t)is_counted;
	row.peak_bytes = add_sizes(call[peak].heap, a->reserved);
	row.peak_time_ns = a->time;
	row.peak_step = call[peak].step;
	row.stack_bytes = add_sizes(0, a->reserved);
	row.heap_bytes = call[peak].heap;
	row.free_bytes = size_of(a->available);
	row.capacity_bytes = a->available < 0 ? PP_UNKNOWN : add_sizes(row.peak_bytes, a->available);
	row.device = device_of(p, row.allocator);
	row.device_bytes = bytes_of_device(rank, row.device);
	row.fragmentation = share_of(a->fragmentation);
	if (!row.peak_since_start_bytes)
		row.peak_since_start_bytes = PP_UNKNOWN;
	row.timeline_left_out = calls > TIMELINE_MOST ? calls - TIMELINE_MOST : 0;
	to = pp_table_add(&p->allocator);
	if (!to)
		return -ENOMEM;
	*to = row;
	rc = add_timeline(p, call, calls);
	return rc ? rc : add_peaks(p, call, peak);
}

static int profile_rank(struct profile *p, const struct pp_rank *rank)
{
	int rc = 0;

	free(p->call);
	free(p->by);
	p->calls = rank->allocations;
	p->call = calloc(p->calls + 1, sizeof(*p->call));
	p->by = calloc(p->calls + 1, sizeof(*p->by)); /* NOLINT(bugprone-sizeof-expression): pointers */
	if (!p->call || !p->by)
		return -ENOMEM;
	for (size_t i = 0; i < p->calls; i++)
		p->call[i] = (struct call){.a = &rank->allocation[i], .number = i};
	qsort(p->call, p->calls, sizeof(*p->call), compare_allocator);
	p->worker = rank->rank;
	for (size_t i = 0, n; i < p->calls && !rc; i += n) {
		for (n = 1; i + n < p->calls && p->call[i + n].a->allocator == p->call[i].a->allocator; n++)
			;
		rc = add_allocator(p, rank, &p->call[i], n);
	}
	return rc;
}

int pp_join_memory_profile(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct profile p = {.allocator = {.desc = pp_table_desc(PP_TABLE_allocator)},
	                    .timeline = {.desc = pp_table_desc(PP_TABLE_memory_timeline)},
	                    .peak = {.desc = pp_table_desc(PP_TABLE_memory_peak)},
	                    .names = j->d->names};
	int rc = 0;

	for (size_t r = 0; r < capture->ranks && !rc; r++) {
		if (!capture->rank[r].allocations)
			continue;
		rc = list_windows(&p, j->in->steps, r, capture->ranks);
		if (!rc)
			rc = profile_rank(&p, &capture->rank[r]);
	}
	j->d->allocator = p.allocator.row;
	j->d->allocators = p.allocator.rows;
	j->d->memory_timeline = p.timeline.row;
	j->d->memory_timelines = p.timeline.rows;
	j->d->memory_peak = p.peak.row;
	j->d->memory_peaks = p.peak.rows;
	free(p.call);
	free(p.by);
	free(p.window);
	return rc;
}
