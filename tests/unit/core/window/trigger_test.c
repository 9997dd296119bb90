/* What moves the windows: every kind of the keeper's requests, and an agreement in all orders. */
#include "core/window/trigger.h"

#include <errno.h>

#include "tests/test.h"
#include "tests/unit/core/window/trigger_kit.h"

/* The ranks of the job, as far as this one sees them. */
static int asked, answers, ask_says, answer_says;
static uint32_t asked_number;
static int64_t asked_step, others_step;
static void (*during_ask)(void);

static int fake_ask(uint32_t number, int64_t step)
{
	asked++;
	asked_number = number;
	asked_step = step;
	if (during_ask)
		during_ask();
	return ask_says;
}

static int fake_answer(uint32_t number, int64_t *ret_step)
{
	CHECK_INT(number, asked_number);
	answers++;
	if (answer_says > 0)
		*ret_step = others_step > asked_step ? others_step : asked_step;
	return answer_says;
}

static const struct pp_coord_ops fake = {.name = "fake", .ask = fake_ask, .answer = fake_answer};

static int rung(void)
{
	return pp_trigger_is_rung();
}

TEST(steps_on_request)
{
	uint32_t n;

	kit_claim("100:101", 0);
	kit_step(0);
	n = kit_ring(PP_ASK_STEPS, 5, 7);
	CHECK(rung());
	pp_trigger_poll(); /* between two marks it is not known how far this rank is */
	CHECK(!rung());
	CHECK_INT(kit_word(n), PP_REQUEST_NONE);
	CHECK(!kit_step(1));
	CHECK_INT(kit_word(n), PP_REQUEST_TAKEN);
	CHECK_INT(pp_trigger_next_edge, 4);
	for (int i = 2; i < 10; i++)
		CHECK_INT(kit_step(i), i >= 4 && i <= 7);
	CHECK_INT(kit_word(n), PP_REQUEST_PASSED);
	CHECK(kit_header.request_row.begin && kit_header.request_row.end > kit_header.request_row.begin);
	n = kit_ring(PP_ASK_STEPS, 10, 12);
	CHECK(!kit_step(10));
	CHECK_INT(kit_word(n), PP_REQUEST_LATE);
	n = kit_ring(PP_ASK_STEPS, 13, 15);
	kit_step(11);
	kit_ring(PP_ASK_NOTHING, 0, 0);
	for (int i = 12; i < 20; i++)
		CHECK(!kit_step(i));
	CHECK_INT(kit_word(n), -1);
}

/* Each third step has the level of the options; those of a request have its. */
TEST(levels)
{
	kit_claim("", 0);
	pp_trigger_level(pp_level_code(PP_LEVEL_OPERATORS, 3));
	for (int i = 0; i < 9; i++) {
		kit_step(i);
		CHECK_INT(kit_header.level, i % 3 ? PP_LEVEL_STEPS : PP_LEVEL_OPERATORS);
	}
	atomic_store(&kit_page.request_level, pp_level_code(PP_LEVEL_PYTHON, 1));
	kit_ring(PP_ASK_STEPS, 13, 15);
	for (int i = 9; i < 20; i++) {
		kit_step(i);
		if (i == 13 || i == 14)
			CHECK_INT(kit_header.level, PP_LEVEL_PYTHON);
		else if (i < 12 || i > 15)
			CHECK_INT(kit_header.level, i % 3 ? PP_LEVEL_STEPS : PP_LEVEL_OPERATORS);
	}
	pp_trigger_level(0);
}

/* The mark that switches recording is an edge, the ones between are none; it is asked without the lock. */
TEST(edges_of_a_request)
{
	kit_claim("100:101", 0);
	kit_step(0);
	kit_ring(PP_ASK_STEPS, 5, 7);
	CHECK(pp_trigger_is_edge(1));
	kit_step(1);
	for (int i = 2; i < 12; i++) {
		int was = kit_recording != 0, is_edge = pp_trigger_is_edge(i);

		CHECK((kit_step(i) != 0) == was || is_edge);
		CHECK(!is_edge || i == 4 || i >= 8);
	}
}

TEST(now)
{
	uint32_t n;

	kit_claim("100:101", 0);
	kit_step(0);
	CHECK(!kit_recording);
	n = kit_ring(PP_ASK_NOW, 0, 0);
	pp_trigger_poll();
	CHECK(kit_recording && !rung());
	CHECK_INT(kit_word(n), PP_REQUEST_STARTED);
	CHECK(kit_step(1) && kit_step(2));
	n = kit_ring(PP_ASK_NOW, 0, 0); /* said again: goes on */
	pp_trigger_poll();
	CHECK_INT(kit_switches, 2);
	CHECK_INT(kit_word(n), PP_REQUEST_STARTED);
	n = kit_ring(PP_ASK_NOTHING, 0, 0);
	CHECK(!kit_step(3));
	CHECK_INT(kit_word(n), PP_REQUEST_PASSED);
	CHECK(kit_header.request_row.end > kit_header.request_row.begin);
	n = kit_ring(PP_ASK_NOTHING, 0, 0);
	pp_trigger_poll();
	CHECK_INT(kit_word(n), PP_REQUEST_NONE);
}

TEST(agree)
{
	uint32_t n;

	kit_claim("1000:1001", 0);
	pp_trigger_coordinate(&fake);
	kit_step(3);
	others_step = 8;
	ask_says = -EAGAIN;
	n = kit_ring(PP_ASK_AGREE, 2, 3);
	pp_trigger_poll();
	CHECK(asked == 1 && !answers && rung());
	CHECK_INT(kit_word(n), PP_REQUEST_NONE);
	ask_says = answer_says = 0;
	pp_trigger_poll();
	CHECK(asked == 2 && answers == 1 && rung());
	CHECK_INT(asked_step, 3);
	CHECK_INT(kit_word(n), PP_REQUEST_AGREEING);
	kit_step(4);
	CHECK_INT(answers, 2);
	CHECK_INT(asked, 2); /* once it has begun it is not asked again */
	answer_says = 1;
	kit_step(5);
	CHECK(!rung());
	CHECK_INT(kit_word(n), PP_REQUEST_TAKEN);
	CHECK_INT(kit_header.request_row.first, 10);
	CHECK_INT(kit_header.request_row.last, 13);
	for (int i = 6; i < 20; i++)
		CHECK_INT(kit_step(i), i >= 9 && i <= 13);
	CHECK_INT(kit_word(n), PP_REQUEST_PASSED);
}

TEST(agreed_late)
{
	uint32_t n;

	kit_claim("1000:1001", 0);
	pp_trigger_coordinate(&fake);
	kit_step(1);
	n = kit_ring(PP_ASK_AGREE, 2, 3);
	pp_trigger_poll();
	kit_step(2);
	answer_says = 1;
	CHECK(!kit_step(3)); /* 1 + 2 */
	CHECK_INT(kit_word(n), PP_REQUEST_LATE);
	CHECK(!rung());
	for (int i = 4; i < 10; i++)
		CHECK(!kit_step(i));
}

TEST(agreed_at_the_next_mark)
{
	uint32_t n;

	kit_claim("1000:1001", 0);
	pp_trigger_coordinate(&fake);
	answer_says = 1;
	n = kit_ring(PP_ASK_AGREE, 2, 1);
	CHECK(!kit_step(4));
	CHECK_INT(kit_word(n), PP_REQUEST_AGREEING);
	CHECK(kit_step(5));
	CHECK_INT(kit_word(n), PP_REQUEST_STARTED);
	CHECK(kit_step(6) && kit_step(7) && !kit_step(8));
	CHECK_INT(asked, 1);
}

TEST(agreement_ends)
{
	uint32_t n;

	kit_claim("1000:1001", 0);
	n = kit_ring(PP_ASK_AGREE, 2, 1); /* nobody to speak with */
	pp_trigger_poll();
	CHECK_INT(kit_word(n), PP_REQUEST_ALONE);
	CHECK(!rung());
	pp_trigger_coordinate(&fake);
	ask_says = -EPIPE;
	n = kit_ring(PP_ASK_AGREE, 2, 1);
	pp_trigger_poll();
	CHECK_INT(kit_word(n), PP_REQUEST_ALONE);
	ask_says = 0;
	n = kit_ring(PP_ASK_AGREE, 2, 1);
	pp_trigger_poll();
	CHECK_INT(kit_word(n), PP_REQUEST_AGREEING);
	answer_says = -EPIPE;
	kit_step(1);
	CHECK_INT(kit_word(n), PP_REQUEST_ALONE);
	CHECK(!rung());
	n = kit_ring(PP_ASK_STEPS, 4, 5); /* without them it goes on as before */
	kit_step(2);
	CHECK_INT(kit_word(n), PP_REQUEST_TAKEN);
}

TEST(rung_while_agreeing)
{
	uint32_t old, n;

	kit_claim("1000:1001", 0);
	pp_trigger_coordinate(&fake);
	kit_step(0);
	old = kit_ring(PP_ASK_AGREE, 3, 2);
	pp_trigger_poll();
	n = kit_ring(PP_ASK_NOTHING, 0, 0);
	pp_trigger_poll();
	CHECK(!rung());
	CHECK_INT(kit_word(n), PP_REQUEST_NONE);
	n = kit_ring(PP_ASK_AGREE, 3, 2);
	ask_says = -EAGAIN; /* the old one is still under way */
	pp_trigger_poll();
	CHECK_INT(asked_number, n);
	ask_says = 0;
	answer_says = 1;
	others_step = 5;
	kit_step(1);
	CHECK_INT(kit_word(n), PP_REQUEST_TAKEN);
	CHECK_INT(kit_header.request_row.first, 8);
	CHECK(old != n);
}

/* Whoever waits for the others is not to pay for it in each of its calls; the answer is there at the next mark all the same. */
TEST(others_are_slow)
{
	uint32_t n;
	int before;

	kit_claim("1000000:1000001", 0);
	pp_trigger_coordinate(&fake);
	kit_step(0);
	n = kit_ring(PP_ASK_AGREE, 100000, 3);
	pp_trigger_poll();
	for (int i = 0; i < 100000; i++)
		pp_trigger_poll();
	CHECK(answers > 8 && answers < 20);
	before = answers;
	for (int i = 1; i <= 20000; i++) {
		kit_step(i);
		if (i == 16)
			CHECK(answers >= before + 15); /* it may be about to begin */
		for (int k = 0; i <= 10 && k < 10; k++)
			pp_trigger_poll();
	}
	CHECK(answers < before + 150);
	answer_says = 1;
	for (int i = 20001; i <= 23000; i++) {
		kit_step(i);
		pp_trigger_poll();
	}
	CHECK_INT(kit_word(n), PP_REQUEST_TAKEN);
	CHECK_INT(kit_header.request_row.first, 100000);
	CHECK_INT(asked, 1);
}

static void ring_another(void)
{
	during_ask = NULL;
	kit_ring(PP_ASK_STEPS, 50, 51);
	pp_trigger_poll(); /* another thread, or a handler */
}

/* The answer to a request that is none any more changes nothing. */
TEST(rung_inside_the_agreement)
{
	kit_claim("1000:1001", 0);
	pp_trigger_coordinate(&fake);
	kit_step(0);
	answer_says = 1;
	during_ask = ring_another;
	kit_ring(PP_ASK_AGREE, 3, 2);
	pp_trigger_poll();
	kit_step(1);
	CHECK_INT(kit_word(2), PP_REQUEST_TAKEN);
	CHECK_INT(kit_header.request_row.first, 50);
}

static void mark_another(void)
{
	kit_step(20);
}

/* Another thread marks steps while this one speaks: the agreed step has begun by then. */
TEST(overtaken_inside_the_agreement)
{
	uint32_t n;

	kit_claim("1000:1001", 0);
	pp_trigger_coordinate(&fake);
	kit_step(0);
	answer_says = 1;
	during_ask = mark_another;
	n = kit_ring(PP_ASK_AGREE, 3, 2);
	pp_trigger_poll();
	CHECK_INT(kit_word(n), PP_REQUEST_AGREEING);
	kit_step(21);
	CHECK_INT(kit_word(n), PP_REQUEST_LATE);
}

TEST(no_step_is_marked)
{
	uint32_t n;

	kit_claim("1000:1001", 0);
	pp_trigger_coordinate(&fake);
	answer_says = 1;
	others_step = INT64_MIN;
	n = kit_ring(PP_ASK_AGREE, 3, 2);
	for (int i = 0; i <= 16; i++)
		pp_trigger_poll();
	CHECK(asked_step == INT64_MIN);
	CHECK_INT(kit_word(n), PP_REQUEST_TAKEN);
	CHECK_INT(kit_header.request_row.first, 2);
	others_step = INT64_MAX;
	n = kit_ring(PP_ASK_AGREE, 3, 2);
	for (int i = 0; i <= 16; i++)
		pp_trigger_poll();
	CHECK_INT(kit_word(n), PP_REQUEST_ALONE);
}

int main(void)
{
	void (*const tests[])(void) = {steps_on_request,
	                               edges_of_a_request,
	                               levels,
	                               now,
	                               agree,
	                               agreed_late,
	                               agreed_at_the_next_mark,
	                               agreement_ends,
	                               rung_while_agreeing,
	                               others_are_slow,
	                               rung_inside_the_agreement,
	                               overtaken_inside_the_agreement,
	                               no_step_is_marked};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		kit_alone(tests[i]);
	return test_end();
}
