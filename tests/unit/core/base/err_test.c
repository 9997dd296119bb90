/* Error sentences, the tick, small files of /proc. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/proc.h"
#include "core/base/tick.h"
#include "tests/test.h"

TEST(sentences)
{
	struct pp_err err;
	char longer[sizeof(err.text) + 1];

	CHECK_INT(pp_err_set(&err, -EINVAL, "'%s' is %d", "x", 3), -EINVAL);
	CHECK_STR(err.text, "'x' is 3");
	CHECK_INT(pp_err_wrap(&err, -EIO, "file %d", 7), -EIO);
	CHECK_STR(err.text, "file 7: 'x' is 3");
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	pp_err_wrap(&err, -EIO, "%s", longer);
	CHECK_INT(strlen(err.text), sizeof(err.text) - 1);
	CHECK_INT(pp_err_set(NULL, -EIO, "x"), -EIO);
	CHECK_INT(pp_err_wrap(NULL, -EIO, "x"), -EIO);
}

TEST(ticks)
{
	pp_tick a, b;

	pp_tick_init();
	CHECK(pp_tick_kind == PP_TICK_RAW || pp_tick_kind == PP_TICK_COUNTER);
	a = pp_tick_now();
	usleep(2000);
	b = pp_tick_now();
	CHECK(b > a);
	a = pp_tick_counter();
	usleep(2000);
	b = pp_tick_counter_after();
	CHECK(b - a >= 2000 && b - a < 200000000000); /* 1 MHz to 5 GHz, and a machine that is late */
	setenv("PODPROF_TICK", "raw", 1);
	pp_tick_init();
	CHECK_INT(pp_tick_kind, PP_TICK_RAW);
	a = pp_tick_now();
	usleep(2000);
	b = pp_tick_now();
	CHECK(b - a >= 2000000 && b - a < 2000000000);
}

TEST(files)
{
	char text[64];

	CHECK(pp_proc_read("/proc/self/comm", text, sizeof(text)) > 0);
	CHECK_INT(pp_proc_read("/proc/nothing", text, sizeof(text)), -ENOENT);
	CHECK_STR(text, "");
	CHECK(pp_proc_start_time(getpid()) > 0);
	CHECK_INT(pp_proc_start_time(0x7ffffff0), 0);
}

int main(void)
{
	sentences();
	ticks();
	files();
	return test_end();
}
