/* first.c: real ranks that stand for many, and what the first screen is made of. */
#include "aggregate/report/data/first.h"

#include "core/base/known.h"
#include "tests/unit/aggregate/report/data/first_kit.h"

enum { RANKS = 101 };

/* Rank 50 is late by much; the others are the later, the higher their number. */
static int64_t by_number(size_t rank, size_t step)
{
	(void)step;
	return rank == 50 ? 50 * MS : (int64_t)rank * 10 * US;
}

TEST(bands)
{
	struct screen *s = screen_of(RANKS, RANKS, 20, PP_CATEGORY_OUTPUT, by_number);
	int32_t band[PP_FIRST_BANDS];

	CHECK_INT(s->first.evidence[0].rank, 50);
	pp_first_bands(&s->d, &s->first, band);
	CHECK_INT(band[0], 0);
	CHECK_INT(band[1], 24);
	CHECK_INT(band[2], 49);
	CHECK_INT(band[3], 75);
	CHECK_INT(band[4], 100);
	CHECK_INT(pp_first_value(&s->first, 7), 70 * US);
	screen_free(s);
}

/* A missing rank has no value, and stands for none. */
TEST(missing)
{
	struct screen *s = screen_of(4, 4, 20, PP_CATEGORY_OUTPUT, by_number);
	int32_t band[PP_FIRST_BANDS];

	s->first.mean[0] = (struct pp_rank_mean){.wait_ns = PP_UNKNOWN};
	CHECK_INT(pp_first_value(&s->first, 0), PP_UNKNOWN);
	pp_first_bands(&s->d, &s->first, band);
	for (int i = 0; i < PP_FIRST_BANDS; i++)
		CHECK(band[i] > 0);
	for (size_t w = 0; w < 4; w++)
		s->first.mean[w].steps = 0;
	pp_first_bands(&s->d, &s->first, band);
	CHECK_INT(band[0], -1);
	screen_free(s);
}

int main(void)
{
	bands();
	missing();
	return test_end();
}
