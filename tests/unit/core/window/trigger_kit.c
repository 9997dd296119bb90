/* What trigger.c wants of the guest, as far as its tests need it; see trigger_kit.h. */
#include "tests/unit/core/window/trigger_kit.h"

#include <string.h>

#include "core/ring/thread_ring.h"

struct pp_control kit_page;
struct pp_ring_header kit_header;
_Atomic int kit_recording, kit_switches, kit_step_ends;

_Thread_local struct pp_thread_ring kit_ring_of_thread;
_Thread_local struct pp_thread_ring *pp_thread_self;
struct pp_pool pp_ring_pool;
struct pp_wiped pp_wiped;

static void record(int on)
{
	atomic_store(&kit_recording, on);
	atomic_fetch_add(&kit_switches, 1);
}

int pp_ring_put(const struct pp_record *head, const void *rest, uint32_t rest_length)
{
	(void)rest;
	(void)rest_length;
	if (head->kind == PP_RECORD_STEP_END)
		atomic_fetch_add(&kit_step_ends, 1);
	return 1;
}

void kit_claim(const char *steps, int by_time)
{
	struct pp_step_windows asked = {0};

	memset((void *)&kit_page, 0, sizeof(kit_page));
	memset((void *)&kit_header, 0, sizeof(kit_header));
	pp_ring_pool.header = &kit_header;
	atomic_store(&pp_wiped.is_rank, 1);
	atomic_store(&kit_recording, 1);
	atomic_store(&kit_switches, 0);
	atomic_store(&kit_step_ends, 0);
	if (*steps)
		pp_step_windows_parse(steps, &asked, NULL);
	pp_trigger_start(&asked, by_time, &kit_page, record);
}

uint32_t kit_ring(enum pp_ask_kind kind, int64_t first, int64_t last)
{
	uint32_t number = atomic_load(&kit_page.bell) + 1;

	atomic_store_explicit(&kit_page.request_first, first, memory_order_relaxed);
	atomic_store_explicit(&kit_page.request_last, last, memory_order_relaxed);
	atomic_store_explicit(&kit_page.request_kind, (uint32_t)kind, memory_order_relaxed);
	atomic_store_explicit(&kit_page.bell, number, memory_order_release);
	return number;
}

int kit_word(uint32_t number)
{
	uint64_t word = atomic_load_explicit(&kit_header.request, memory_order_acquire);

	return word >> 8 == number ? (int)(word & 0xff) : -1;
}

int kit_step(int64_t number)
{
	int recorded;

	pp_thread_self = &kit_ring_of_thread;
	pp_trigger_step_begin(number);
	recorded = atomic_load(&kit_recording);
	pp_trigger_step_end();
	return recorded;
}
