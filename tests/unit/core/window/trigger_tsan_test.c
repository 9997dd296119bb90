/* Two threads that mark steps, two that look as MPI calls do, one that opens windows, and the keeper that rings, as threads of one
 * process, built with -fsanitize=thread: the states are one thread's at a time, and no word gets lost. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/core/window/trigger_kit.h"

enum { RINGS = 40000, WINDOWS = 5000 };

static _Atomic int done;
static _Atomic int64_t step;
static _Atomic uint32_t asking; /* one at a time: what pp_coord_ops promises of its caller */
static _Atomic int together;
static uint32_t asked_number, turns;
static int64_t asked_step;

static int fake_ask(uint32_t number, int64_t here)
{
	atomic_fetch_add(&together, atomic_exchange(&asking, 1) != 0);
	asked_number = number;
	asked_step = here;
	atomic_store(&asking, 0);
	return ++turns % 3 ? -EAGAIN : 0;
}

static int fake_answer(uint32_t number, int64_t *ret_step)
{
	atomic_fetch_add(&together, atomic_exchange(&asking, 1) != 0);
	*ret_step = asked_step + 1;
	atomic_fetch_add(&together, number != asked_number);
	atomic_store(&asking, 0);
	return ++turns % 2;
}

static const struct pp_coord_ops fake = {.name = "fake", .ask = fake_ask, .answer = fake_answer};

static void *marker(void *arg)
{
	while (!atomic_load(&done)) {
		kit_step(atomic_fetch_add(&step, 1));
		sched_yield();
	}
	return arg;
}

/* Two look as MPI calls do, and ask as the shim does. */
static void *looker(void *arg)
{
	while (!atomic_load(&done)) {
		pp_trigger_is_edge(atomic_load(&step));
		if (pp_trigger_is_rung())
			pp_trigger_poll();
		sched_yield();
	}
	return arg;
}

static void *program(void *arg)
{
	for (int i = 0; i < WINDOWS; i++) {
		pp_trigger_open("window");
		sched_yield();
		pp_trigger_close();
		if (i % 50 == 0)
			pp_trigger_steps(atomic_load(&step) + 1000, atomic_load(&step) + 1010);
	}
	return arg;
}

/* Every request is settled before the next one, as the keeper waits for it. */
static int keep(void)
{
	static const enum pp_ask_kind kinds[] = {PP_ASK_AGREE, PP_ASK_STEPS, PP_ASK_NOW, PP_ASK_NOTHING};
	int unheard = 0;

	for (int i = 0; i < RINGS && !unheard; i++) {
		int64_t here = atomic_load(&step);

		if (kinds[i % 4] == PP_ASK_STEPS)
			kit_ring(PP_ASK_STEPS, here + 5, here + 9);
		else
			kit_ring(kinds[i % 4], 20, 3);
		for (int tries = 0; tries < 1000000 && pp_trigger_is_rung(); tries++)
			sched_yield();
		unheard = pp_trigger_is_rung();
	}
	return unheard;
}

int main(void)
{
	void *(*const work[])(void *) = {program, marker, marker, looker, looker};
	enum { THREADS = sizeof(work) / sizeof(work[0]) };
	pthread_t thread[THREADS];

	kit_claim("100:110,5000:5010", 0);
	pp_trigger_coordinate(&fake);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work[i], NULL);
	CHECK_INT(keep(), 0);
	pthread_join(thread[0], NULL);
	atomic_store(&done, 1);
	for (int i = 1; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK_INT(together, 0);
	kit_ring(PP_ASK_NOTHING, 0, 0);
	kit_step(atomic_load(&step) + 6000); /* behind all windows */
	kit_step(atomic_load(&step) + 6001);
	CHECK(!kit_recording && !pp_trigger_is_rung());
	CHECK_INT(kit_header.windows_passed, 2);
	CHECK(kit_header.api_windows >= WINDOWS / 2 && kit_header.api_windows <= WINDOWS + WINDOWS / 50);
	for (int i = 0; i < PP_WINDOW_ROWS; i++)
		CHECK(kit_header.api_window[i].state == PP_API_WINDOW_PASSED ||
		      kit_header.api_window[i].state == PP_API_WINDOW_MISSED);
	CHECK_INT(kit_header.api_strays, 0);
	return test_end();
}
