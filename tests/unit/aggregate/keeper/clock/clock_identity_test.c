/* Whether two hosts report one clock. */
#include "aggregate/keeper/clock/clock_identity.h"

#include "core/base/tick.h"
#include "tests/test.h"

TEST(boot_kind_and_namespace)
{
	struct pp_wire_clock a = {"boot-1", "monotonic 0 0", PP_TICK_RAW}, b = a;

	CHECK(pp_clock_is_same(&a, &b));
	b.timens = "monotonic 7200 0";
	CHECK(!pp_clock_is_same(&a, &b));
	a.tick_kind = b.tick_kind = PP_TICK_TSC; /* no namespace moves a counter */
	CHECK(pp_clock_is_same(&a, &b));
	b.tick_kind = PP_TICK_RAW;
	CHECK(!pp_clock_is_same(&a, &b));
	b.tick_kind = PP_TICK_TSC;
	b.boot_id = "boot-2";
	CHECK(!pp_clock_is_same(&a, &b));
	b.boot_id = NULL; /* no ring yet */
	CHECK(!pp_clock_is_same(&a, &b) && !pp_clock_is_same(&b, &b));
	a.boot_id = b.boot_id = ""; /* unknown on both */
	CHECK(pp_clock_is_same(&a, &b));
}

int main(void)
{
	boot_kind_and_namespace();
	return test_end();
}
