/* The pattern of collectives or messages as step marks; see pattern.h. Called by libpodprof-mpi.so through podprof_collector. */
#include "core/window/pattern.h"

#include "core/call/mpi_call.h"
#include "core/coord/self.h"
#include "core/ring/thread_ring.h"
#include "core/window/period.h"
#include "core/window/trigger.h"

enum { MANY_WITHOUT = 16 };  /* steps without a collective: messages are the step, not a loop between two reductions */
enum { UNEVEN = 5, OF = 4 }; /* times as many messages as in the step before: its ends are not where the collectives are */

_Atomic uint32_t pp_pattern_on;

static struct pp_period collectives, messages;
static const struct pp_period *used; /* by which steps are found; NULL: none yet */
static uint64_t steps;               /* steps that have ended, of all patterns */
static uint64_t known_from;          /* steps that had ended when the first pattern was found */
static uint64_t message_steps;       /* of the pattern of messages */
static uint64_t without;             /* of them, since the last collective */
static uint64_t without_from;        /* position in `messages` behind the last collective */
static uint64_t step_messages, last_messages, uneven;
static _Atomic uint32_t busy;
static _Atomic uint32_t has_ranges, yields; /* to ranges: while no pattern is used */

void pp_pattern_start(int after_ranges)
{
	if (after_ranges && atomic_load(&has_ranges))
		return;
	pp_period_init(&collectives);
	pp_period_init(&messages);
	used = NULL;
	steps = known_from = message_steps = without = without_from = step_messages = last_messages = uneven = 0;
	atomic_store(&yields, after_ranges != 0);
	atomic_store_explicit(&pp_pattern_on, PP_PATTERN_COLLECTIVES | PP_PATTERN_MESSAGES, memory_order_release);
}

static void stop(void)
{
	atomic_store_explicit(&pp_pattern_on, 0, memory_order_relaxed);
}

void pp_pattern_marked(void)
{
	if (!atomic_exchange(&pp_pattern_on, 0) || atomic_exchange_explicit(&busy, 1, memory_order_acquire))
		return;
	if (used)
		pp_trigger_again();
	atomic_store_explicit(&busy, 0, memory_order_release);
}

void pp_pattern_range(void)
{
	atomic_store(&has_ranges, 1);
	if (atomic_load(&yields))
		stop();
}

static void edge(void)
{
	struct pp_record r = {.kind = PP_RECORD_STEP_BEGIN};
	uint32_t runs = 0;

	if (!pp_self_is_rank())
		return;
	pp_thread_where()->step = (int64_t)steps;
	pp_trigger_step_begin((int64_t)steps);
	if (!atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed))
		return;
	r.tick = pp_tick_now();
	for (uint32_t i = 0; used == &collectives && i < used->period; i++)
		runs += used->pattern[i] == PP_PERIOD_MESSAGES;
	r.step.number = (int64_t)steps;
	r.step.level = pp_ring_level(pp_ring_pool.header);
	r.step.period = used->period | (used == &messages ? PP_STEP_OF_MESSAGES : 0) | runs << PP_STEP_RUNS_SHIFT;
	r.step.patterns = used->found;
	r.step.known_from = known_from;
	r.step.matched = used->matched;
	r.step.irregular = used->irregular + uneven;
	pp_ring_put(&r, NULL, 0);
}

/* From here on `by` decides. The other one is no longer fed. */
static void use(const struct pp_period *by, uint32_t wanted)
{
	uint32_t on = PP_PATTERN_COLLECTIVES | PP_PATTERN_MESSAGES;

	used = by;
	atomic_store(&yields, 0);
	known_from = steps;
	atomic_compare_exchange_strong(&pp_pattern_on, &on, wanted); /* it may have been stopped */
}

static void follow_collectives(uint32_t symbol)
{
	enum pp_period_event event = pp_period_feed(&collectives, symbol);

	if (event == PP_PERIOD_NOTHING)
		return;
	steps += event == PP_PERIOD_FOUND ? collectives.steps : 1;
	if (!used)
		use(&collectives, PP_PATTERN_COLLECTIVES);
	if (OF * step_messages > UNEVEN * last_messages && last_messages && event == PP_PERIOD_STEP)
		uneven += collectives.period;
	last_messages = event == PP_PERIOD_STEP ? step_messages : 0;
	step_messages = 0;
	if (!collectives.at)
		edge();
}

void pp_pattern_collective(uint16_t call, int32_t root, uint64_t bytes, uint32_t sent, int failed)
{
	uint32_t symbol;

	if (atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
		stop();
		return;
	}
	without = 0;
	without_from = messages.position;
	if (used != &messages) {
		symbol = failed ? PP_PERIOD_GAP
		                : pp_period_symbol(call, pp_mpi_call_joins_data(call), root,
		                                   pp_mpi_call_has_equal_bytes(call) ? bytes : 0);
		step_messages += sent;
		if (sent)
			follow_collectives(PP_PERIOD_MESSAGES);
		follow_collectives(symbol);
	}
	atomic_store_explicit(&busy, 0, memory_order_release);
}

static void follow_messages(uint32_t symbol)
{
	enum pp_period_event event = pp_period_feed(&messages, symbol);

	if (event == PP_PERIOD_NOTHING)
		return;
	message_steps += event == PP_PERIOD_FOUND ? messages.steps : 1;
	if (event == PP_PERIOD_FOUND)
		without = messages.start >= without_from ? messages.steps : 0;
	else
		without++;
	if (!used && without >= MANY_WITHOUT) {
		steps = message_steps;
		use(&messages, PP_PATTERN_COLLECTIVES | PP_PATTERN_MESSAGES);
	} else if (used) {
		steps = message_steps;
	}
	if (used && !messages.at)
		edge();
}

void pp_pattern_message(uint16_t call, int32_t peer, int32_t tag, uint64_t bytes)
{
	if (atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
		atomic_fetch_and_explicit(&pp_pattern_on, ~(uint32_t)PP_PATTERN_MESSAGES, memory_order_relaxed);
		return;
	}
	if (used != &collectives)
		follow_messages(pp_period_symbol(call, 1, peer, bytes ^ (uint64_t)(uint32_t)tag << 32));
	atomic_store_explicit(&busy, 0, memory_order_release);
}
