/* Which steps, rank and quantity show a finding of jobs whose cause is known; and the kind of each step. */
#include "aggregate/report/data/evidence.h"

#include "core/base/known.h"
#include "tests/unit/aggregate/report/data/first_kit.h"

static int64_t rank_3(size_t rank, size_t step)
{
	return rank == 3 ? step == 7 || step == 8 ? 7 * MS : 5 * MS : 0;
}

/* Three usual steps in succession, not the two that are a little longer; the rank over the median of the ranks. */
TEST(persistent)
{
	struct screen *s = screen_of(8, 4, 20, PP_CATEGORY_HOST_COMPUTE, rank_3);
	const struct pp_evidence *e = &s->first.evidence[0];

	CHECK_INT(s->first.finding[0]->kind, PP_FINDING_PERSISTENT);
	CHECK_INT(e->to - e->from, 2);
	CHECK(e->to < FIRST + 7 || e->from > FIRST + 8);
	CHECK_INT(e->rank, 3);
	CHECK_INT(e->lates, 1);
	CHECK_INT(e->late[0], 3);
	CHECK_STR(e->colour, "category_4");
	CHECK_INT(e->category, PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(e->is_difference, 1);
	CHECK_INT(s->first.regimes.change, PP_UNKNOWN);
	CHECK_INT(s->first.regimes.period, PP_UNKNOWN);
	screen_free(s);
}

static int64_t ranks_4_to_7(size_t rank, size_t step)
{
	(void)step;
	return rank / 4 == 1 ? 5 * MS : 0;
}

static int64_t ranks_1_and_6(size_t rank, size_t step)
{
	(void)step;
	return rank == 1 || rank == 6 ? 5 * MS : 0;
}

static int64_t ranks_2_to_13(size_t rank, size_t step)
{
	(void)step;
	return rank >= 2 && rank < 14 ? 5 * MS : 0;
}

TEST(many_ranks)
{
	struct screen *s = screen_of(16, 4, 20, PP_CATEGORY_INPUT, ranks_4_to_7);

	CHECK_STR(s->first.finding[0]->who, "host h1 (ranks 4-7)");
	CHECK_INT(s->first.evidence[0].lates, 4);
	for (int i = 0; i < 4; i++)
		CHECK_INT(s->first.evidence[0].late[i], 4 + i);
	screen_free(s);
	s = screen_of(8, 1, 20, PP_CATEGORY_INPUT, ranks_1_and_6);
	CHECK_INT(s->first.evidence[0].lates, 2);
	CHECK_INT(s->first.evidence[0].late[0], 1);
	CHECK_INT(s->first.evidence[0].late[1], 6);
	screen_free(s);
	s = screen_of(32, 1, 20, PP_CATEGORY_INPUT, ranks_2_to_13);
	CHECK_INT(s->first.finding[0]->finding_ranks, 12);
	CHECK_INT(s->first.evidence[0].lates, PP_EVIDENCE_RANKS);
	CHECK_INT(s->first.evidence[0].late[7], 9);
	screen_free(s);
}

static int64_t from_step_12(size_t rank, size_t step)
{
	return rank == 2 && step >= 12 ? 5 * MS : 0;
}

static int64_t until_step_12(size_t rank, size_t step)
{
	return rank == 2 && step < 12 ? 5 * MS : 0;
}

TEST(change)
{
	struct screen *s = screen_of(4, 4, 24, PP_CATEGORY_HOST_COMPUTE, from_step_12);
	const struct pp_evidence *e = &s->first.evidence[0];

	CHECK_STR(s->first.regimes.letter, "bbbbbbbbbbbbuuuuuuuuuuuu");
	CHECK_INT(s->first.regimes.change, FIRST + 12);
	CHECK(e->from >= FIRST + 12 && e->to == e->from + 2);
	screen_free(s);
	s = screen_of(4, 4, 24, PP_CATEGORY_INPUT, until_step_12);
	e = &s->first.evidence[screen_find(s, PP_FINDING_ONE_OFF)];
	CHECK(e->to < FIRST + 12 && e->to == e->from + 2);
	CHECK_INT(e->rank, 2);
	CHECK_STR(e->colour, "category_6");
	screen_free(s);
}

static int64_t more_and_more(size_t rank, size_t step)
{
	return rank == 2 ? (int64_t)step * 300 * US : 0;
}

/* Where it is largest. */
TEST(growing)
{
	struct screen *s = screen_of(4, 4, 30, PP_CATEGORY_HOST_COMPUTE, more_and_more);

	CHECK_INT(s->first.finding[0]->kind, PP_FINDING_GROWING);
	CHECK_INT(s->first.evidence[0].from, FIRST + 27);
	CHECK_INT(s->first.evidence[0].to, FIRST + 29);
	screen_free(s);
}

static int64_t all_every_10(size_t rank, size_t step)
{
	(void)rank;
	return step % 10 == 4 ? step == 24 ? 500 * MS : 400 * MS : step % 10 == 5 ? 90 * MS : 0;
}

static int64_t once(size_t rank, size_t step)
{
	return (step % 10 == 4 ? 400 * MS : 0) + (rank == 1 && step == 17 ? 600 * MS : 0);
}

/* A checkpoint that lengthens two steps, one of them in the third place longer: a typical one is shown. */
TEST(periodic)
{
	struct screen *s = screen_of(4, 4, 50, PP_CATEGORY_OUTPUT, all_every_10);
	const struct pp_evidence *e = &s->first.evidence[0];

	CHECK_INT(s->first.finding[0]->kind, PP_FINDING_PERIODIC);
	CHECK_INT(s->first.regimes.period, 10);
	CHECK_STR(s->first.regimes.letter, "uuuuppuuuuuuuuppuuuuuuuuppuuuuuuuuppuuuuuuuuppuuuu");
	CHECK_INT(e->to - e->from, 1);
	CHECK((e->from - FIRST) % 10 == 4 && e->from != FIRST + 24);
	CHECK_STR(e->colour, "category_7");
	CHECK_INT(e->is_difference, 0);
	CHECK_INT(e->rank, -1);
	screen_free(s);
	s = screen_of(4, 4, 50, PP_CATEGORY_OUTPUT, once);
	CHECK_STR(s->first.regimes.letter, "uuuupuuuuuuuuupuuouuuuuupuuuuuuuuupuuuuuuuuupuuuuu");
	screen_free(s);
}

static int64_t step_17(size_t rank, size_t step)
{
	return rank == 3 && step == 17 ? 400 * MS : 0;
}

static int64_t start(size_t rank, size_t step)
{
	(void)rank;
	return step < 2 ? 90 * MS : 0;
}

TEST(exceptional)
{
	struct screen *s = screen_of(4, 4, 40, PP_CATEGORY_OUTPUT, step_17);
	const struct pp_evidence *e = &s->first.evidence[screen_find(s, PP_FINDING_ONE_OFF)];

	CHECK_INT(e->from, FIRST + 17);
	CHECK_INT(e->to, FIRST + 17);
	CHECK_INT(e->rank, 3);
	CHECK_INT(e->is_difference, 1);
	CHECK_INT(s->first.regimes.letter[17], PP_REGIME_ODD);
	screen_free(s);
	s = screen_of(4, 4, 40, PP_CATEGORY_COMPILATION, start);
	e = &s->first.evidence[screen_find(s, PP_FINDING_START_UP)];
	CHECK_INT(e->from, FIRST);
	CHECK_INT(e->to, FIRST + 1);
	CHECK_INT(strspn(s->first.regimes.letter, "s"), 2);
	CHECK_INT(strspn(s->first.regimes.letter + 2, "u"), 38);
	screen_free(s);
}

static int64_t three_odd(size_t rank, size_t step)
{
	(void)rank;
	return step == 5 || step == 18 || step == 24 ? (int64_t)(step + 20) * MS : 0;
}

/* The step that the text says to open. */
TEST(irregular)
{
	struct screen *s = screen_of(4, 4, 40, PP_CATEGORY_OUTPUT, three_odd);
	const size_t i = screen_find(s, PP_FINDING_IRREGULAR);
	const struct pp_evidence *e = &s->first.evidence[i];
	char open[32];

	snprintf(open, sizeof(open), "open step %lld in", (long long)e->from);
	CHECK_INT(e->from, e->to);
	CHECK(strstr(s->first.finding[i]->finding_next, open) != NULL);
	screen_free(s);
}

/* The sender of a link; no category of a rank shows it. Made by hand: what makes a link slow has tests of its own. */
TEST(link)
{
	struct screen *s = screen_of(4, 2, 20, PP_CATEGORY_HOST_COMPUTE, NULL);
	struct pp_row_finding row = {
	        .kind = PP_FINDING_LINK, .finding_worker = 1, .finding_peer = 2, .finding_reason = PP_REASON_LINK};
	struct pp_evidence e;

	pp_evidence_of(&s->d, &s->first.usual, &s->first.regimes, &row, &e);
	CHECK_INT(e.rank, 1);
	CHECK_STR(e.colour, "kept_ns");
	CHECK_INT(e.is_difference, 0);
	CHECK_INT(e.to - e.from, 2);
	screen_free(s);
}

/* One step, one rank: what there is. */
TEST(small)
{
	struct screen *s = screen_of(1, 1, 1, PP_CATEGORY_HOST_COMPUTE, NULL);

	CHECK_STR(s->first.regimes.letter, "u");
	CHECK_INT(s->first.evidence[0].from, FIRST);
	CHECK_INT(s->first.evidence[0].to, FIRST);
	CHECK_INT(s->first.evidence[0].rank, -1);
	CHECK_INT(s->first.evidence[0].is_difference, 0);
	screen_free(s);
}

int main(void)
{
	persistent();
	many_ranks();
	change();
	growing();
	periodic();
	exceptional();
	irregular();
	link();
	small();
	return test_end();
}
