/* Switches CUPTI on and off, and reads its buffers. Called by cupti.c on podprof's thread.
 *
 * cuptiFinalize() is never called: it is safe only inside a callback of CUDA, on a thread of the application (elsewhere it has
 * raced with other threads and crashed), and CUPTI did not come back after it in some releases. So libcupti stays attached with
 * everything switched off. The subscriber is given back with each window, so that other tools may have it in between, except in
 * releases of cupti_release.c that need it from the begin. */
#include "core/source/cupti/cupti_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/lazy.h"
#include "core/base/now.h"
#include "core/ring/thread_ring.h"
#include "core/source/cupti/cupti_decode.h"
#include "core/source/cupti/cupti_library.h"
#include "core/source/cupti/cupti_others.h"
#include "core/source/cupti/cupti_pool.h"
#include "core/source/cupti/cupti_release.h"
#include "core/source/cupti/cupti_why.h"

enum { READINGS = 7, PERIOD_MS = 1000, FIRST_MS = 100, EMPTY_MS = 50, READ_MS = 300 };

enum { FIRST_NEED_MS = 2000 }; /* before the first window, of which nothing is known yet */

enum call { CLOCK, THREADS, NAMES, SYNCS, OFF, FLUSH, BACK, DROPPED, CALLS }; /* whose failure is no reason to stop */

static struct pp_cupti_api api;
static struct pp_cupti_decode *decode; /* from the first attachment on */
static void *subscriber;
static uint64_t enabled; /* kinds, by bit */
static int by_number;    /* calls are selected one by one */
static uint32_t others;  /* pp_cupti_others_registered() when ours were registered */
static int64_t last_flush_ms;
static uint64_t not_delivered; /* records that CUPTI says it dropped, in no record of ours yet: it says so once */
static uint32_t jumps_reported;
static int64_t error_reported; /* the clock's, ns */
static struct pp_record cover; /* DEVICE_COVER that is not in the ring yet; kind 0: none */
static int64_t attached_ms;    /* when it began to attach */
static _Atomic int64_t ready_ms = FIRST_NEED_MS;
static int is_ready;          /* something that was launched after CUPTI was on has its record */
static uint32_t failed_calls; /* bit: enum call, reported */
static int is_lasting;        /* the subscriber stays, by cupti_release.h */
static int holds_empty;       /* CUPTI keeps buffers that have no record */

void pp_cupti_remark(const char *text)
{
	size_t length = strlen(text), n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_REMARK, .length = (uint32_t)length};

	memcpy(r.range.text, text, n);
	pp_ring_put(&r, text + n, (uint32_t)(length - n));
}

static void remark_result(const char *what, int result)
{
	char text[256], buffer[16];

	snprintf(text, sizeof(text), "CUPTI: %s: %s. %s", what, pp_cupti_why(result, buffer), pp_cupti_fix(result));
	pp_cupti_remark(text);
}

/* The result of a call without which recording goes on; reported once. 0: it succeeded. */
static int check(enum call call, int result)
{
	static const char *const what[CALLS] = {
	        [CLOCK] = "times of devices are unknown",          [THREADS] = "threads of calls are unknown",
	        [NAMES] = "names of devices are unknown",          [SYNCS] = "waits for devices may have more records",
	        [OFF] = "it may go on recording after the window", [FLUSH] = "records of devices could not be fetched",
	        [BACK] = "it keeps other profilers out",           [DROPPED] = "it does not say how many records it dropped",
	};

	if (!result || failed_calls & 1U << call)
		return result;
	failed_calls |= 1U << call;
	remark_result(what[call], result);
	return result;
}

int pp_cupti_cuda_is_up(void)
{
	struct pp_cuda_driver cuda;
	int devices = 0;

	return !pp_cuda_find(0, &cuda) && !cuda.device_count(&devices) && devices > 0;
}

static int load(const char *asked)
{
	struct pp_cuda_driver cuda;
	struct pp_err err = {""};
	int version = 0;

	if (api.library)
		return 0;
	if (pp_cuda_find(0, &cuda) || cuda.version(&version))
		version = 0;
	if (pp_cupti_find(asked, version, &api, &err)) {
		api.library = NULL;
		pp_cupti_remark(err.text);
		return -ENOENT;
	}
	return 0;
}

static int check_version(void)
{
	char text[160];
	int rc = api.get_version(&api.version);

	if (rc) {
		remark_result("devices are not recorded", rc);
		return -1;
	}
	if (pp_cupti_policy(api.version) != PP_CUPTI_REFUSE)
		return 0;
	snprintf(text, sizeof(text),
	         "CUPTI: devices are not recorded: its version %u is older than CUDA 12, and may crash programs with CUDA graphs. "
	         "Give --cupti a newer libcupti",
	         api.version);
	pp_cupti_remark(text);
	return -1;
}

static void no_callback(void *data, int domain, uint32_t number, const void *info)
{
	(void)data;
	(void)domain;
	(void)number;
	(void)info;
}

/* Only the subscriber is exclusive in CUPTI: who is refused leaves CUPTI alone. */
static int subscribe(void)
{
	char other[64] = "", text[256];
	struct pp_cupti_subscriber params = {sizeof(params), "podprof", other, sizeof(other)};
	int rc = 0;

	if (!subscriber)
		rc = api.subscribe_v2 ? api.subscribe_v2(&subscriber, no_callback, NULL, &params)
		                      : api.subscribe(&subscriber, no_callback, NULL);
	if (!rc)
		return 0;
	subscriber = NULL;
	other[sizeof(other) - 1] = '\0';
	if (rc == PP_CUPTI_SUBSCRIBERS && *other) {
		snprintf(text, sizeof(text),
		         "CUPTI: devices are not recorded: another profiler uses it: %s. Run without that profiler", other);
		pp_cupti_remark(text);
	} else {
		remark_result("devices are not recorded", rc);
	}
	return -1;
}

static void read_clock(void)
{
	struct pp_cupti_pair best = {0};
	pp_tick width = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		struct pp_cupti_pair p;
		uint64_t ns = 0;
		int64_t began = (int64_t)pp_tick_raw();
		pp_tick before = pp_tick_now(), after;

		if (check(CLOCK, api.get_timestamp(&ns)))
			return;
		after = pp_tick_now();
		p.tick = before + (after - before) / 2;
		p.ns = (int64_t)ns;
		p.raw = (int64_t)pp_tick_raw();
		p.width_ns = p.raw - began;
		if (after - before < width) {
			width = after - before;
			best = p;
		}
	}
	pp_cupti_clock_add(&decode->clock, &best);
	if (decode->clock.jumps && !jumps_reported) {
		jumps_reported = 1;
		pp_cupti_remark("CUPTI: the wall clock was set while devices were recorded: times near that moment may be "
		                "as wrong");
	}
}

/* The calls that are recorded; older CUPTI cannot select them and reports all. */
static int enable_calls(uint8_t on)
{
	if (on)
		by_number = api.enable_driver && api.enable_runtime;
	for (uint32_t i = 0; by_number && i < PP_CUPTI_NUMBERS; i++) {
		if (pp_cupti_decode_wants(decode, 0, i))
			api.enable_driver(i, on);
		/* Numbers that this CUPTI does not know are refused: no call has them. One that it refuses although it is in all
		 * versions, cudaLaunchKernel, means that it cannot select. */
		if (pp_cupti_decode_wants(decode, 1, i) && api.enable_runtime(i, on) && on && i == 211)
			by_number = 0;
	}
	return by_number;
}

static int enable(int kind)
{
	int rc = api.enable(kind);

	if (!rc)
		enabled |= UINT64_C(1) << kind;
	return rc;
}

static int enable_all(void)
{
	static const int more[] = {PP_CUPTI_MEMCPY, PP_CUPTI_MEMCPY2, PP_CUPTI_MEMSET, PP_CUPTI_MEMORY2,
	                           PP_CUPTI_POOL,   PP_CUPTI_SYNC,    PP_CUPTI_JIT,    PP_CUPTI_OVERHEAD};
	int rc = enable(PP_CUPTI_KERNEL), missing = 0;

	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		int one = enable(more[i]);

		if (one && !missing)
			missing = one;
	}
	if (api.all_sync)
		check(SYNCS, api.all_sync(0));
	if (!enable_calls(1)) {
		rc = enable(PP_CUPTI_RUNTIME);
		if (!rc)
			rc = enable(PP_CUPTI_DRIVER);
		if (rc && !missing)
			missing = rc;
	}
	if (missing)
		remark_result("some kinds of records are missing", missing);
	return 0;
}

/* Kinds that another user has enabled meanwhile stay on. */
static void disable_all(uint64_t keep)
{
	if (by_number)
		enable_calls(0);
	by_number = 0;
	for (int i = 0; i < PP_CUPTI_KINDS; i++)
		if (enabled & UINT64_C(1) << i && !(keep & UINT64_C(1) << i))
			check(OFF, api.disable(i));
	enabled = 0;
}

static void give_back(void)
{
	pp_cupti_others_flush(NULL);
	if (!subscriber || is_lasting)
		return;
	check(BACK, api.unsubscribe(subscriber));
	subscriber = NULL;
}

/* From the first call of CUPTI on. */
static int begin(void)
{
	static void *_Atomic room;
	int rc;

	failed_calls = 0;
	if (check_version() || subscribe())
		return -1;
	is_lasting = pp_cupti_policy(api.version) == PP_CUPTI_EARLY;
	decode = pp_lazy(&room, sizeof(*decode));
	rc = decode ? pp_cupti_pool_start(api.version >= PP_CUPTI_API_NULL_BUFFER) : -1;
	if (rc) {
		pp_cupti_remark("CUPTI: devices are not recorded: no memory for its buffers");
		goto unsubscribe;
	}
	check(THREADS, api.thread_id_type(PP_CUPTI_TID_SYSTEM));
	others = pp_cupti_others_registered();
	rc = api.register_callbacks(pp_cupti_pool_request, pp_cupti_pool_complete);
	if (rc)
		goto reported;
	pp_cupti_decode_init(decode, &api);
	decode->own_tid = (uint32_t)syscall(SYS_gettid);
	pp_cupti_clock_reset(&decode->clock);
	pp_cupti_due_reset(&decode->due);
	jumps_reported = 0;
	error_reported = 0;
	read_clock();
	if (api.enable_and_dump)
		check(NAMES, api.enable_and_dump(PP_CUPTI_DEVICE));
	rc = enable_all();
	if (rc)
		goto disable;
	if (api.is_replay)
		pp_cupti_remark("CUPTI: a stand-in replays records of devices: no device ran");
	return 0;
disable:
	api.disable(PP_CUPTI_DEVICE);
	disable_all(0);
reported:
	remark_result("devices are not recorded", rc);
unsubscribe:
	give_back();
	return -1;
}

static void put_cover(void)
{
	if (cover.kind && pp_ring_put(&cover, NULL, 0))
		cover.kind = 0;
}

static void set_cover(int is_on, pp_tick since, int is_idle)
{
	put_cover();
	cover = (struct pp_record){.tick = pp_tick_now(),
	                           .kind = PP_RECORD_DEVICE_COVER,
	                           .device_cover = {.is_on = (uint32_t)is_on, .since = since, .is_idle = (uint32_t)is_idle}};
	put_cover();
}

/* Twice what it took: the next time may be slower. */
static void measure_start(void)
{
	if (is_ready || !decode->due.complete)
		return;
	is_ready = 1;
	atomic_store(&ready_ms, 2 * (pp_now_ms() - attached_ms));
}

int64_t pp_cupti_ready_ms(void)
{
	return atomic_load(&ready_ms);
}

int pp_cupti_early(const char *asked)
{
	struct pp_cuda_driver cuda;
	int version = 0;

	if (pp_cuda_find(0, &cuda) || cuda.version(&version))
		return 0;
	/* A libcupti of CUDA 13 is left alone until the first window. */
	if ((!*asked && !pp_cupti_may_be_12(version)) || load(asked) || api.get_version(&api.version) ||
	    pp_cupti_policy(api.version) != PP_CUPTI_EARLY || pp_cupti_others_kinds())
		return 0;
	is_lasting = !subscribe();
	return is_lasting;
}

uint32_t pp_cupti_copies(void)
{
	return pp_cupti_count_loaded();
}

int pp_cupti_attach(const char *asked, pp_tick since)
{
	attached_ms = pp_now_ms();
	is_ready = 0;
	if (pp_cupti_others_kinds()) {
		pp_cupti_remark("CUPTI: devices are not recorded: another profiler of the program uses it, as torch.profiler does. "
		                "Run without that profiler");
		return -1;
	}
	pp_thread_enter();
	if (load(asked) || begin())
		return -1;
	enabled |= UINT64_C(1) << PP_CUPTI_DEVICE;
	set_cover(1, since, 0);
	last_flush_ms = pp_now_ms();
	pp_cupti_others_flush(api.flush_all);
	return 0;
}

/* Reads the full buffers; how many they were. */
static uint32_t drain(void)
{
	struct pp_cupti_buffer *b = pp_cupti_pool_take(), *next;
	uint32_t n = 0;

	if (b)
		read_clock(); /* its times are all before */
	for (; b; b = next, n++) {
		next = b->next;
		pp_cupti_decode(decode, b->data, b->valid);
		pp_cupti_pool_give(b);
	}
	return n;
}

/* What is in no record, and by how much times may be wrong. Numbers that cannot be written stay for the next time. */
static void count_lost(void)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_DEVICE_LOST};
	size_t dropped = 0;

	if (!atomic_load(&pp_wiped.recording) || !decode)
		return;
	if (api.dropped && !check(DROPPED, api.dropped(NULL, 0, &dropped)))
		not_delivered += dropped;
	r.device_lost.dropped = not_delivered + decode->late;
	r.device_lost.untimed = decode->untimed;
	r.device_lost.unknown = decode->unknown;
	r.device_lost.reversed = decode->reversed;
	r.device_lost.of_other_clock = decode->of_other_clock;
	r.device_lost.clock_error_ns = (uint64_t)decode->clock.error_ns;
	if (!r.device_lost.dropped && !decode->untimed && !decode->unknown && !decode->reversed && !decode->of_other_clock &&
	    decode->clock.error_ns <= error_reported)
		return;
	if (!pp_ring_put(&r, NULL, 0))
		return;
	error_reported = decode->clock.error_ns;
	not_delivered = 0;
	decode->late = decode->untimed = decode->unknown = decode->reversed = decode->of_other_clock = 0;
}

static void yield_to_other(void)
{
	set_cover(0, 0, 0);
	pp_cupti_remark(
	        "CUPTI: devices were recorded up to here: another profiler of the program took it over, as torch.profiler does");
	disable_all(pp_cupti_others_kinds());
	drain();
	count_lost();
	give_back();
}

int pp_cupti_poll(void)
{
	int64_t now = pp_now_ms();

	if (pp_cupti_others_registered() != others) {
		yield_to_other();
		return -EBUSY;
	}
	drain();
	put_cover();
	measure_start();
	if (now - last_flush_ms < (is_ready ? PERIOD_MS : FIRST_MS))
		return 0;
	last_flush_ms = now;
	read_clock();
	check(FLUSH, api.flush_all(0));
	drain();
	count_lost();
	return 0;
}

/* Until each launch has the record of what it ran. CUPTI gives back buffers whose records are complete, so launches may be in a
 * buffer that it holds: for one kernel that runs, or because it keeps empty ones. */
static void wait_for_running(int64_t deadline_ms)
{
	int64_t now = pp_now_ms(), left = deadline_ms - now, until = deadline_ms - (left < 2 * READ_MS ? left / 2 : READ_MS);
	int64_t empty_until = holds_empty ? now + EMPTY_MS : until;

	do {
		if (check(FLUSH, api.flush_all(0)))
			return;
		drain();
		now = pp_now_ms();
		if ((!pp_cupti_pool_held() || now >= empty_until) && !pp_cupti_due_missing(&decode->due))
			return;
		pp_nap_ms(1);
	} while (now < until);
}

/* What CUPTI still holds comes with records that have no end, and never again. */
static void take_rest(void)
{
	uint64_t had = decode->records;

	if (!pp_cupti_pool_held())
		return;
	check(FLUSH, api.flush_all(PP_CUPTI_FORCED));
	drain();
	holds_empty = decode->records == had;
}

static void say_missing(void)
{
	uint32_t missing = pp_cupti_due_missing(&decode->due), unreturned = pp_cupti_pool_held();
	char text[128];

	if (missing) {
		snprintf(text, sizeof(text), "CUPTI: recording ended before the records of %u launches of kernels were there",
		         missing);
		pp_cupti_remark(text);
	}
	if (unreturned) {
		snprintf(text, sizeof(text), "CUPTI: %u buffers did not come back: records of devices may be missing", unreturned);
		pp_cupti_remark(text);
	}
}

static void switch_off(int64_t deadline_ms)
{
	read_clock();
	set_cover(0, 0, 0);
	disable_all(0);
	wait_for_running(deadline_ms);
	take_rest();
	say_missing();
	count_lost();
}

void pp_cupti_detach(int64_t deadline_ms)
{
	if (pp_cupti_others_registered() != others) {
		yield_to_other();
		return;
	}
	switch_off(deadline_ms);
	give_back();
}

int pp_cupti_window_over(int64_t deadline_ms)
{
	int is_idle, rc;

	if (pp_cupti_others_registered() != others) {
		yield_to_other();
		return -EBUSY;
	}
	switch_off(deadline_ms);
	is_idle = !pp_cupti_due_missing(&decode->due) && !pp_cupti_pool_held();
	pp_cupti_due_reset(&decode->due);
	rc = enable_all();
	if (rc) {
		remark_result("devices are recorded up to here", rc);
		disable_all(0);
		give_back();
		return -EBUSY;
	}
	set_cover(1, 0, is_idle);
	last_flush_ms = pp_now_ms();
	return 0;
}
