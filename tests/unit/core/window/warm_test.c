/* When recording begins before a window: by a number of steps, or by the time that sources need. */
#include "core/window/warm.h"
#include "tests/test.h"

enum { NEED = 2000 };

/* Steps of `step_ms` from 0 up to the edge; the first one that is recorded, and how many marks were looked at. */
static int64_t run(struct pp_warm *w, int64_t edge, int64_t step_ms, int64_t need_ms, int *ret_looks)
{
	*ret_looks = 0;
	for (int64_t n = 0; n < edge; n++) {
		if (n < w->next)
			continue;
		++*ret_looks;
		if (pp_warm_mark(w, n, 1000 + n * step_ms, edge, need_ms))
			return n;
	}
	return edge;
}

TEST(by_steps)
{
	struct pp_warm w;
	int looks;

	pp_warm_init(&w, 5);
	CHECK_INT(run(&w, 100, 10, NEED, &looks), 95);
	pp_warm_init(&w, 0);
	CHECK_INT(run(&w, 100, 10, NEED, &looks), 100);
	pp_warm_init(&w, 500); /* the run has fewer before the window */
	CHECK_INT(run(&w, 100, 10, NEED, &looks), 0);
	pp_warm_init(&w, 5);
	CHECK_INT(run(&w, 100, 10, 0, &looks), 100); /* no source needs time */
}

TEST(by_time)
{
	struct pp_warm w;
	int looks;

	pp_warm_init(&w, -1);
	CHECK_INT(run(&w, 1000, 10, NEED, &looks), 799); /* 2 s, and a step that has begun */
	CHECK(looks < 20);
	pp_warm_init(&w, -1);
	CHECK_INT(run(&w, 100000000, 1, NEED, &looks), 100000000 - 2001);
	CHECK(looks < 40);
	pp_warm_init(&w, -1);
	CHECK_INT(run(&w, 100, 60000, NEED, &looks), 98); /* two steps at least */
	pp_warm_init(&w, -1);
	CHECK_INT(run(&w, 2, 10, NEED, &looks), 0);
	pp_warm_init(&w, -1);
	CHECK_INT(run(&w, 100, 10, 0, &looks), 100);
	CHECK(looks < 20);
}

/* The next window is known later, and a source begins to need time after steps have passed. */
TEST(changes)
{
	struct pp_warm w;

	pp_warm_init(&w, -1);
	CHECK_INT(pp_warm_mark(&w, 0, 0, INT64_MAX, NEED), 0);
	CHECK_INT(w.next, INT64_MAX);
	pp_warm_again(&w);
	CHECK_INT(w.next, INT64_MIN);
	CHECK_INT(pp_warm_mark(&w, 10, 1000, 20, NEED), 1);
	CHECK_INT(w.next, 20);
	CHECK_INT(pp_warm_mark(&w, 20, 2000, INT64_MAX, NEED), 0); /* the window records now */
	pp_warm_init(&w, 3);
	CHECK_INT(pp_warm_mark(&w, 0, 0, 100, 0), 0);
	CHECK(w.next < 97);
	for (int64_t n = w.next; n < 90; n = w.next)
		CHECK_INT(pp_warm_mark(&w, n, n, 100, 0), 0);
	CHECK_INT(pp_warm_mark(&w, 97, 97, 100, NEED), 1);
	/* Numbers go back, and stand. */
	pp_warm_init(&w, -1);
	CHECK_INT(pp_warm_mark(&w, 50, 100, 1000, NEED), 0);
	CHECK_INT(pp_warm_mark(&w, 10, 200, 1000, NEED), 0);
	CHECK_INT(pp_warm_mark(&w, 10, 300, 1000, NEED), 0);
}

int main(void)
{
	by_steps();
	by_time();
	changes();
	return test_end();
}
