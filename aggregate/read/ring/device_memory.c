/* Counts memory of devices by the calls that allocate and free it; see device_memory.h. Called by device_link.c. */
#include "aggregate/read/ring/device_memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

PP_COMPARE(compare_time, struct pp_allocation *const, PP_ORDER((*x)->time, (*y)->time) ?: PP_ORDER(*x, *y))

/* Both are in the order of time by now. */
PP_COMPARE(compare_address, struct pp_allocation *const,
           PP_ORDER((*x)->allocator, (*y)->allocator) ?: PP_ORDER((*x)->address, (*y)->address) ?: PP_ORDER(*x, *y))

PP_COMPARE(compare_allocator, struct pp_allocation *const, PP_ORDER((*x)->allocator, (*y)->allocator) ?: PP_ORDER(*x, *y))

/* Leaves in `peak` what each call changes. A free without its allocation changes nothing: that was not counted. An address
 * that is allocated twice was freed between. */
static void match(struct pp_allocation **by, size_t n)
{
	struct pp_allocation *open = NULL;

	for (size_t i = 0; i < n; i++) {
		struct pp_allocation *a = by[i];
		int64_t before;

		if (open && (open->allocator != a->allocator || open->address != a->address))
			open = NULL;
		before = open && open->bytes > 0 ? open->bytes : 0;
		if (a->is_free) {
			a->bytes = open ? open->bytes : a->bytes;
			a->requested = open ? open->requested : a->requested;
			a->op = a->op || !open ? a->op : open->op;
			a->peak = -before;
			open = NULL;
		} else {
			a->peak = (a->bytes > 0 ? a->bytes : 0) - before;
			open = a;
		}
	}
}

/* A pool reports what is in use, if one of its calls does. */
static int reports(struct pp_allocation *const *by, size_t n)
{
	for (size_t i = 0; i < n && by[i]->allocator == by[0]->allocator; i++)
		if (by[i]->allocated > 0)
			return 1;
	return 0;
}

static void sum(struct pp_allocation **by, size_t n)
{
	int64_t heap = 0, peak = 0;
	int is_reported = 0;

	for (size_t i = 0; i < n; i++) {
		struct pp_allocation *a = by[i];

		if (!i || by[i - 1]->allocator != a->allocator) {
			heap = peak = 0;
			is_reported = reports(&by[i], n - i);
		}
		if (__builtin_add_overflow(heap, a->peak, &heap))
			heap = INT64_MAX;
		heap = heap < 0 ? 0 : heap;
		if (is_reported)
			heap = a->allocated > 0 ? a->allocated : 0;
		peak = heap > peak ? heap : peak;
		a->allocated = heap;
		a->peak = is_reported ? -1 : peak; /* of the recorded time only: not since the start */
		a->reserved = 0;
		a->is_counted = !is_reported;
	}
}

int pp_device_count_memory(struct pp_rank *rank)
{
	size_t n = rank->allocations;
	struct pp_allocation **by = calloc(n + 1, sizeof(*by)); /* NOLINT(bugprone-sizeof-expression): pointers */
	struct pp_allocation *sorted = calloc(n + 1, sizeof(*sorted));

	if (!by || !sorted) {
		free(by);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		by[i] = &rank->allocation[i];
	qsort(by, n, sizeof(*by), compare_time); /* NOLINT(bugprone-sizeof-expression): pointers */
	for (size_t i = 0; i < n; i++)
		sorted[i] = *by[i];
	free(rank->allocation);
	rank->allocation = sorted;
	for (size_t i = 0; i < n; i++)
		by[i] = &sorted[i];
	qsort(by, n, sizeof(*by), compare_address); /* NOLINT(bugprone-sizeof-expression): pointers */
	match(by, n);
	qsort(by, n, sizeof(*by), compare_allocator); /* NOLINT(bugprone-sizeof-expression): pointers */
	sum(by, n);
	free(by);
	return 0;
}
