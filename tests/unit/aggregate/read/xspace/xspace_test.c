/* XSpace files made by hand: names, times and order of events, steps by each rule, devices, allocator, and every kind of damage. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <zlib.h>

#include "tests/test.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"

enum {
	GROUP = 1,
	STEP_NAME,
	STEP_NUM,
	ROOT,
	CORRELATION,
	PT,
	P,
	CT,
	C,
	DETAILS,
	OP,
	COPY,
	SHAPE,
	ADDR,
	ALLOCATOR,
	ALLOCATED,
	ASYNC
};

static const char *const stat_name[] = {"",
                                        "group_id",
                                        "step_name",
                                        "step_num",
                                        "_r",
                                        "correlation_id",
                                        "_pt",
                                        "_p",
                                        "_ct",
                                        "_c",
                                        "kernel_details",
                                        "tf_op",
                                        "memcpy_details",
                                        "shape",
                                        "addr",
                                        "allocator_name",
                                        "bytes_allocated",
                                        "_a"};

static struct bytes file, plane, line, event;
static struct pp_capture c;
static struct pp_err err;

/* All but group_id, which says that a file is grouped. */
static void put_stat_names(struct bytes *p, int is_grouped)
{
	for (size_t i = is_grouped ? 1 : 2; i < sizeof(stat_name) / sizeof(stat_name[0]); i++)
		put_name(p, 5, (int64_t)i, stat_name[i]);
}

static void add_event(int64_t name, int64_t begin, int64_t duration)
{
	begin_event(&event, name, begin, duration);
	put_message(&line, 4, &event);
}

static void add_grouped(int64_t name, int64_t begin, int64_t duration, int64_t group, const char *step_name)
{
	begin_event(&event, name, begin, duration);
	put_stat(&event, 4, GROUP, group);
	if (step_name)
		put_stat_text(&event, 4, STEP_NAME, step_name);
	put_message(&line, 4, &event);
}

static const struct pp_rank *read_file(void)
{
	pp_capture_release(&c);
	err.text[0] = '\0';
	CHECK_INT(read_bytes(file.b, file.n, &c, &err), 0);
	CHECK_STR(err.text, "");
	return c.ranks ? &c.rank[0] : NULL;
}

/* A host plane with one line of two ranges; used by the tests of damage. */
static void make_small(void)
{
	file.n = 0;
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 7, "main thread");
	put_int(&line, 3, 1000);
	add_event(1, 100, 50);
	add_grouped(2, 120, 10, 4, "step 4");
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "outer");
	put_name(&plane, 4, 2, "inner");
	put_stat_names(&plane, 1);
	put_message(&file, 1, &plane);
	put_text(&file, 4, "node7");
}

TEST(ranges)
{
	const struct pp_rank *r;
	const struct pp_thread *t;

	make_small();
	r = read_file();
	CHECK_STR(r->host, "node7");
	CHECK_STR(r->trace.format, "XSpace");
	CHECK_INT(r->trace.events, 2);
	CHECK_INT(r->threads, 1);
	t = &r->thread[0];
	CHECK_STR(name_of(&c, t->name), "main thread");
	CHECK_INT(t->tid, 7);
	CHECK_INT(t->is_main, 1);
	CHECK_INT(t->spans, 2);
	CHECK_STR(name_of(&c, t->span[0].name), "outer");
	CHECK_INT(t->span[0].begin, 1100);
	CHECK_INT(t->span[0].end, 1150);
	CHECK_INT(t->span[0].kind, PP_SPAN_RANGE);
	CHECK_INT(t->span[1].kind, PP_SPAN_STEP);
	CHECK_INT(t->span[1].step.number, 4);
	CHECK_INT(t->first, 1100);
	CHECK_INT(t->last, 1150);
	CHECK_INT(r->horizon, INT64_MIN);
	CHECK_INT(r->recorded_to, 1150);
}

/* Header fields behind the events, unsorted events, half nanoseconds, unknown fields of each wire type, bad UTF-8, no name. */
TEST(order_and_unknown)
{
	static const uint8_t odd[] = {0x79, 1, 2,    3,    4,    5,    6,    7,    8,    0x7d, 1,   2,
	                              3,    4, 0xf8, 0x01, 0x05, 0xfb, 0x01, 0x08, 0x01, 0xfc, 0x01};
	const struct pp_thread *t;

	file.n = plane.n = line.n = 0;
	memcpy(line.b, odd, sizeof(odd));
	line.n = sizeof(odd);
	add_event(1, 500, 10);
	add_event(1, 100, 10);
	add_event(2, 100, 300);
	event.n = 0;
	put_int(&event, 3, 1999);
	put_int(&event, 2, 600999);
	put_int(&event, 1, 3);
	put_message(&line, 4, &event);
	put_int(&line, 3, 1);
	put_text(&line, 2, "name");
	put_text(&line, 11, "shown");
	put_int(&line, 1, -1);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "old");
	put_name(&plane, 4, 1, "bad \xff");
	put_name(&plane, 4, INT64_C(1) << 60, "far");
	put_name(&plane, 4, 2, "around");
	put_text(&plane, 2, "/host:CPU");
	put_message(&file, 1, &plane);
	t = &read_file()->thread[0];
	CHECK_STR(name_of(&c, t->name), "shown");
	CHECK_INT(t->tid, UINT32_MAX);
	CHECK_INT(t->spans, 4);
	CHECK_STR(name_of(&c, t->span[0].name), "around");
	CHECK_STR(name_of(&c, t->span[1].name), "bad \xef\xbf\xbd");
	CHECK_INT(t->span[1].begin, 101);
	CHECK_INT(t->span[2].begin, 501);
	CHECK_INT(t->span[3].begin, 601);
	CHECK_INT(t->span[3].end, 603);
	CHECK_STR(name_of(&c, t->span[3].name), "(unnamed)");
}

/* What stands behind the events says that they are steps: they are read again, and what is damaged counts once. */
TEST(head_behind_the_events)
{
	const struct pp_rank *r;

	file.n = line.n = 0;
	begin_plane(&plane, "/device:GPU:0");
	add_event(1, 100, 50);
	add_event(2, 200, 50);
	put_bytes(&line, 4, "\x08", 1);
	put_text(&line, 2, "Steps");
	put_int(&line, 3, 1000);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "7");
	put_bytes(&plane, 4, "\x08\x02\x12\x03\x12\x05x", 7);
	put_message(&file, 1, &plane);
	r = read_file();
	CHECK_INT(r->trace.events, 3);
	CHECK_INT(r->trace.damaged, 2);
	CHECK_INT(r->thread[0].spans, 1);
	CHECK_INT(step_of(r, 0)->begin, 1100);
}

/* Numbers of all lengths and types; the event reads as well where the file ends behind it as where it does not. */
TEST(events_of_any_form)
{
	static const struct {
		int step; /* -2: damaged */
		size_t size;
		uint8_t bytes[16];
	} form[] = {
	        {-1, 9, {8, 1, 0x10, 0xa0, 0x8d, 6, 0x18, 0xe8, 7}},                             /* at 100 ns for 1 ns */
	        {-1, 13, {0x88, 0, 1, 0x10, 0xa0, 0x8d, 0x86, 0x80, 0x80, 0x80, 0x80, 0x80, 0}}, /* more bytes than needed */
	        {-1, 6, {0x10, 0xa0, 0x8d, 6, 8, 1}},                                            /* another order */
	        {7, 12, {8, 1, 0x10, 0xa0, 0x8d, 6, 0x22, 4, 8, 1, 0x20, 7}},                    /* a group */
	        {0, 12, {8, 1, 0x10, 0xa0, 0x8d, 6, 0x22, 4, 8, 1, 0x10, 7}},                    /* of no known type */
	        {7, 13, {8, 1, 0x10, 0xa0, 0x8d, 6, 0x22, 5, 8, 1, 0x20, 0x87, 0}},              /* again more bytes */
	        {7, 12, {8, 1, 0x10, 0xa0, 0x8d, 6, 0x22, 4, 0x20, 7, 8, 1}},                    /* value first */
	        {0, 15, {8, 1, 0x10, 0xa0, 0x8d, 6, 0x22, 2, 8, 1, 0x22, 0, 0x22, 1, 8}},        /* none, empty, damaged */
	        {-2, 12, {8, 1, 0x10, 0xa0, 0x8d, 6, 0x22, 5, 8, 1, 0x20, 7}},                   /* longer than the event */
	        {-2, 14, {8, 1, 0x10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}},     /* no number */
	};

	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++)
		for (int padded = 0; padded < 2; padded++) {
			const struct pp_rank *r;

			begin_plane(&plane, "/device:GPU:0");
			begin_line(&line, 1, "Stream #1");
			put_bytes(&line, 4, form[i].bytes, form[i].size);
			add_event(1, 200000, 5);
			put_message(&plane, 3, &line);
			put_name(&plane, 4, 1, "x");
			put_stat_names(&plane, 1);
			file.n = 0;
			put_message(&file, 1, &plane);
			if (padded)
				put_bytes(&file, 99, line.b, 1000);
			r = read_file();
			CHECK_INT(r->thread[0].spans, form[i].step == -2 ? 1 : 2);
			CHECK_INT(r->trace.damaged, form[i].step == -2);
			CHECK_INT(r->thread[0].span[0].begin, form[i].step == -2 ? 200000 : 100);
			CHECK_INT(r->thread[0].span[0].device.step, form[i].step == -2 ? -1 : form[i].step);
		}
}

TEST(times_that_are_none)
{
	const struct pp_rank *r;

	file.n = 0;
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "t");
	add_event(1, 10, 5);
	add_event(1, -11, 5);
	add_event(1, 10, -5);
	event.n = 0;
	put_int(&event, 1, 1);
	put_int(&event, 2, INT64_MAX);
	put_int(&event, 3, INT64_MAX);
	put_message(&line, 4, &event);
	event.n = 0;
	put_int(&event, 1, 1);
	put_int(&event, 5, 12);
	put_int(&event, 3, 1000);
	put_message(&line, 4, &event);
	put_message(&plane, 3, &line);
	begin_line(&line, 2, "late");
	put_int(&line, 3, INT64_MAX);
	add_event(1, 10, 5);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "x");
	put_message(&file, 1, &plane);
	r = read_file();
	CHECK_INT(r->trace.events, 6);
	CHECK_INT(r->trace.untimed, 5);
	CHECK_INT(r->trace.damaged, 0);
	CHECK_INT(r->threads, 1);
	CHECK_INT(r->thread[0].spans, 1);
}

/* Times since 1970 become times since the first, and the date is theirs. */
TEST(unix_times)
{
	const struct pp_rank *r;

	file.n = 0;
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "t");
	put_int(&line, 3, INT64_C(1790000000000000000));
	add_event(1, 10, 5);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "x");
	put_message(&file, 1, &plane);
	r = read_file();
	CHECK_INT(r->thread[0].span[0].begin, 0);
	CHECK_INT(r->thread[0].span[0].end, 5);
	CHECK_INT(c.epoch_realtime_ns, INT64_C(1790000000000000010));
}

/* A CPU's steps: the longest marker of each group; train* marks without step_name; names with a slash do not. */
TEST(steps_of_groups)
{
	const struct pp_rank *r;

	file.n = 0;
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "other");
	add_grouped(1, 30, 5, 0, "a 30");
	put_message(&plane, 3, &line);
	begin_line(&line, 2, "main");
	add_grouped(1, 10, 20, 0, "a 30");
	add_grouped(2, 12, 100, 0, NULL);
	add_grouped(3, 40, 20, 1, NULL);
	add_grouped(4, 62, 20, 2, NULL);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "marker");
	put_name(&plane, 4, 2, "work");
	put_name(&plane, 4, 3, "training");
	put_name(&plane, 4, 4, "train/x");
	put_stat_names(&plane, 1);
	put_message(&file, 1, &plane);
	r = read_file();
	CHECK_STR(r->step_rule, "xspace: group_id");
	CHECK_INT(r->step_marks, 1);
	CHECK(step_of(r, 1) && !step_of(r, 2));
	CHECK_INT(step_of(r, 0)->begin, 10);
	CHECK_INT(step_of(r, 0)->step.number, 0); /* the second has no number of its own: groups count */
	CHECK_INT(step_of(r, 1)->begin, 40);
	CHECK_INT(step_of(r, 1)->step.number, 1);
	CHECK_INT(r->last_step, 1);
	CHECK_INT(r->thread[1].is_main, 1);
}

static void add_root(int64_t name, int64_t begin, int64_t duration, int64_t level, int64_t number)
{
	begin_event(&event, name, begin, duration);
	if (level)
		put_stat(&event, 4, ROOT, level);
	if (number >= 0)
		put_stat(&event, 4, STEP_NUM, number);
	put_message(&line, 4, &event);
}

/* Nobody grouped: roots, not those inside another nor an executor's; without roots the events with step_num. */
TEST(steps_of_roots)
{
	const struct pp_rank *r;

	for (int level = 1; level >= 0; level--) {
		file.n = 0;
		begin_plane(&plane, "/host:CPU");
		begin_line(&line, 2, "python");
		add_root(1, 10, 20, level, 105);
		add_root(1, 12, 5, level, 7);
		add_root(2, 31, 5, level, -1);
		add_root(1, 40, 20, level, 106);
		put_message(&plane, 3, &line);
		put_name(&plane, 4, 1, "Profiled batch");
		put_name(&plane, 4, 2, "FunctionRun");
		put_stat_names(&plane, 0);
		put_message(&file, 1, &plane);
		r = read_file();
		CHECK_STR(r->step_rule, level ? "xspace: root events" : "xspace: events with step_num");
		CHECK(step_of(r, 1) && !step_of(r, 2));
		CHECK_INT(step_of(r, 0)->step.number, 105);
		CHECK_INT(step_of(r, 1)->step.number, 106);
		CHECK_STR(name_of(&c, step_of(r, 1)->name), "Profiled batch");
		CHECK_INT(r->thread[0].span[1].kind, PP_SPAN_RANGE);
		CHECK_INT(r->thread[0].span[1].range.payload, 0);
	}
}

static void add_linked(int64_t name, int64_t begin, int64_t duration, int is_consumer, int64_t id)
{
	begin_event(&event, name, begin, duration);
	put_stat(&event, 4, is_consumer ? CT : PT, 2);
	put_stat(&event, 4, is_consumer ? C : P, id);
	put_message(&line, 4, &event);
}

static void add_correlated(int64_t name, int64_t begin, int64_t duration, int64_t id)
{
	begin_event(&event, name, begin, duration);
	put_stat(&event, 4, CORRELATION, id);
	put_message(&line, 4, &event);
}

/* A root on one thread, its work on another, launches there: the device's events from first to last are the step. */
static void make_linked(void)
{
	file.n = 0;
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "main");
	add_root(1, 0, 100, 1, 41);
	add_linked(2, 10, 5, 0, 77);
	add_root(1, 100, 100, 1, 42);
	add_linked(2, 110, 5, 0, 78);
	put_message(&plane, 3, &line);
	begin_line(&line, 2, "pool");
	add_linked(3, 20, 10, 1, 77);
	add_event(6, 20, 9);
	add_correlated(4, 22, 1, 1001);
	add_correlated(4, 24, 1, 1002);
	add_linked(3, 120, 10, 1, 78);
	add_correlated(4, 122, 1, 1003);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "train");
	put_name(&plane, 4, 2, "enqueue");
	put_name(&plane, 4, 3, "run");
	put_name(&plane, 4, 4, "cudaLaunchKernel");
	put_name(&plane, 4, 6, "dense/MatMul:MatMul");
	put_stat_names(&plane, 0);
	put_message(&file, 1, &plane);
	begin_plane(&plane, "/device:GPU:3");
	begin_line(&line, 14, "Stream #14");
	add_correlated(1, 40, 10, 1001);
	add_correlated(1, 60, 10, 1002);
	add_correlated(1, 75, 5, 0);
	add_correlated(1, 140, 10, 1003);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "gemm_fp16");
	put_stat_names(&plane, 0);
	put_message(&file, 1, &plane);
}

TEST(steps_of_launches)
{
	const struct pp_rank *r;
	const struct pp_span *s;

	make_linked();
	r = read_file();
	CHECK_STR(r->step_rule, "xspace: device events of root events");
	CHECK(step_of(r, 1) && !step_of(r, 2));
	CHECK_INT(step_of(r, 0)->step.number, 41);
	CHECK_INT(step_of(r, 0)->begin, 40);
	CHECK_INT(step_of(r, 0)->end, 80);
	CHECK_INT(step_of(r, 1)->step.number, 42);
	CHECK_INT(step_of(r, 1)->begin, 140);
	CHECK_INT(step_of(r, 1)->end, 150);
	s = r->thread[2].span;
	CHECK_INT(r->thread[2].device, 4);
	CHECK_INT(s[0].kind, PP_SPAN_DEVICE);
	CHECK_INT(s[0].device.host_thread, 2);
	CHECK_INT(s[0].device.step, 41);
	CHECK_INT(s[0].device.precision, PP_PRECISION_16);
	CHECK_STR(name_of(&c, s[0].device.op), "dense/MatMul:MatMul");
	CHECK_INT(s[2].device.step, -1);
	CHECK_INT(s[3].device.step, 42);
	CHECK_INT(r->thread[0].kinds & PP_SPAN_BIT(PP_SPAN_STEP), PP_SPAN_BIT(PP_SPAN_STEP));
}

/* A device's line "Steps": the longest of each group over all devices, on a thread of their own; derived lines are counted. */
TEST(steps_of_devices)
{
	const struct pp_rank *r;

	file.n = 0;
	for (int device = 0; device < 2; device++) {
		begin_plane(&plane, device ? "/device:GPU:1" : "/device:GPU:0");
		begin_line(&line, -559038737, "Steps");
		add_grouped(1, 100, 50 + device, 17, "17");
		add_grouped(2, 200, 50 - device, 18, "18");
		put_message(&plane, 3, &line);
		begin_line(&line, -559038734, "whatever");
		add_event(1, 100, 10);
		put_message(&plane, 3, &line);
		begin_line(&line, 5, "TensorFlow Ops");
		add_event(1, 100, 10);
		add_event(1, 120, 10);
		put_message(&plane, 3, &line);
		begin_line(&line, 9, "Stream #9");
		add_event(3, 101, 10);
		put_message(&plane, 3, &line);
		put_name(&plane, 4, 1, "17");
		put_name(&plane, 4, 2, "18");
		put_name(&plane, 4, 3, "kernel");
		put_stat_names(&plane, 1);
		put_message(&file, 1, &plane);
	}
	r = read_file();
	CHECK_STR(r->step_rule, "xspace: line Steps");
	CHECK_INT(r->threads, 3);
	CHECK_INT(r->trace.derived, 6);
	CHECK_STR(name_of(&c, r->thread[2].name), "Steps");
	CHECK_INT(r->thread[2].device, 0);
	CHECK_INT(step_of(r, 0)->begin, 100);
	CHECK_INT(step_of(r, 0)->end, 151);
	CHECK_INT(step_of(r, 0)->step.number, 17);
	CHECK_INT(step_of(r, 1)->end, 250);
	CHECK(!step_of(r, 2));
	CHECK_INT(r->devices, 2);
}

TEST(tpu)
{
	static const char *const name[] = {"XLA Modules", "XLA Ops", "Steps"};
	const struct pp_rank *r;

	file.n = 0;
	begin_plane(&plane, "/device:TPU:0");
	for (int i = 0; i < 3; i++) {
		begin_line(&line, i + 1, name[i]);
		add_event(i == 2 ? 2 : 1, 10, 20);
		put_message(&plane, 3, &line);
	}
	put_name(&plane, 4, 1, "all-reduce.7");
	put_name(&plane, 4, 2, "12");
	put_message(&file, 1, &plane);
	r = read_file();
	CHECK_INT(r->trace.derived, 1);
	CHECK_INT(r->threads, 2);
	CHECK_INT(r->thread[0].device, 1);
	CHECK_INT(r->thread[0].span[0].device.activity, PP_DEVICE_COLLECTIVE);
	CHECK_INT(step_of(r, 0)->step.number, 12);
	CHECK_STR(r->device[0].kind, "TPU");
}

static const struct pp_span *one_device_event(const char *name, int64_t stat, const char *text)
{
	file.n = 0;
	begin_plane(&plane, "/device:GPU:0");
	begin_line(&line, 1, "Stream #1");
	begin_event(&event, 1, 5, 5);
	if (stat)
		put_stat_text(&event, 4, stat, text);
	put_message(&line, 4, &event);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, name);
	put_stat_names(&plane, 1);
	put_message(&file, 1, &plane);
	return read_file()->thread[0].span;
}

TEST(device_events)
{
	static const struct {
		const char *name;
		int activity;
	} row[] = {
	        {"MemcpyHToD", PP_DEVICE_HOST_TO_DEVICE},          {"memcpyh2d", PP_DEVICE_HOST_TO_DEVICE},
	        {"MemcpyD2H", PP_DEVICE_DEVICE_TO_HOST},           {"MemcpyP2P", PP_DEVICE_DEVICE_TO_DEVICE},
	        {"MemcpyD2D", PP_DEVICE_DEVICE_TO_DEVICE},         {"Memset", PP_DEVICE_SET},
	        {"ncclDevKernel_AllReduce", PP_DEVICE_COLLECTIVE}, {"my_nccl", PP_DEVICE_UNSURE},
	};
	const struct pp_span *s;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		CHECK_INT(one_device_event(row[i].name, 0, NULL)->device.activity, row[i].activity);
	CHECK_INT(one_device_event("MemcpyH2D", COPY, "kind:h2d\nnum_bytes:4096")->device.bytes, 4096);
	CHECK_INT(one_device_event("MemcpyH2D", COPY, "size:112 dest:4 async:0")->device.bytes, 112);
	CHECK_INT(one_device_event("MemcpyH2D", COPY, "oversize:112")->device.bytes, 0);
	CHECK_INT(one_device_event("k", SHAPE, "(half[4])")->device.precision, PP_PRECISION_16);
	CHECK_INT(one_device_event("k_half", SHAPE, "(float[4])")->device.precision, PP_PRECISION_32);
	CHECK_INT(one_device_event("k", 0, NULL)->device.precision, PP_PRECISION_UNKNOWN);
	s = one_device_event("k", OP, "a/b:C");
	CHECK_STR(name_of(&c, s->device.op), "a/b:C");
	s = one_device_event("k", DETAILS, "regs:38 shm:16\ndynamic_shared:99 grid:160,2,1 block:1024,1,1 occ_pct:12.5");
	CHECK_INT(s->device.launch, 1);
	CHECK_INT(c.rank[0].launch[0].registers, 38);
	CHECK_INT(c.rank[0].launch[0].static_shared, 16);
	CHECK_INT(c.rank[0].launch[0].dynamic_shared, 99);
	CHECK_INT(c.rank[0].launch[0].grid[1], 2);
	CHECK_INT(c.rank[0].launch[0].block[0], 1024);
	CHECK(c.rank[0].launch[0].occupancy == 12.5F);
	s = one_device_event("k", DETAILS, "regs:-1 grid:9e99,,x block:");
	CHECK_INT(c.rank[0].launch[0].registers, 0);
	CHECK_INT(c.rank[0].launch[0].grid[0], 0);
	CHECK(c.rank[0].launch[0].occupancy == -1.0F);
}

TEST(allocator)
{
	const struct pp_rank *r;

	file.n = 0;
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "main");
	for (int i = 0; i < 2; i++) {
		begin_event(&event, 1 + i, 50 - 10 * i, 0);
		put_stat(&event, 4, ADDR, 0x1000);
		put_stat(&event, 4, ALLOCATED, 64 * (1 - i));
		put_stat_text(&event, 4, ALLOCATOR, "GPU_0_bfc");
		put_message(&line, 4, &event);
	}
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "MemoryAllocation");
	put_name(&plane, 4, 2, "MemoryDeallocation");
	put_stat_names(&plane, 1);
	put_message(&file, 1, &plane);
	r = read_file();
	CHECK_INT(r->threads, 0);
	CHECK_INT(r->allocations, 2);
	CHECK_INT(r->allocation[0].time, 40);
	CHECK_INT(r->allocation[0].is_free, 1);
	CHECK_INT(r->allocation[0].allocated, 0);
	CHECK_INT(r->allocation[1].allocated, 64);
	CHECK_INT(r->allocation[1].address, 0x1000);
	CHECK_INT(r->allocation[1].peak, -1);
	CHECK_STR(name_of(&c, r->allocation[1].allocator), "GPU_0_bfc");
}

/* What may come of any bytes: an error with a sentence, or a capture whose threads are in order. */
static void try_bytes(const void *data, size_t n)
{
	struct pp_capture any;
	int rc = read_bytes(data, n, &any, &err);

	CHECK(rc == 0 || rc == -EINVAL || rc == -EBADMSG);
	if (rc) {
		CHECK(strstr(err.text, "cannot read '/proc/self/fd/") == err.text);
		return;
	}
	for (size_t t = 0; t < any.rank[0].threads; t++)
		for (size_t i = 1; i < any.rank[0].thread[t].spans; i++)
			CHECK(any.rank[0].thread[t].span[i - 1].begin <= any.rank[0].thread[t].span[i].begin);
	pp_capture_release(&any);
}

/* The begin of a file gives what is there; the damage is at its end. */
TEST(cut)
{
	struct pp_capture any;

	make_small();
	for (size_t n = 0; n < file.n; n++)
		try_bytes(file.b, n);
	CHECK_INT(read_bytes(file.b, file.n - 10, &any, &err), 0);
	CHECK_INT(any.rank[0].trace.damaged, 1);
	CHECK_INT(any.rank[0].trace.damaged_at, file.n - 10);
	CHECK_STR(any.rank[0].trace.damage, "the file ends in the middle of a plane");
	CHECK_INT(any.rank[0].thread[0].spans, 2);
	pp_capture_release(&any);
	make_linked();
	for (size_t n = 0; n < file.n; n++)
		try_bytes(file.b, n);
}

TEST(flipped)
{
	for (int which = 0; which < 2; which++) {
		if (which)
			make_linked();
		else
			make_small();
		for (size_t i = 0; i < 8 * file.n; i++) {
			file.b[i / 8] ^= (uint8_t)(1u << i % 8);
			try_bytes(file.b, file.n);
			file.b[i / 8] ^= (uint8_t)(1u << i % 8);
		}
	}
}

/* One damaged event or line costs itself: what follows is read. */
TEST(damage_inside)
{
	static const uint8_t no_field[] = {0x08, 0x01, 0x07};
	const struct pp_rank *r;

	file.n = 0;
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "t");
	add_event(1, 10, 5);
	put_bytes(&line, 4, no_field, sizeof(no_field));
	add_event(1, 20, 5);
	put_message(&plane, 3, &line);
	put_bytes(&plane, 3, no_field, sizeof(no_field));
	put_name(&plane, 4, 1, "x");
	put_message(&file, 1, &plane);
	r = read_file();
	CHECK_INT(r->trace.damaged, 2);
	CHECK(strstr(r->trace.damage, "event") != NULL);
	CHECK_INT(r->thread[0].spans, 2);
	CHECK_STR(name_of(&c, r->thread[0].span[1].name), "x");
}

/* 1000 groups in one another, 1000 messages in one another, a length of 2^60 bytes. */
TEST(nested_and_huge)
{
	static const uint8_t huge[] = {0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0x12};
	static struct bytes deep, next;

	file.n = 0;
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "t");
	for (int i = 0; i < 1000; i++)
		put_varint(&line, 15 << 3 | 3);
	for (int i = 0; i < 1000; i++)
		put_varint(&line, 15 << 3 | 4);
	add_event(1, 10, 5);
	put_message(&plane, 3, &line);
	put_message(&file, 1, &plane);
	CHECK_INT(read_file()->thread[0].spans, 1);
	deep.n = 0;
	for (int i = 0; i < 1000; i++) {
		next.n = 0;
		put_bytes(&next, 1 + (uint32_t)i % 4, deep.b, deep.n);
		memcpy(deep.b, next.b, next.n);
		deep.n = next.n;
	}
	try_bytes(deep.b, deep.n);
	try_bytes(huge, sizeof(huge));
}

static int64_t peak_rss_kb(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* 10 GB of nothing behind a plane, and inside one: no memory is taken for what is not there. */
TEST(sparse)
{
	static const uint8_t plane_of_10_gb[] = {0x0a, 0x80, 0xc8, 0xaf, 0xa0, 0x25, 0x12, 9,  '/',
	                                         'h',  'o',  's',  't',  ':',  'C',  'P',  'U'};
	const int64_t before = peak_rss_kb();
	struct pp_trace_options options = {.rank = 0};
	struct pp_trace_glance glance;
	char path[64];
	int fd;

	for (int inside = 0; inside < 2; inside++) {
		make_small();
		fd = memfd_create("sparse", 0);
		CHECK(fd >= 0);
		if (inside)
			CHECK_INT(write(fd, plane_of_10_gb, sizeof(plane_of_10_gb)), sizeof(plane_of_10_gb));
		else
			CHECK_INT(write(fd, file.b, file.n), file.n);
		CHECK_INT(ftruncate(fd, INT64_C(10) << 30), 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		pp_capture_release(&c);
		CHECK_INT(pp_trace_glance(path, &glance, &err), 0);
		if (inside) {
			CHECK_INT(pp_trace_read(path, &glance, &options, &c, &err), -EINVAL);
		} else {
			CHECK_INT(pp_trace_read(path, &glance, &options, &c, &err), 0);
			CHECK_INT(c.rank[0].trace.damaged, 1);
			CHECK_INT(c.rank[0].trace.damaged_at, file.n);
			CHECK_INT(c.rank[0].thread[0].spans, 2);
		}
		close(fd);
	}
	CHECK(peak_rss_kb() - before < 64 << 10);
}

/* A .gz that is whole, of two members, cut off, or damaged: what was unpacked before the damage is read. */
TEST(gzip)
{
	static uint8_t packed[KIT_BYTES];
	struct pp_capture any;
	size_t size = 0;

	make_small();
	for (int part = 0; part < 2; part++) {
		z_stream z = {0};

		CHECK_INT(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
		z.next_in = file.b + (part ? file.n / 2 : 0);
		z.avail_in = (uInt)(part ? file.n - file.n / 2 : file.n / 2);
		z.next_out = packed + size;
		z.avail_out = (uInt)(sizeof(packed) - size);
		CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
		size = (size_t)(z.next_out - packed);
		deflateEnd(&z);
	}
	CHECK_INT(read_bytes(packed, size, &any, &err), 0);
	CHECK_INT(any.rank[0].thread[0].spans, 2);
	CHECK_INT(any.rank[0].trace.damaged, 0);
	pp_capture_release(&any);
	CHECK_INT(read_bytes(packed, size - 40, &any, &err), 0);
	CHECK(any.rank[0].trace.damaged > 0);
	CHECK_INT(any.rank[0].thread[0].spans, 2);
	pp_capture_release(&any);
	for (size_t n = 0; n < size; n++)
		try_bytes(packed, n);
	for (size_t i = 0; i < 8 * size; i++) {
		packed[i / 8] ^= (uint8_t)(1u << i % 8);
		try_bytes(packed, size);
		packed[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}

int main(void)
{
	ranges();
	order_and_unknown();
	head_behind_the_events();
	events_of_any_form();
	times_that_are_none();
	unix_times();
	steps_of_groups();
	steps_of_roots();
	steps_of_launches();
	steps_of_devices();
	tpu();
	device_events();
	allocator();
	cut();
	flipped();
	damage_inside();
	nested_and_huge();
	sparse();
	gzip();
	pp_capture_release(&c);
	return test_end();
}
