/* The window's states: edges, jumps, numbers that go back. */
#include "core/window/window.h"

#include "tests/test.h"

TEST(not_asked)
{
	struct pp_window w;

	pp_window_init(&w, 0, 0);
	CHECK(!pp_window_asked(&w));
	CHECK(pp_window_begin(&w, 5));
	CHECK(pp_window_end(&w));
	CHECK_INT(w.state, PP_WINDOW_BEFORE);
}

TEST(edges)
{
	struct pp_window w;

	pp_window_init(&w, 10, 12);
	CHECK(w.recording);
	for (int i = 0; i < 9; i++)
		CHECK(!pp_window_begin(&w, i));
	CHECK(pp_window_begin(&w, 9));
	CHECK_INT(w.state, PP_WINDOW_BEFORE);
	CHECK(pp_window_begin(&w, 10));
	CHECK_INT(w.state, PP_WINDOW_INSIDE);
	CHECK(pp_window_end(&w));
	CHECK(pp_window_begin(&w, 11));
	CHECK(pp_window_begin(&w, 12));
	CHECK_INT(w.state, PP_WINDOW_INSIDE);
	CHECK(!pp_window_end(&w));
	CHECK_INT(w.state, PP_WINDOW_PASSED);
	CHECK(!pp_window_begin(&w, 10));
	CHECK_INT(w.state, PP_WINDOW_PASSED);
}

TEST(edge_without_end)
{
	struct pp_window w;

	pp_window_init(&w, 1, 2);
	CHECK(pp_window_begin(&w, 0));
	CHECK(pp_window_begin(&w, 1));
	CHECK(pp_window_begin(&w, 2));
	CHECK(!pp_window_begin(&w, 3));
	CHECK_INT(w.state, PP_WINDOW_PASSED);
}

TEST(which_mark_ends_it)
{
	struct pp_window w;

	pp_window_init(&w, 0, 0);
	CHECK(1000 < pp_window_ends_from(&w));
	pp_window_init(&w, 10, 12);
	pp_window_begin(&w, 5);
	CHECK(6 < pp_window_ends_from(&w));
	for (int i = 9; i < 12; i++) {
		CHECK(pp_window_begin(&w, i));
		CHECK(i + 1 < pp_window_ends_from(&w));
		CHECK(13 >= pp_window_ends_from(&w));
	}
	CHECK(pp_window_begin(&w, 12));
	CHECK(13 >= pp_window_ends_from(&w) && 2 >= pp_window_ends_from(&w));
	CHECK(!pp_window_begin(&w, 13));
	CHECK(14 < pp_window_ends_from(&w));
}

TEST(jumps)
{
	struct pp_window w;

	pp_window_init(&w, 10, 20);
	CHECK(!pp_window_begin(&w, 0));
	CHECK(!pp_window_begin(&w, 100));
	CHECK_INT(w.state, PP_WINDOW_PASSED);
	pp_window_init(&w, 10, 20);
	CHECK(pp_window_begin(&w, 15));
	CHECK(!pp_window_begin(&w, 2));
	CHECK_INT(w.state, PP_WINDOW_INSIDE);
	CHECK(pp_window_begin(&w, 16));
}

int main(void)
{
	not_asked();
	edges();
	edge_without_end();
	which_mark_ends_it();
	jumps();
	return test_end();
}
