/* Times of CUPTI as ticks: lines, a wall clock that is slewed, set forward and set back, times that are none. */
#include "core/source/cupti/cupti_clock.h"

#include "tests/test.h"

enum { SECOND = 1000000000 };

static const int64_t EPOCH = INT64_C(1760000000) * SECOND;

/* A tick of 2.5 per ns; `off`: of CUPTI's clock. */
static struct pp_cupti_pair at(int64_t ns, int64_t off)
{
	return (struct pp_cupti_pair){.tick = 1000000 + (pp_tick)(ns / 2 * 5), .ns = EPOCH + ns + off, .raw = 77 + ns};
}

static int64_t error_at(struct pp_cupti_clock *c, int64_t ns, int64_t off)
{
	pp_tick tick = 0;

	if (!pp_cupti_clock_map(c, (uint64_t)(EPOCH + ns + off), &tick))
		return INT64_MAX;
	return (int64_t)(tick - 1000000) * 2 / 5 - ns;
}

static int small(int64_t error)
{
	return error >= -2 && error <= 2;
}

TEST(lines)
{
	static struct pp_cupti_clock c;
	struct pp_cupti_pair p = at(0, 0);
	pp_tick tick = 0;

	CHECK(!pp_cupti_clock_map(&c, (uint64_t)EPOCH, &tick));
	pp_cupti_clock_add(&c, &p);
	CHECK(!pp_cupti_clock_map(&c, (uint64_t)EPOCH, &tick));
	pp_cupti_clock_add(&c, &p); /* again: left out */
	CHECK_INT(c.pairs, 1);
	for (int64_t s = 1; s <= 300; s++) {
		p = at(s * SECOND, s * 500000); /* 500 ppm, as NTP slews */
		pp_cupti_clock_add(&c, &p);
	}
	CHECK_INT(c.jumps, 0);
	CHECK(c.pairs <= PP_CUPTI_PAIRS);
	for (int64_t ns = 250 * (int64_t)SECOND; ns < 300 * (int64_t)SECOND; ns += 77777777)
		CHECK(small(error_at(&c, ns, ns / 2000)));
	CHECK(small(error_at(&c, 301 * (int64_t)SECOND, 301 * 500000)));
	CHECK(small(error_at(&c, 299 * (int64_t)SECOND, 299 * 500000))); /* back again */
	CHECK(!pp_cupti_clock_map(&c, 0, &tick));
	CHECK(!pp_cupti_clock_map(&c, 12345, &tick));
	CHECK(!pp_cupti_clock_map(&c, UINT64_MAX, &tick));
	CHECK(!pp_cupti_clock_map(&c, (uint64_t)(EPOCH + 400 * (int64_t)SECOND), &tick));
}

/* A reading that took long, a rate that changes: no time is more wrong than it says. */
TEST(errors)
{
	static struct pp_cupti_clock c;
	struct pp_cupti_pair p = at(0, 0);
	int64_t worst = 0;

	p.width_ns = 301;
	pp_cupti_clock_add(&c, &p);
	CHECK_INT(c.error_ns, 151);
	for (int64_t s = 1; s <= 2; s++) {
		p = at(s * SECOND, 0);
		p.width_ns = 20;
		pp_cupti_clock_add(&c, &p);
	}
	CHECK_INT(c.error_ns, 151);
	for (int64_t s = 3; s <= 4; s++) { /* 100 ppm faster from 2.5 s on */
		p = at(s * SECOND, (s * SECOND - 5 * (int64_t)SECOND / 2) / 10000);
		pp_cupti_clock_add(&c, &p);
	}
	for (int64_t ns = 2 * (int64_t)SECOND; ns < 3 * (int64_t)SECOND; ns += 1234567) {
		int64_t off = ns > 5 * (int64_t)SECOND / 2 ? (ns - 5 * (int64_t)SECOND / 2) / 10000 : 0,
		        error = error_at(&c, ns, off);

		worst = error > worst ? error : -error > worst ? -error : worst;
	}
	CHECK(worst > 20000 && worst <= c.error_ns + 2 && c.error_ns < 30000);
	pp_cupti_clock_reset(&c);
	CHECK_INT(c.error_ns, 0);
}

/* The clock is set by `by` in the middle of the third second. */
static void jump(int64_t by)
{
	static struct pp_cupti_clock c;

	pp_cupti_clock_reset(&c);
	for (int64_t s = 0; s <= 6; s++) {
		struct pp_cupti_pair p = at(s * SECOND, s > 2 ? by : 0);

		pp_cupti_clock_add(&c, &p);
	}
	CHECK_INT(c.jumps, 1);
	for (int64_t ms = 3100; ms < 6000; ms += 100)
		CHECK(small(error_at(&c, ms * 1000000, by)));
	if (by < 0) /* the same times come twice: those of the newest pairs are taken */
		return;
	for (int64_t ms = 0; ms < 2500; ms += 100)
		CHECK(small(error_at(&c, ms * 1000000, 0)));
	for (int64_t ms = 2500; ms < 3000; ms += 100)
		CHECK(small(error_at(&c, ms * 1000000, by)));
}

int main(void)
{
	lines();
	errors();
	jump(3600 * (int64_t)SECOND);
	jump(2 * (int64_t)SECOND);
	jump(-SECOND / 2);
	return test_end();
}
