/* Two writers and the drain as threads of one process, built with -fsanitize=thread: every store the keeper reads is ordered. */
#include "tests/unit/core/ring_kit.h"

enum { WRITERS = 2, MARKS = 200000 };

static _Atomic int done;
static uint64_t marks, bytes, broken;
static uint64_t expected[PP_RING_THREADS];

static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)context;
	for (uint32_t i = 0; i < count; i++) {
		if (r[i].kind != PP_RECORD_MARK)
			continue;
		marks++;
		bytes += r[i].length;
		broken += r[i].range.id != expected[slot]++;
	}
}

static void on_ended(void *context, uint32_t slot)
{
	(void)context;
	expected[slot] = 0;
}

static void *reader(void *arg)
{
	const struct pp_drain_sink sink = {.records = on_records, .ended = on_ended};
	int last;

	do {
		last = atomic_load(&done);
		pp_drain_run(kit_drain, &sink);
	} while (!last);
	return arg;
}

static void *writer(void *arg)
{
	static const char text[] = "a name of the application that needs one more record than the first";

	for (uint64_t i = 0; i < MARKS; i++)
		kit_mark(text, i % sizeof(text), i);
	return arg;
}

int main(void)
{
	pthread_t w[WRITERS], r;

	CHECK(kit_open(64 << 20));
	pthread_create(&r, NULL, reader, NULL);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < WRITERS; i++)
			pthread_create(&w[i], NULL, writer, NULL);
		for (int i = 0; i < WRITERS; i++)
			pthread_join(w[i], NULL);
	}
	atomic_store(&done, 1);
	pthread_join(r, NULL);
	CHECK_INT(marks + kit_lost(PP_LOSS_RING_FULL), 3 * WRITERS * MARKS);
	if (!kit_lost(PP_LOSS_RING_FULL))
		CHECK_INT(broken, 0);
	kit_close();
	return test_end();
}
