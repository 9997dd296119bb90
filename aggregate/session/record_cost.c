/* Measures the cost of a record; see record_cost.h. */
#include "aggregate/session/record_cost.h"

#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/now.h"
#include "core/ring/ring_file.h"
#include "core/source/emit_range.h"

enum {
	RECORDS = PP_RING_FIRST_CHUNKS * PP_CHUNK_RECORDS, /* the memory that a thread begins with: 256 KiB */
	LOOPS = 16,                                        /* the first one warms up */
	LIMIT_NS = 3000000
};

PP_COMPARE(order, uint64_t, PP_ORDER(*x, *y))

static void write_all(struct pp_record *record, _Atomic uint32_t *committed)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz";
	static const struct pp_emit push = {.kind = PP_RECORD_PUSH, .source = PP_SOURCE_API},
	                            pop = {.kind = PP_RECORD_POP, .source = PP_SOURCE_API};
	const _Atomic uint32_t recording = 1;
	struct pp_ring_cursor c = {record, record + RECORDS, record, committed, 1, 1};

	while (pp_emit_range_quick(&c, &recording, &push, name, sizeof(name) - 1) &&
	       pp_emit_range_quick(&c, &recording, &pop, "", 0))
		;
}

uint64_t pp_record_cost_ps(void)
{
	struct pp_record *record = calloc(RECORDS, sizeof(*record));
	_Atomic uint32_t committed = 0;
	uint64_t ps[LOOPS];
	int64_t begin = pp_clock_ns(CLOCK_MONOTONIC_RAW), now = begin;
	size_t n = 0;

	if (!record)
		return 0;
	pp_tick_init();
	write_all(record, &committed);
	while (n < LOOPS - 1 && (!n || now - begin < LIMIT_NS)) {
		int64_t from = pp_clock_ns(CLOCK_MONOTONIC_RAW);

		write_all(record, &committed);
		now = pp_clock_ns(CLOCK_MONOTONIC_RAW);
		ps[n++] = (uint64_t)(now - from) * 1000 / RECORDS;
	}
	free(record);
	qsort(ps, n, sizeof(*ps), order);
	return ps[n / 2];
}
