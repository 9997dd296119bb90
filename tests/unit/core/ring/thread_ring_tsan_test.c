/* Two writers, threads that come and go, and the drain as threads of one process, built with -fsanitize=thread: every store that
 * the keeper reads is ordered. */
#include "tests/unit/core/ring/ring_kit.h"

enum { WRITERS = 2, MARKS = 200000, STARTERS = 3, SHORT_THREADS = 400, SHORT_MARKS = 50 };

static _Atomic int done, is_slow;
static uint64_t marks, ends, bytes, broken;
static uint64_t expected[PP_RING_THREADS];

static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)context;
	for (uint32_t i = 0; i < count; i++) {
		if (r[i].kind == PP_RECORD_THREAD_END) {
			ends++;
			expected[slot] = 0;
		}
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
		if (atomic_load(&is_slow)) /* threads end meanwhile, and others go on in their slots */
			usleep(200);
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

static void *short_thread(void *arg)
{
	for (uint64_t i = 0; i < SHORT_MARKS; i++)
		kit_mark("short", 5, i);
	return arg;
}

static void *starter(void *arg)
{
	for (int i = 0; i < SHORT_THREADS; i++) {
		pthread_t t;

		if (!pthread_create(&t, NULL, short_thread, NULL))
			pthread_join(t, NULL);
	}
	return arg;
}

int main(void)
{
	pthread_t w[WRITERS], s[STARTERS], r;

	CHECK(kit_open(64 << 20));
	pthread_create(&r, NULL, reader, NULL);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < WRITERS; i++)
			pthread_create(&w[i], NULL, writer, NULL);
		for (int i = 0; i < WRITERS; i++)
			pthread_join(w[i], NULL);
	}
	atomic_store(&is_slow, 1);
	for (int i = 0; i < STARTERS; i++)
		pthread_create(&s[i], NULL, starter, NULL);
	for (int i = 0; i < STARTERS; i++)
		pthread_join(s[i], NULL);
	atomic_store(&done, 1);
	pthread_join(r, NULL);
	CHECK_INT(marks + kit_lost(PP_LOSS_RING_FULL), 3 * WRITERS * MARKS + STARTERS * SHORT_THREADS * SHORT_MARKS);
	CHECK(ends > 0);
	CHECK_INT(atomic_load(&pp_ring_pool.header->lost_threads), 0);
	CHECK(atomic_load(&pp_ring_pool.header->thread_used) <= WRITERS + STARTERS + 1);
	if (!kit_lost(PP_LOSS_RING_FULL))
		CHECK_INT(broken, 0);
	kit_close();
	return test_end();
}
