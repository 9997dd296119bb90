/* The pattern of collectives as step marks; see pattern.h. Called by libpodprof-mpi.so through podprof_collector. */
#include "core/window/pattern.h"

#include "core/call/mpi_call.h"
#include "core/coord/self.h"
#include "core/ring/thread_ring.h"
#include "core/window/period.h"
#include "core/window/trigger.h"

_Atomic uint32_t pp_pattern_on;

static struct pp_period machine;
static uint64_t steps;      /* steps that have ended, of all patterns */
static uint64_t known_from; /* steps that had ended when the first pattern was found */
static _Atomic uint32_t busy;

void pp_pattern_start(void)
{
	pp_period_init(&machine);
	steps = known_from = 0;
	atomic_store_explicit(&pp_pattern_on, 1, memory_order_release);
}

void pp_pattern_stop(void)
{
	atomic_store_explicit(&pp_pattern_on, 0, memory_order_relaxed);
}

static void edge(void)
{
	struct pp_record r = {.kind = PP_RECORD_STEP_BEGIN};

	if (!pp_self_is_rank())
		return;
	pp_thread_where()->step = (int64_t)steps;
	pp_trigger_step_begin((int64_t)steps);
	if (!atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed))
		return;
	r.tick = pp_tick_now();
	r.step.number = (int64_t)steps;
	r.step.period = machine.period;
	r.step.patterns = machine.found;
	r.step.known_from = known_from;
	r.step.matched = machine.matched;
	r.step.irregular = machine.irregular;
	pp_ring_put(&r, NULL, 0);
}

void pp_pattern_collective(uint16_t call, int32_t root, uint64_t bytes, int failed)
{
	uint32_t symbol;

	if (atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
		pp_pattern_stop();
		return;
	}
	symbol = failed ? PP_PERIOD_GAP
	                : pp_period_symbol(call, pp_mpi_call_joins_data(call), root, pp_mpi_call_has_equal_bytes(call) ? bytes : 0);
	switch (pp_period_feed(&machine, symbol)) {
	case PP_PERIOD_FOUND:
		steps += machine.steps;
		if (machine.found == 1)
			known_from = steps;
		if (!machine.at)
			edge();
		break;
	case PP_PERIOD_STEP:
		steps++;
		edge();
		break;
	default:
		break;
	}
	atomic_store_explicit(&busy, 0, memory_order_release);
}
