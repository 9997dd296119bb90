/* What a profiler records of itself when it starts and ends is no time of the program. */
#include "aggregate/read/xspace/window.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"

static struct bytes file, plane, line, event;
static struct pp_capture c;

static const char *const names[] = {"",
                                    "$contextlib.py:132 __enter__",
                                    "$profiler.py:151 start_trace",
                                    "$<unknown> __exit__",
                                    "$train.py:3 main",
                                    "my stage",
                                    "$profiler.py:271 stop_trace",
                                    "$session.py:9 export",
                                    "fusion.1",
                                    "$profiler_v2.py:70 start",
                                    "$profiler_v2.py:120 stop",
                                    "$my_profiler.py:1 start_trace"};

static void add(int64_t name, int64_t begin, int64_t end)
{
	begin_event(&event, name, begin, end - begin);
	put_message(&line, 4, &event);
}

static const struct pp_rank *read_file(void)
{
	struct pp_err err = {""};

	for (int64_t i = 1; i < 12; i++)
		put_name(&plane, 4, i, names[i]);
	put_message(&file, 1, &plane);
	pp_capture_release(&c);
	c = (struct pp_capture){0};
	if (read_bytes(file.b, file.n, &c, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	file.n = 0;
	return &c.rank[0];
}

static void begin(void)
{
	begin_plane(&plane, "/host:CPU");
	begin_line(&line, 1, "python");
}

TEST(of_jax)
{
	const struct pp_rank *r;

	begin();
	add(1, 0, 110);
	add(2, 0, 100);
	add(3, 40, 90);
	add(4, 120, 900);
	add(5, 200, 500);
	add(6, 920, 1000);
	add(7, 930, 990);
	put_message(&plane, 3, &line);
	r = read_file();
	CHECK_INT(r->recorded_from, 100);
	CHECK_INT(r->recorded_to, 920);
	CHECK_INT(r->thread[0].spans, 3);
	CHECK_INT(r->thread[0].span[0].begin, 100);
	CHECK_INT(r->thread[0].span[0].end, 110);
	CHECK_INT(r->remarks, 1);
	CHECK(strstr(r->remark[0], "4 events"));
}

/* What devices do for the program while the profiler ends is still in the window, and the profiler is not. */
TEST(of_tensorflow_with_a_device)
{
	const struct pp_rank *r;
	static struct bytes device;

	begin();
	add(9, 0, 100);
	add(5, 100, 300);
	add(10, 400, 1000);
	put_message(&plane, 3, &line);
	begin_plane(&device, "/device:GPU:0");
	begin_line(&line, 1, "Stream #1");
	add(8, 350, 700);
	put_message(&device, 3, &line);
	put_name(&device, 4, 8, "fusion.1");
	put_message(&file, 1, &device);
	r = read_file();
	CHECK_INT(r->recorded_from, 100);
	CHECK_INT(r->recorded_to, 700);
	CHECK_INT(r->threads, 2);
	for (size_t t = 0; t < r->threads; t++)
		CHECK_INT(r->thread[t].spans, 1);
}

/* A profiler that starts amid the file is another one's, and so is a function of the program. */
TEST(of_another)
{
	const struct pp_rank *r;

	begin();
	add(5, 10, 20);
	add(2, 30, 100);
	add(6, 110, 150);
	add(11, 160, 200);
	put_message(&plane, 3, &line);
	r = read_file();
	CHECK_INT(r->recorded_from, 10);
	CHECK_INT(r->recorded_to, 200);
	CHECK_INT(r->thread[0].spans, 4);
	CHECK_INT(r->remarks, 0);
}

int main(void)
{
	of_jax();
	of_tensorflow_with_a_device();
	of_another();
	pp_capture_release(&c);
	return test_end();
}
