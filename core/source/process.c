/* CPU time, faults, context switches and most memory of the process, by getrusage at the edges of steps. Called by api.c.
* A step has numbers where both edges were read; the tick limits how often: most marks cost a comparison. */
#include "core/source/process.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "core/ring/thread_ring.h"
#include "core/source/source.h"
#include "core/window/trigger.h"

enum { PERIOD_NS = 100000000, SHARE_NS = 1000000, CALIBRATE_NS = 1000000 };

enum open { CLOSED, PAID, SHARES }; /* the open step: not read, begin and end are due, its begin is the end of the one before */

static atomic_flag busy = ATOMIC_FLAG_INIT;
static struct pp_thread_ring *owner; /* the thread whose steps are read */
static pp_tick first_tick, first_raw;
static pp_tick period, share; /* in ticks; 0 until the tick is known for 1 ms */
static pp_tick free_from;     /* when all readings so far are due, one per period; three may be ahead */
static pp_tick last;          /* newest reading, if at a step's end; else 0 */
static uint32_t sequence;
static enum open open_step;
static int64_t open_number;
static uint32_t open_recording; /* value of pp_wiped.recording when it began */

/* One division, once, 1 ms after the claim. */
static void calibrate(pp_tick now)
{
	pp_tick raw = pp_tick_kind == PP_TICK_RAW ? now : pp_tick_raw();

	if (raw - first_raw < CALIBRATE_NS)
		return;
	period = (pp_tick)((double)(now - first_tick) * (double)PERIOD_NS / (double)(raw - first_raw));
	free_from += 2 * period; /* of the first reading, when it was unknown */
	share = period / (PERIOD_NS / SHARE_NS);
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static pp_tick sample(int is_end)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_PROCESS};
	int saved = errno;
	struct rusage u;

	if (!getrusage(RUSAGE_SELF, &u)) {
		r.process = (struct pp_record_process){
		        .number = open_number,
		        .user_ns = ns_of(u.ru_utime),
		        .system_ns = ns_of(u.ru_stime),
		        .minor_faults = (uint32_t)u.ru_minflt,
		        .major_faults = (uint32_t)u.ru_majflt,
		        .voluntary = (uint32_t)u.ru_nvcsw,
		        .involuntary = (uint32_t)u.ru_nivcsw,
		        .peak_kib = (uint32_t)u.ru_maxrss,
		        .sequence_flags = ++sequence << 1 | (is_end != 0),
		};
		pp_ring_put(&r, NULL, 0);
	}
	errno = saved;
	return r.tick;
}

/* Two step threads at once, or a handler: the other one's steps are read. */
static int enter(void)
{
	if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		return 0;
	if (!owner)
		owner = pp_thread_enter();
	if (owner && owner == pp_thread_self)
		return 1;
	atomic_flag_clear_explicit(&busy, memory_order_release);
	return 0;
}

static void leave(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

static void pay(pp_tick now, unsigned samples)
{
	free_from = (free_from > now ? free_from : now) + samples * period;
}

static void end_open(pp_tick now)
{
	/* A step that recording went off in has no end. */
	int same = open_recording == atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed);

	if (same && (open_step == PAID || (period && free_from <= now + 2 * period))) {
		last = sample(1);
		if (open_step == SHARES)
			pay(last, 1);
	} else {
		last = 0;
	}
	open_step = CLOSED;
}

static void begin_open(pp_tick now, int64_t number)
{
	/* The edge steps of a window are in no table: reading them would use up readings of steps that are. */
	if (!pp_trigger_asks()) {
		last = 0;
		return;
	}
	open_number = number;
	open_recording = atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed);
	if (last && now - last <= share) {
		open_step = SHARES;
	} else if (free_from <= now + period && (period || !sequence)) {
		open_step = PAID;
		last = 0;
		pay(sample(0), 2);
	}
}

void pp_process_step_begin(int64_t number)
{
	pp_tick now = pp_tick_now();

	if (!enter())
		return;
	if (!period)
		calibrate(now);
	if (open_step)
		end_open(now);
	begin_open(now, number);
	leave();
}

void pp_process_step_end(void)
{
	if (!enter())
		return;
	if (open_step)
		end_open(pp_tick_now());
	leave();
}

static void start(void)
{
	/* In a forked child that becomes a rank itself, these are its parent's. */
	atomic_flag_clear(&busy);
	owner = NULL;
	period = share = free_from = last = 0;
	sequence = 0;
	open_step = CLOSED;
	first_tick = pp_tick_now();
	first_raw = pp_tick_kind == PP_TICK_RAW ? first_tick : pp_tick_raw();
}

extern const struct pp_source_ops pp_source_process;

const struct pp_source_ops pp_source_process = {.name = "process", .start = start};
