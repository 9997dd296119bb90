/* Clocks placed by the ends of collectives whose times are made here: true offsets, late ranks, transfers and spreads are known. */
#include "core/clock/ends.h"

#include <stdlib.h>

#include "core/base/known.h"
#include "tests/test.h"

enum { MS = 1000000, US = 1000 };

struct made {
	struct pp_ends_row *row;
	size_t rows, room;
	uint64_t operation, random;
	const int64_t *offset; /* true: job time = clock's time + offset */
};

static int64_t below(struct made *m, int64_t limit)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return limit ? (int64_t)((m->random >> 33) % (uint64_t)limit) : 0;
}

/* A collective of clocks [from, to), which begins at `at`: each rank comes within 2 ms, and all leave `transfer` after the last,
 * but for `spread`. */
static void collective(struct made *m, uint32_t from, uint32_t to, int64_t at, int64_t transfer, int64_t spread)
{
	int64_t last = 0;
	size_t first = m->rows;

	for (uint32_t c = from; c < to; c++) {
		int64_t comes = at + below(m, 2 * MS);

		if (m->rows == m->room) {
			m->room = m->room ? 2 * m->room : 1024;
			m->row = realloc(m->row, m->room * sizeof(*m->row));
		}
		last = comes > last ? comes : last;
		m->row[m->rows++] = (struct pp_ends_row){m->operation, c, comes - m->offset[c], 0};
	}
	for (size_t i = first; i < m->rows; i++)
		m->row[i].end = last + transfer + below(m, spread) - m->offset[m->row[i].clock];
	m->operation++;
}

static int64_t error_of(const struct made *m, const struct pp_ends_clock *c, uint32_t clock, uint32_t home)
{
	return llabs(c[clock].offset - (m->offset[clock] - m->offset[home]));
}

TEST(two_clocks)
{
	const int64_t offset[] = {0, -7000000123};
	struct made m = {.offset = offset};
	struct pp_ends_clock c[2];

	for (int i = 0; i < 200; i++)
		collective(&m, 0, 2, i * 10ll * MS, 100 * US, 30 * US);
	CHECK_INT(pp_ends_place(m.row, m.rows, 2, 0, c, NULL), 0);
	CHECK_INT(c[0].how, PP_ENDS_PLACED);
	CHECK_INT(c[0].offset, 0);
	CHECK_INT(c[0].bound, 0);
	CHECK_INT(c[1].how, PP_ENDS_PLACED);
	CHECK_INT(c[1].parent, 0);
	CHECK_INT(c[1].operations, 200);
	CHECK_INT(c[1].drift_ppb, PP_UNKNOWN);
	CHECK(error_of(&m, c, 1, 0) <= c[1].bound);
	CHECK(c[1].bound > 0 && c[1].bound <= 80 * US);
	free(m.row);
}

/* Sub-groups that overlap by one clock chain all of them; those that no group reaches have no place. */
TEST(chain)
{
	enum { CLOCKS = 40, ALONE = 3 };
	int64_t offset[CLOCKS + ALONE];
	struct made m = {.offset = offset};
	struct pp_ends_clock c[CLOCKS + ALONE];

	for (int k = 0; k < CLOCKS + ALONE; k++)
		offset[k] = below(&m, 10000000000ll) - 5000000000ll;
	for (int i = 0; i < 50; i++)
		for (uint32_t k = 0; k + 4 <= CLOCKS; k += 3)
			collective(&m, k, k + 4, i * 10ll * MS, 50 * US, 10 * US);
	collective(&m, CLOCKS, CLOCKS + 2, 5 * MS, 50 * US, 10 * US);
	CHECK_INT(pp_ends_place(m.row, m.rows, CLOCKS + ALONE, 20, c, NULL), 0);
	for (uint32_t k = 0; k < CLOCKS; k++) {
		CHECK_INT(c[k].how, PP_ENDS_PLACED);
		CHECK(error_of(&m, c, k, 20) <= c[k].bound);
	}
	CHECK_INT(c[21].hops, 1);
	CHECK(c[0].hops > 5 && c[0].bound > c[18].bound);
	for (uint32_t k = CLOCKS; k < CLOCKS + ALONE; k++)
		CHECK_INT(c[k].how, PP_ENDS_NONE);
	free(m.row);
}

TEST(many)
{
	enum { CLOCKS = 3000 };
	static int64_t offset[CLOCKS];
	static struct pp_ends_clock c[CLOCKS];
	struct made m = {.offset = offset};

	for (int k = 0; k < CLOCKS; k++)
		offset[k] = below(&m, 10000000000ll);
	for (int i = 0; i < 20; i++)
		collective(&m, 0, CLOCKS, i * 10ll * MS, 100 * US, 30 * US);
	CHECK_INT(pp_ends_place(m.row, m.rows, CLOCKS, 7, c, NULL), 0);
	for (uint32_t k = 0; k < CLOCKS; k++) {
		CHECK_INT(c[k].how, PP_ENDS_PLACED);
		CHECK(error_of(&m, c, k, 7) <= c[k].bound);
	}
	free(m.row);
}

/* Two collectives have no spread: what their order proves is stated, unless that is as long as they are. */
TEST(few)
{
	const int64_t far = 5000000000;
	struct pp_ends_row row[] = {
	        {3, 0, 1000, 9000}, {3, 1, 8000 - far, 9000 - far}, {7, 0, 18000, 19000}, {7, 1, 11000 - far, 19000 - far}};
	struct pp_ends_clock c[2];

	CHECK_INT(pp_ends_place(row, 4, 2, 0, c, NULL), 0);
	CHECK_INT(c[1].how, PP_ENDS_PLACED);
	CHECK_INT(c[1].offset, far);
	CHECK_INT(c[1].bound, 1000);
	CHECK_INT(pp_ends_place(row, 2, 2, 0, c, NULL), 0);
	CHECK_INT(c[1].how, PP_ENDS_SPREAD);
	CHECK_INT(pp_ends_place(row, 1, 2, 0, c, NULL), 0);
	CHECK_INT(c[1].how, PP_ENDS_NONE);
	CHECK_INT(pp_ends_place(row, 0, 0, 0, c, NULL), 0);
}

/* Ends that have nothing to do with each other place no clock. */
TEST(spread)
{
	const int64_t offset[] = {0, 0};
	struct made m = {.offset = offset};
	struct pp_ends_clock c[2];

	for (int i = 0; i < 100; i++) {
		collective(&m, 0, 2, i * 100ll * MS, 100 * US, 10 * US);
		for (int k = 1; k <= 2; k++) {
			int64_t by = below(&m, 50 * MS);

			m.row[m.rows - k].arrival += by;
			m.row[m.rows - k].end += by;
		}
	}
	CHECK_INT(pp_ends_place(m.row, m.rows, 2, 0, c, NULL), 0);
	CHECK_INT(c[1].how, PP_ENDS_SPREAD);
	free(m.row);
}

/* 50 ppm over 2 s: it is found, and the one offset's bound has it. */
TEST(drift)
{
	const int64_t offset[] = {0, 1000};
	struct made m = {.offset = offset};
	struct pp_ends_clock c[2];

	for (int i = 0; i < 200; i++) {
		collective(&m, 0, 2, i * 10ll * MS, 50 * US, 5 * US);
		for (size_t k = m.rows - 2; k < m.rows; k++) {
			m.row[k].arrival += m.row[k].clock ? m.row[k].arrival / 20000 : 0;
			m.row[k].end += m.row[k].clock ? m.row[k].end / 20000 : 0;
		}
	}
	CHECK_INT(pp_ends_place(m.row, m.rows, 2, 0, c, NULL), 0);
	CHECK_INT(c[1].how, PP_ENDS_PLACED);
	CHECK(c[1].drift_ppb < -45000 && c[1].drift_ppb > -55000);
	CHECK(llabs(c[1].offset - 1000) <= c[1].bound && llabs(c[1].offset - 1000 + 100 * US) <= c[1].bound);
	free(m.row);
}

int main(void)
{
	two_clocks();
	chain();
	many();
	few();
	spread();
	drift();
	return test_end();
}
