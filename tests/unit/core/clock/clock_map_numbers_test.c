/* The clock at the edges of its numbers: ticks of 2^60, hours apart, coarse ticks, a clock that went back, hostile bytes and
 * stamps. Run with the sanitizers too: nothing may overflow. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/clock/band_solve.h"
#include "core/clock/clock_map.h"
#include "core/clock/pieces.h"
#include "core/clock/pieces_make.h"
#include "tests/test.h"

static uint64_t state = 88172645463325252ull;

static uint64_t dice(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

struct clocks {
	int64_t x, y;      /* at true time 0 */
	double drift;      /* of x */
	int64_t tick;      /* ns of x's tick */
	int returning;     /* the delay is on the way back */
	int64_t back_from; /* x goes back by `back` here; 0: never */
	int64_t back;
};

static int64_t x_at(const struct clocks *c, int64_t t)
{
	return c->x + (t + (int64_t)llround(c->drift * (double)t) - (c->back_from && t > c->back_from ? c->back : 0)) / c->tick;
}

static int64_t y_at(const struct clocks *c, int64_t t)
{
	return c->y + t;
}

/* Bursts every 5 s; all delay is on the way there, and hardly any: the error is all of the bound. */
static void compare(struct pp_band *b, const struct clocks *c, int bursts)
{
	struct pp_band_options o = {.rate = (double)c->tick};

	CHECK_INT(pp_band_init(b, &o, NULL), 0);
	for (int k = 0; k < bursts; k++) {
		int64_t t = k * 5000000000;
		struct pp_band_group *g = pp_band_begin(b, x_at(c, t), y_at(c, t));

		for (int i = 0; i < 50; i++, t += 40000 + (int64_t)(dice() % 1000)) {
			int64_t late = 200 + (int64_t)(dice() % 50), there = c->returning ? 1 : late,
			        back = c->returning ? late : 1;

			CHECK_INT(pp_band_trip(b, g, x_at(c, t), y_at(c, t + there), y_at(c, t + there + 900),
			                       x_at(c, t + there + 900 + back)),
			          0);
		}
	}
	CHECK_INT(pp_band_solve(b, NULL), 0);
}

/* Instants of 0 to `seconds` that have a bound, all of them within it. */
static int check_all(const struct pp_pieces *p, const struct clocks *c, int seconds)
{
	int known = 0;

	for (int64_t t = 0; t < seconds * (int64_t)1000000000; t += 7654321) {
		int64_t x = x_at(c, t), bound = pp_pieces_bound(p, x);

		CHECK(llabs(pp_pieces_map(p, x) - y_at(c, t)) <= bound);
		known += bound < INT64_MAX;
	}
	return known;
}

TEST(far_from_zero)
{
	const struct clocks c[] = {
	        {.x = (int64_t)1 << 60, .y = 5, .drift = 200e-6, .tick = 1},
	        {.x = 3, .y = (int64_t)1 << 60, .drift = -200e-6, .tick = 1},
	        {.x = -((int64_t)1 << 60), .y = -((int64_t)1 << 60), .tick = 1},
	        {.x = ((int64_t)1 << 60) + 7200000000000, .y = (int64_t)1 << 60, .drift = 60e-6, .tick = 40},
	        {.x = 7200000000000, .y = 1, .drift = 60e-6, .tick = 40, .returning = 1},
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct pp_pieces p, back;
		struct pp_band b;
		uint8_t bytes[2000];
		int64_t last = INT64_MIN;

		compare(&b, &c[i], 7);
		CHECK_INT(pp_pieces_of_band(&b, 3600000000000 / c[i].tick, &p, NULL), 0);
		CHECK(check_all(&p, &c[i], 33) > 4000);
		CHECK(pp_pieces_bound(&p, x_at(&c[i], 12500000000)) < 1500);
		for (int64_t x = b.node[3].x - 3000; x < b.node[3].x + 3000; x++) {
			CHECK(pp_pieces_map(&p, x) >= last);
			last = pp_pieces_map(&p, x);
		}
		CHECK_INT(pp_pieces_read(bytes, pp_pieces_write(&p, bytes, sizeof(bytes)), &back, NULL), 0);
		CHECK_INT(pp_pieces_map(&back, x_at(&c[i], 9)), pp_pieces_map(&p, x_at(&c[i], 9)));
		pp_pieces_release(&back);
		pp_pieces_release(&p);
		pp_band_release(&b);
	}
}

/* Times that were shown twice have no bound; those before them keep theirs. */
TEST(a_clock_that_went_back)
{
	struct clocks c = {.x = 1000000000000, .y = 7200000000000, .tick = 1, .back_from = 22000000000, .back = 8000000000};
	struct pp_pieces p;
	struct pp_band b;
	int known;

	compare(&b, &c, 7);
	CHECK(b.refused > 0 && b.back < INT64_MAX);
	CHECK_INT(pp_pieces_of_band(&b, 3600000000000, &p, NULL), 0);
	known = check_all(&p, &c, 33);
	CHECK(known > 1000 && known < 3000);
	pp_pieces_release(&p);
	pp_band_release(&b);
	c.back = 900000000000; /* before all that was ever compared */
	compare(&b, &c, 7);
	CHECK_INT(pp_pieces_of_band(&b, 3600000000000, &p, NULL), 0);
	CHECK_INT(check_all(&p, &c, 33), 0);
	pp_pieces_release(&p);
	pp_band_release(&b);
}

TEST(ends_of_a_chain)
{
	struct clocks c = {.x = 1000000000000, .y = 7200000000000, .tick = 1};
	struct pp_pieces p;
	struct pp_band b;

	compare(&b, &c, 3);
	CHECK_INT(pp_pieces_of_band(&b, 0, &p, NULL), 0); /* nothing beyond: the last node itself is known */
	CHECK(pp_pieces_bound(&p, b.node[2].x) < 1000 && pp_pieces_bound(&p, b.node[0].x) < 1000);
	CHECK(pp_pieces_worst(&p, b.node[0].x, b.node[2].x) < 2000);
	for (int i = 0; i < 3; i++) {
		int64_t x = (int64_t[]){INT64_MIN, 0, INT64_MAX}[i];

		CHECK(pp_pieces_bound(&p, x) == INT64_MAX && pp_pieces_worst(&p, x, x) == INT64_MAX);
		CHECK_INT(pp_pieces_map(&p, x), pp_pieces_map(&p, x));
	}
	pp_pieces_release(&p);
	pp_band_release(&b);
}

TEST(a_line_for_any_tick)
{
	struct pp_clock_pair a = {0}, b = {.tick = 25000, .raw_ns = 1000000};
	struct pp_clock_map m;

	CHECK_INT(pp_clock_map_init(&m, PP_TICK_TSC, &a, &b, UINT64_MAX / 2, NULL), 0);
	CHECK(m.num >> 62 == 0);
	CHECK_INT(pp_clock_map_ns(&m, UINT64_MAX), pp_clock_map_ns(&m, UINT64_MAX)); /* what a hostile ring may say */
	CHECK_INT(pp_clock_map_ns(&m, 0), pp_clock_map_ns(&m, 0));
	CHECK_INT(pp_clock_map_ns(&m, UINT64_MAX / 2 + 25), 1000);
}

/* Uses a chain in every way there is; what it says does not matter. */
static void use(const struct pp_pieces *p, const struct pp_pieces *good)
{
	const int64_t at[] = {INT64_MIN, p->piece[0].x - 1, p->piece[0].x, p->end - 1, p->end, INT64_MAX, (int64_t)dice()};
	struct pp_pieces joined, further;
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		int64_t run[] = {at[i], at[i]};

		sum ^= pp_pieces_map(p, at[i]) ^ pp_pieces_inverse(p, at[i]);
		CHECK(pp_pieces_bound(p, at[i]) >= 0);
		CHECK(pp_pieces_worst(p, at[0], at[i]) >= 0 && pp_pieces_worst(p, at[2], at[4]) >= 0);
		pp_pieces_map_run(p, run, 2, sizeof(run[0]));
		CHECK_INT(run[0], pp_pieces_map(p, at[i]));
	}
	for (size_t i = 0; i < p->pieces; i++)
		sum ^= pp_pieces_worst(p, p->piece[i].x, p->end);
	for (int way = 0; way < 3; way++) {
		if (pp_pieces_join(way ? p : good, way == 1 ? good : p, &joined, NULL))
			continue;
		CHECK(joined.pieces <= PP_PIECES_MAX);
		CHECK(pp_pieces_bound(&joined, joined.piece[0].x) >= 0);
		for (size_t i = 0; i < joined.pieces; i++)
			CHECK(joined.piece[i].begin >= 0 && joined.piece[i].end >= 0 && joined.piece[i].hump >= 0);
		if (!pp_pieces_join(&joined, way ? good : p, &further, NULL))
			pp_pieces_release(&further);
		pp_pieces_release(&joined);
	}
	CHECK(sum == sum);
}

/* A chain whose bytes somebody else made: refused, or harmless. */
TEST(hostile_chains)
{
	static const uint64_t odd[] = {0,
	                               1,
	                               0x7fffffffffffffff,
	                               0x8000000000000000,
	                               0xffffffffffffffff,
	                               0x1fffffffffffffff,
	                               0x2000000000000000,
	                               0xe000000000000001,
	                               0x7ff0000000000000,
	                               0xfff0000000000000,
	                               0x7ff8000000000000,
	                               0x7fefffffffffffff,
	                               0x4340000000000000,
	                               1ull << 50,
	                               1ull << 62};
	struct clocks c = {.x = 1000000000000, .y = 7200000000000, .tick = 1};
	int rounds = getenv("PODPROF_LONG") ? 2000000 : 20000, read = 0;
	struct pp_pieces good, p;
	struct pp_band b;
	uint8_t bytes[600], bad[600];
	size_t size;

	compare(&b, &c, 4);
	CHECK_INT(pp_pieces_of_band(&b, 1000000000, &good, NULL), 0);
	size = pp_pieces_write(&good, bytes, sizeof(bytes));
	CHECK(size <= sizeof(bytes));
	for (int r = 0; r < rounds; r++) {
		memcpy(bad, bytes, size);
		for (uint64_t changes = 1 + dice() % 4; changes; changes--) {
			size_t at = 8 + dice() % (size - 8);
			uint64_t word = dice() % 3 ? odd[dice() % (sizeof(odd) / sizeof(odd[0]))] : dice() >> dice() % 64;

			if (dice() % 2)
				bad[at] ^= (uint8_t)(1 << dice() % 8);
			else
				memcpy(&bad[at / 8 * 8], &word, 8);
		}
		if (pp_pieces_read(bad, size, &p, NULL))
			continue;
		read++;
		use(&p, &good);
		pp_pieces_release(&p);
	}
	CHECK(read > rounds / 100 && read < rounds);
	pp_pieces_release(&good);
	pp_band_release(&b);
}

/* Every piece of one chain crosses every piece of another: that many lines are refused, and soon. */
TEST(too_many_lines)
{
	enum { MANY = 2000 };
	struct pp_pieces up = {0}, down = {0}, joined;

	up.piece = calloc(MANY, sizeof(*up.piece));
	down.piece = calloc(MANY, sizeof(*down.piece));
	CHECK(up.piece && down.piece);
	up.pieces = down.pieces = MANY;
	for (int64_t i = 0; up.piece && down.piece && i < MANY; i++) {
		up.piece[i] = (struct pp_clock_piece){.x = i * 100000, .num = (int64_t)1 << PP_PIECE_SHIFT};
		down.piece[i] = (struct pp_clock_piece){.x = i * 50, .y = i * 50, .num = (int64_t)1 << PP_PIECE_SHIFT};
	}
	up.end = down.end = MANY * 100000;
	CHECK_INT(pp_pieces_join(&up, &down, &joined, NULL), -E2BIG);
	pp_pieces_release(&up);
	pp_pieces_release(&down);
}

static int64_t odd_stamp(int64_t near)
{
	switch (dice() % 8) {
	case 0:
		return (int64_t)dice();
	case 1:
		return dice() % 2 ? INT64_MAX : INT64_MIN;
	case 2:
		return (int64_t)((uint64_t)near + (dice() >> 20) - (1ull << 43));
	default:
		return (int64_t)((uint64_t)near + dice() % 100000);
	}
}

/* Stamps of a parent that lies: refused or taken, and what comes out can be used. */
TEST(hostile_stamps)
{
	int rounds = getenv("PODPROF_LONG") ? 20000 : 300, solved = 0;

	for (int r = 0; r < rounds; r++) {
		struct pp_band_options o = {.groups = 1 + dice() % 40};
		struct pp_pieces p;
		struct pp_band b;

		CHECK_INT(pp_band_init(&b, &o, NULL), 0);
		for (int k = 0; k < 20; k++) {
			int64_t at = k * (int64_t)1000000000, x = dice() % 4 ? at : odd_stamp(0),
			        y = dice() % 4 ? at : odd_stamp(0);
			struct pp_band_group *g = pp_band_begin(&b, x, y);

			for (int i = 0; i < 20; i++)
				pp_band_trip(&b, g, odd_stamp(x), odd_stamp(y), odd_stamp(y), odd_stamp(x));
			if (dice() % 8 == 0)
				pp_band_up(&b, g, odd_stamp(x), odd_stamp(y));
		}
		if (!pp_band_solve(&b, NULL) && !pp_pieces_of_band(&b, 3600000000000, &p, NULL)) {
			solved++;
			for (size_t k = 0; k < p.pieces; k++)
				CHECK(p.piece[k].begin >= 0 && p.piece[k].end >= 0 && p.piece[k].hump >= 0);
			CHECK(pp_pieces_bound(&p, p.piece[0].x) >= 0);
			pp_pieces_release(&p);
		}
		pp_band_release(&b);
	}
	CHECK(solved > rounds / 4);
}

int main(void)
{
	far_from_zero();
	a_clock_that_went_back();
	ends_of_a_chain();
	a_line_for_any_tick();
	hostile_chains();
	too_many_lines();
	hostile_stamps();
	return test_end();
}
