/* Links by number whatever the device's clock says, what order proves of that clock, and steps that device records do not cover. */
#include "core/base/known.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/ring/session_kit.h"

enum { LAUNCH = 1, WAIT, CAPTURE, CAPTURED, KERNEL, COPY, HOST, STEPS = 5, LENGTH = 1000 };

static void begin(struct maker *m)
{
	maker_open(m, path_of("cover.ring"), 0, 1, MAIN, 64);
	maker_thread(m, 0, MAIN);
	maker_thread(m, CUPTI, 11);
	device_name(m, CUPTI, LAUNCH, "cudaLaunchKernel");
	device_name(m, CUPTI, WAIT, "cudaStreamSynchronize");
	device_name(m, CUPTI, CAPTURE, "cudaStreamBeginCapture");
	device_name(m, CUPTI, CAPTURED, "cudaStreamEndCapture");
	device_name(m, CUPTI, KERNEL, "gemm");
	device_name(m, CUPTI, COPY, "cudaMemcpy");
	device_name(m, CUPTI, HOST, "cudaLaunchHostFunc");
}

static void called(struct maker *m, int call, uint32_t name, uint32_t correlation, pp_tick from, pp_tick to)
{
	device_called(
	        m, CUPTI, from, to,
	        (struct pp_record_device_call){
	                .correlation = correlation, .tid = MAIN, .name = name, .call = (uint8_t)call, .stream = 7, .context = 1});
}

static void launched(struct maker *m, uint32_t correlation, pp_tick at)
{
	called(m, PP_DEVICE_CALL_LAUNCH, LAUNCH, correlation, at, at + 10);
}

static void ran(struct maker *m, uint32_t correlation, pp_tick from, pp_tick to)
{
	device_ran(m, CUPTI, from, to,
	           (struct pp_record_device){.correlation = correlation, .stream = 7, .context = 1, .name = KERNEL});
}

static void covers(struct maker *m, int is_on, pp_tick tick, pp_tick since)
{
	struct pp_record r = {
	        .tick = tick, .kind = PP_RECORD_DEVICE_COVER, .device_cover = {.is_on = (uint32_t)is_on, .since = since}};

	maker_put(m, CUPTI, &r, NULL, 0);
}

static const struct pp_span *kernel(const struct made *made)
{
	for (size_t t = 0; t < made->capture.rank[0].threads; t++)
		if (made->capture.rank[0].thread[t].device)
			return &made->capture.rank[0].thread[t].span[0];
	return NULL;
}

/* One kernel, from its launch to the call that waits for it, with a clock that is off. */
static void one(int64_t off, pp_tick waits_until, struct made *made)
{
	struct maker m;

	begin(&m);
	maker_step(&m, 0, PP_RECORD_STEP_BEGIN, STEP_BEGIN, STEP);
	launched(&m, 1, 2000);
	ran(&m, 1, (pp_tick)(2020 + off), (pp_tick)(2400 + off));
	called(&m, PP_DEVICE_CALL_SYNC, WAIT, 2, 2100, waits_until);
	finish(&m, 1, made);
	CHECK_INT(made->d.kernel_left_out->unlaunched + made->d.kernel_left_out->unrun, 0);
	CHECK(kernel(made)->device.host_thread != 0);
}

TEST(clocks)
{
	struct made made;

	one(0, 2430, &made); /* right: the bounds are said, nothing is changed */
	CHECK_INT(kernel(&made)->begin, 2020);
	CHECK(made.d.worker[0].device_least_ns == -20 && made.d.worker[0].device_most_ns == 30);
	CHECK(made.d.worker[0].device_shift_ns == 0);
	drop(&made);
	one(-300, 2430, &made); /* early: it began before its launch */
	CHECK_INT(kernel(&made)->begin, 2000);
	CHECK_INT(kernel(&made)->end, 2380);
	CHECK(made.d.worker[0].device_shift_ns == 280);
	drop(&made);
	one(600, 2430, &made); /* late: the wait ended before it */
	CHECK_INT(kernel(&made)->end, 2430);
	CHECK(made.d.worker[0].device_shift_ns == -570);
	drop(&made);
	one(-300, 2200, &made); /* no clock is like that */
	CHECK_INT(kernel(&made)->begin, 1720);
	CHECK(!pp_is_known(made.d.worker[0].device_shift_ns) && made.d.worker[0].device_least_ns == 280);
	drop(&made);
}

/* Marks of STEPS steps of LENGTH, the last one ends in finish(). */
static void mark(struct maker *m)
{
	for (int i = 0; i < STEPS; i++)
		maker_step(m, 0, PP_RECORD_STEP_BEGIN, (pp_tick)(2000 + LENGTH * i), i);
}

/* The steps that the session has, as digits. */
static const char *steps_of(struct maker *m, char *text)
{
	struct made made;

	finish(m, 1, &made);
	*text = '\0';
	for (size_t s = 0; s < made.steps.steps && s < 10; s++)
		snprintf(text + s, 12 - s, "%lld", (long long)made.steps.number[s]);
	drop(&made);
	return text;
}

static void each_step(struct maker *m, uint32_t without)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		pp_tick at = 2000 + LENGTH * (pp_tick)i;

		launched(m, i + 1, at + 100);
		if (i + 1 != without)
			ran(m, i + 1, at + 200, at + 900);
	}
}

/* What ran before the library was on, or at the same time, is unknown. */
TEST(begins)
{
	struct maker m;
	char text[12];

	begin(&m);
	covers(&m, 1, 1900, 1800); /* on before the first step, but the first kernel begins in it */
	mark(&m);
	each_step(&m, 0);
	CHECK_STR(steps_of(&m, text), "1234");
	begin(&m);
	covers(&m, 1, 3500, 0);
	mark(&m);
	each_step(&m, 0);
	CHECK_STR(steps_of(&m, text), "34");
	begin(&m); /* the program's devices came up in step 1: there was nothing before */
	covers(&m, 1, 3500, 3200);
	mark(&m);
	each_step(&m, 0);
	CHECK_STR(steps_of(&m, text), "034");
	begin(&m); /* another profiler took over */
	covers(&m, 1, 1900, 1950);
	covers(&m, 1, 1600, 1500);
	covers(&m, 0, 4500, 0);
	mark(&m);
	each_step(&m, 0);
	CHECK_STR(steps_of(&m, text), "1");
	begin(&m); /* recorded by a version that does not say it */
	mark(&m);
	each_step(&m, 0);
	CHECK_STR(steps_of(&m, text), "01234");
}

/* A launch without a record: its kernel ran before the next one of its stream, or at any time to the end. */
TEST(missing)
{
	struct maker m;
	char text[12];

	for (uint32_t without = 1; without <= STEPS; without++) {

		begin(&m);
		covers(&m, 1, 1600, 1500);
		launched(&m, 90, 1610);
		ran(&m, 90, 1620, 1630);
		mark(&m);
		each_step(&m, without);
		CHECK_STR(steps_of(&m, text), without == 1   ? "234"
		                              : without == 2 ? "034"
		                              : without == 3 ? "014"
		                              : without == 4 ? "012"
		                                             : "0123");
	}
	begin(&m); /* captured into a graph: nothing ran */
	covers(&m, 1, 1600, 1500);
	launched(&m, 90, 1610);
	ran(&m, 90, 1620, 1630);
	mark(&m);
	called(&m, PP_DEVICE_CALL_OTHER, CAPTURE, 91, 4050, 4060);
	called(&m, PP_DEVICE_CALL_OTHER, CAPTURED, 92, 4150, 4160);
	called(&m, PP_DEVICE_CALL_LAUNCH, HOST, 93, 5010, 5020); /* no device runs it */
	each_step(&m, 3);
	CHECK_STR(steps_of(&m, text), "01234");
}

int main(void)
{
	if (rings_kit_begin())
		return 1;
	clocks();
	begins();
	missing();
	return rings_kit_end();
}
