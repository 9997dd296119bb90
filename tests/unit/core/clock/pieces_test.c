/* Chains of lines: what they map to, how sure they are, and one behind the other. */
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/clock/clock_map.h"
#include "core/clock/pieces.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/clock/pieces_make.h"
#include "tests/test.h"

/* A band of given nodes: x, y, half width. */
static void band_of(struct pp_band *b, const int64_t (*node)[3], size_t nodes)
{
	struct pp_band_options o = {0};

	CHECK_INT(pp_band_init(b, &o, NULL), 0);
	for (size_t i = 0; i < nodes; i++)
		b->node[i] = (struct pp_band_node){
		        .x = node[i][0], .y = node[i][1], .low = -(double)node[i][2], .high = (double)node[i][2], .wander = 1e-7};
	b->nodes = nodes;
	b->rate = 1;
	b->rate_error = 1e-4;
}

static const int64_t way[][3] = {
        {1000000000, 50000000000, 10}, {2000000000, 51000100000, 20}, {4000000000, 53000000000, 30}, {5000000000, 54000000001, 5}};

TEST(nodes_and_between)
{
	struct pp_pieces p;
	struct pp_band b;

	band_of(&b, way, 4);
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &p, NULL), 0);
	CHECK_INT(p.pieces, 5);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(pp_pieces_map(&p, way[i][0]), way[i][1]);
		CHECK(pp_pieces_bound(&p, way[i][0]) >= way[i][2]);
		CHECK(pp_pieces_bound(&p, way[i][0]) <= way[i][2] + 3);
	}
	CHECK(llabs(pp_pieces_map(&p, 3000000000) - 52000050000) <= 1);
	/* half way: the mean of the ends, and wander D / 2 */
	CHECK(llabs(pp_pieces_bound(&p, 3000000000) - (25 + 1 + 100)) <= 1);
	CHECK_INT(pp_pieces_worst(&p, 2000000000, 4000000000), pp_pieces_bound(&p, 3025000000));
	/* outside it grows, and further out nothing is said */
	CHECK(pp_pieces_bound(&p, 5500000000) > pp_pieces_bound(&p, 5100000000));
	CHECK(pp_pieces_bound(&p, 5100000000) > pp_pieces_bound(&p, 5000000000));
	CHECK(pp_pieces_bound(&p, 500000000) > pp_pieces_bound(&p, 900000000));
	CHECK(pp_pieces_bound(&p, 6000000001) == INT64_MAX);
	CHECK(pp_pieces_bound(&p, -1) == INT64_MAX);
	CHECK(pp_pieces_worst(&p, 900000000, 7000000000) == INT64_MAX);
	pp_pieces_release(&p);
	pp_band_release(&b);
}

TEST(monotone_over_knots)
{
	struct pp_pieces p;
	struct pp_band b;

	band_of(&b, way, 4);
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &p, NULL), 0);
	for (int i = 0; i < 4; i++) {
		int64_t last = INT64_MIN;

		for (int64_t x = way[i][0] - 5000; x < way[i][0] + 5000; x++) {
			int64_t y = pp_pieces_map(&p, x);

			CHECK(y >= last && (last == INT64_MIN || y <= last + 3));
			last = y;
		}
	}
	pp_pieces_release(&p);
	pp_band_release(&b);
}

/* The way back is the first x of all that map to y or later: over knots, flat pieces and outside. */
TEST(there_and_back)
{
	struct pp_pieces p;
	struct pp_band b;

	band_of(&b, way, 4);
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &p, NULL), 0);
	for (int64_t x = -500000000; x < 7000000000; x += 1234567) {
		int64_t y = pp_pieces_map(&p, x), back = pp_pieces_inverse(&p, y);

		CHECK(back <= x && pp_pieces_map(&p, back) >= y && pp_pieces_map(&p, back - 1) < y);
	}
	for (int i = 0; i < 4; i++)
		CHECK(llabs(pp_pieces_inverse(&p, way[i][1]) - way[i][0]) <= 1);
	CHECK(pp_pieces_inverse(&p, INT64_MAX) > 7000000000 && pp_pieces_inverse(&p, INT64_MIN + 1) < 0);
	p.piece[2].num = 0; /* no time passes in it */
	CHECK_INT(pp_pieces_inverse(&p, way[1][1] + 5), way[2][0]);
	pp_pieces_release(&p);
	pp_band_release(&b);
}

TEST(a_run_in_place)
{
	struct record {
		int64_t other, time;
	} run[5000];
	struct pp_pieces p;
	struct pp_band b;

	band_of(&b, way, 4);
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &p, NULL), 0);
	for (int i = 0; i < 5000; i++) /* sorted but for every eleventh */
		run[i] = (struct record){i, -1000000000 + i * 1500000ll - (i % 11 == 0 ? 3000000000 : 0)};
	pp_pieces_map_run(&p, &run[0].time, 5000, sizeof(run[0]));
	for (int i = 0; i < 5000; i++) {
		CHECK_INT(run[i].time, pp_pieces_map(&p, -1000000000 + i * 1500000ll - (i % 11 == 0 ? 3000000000 : 0)));
		CHECK_INT(run[i].other, i);
	}
	pp_pieces_release(&p);
	pp_band_release(&b);
}

TEST(broken_and_empty)
{
	struct pp_pieces p;
	struct pp_band b;

	band_of(&b, way, 4);
	b.node[1].flags = PP_BAND_BROKEN;
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &p, NULL), 0);
	CHECK(pp_pieces_bound(&p, 3000000000) == INT64_MAX);
	CHECK(pp_pieces_bound(&p, 1500000000) < 100);
	CHECK(pp_pieces_bound(&p, 4500000000) < 100);
	CHECK(pp_pieces_worst(&p, 1500000000, 4500000000) == INT64_MAX);
	pp_pieces_release(&p);
	b.nodes = 0;
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &p, NULL), -ENODATA);
	pp_band_release(&b);
}

/* child to hub to root: the same as one after the other, with the sum of the bounds */
TEST(one_behind_the_other)
{
	static const int64_t up[][3] = {
	        {50500000000, 7000000000, 100}, {52500000000, 9000003000, 200}, {53500000000, 10000000000, 50}};
	struct pp_pieces first, second, both;
	struct pp_band a, b;

	band_of(&a, way, 4);
	band_of(&b, up, 3);
	CHECK_INT(pp_pieces_of_band(&a, 2000000000, &first, NULL), 0);
	CHECK_INT(pp_pieces_of_band(&b, 9000000000, &second, NULL), 0);
	CHECK_INT(pp_pieces_join(&first, &second, &both, NULL), 0);
	CHECK_INT(both.pieces, 8);
	for (int64_t x = -900000000; x < 6900000000; x += 12345678) {
		int64_t y = pp_pieces_map(&first, x), z = pp_pieces_map(&second, y), got = pp_pieces_map(&both, x);
		int64_t sum = pp_pieces_bound(&first, x) + pp_pieces_bound(&second, y);

		CHECK(llabs(got - z) <= 2);
		CHECK(pp_pieces_bound(&both, x) >= sum - 3 && pp_pieces_bound(&both, x) <= sum + 5);
	}
	CHECK(pp_pieces_bound(&both, 7100000000) == INT64_MAX);
	pp_pieces_release(&first);
	pp_pieces_release(&second);
	pp_pieces_release(&both);
	pp_band_release(&a);
	pp_band_release(&b);
}

/* A hub that was compared over a part of the time only, and a line that begins at boot: what they cover keeps its bound. */
TEST(one_behind_a_shorter_one)
{
	static const int64_t up[][3] = {{50500000000, 7000000000, 100}, {52500000000, 9000003000, 200}};
	struct pp_pieces first, second, both;
	struct pp_band a, b;

	band_of(&a, way, 4);
	band_of(&b, up, 2);
	CHECK_INT(pp_pieces_of_band(&a, 2000000000, &first, NULL), 0);
	CHECK_INT(pp_pieces_of_band(&b, 200000000, &second, NULL), 0);
	CHECK_INT(pp_pieces_join(&first, &second, &both, NULL), 0);
	for (int64_t x = -900000000; x < 6900000000; x += 12345678) {
		int64_t y = pp_pieces_map(&first, x);

		CHECK((pp_pieces_bound(&both, x) == INT64_MAX) == (pp_pieces_bound(&second, y) == INT64_MAX));
		CHECK(llabs(pp_pieces_map(&both, x) - pp_pieces_map(&second, y)) <= 2);
	}
	pp_pieces_release(&first);
	pp_pieces_release(&second);
	pp_pieces_release(&both);
	pp_band_release(&a);
	pp_band_release(&b);
}

TEST(then_the_line_to_job_time)
{
	struct pp_clock_map m = {.tick0 = 52000000000, .ns0 = 0, .num = (uint64_t)1 << 61, .shift = 62}; /* 2 GHz */
	struct pp_pieces first, line, both;
	struct pp_band a;

	band_of(&a, way, 4);
	CHECK_INT(pp_pieces_of_band(&a, 1000000000, &first, NULL), 0);
	CHECK_INT(pp_pieces_of_map(&m, 1000, 100000000000, &line, NULL), 0);
	CHECK_INT(pp_pieces_join(&first, &line, &both, NULL), 0);
	CHECK_INT(both.pieces, first.pieces);
	for (int64_t x = 0; x < 6000000000; x += 1234567)
		CHECK(llabs(pp_pieces_map(&both, x) - pp_clock_map_ns(&m, (pp_tick)pp_pieces_map(&first, x))) <= 1);
	CHECK(pp_pieces_bound(&both, 3000000000) <= pp_pieces_bound(&first, 3000000000) / 2 + 3);
	CHECK(pp_pieces_of_map(&m, 1000, 1000, &line, NULL) < 0);
	pp_pieces_release(&first);
	pp_pieces_release(&line);
	pp_pieces_release(&both);
	pp_band_release(&a);
}

TEST(as_bytes)
{
	uint8_t bytes[1000], bad[1000];
	struct pp_pieces p, back;
	struct pp_band b;
	size_t size;

	band_of(&b, way, 4);
	b.node[1].flags = PP_BAND_BROKEN; /* a bound of INFINITY goes through */
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &p, NULL), 0);
	size = pp_pieces_write(&p, bytes, sizeof(bytes));
	CHECK(size <= sizeof(bytes) && pp_pieces_write(&p, bad, 10) == size);
	CHECK_INT(pp_pieces_read(bytes, size, &back, NULL), 0);
	for (int64_t x = -100000000; x < 6100000000; x += 12345678) {
		CHECK_INT(pp_pieces_map(&back, x), pp_pieces_map(&p, x));
		CHECK_INT(pp_pieces_bound(&back, x), pp_pieces_bound(&p, x));
	}
	pp_pieces_release(&back);
	for (size_t cut = 0; cut < size; cut++)
		CHECK_INT(pp_pieces_read(bytes, cut, &back, NULL), -EBADMSG);
	for (size_t i = 0; i < size; i++) { /* whatever one byte says, it is refused or a chain that can be used */
		memcpy(bad, bytes, size);
		bad[i] ^= 0xff;
		if (pp_pieces_read(bad, size, &back, NULL))
			continue;
		CHECK(pp_pieces_map(&back, 3000000000) == pp_pieces_map(&back, 3000000000));
		CHECK(pp_pieces_bound(&back, 3000000000) >= 0);
		pp_pieces_release(&back);
	}
	pp_pieces_release(&p);
	pp_band_release(&b);
}

TEST(whole_rank)
{
	struct pp_span span[2] = {{.begin = 1000000010, .end = 1000000020, .kind = PP_SPAN_STEP, .step.number = 5},
	                          {.begin = 1000000030, .end = 2000000000, .kind = PP_SPAN_REQUEST}};
	struct pp_thread thread = {.first = 1000000010, .last = 2000000000, .span = span, .spans = 2};
	struct pp_memory memory = {.time = 4000000000};
	struct pp_rank rank = {
	        .thread = &thread, .threads = 1, .memory = &memory, .memories = 1, .open_tick = 1000000000, .horizon = INT64_MIN};
	struct pp_pieces p;
	struct pp_band b;

	band_of(&b, way, 4);
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &p, NULL), 0);
	pp_clock_map_rank(&(struct pp_clock_map){.pieces = &p}, &rank);
	CHECK_INT(span[0].begin, 50000000010);
	CHECK_INT(span[0].step.number, 5);
	CHECK_INT(span[1].end, 51000100000);
	CHECK_INT(thread.last, 51000100000);
	CHECK_INT(memory.time, 53000000000);
	CHECK_INT(rank.open_tick, 50000000000);
	CHECK(rank.horizon == INT64_MIN);
	pp_pieces_release(&p);
	pp_band_release(&b);
}

int main(void)
{
	nodes_and_between();
	monotone_over_knots();
	there_and_back();
	a_run_in_place();
	broken_and_empty();
	one_behind_the_other();
	one_behind_a_shorter_one();
	then_the_line_to_job_time();
	as_bytes();
	whole_rank();
	return test_end();
}
