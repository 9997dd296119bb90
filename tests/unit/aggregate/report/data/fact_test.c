/* The sentence and the four facts of jobs whose cause is known: the numbers of the finding's row, and the reason where nothing is
 * known. */
#include "aggregate/report/data/fact.h"

#include "core/base/known.h"
#include "core/base/units.h"
#include "tests/unit/aggregate/report/data/first_kit.h"

static int64_t rank_3(size_t rank, size_t step)
{
	(void)step;
	return rank == 3 ? 5 * MS : 0;
}

static int64_t from_step_12(size_t rank, size_t step)
{
	return rank == 3 && step >= 12 ? 5 * MS : 0;
}

static void check_two_lines(const struct screen *s)
{
	size_t shown = 0;

	for (const char *at = s->first.sentence; *at; at++)
		shown += ((unsigned char)*at & 0xc0) != 0x80;
	CHECK(shown <= PP_SENTENCE_MOST);
	CHECK(s->first.sentence[0] >= 'A' && s->first.sentence[0] <= 'Z');
}

TEST(persistent)
{
	struct screen *s = screen_of(8, 4, 20, PP_CATEGORY_HOST_COMPUTE, rank_3);
	const struct pp_row_finding *f = s->first.finding[0];
	const struct pp_fact *fact = s->first.fact;
	char ns[PP_TEXT_UNIT], text[64];

	check_two_lines(s);
	CHECK(!strncmp(s->first.sentence, "Rank 3 is late in 20 of 20 usual steps: ", 40));
	snprintf(text, sizeof(text), "%s longer in Host compute", pp_text_time(ns, f->more_ns));
	CHECK(strstr(s->first.sentence, text) != NULL);
	snprintf(text, sizeof(text), "%s per usual step", pp_text_time(ns, f->finding_wait_ns));
	CHECK_STR(fact[PP_FACT_waiting].value, text);
	CHECK(strstr(fact[PP_FACT_waiting].note, "mean of 7 ranks; 3") &&
	      strstr(fact[PP_FACT_waiting].note, "% of the usual step of 1"));
	CHECK(strstr(fact[PP_FACT_gain].value, pp_text_time(ns, f->finding_gain_ns)) == fact[PP_FACT_gain].value);
	CHECK(strstr(fact[PP_FACT_gain].value, pp_text_time(ns, f->usual_ns)) != NULL);
	CHECK_STR(fact[PP_FACT_gain].note, "per usual step, if rank 3 were as fast as the others");
	CHECK_STR(fact[PP_FACT_kind].value, "persistent");
	CHECK_STR(fact[PP_FACT_kind].note, "in 20 of 20 usual steps; Host compute");
	CHECK(strstr(fact[PP_FACT_clock].value, "\u2264 ") == fact[PP_FACT_clock].value);
	screen_free(s);
}

TEST(sudden)
{
	struct screen *s = screen_of(8, 4, 24, PP_CATEGORY_OTHER, from_step_12);

	check_two_lines(s);
	CHECK(!strncmp(s->first.sentence, "Rank 3 is late from step 112 on: ", 33));
	CHECK(strstr(s->first.sentence, "longer in All others (sleep, Python, unmarked code) than") != NULL);
	CHECK_STR(s->first.fact[PP_FACT_kind].value, "sudden");
	CHECK_STR(s->first.fact[PP_FACT_kind].note, "from step 112 on; All others");
	screen_free(s);
}

/* Nobody is late: what the step consists of. */
TEST(no_bottleneck)
{
	struct screen *s = screen_of(2, 2, 30, PP_CATEGORY_HOST_COMPUTE, NULL);

	CHECK(!strncmp(s->first.sentence, "No bottleneck between ranks: Host compute, 9", 44));
	CHECK(!strstr(s->first.sentence, "No rank"));
	CHECK_STR(s->first.fact[PP_FACT_gain].value, "none found");
	CHECK_STR(s->first.fact[PP_FACT_kind].value, "steady");
	CHECK(strstr(s->first.fact[PP_FACT_kind].note, "30 of 30 steps are usual; half IQR ") != NULL);
	CHECK(strstr(s->first.fact[PP_FACT_waiting].note, "mean of 2 ranks; ") != NULL);
	screen_free(s);
}

static void check_unknown(const struct screen *s, int which, const char *why)
{
	CHECK_STR(s->first.fact[which].value, "unknown");
	CHECK_STR(s->first.fact[which].note, why);
}

TEST(one_rank)
{
	struct screen *s = screen_of(1, 1, 2, PP_CATEGORY_HOST_COMPUTE, NULL);

	check_unknown(s, PP_FACT_waiting, "there is only one rank");
	check_unknown(s, PP_FACT_gain, "there is only one rank");
	check_unknown(s, PP_FACT_kind, "2 steps are too few to tell");
	check_unknown(s, PP_FACT_clock, "there is only one rank");
	CHECK(strstr(s->first.sentence, "There is only one rank") && !strstr(s->first.sentence, "No bottleneck"));
	screen_free(s);
}

static struct screen *bare(size_t ranks, size_t steps)
{
	struct screen *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->d.names = pp_intern_new();
	s->d.workers = ranks;
	s->d.ranks_asked = s->d.ranks_delivered = (int32_t)ranks;
	s->d.steps = steps;
	s->d.worker = calloc(ranks + 1, sizeof(*s->d.worker));
	s->d.step = calloc(steps + 1, sizeof(*s->d.step));
	s->d.cell = calloc(ranks * steps + 1, sizeof(*s->d.cell));
	for (size_t w = 0; w < ranks; w++) {
		pp_worker_begin(&s->d.worker[w], (int32_t)w, "delivered");
		s->d.worker[w].domain = (int32_t)w;
	}
	for (size_t i = 0; i < ranks * steps; i++)
		s->d.cell[i] = (struct pp_row_cell){.present = 1,
		                                    .begin_ns = (int64_t)(i / ranks) * WORK,
		                                    .end_ns = (int64_t)(i / ranks + 1) * WORK,
		                                    .step_ns = WORK,
		                                    .exclusive_ns = {[PP_CATEGORY_HOST_COMPUTE] = WORK},
		                                    .wait_ns = PP_UNKNOWN,
		                                    .transfer_ns = PP_UNKNOWN,
		                                    .late_ns = PP_UNKNOWN,
		                                    .late_error_ns = PP_UNKNOWN};
	for (size_t i = 0; i < steps; i++)
		s->d.step[i].number = (int64_t)i;
	s->d.pair_bound_ns = PP_UNKNOWN;
	return s;
}

static void done(struct screen *s)
{
	free(s->d.worker);
	free(s->d.step);
	free(s->d.cell);
	free(s->d.late);
	s->d.worker = NULL;
	s->d.step = NULL;
	s->d.cell = NULL;
	s->d.late = NULL;
	s->d.workers = s->d.steps = 0;
	screen_free(s);
}

/* Files of another profiler: each has a clock of its own. */
TEST(no_common_clock)
{
	struct screen *s = bare(2, 10);

	s->d.trace_files = 2;
	screen_finish(s);
	check_unknown(s, PP_FACT_waiting, "each trace file has a clock of its own");
	check_unknown(s, PP_FACT_gain, "each trace file has a clock of its own");
	check_unknown(s, PP_FACT_clock, "each trace file has a clock of its own");
	CHECK(!strstr(s->first.sentence, "No bottleneck"));
	done(s);
	s = bare(2, 10);
	screen_finish(s);
	check_unknown(s, PP_FACT_waiting, "the ranks have no common clock");
	check_unknown(s, PP_FACT_clock, "2 groups of ranks have no common clock");
	done(s);
}

TEST(no_operation)
{
	struct screen *s = bare(2, 10);

	s->d.worker[1].domain = 0;
	screen_finish(s);
	check_unknown(s, PP_FACT_waiting, "no recorded operation tells who waited");
	check_unknown(s, PP_FACT_clock, "the clocks were not compared");
	done(s);
}

/* No step, no rank: still a sentence. */
TEST(nothing)
{
	for (size_t ranks = 0; ranks < 3; ranks += 2) {
		struct screen *s = bare(ranks, 0);

		screen_finish(s);
		CHECK_INT(s->first.findings, 0);
		CHECK_STR(s->first.sentence, "The bottleneck is unknown: no complete step was recorded");
		check_unknown(s, PP_FACT_waiting, "no complete step was recorded");
		check_unknown(s, PP_FACT_gain, "no complete step was recorded");
		check_unknown(s, PP_FACT_kind, "no complete step was recorded");
		CHECK_STR(s->first.fact[PP_FACT_clock].value, "unknown");
		done(s);
	}
}

/* A name that fills its column leaves whole words of the sentence, and whole UTF-8. */
TEST(long_names)
{
	struct screen *s = screen_of(8, 4, 20, PP_CATEGORY_OTHER, rank_3);
	struct pp_row_finding *f = (struct pp_row_finding *)s->first.finding[0];

	memset(f->who, 0, sizeof(f->who));
	for (size_t i = 0; i + 3 < sizeof(f->who); i += 2)
		snprintf(f->who + i, sizeof(f->who) - i, "\u00e4");
	pp_sentence_of(&s->answer, s->first.sentence);
	CHECK(strlen(s->first.sentence) <= PP_SENTENCE_MOST);
	CHECK(strncmp(s->first.sentence, f->who, strlen(f->who)) == 0);
	screen_free(s);
}

TEST(units)
{
	char text[64];

	pp_sentence_units("takes 9 us of 4.08 ms, <= 31 ns; 3 uses", text, sizeof(text));
	CHECK_STR(text, "takes 9 \u00b5s of 4.08 ms, \u2264 31 ns; 3 uses");
	pp_sentence_units("9 us", text, sizeof(text));
	CHECK_STR(text, "9 \u00b5s");
}

int main(void)
{
	persistent();
	sudden();
	no_bottleneck();
	one_rank();
	no_common_clock();
	no_operation();
	nothing();
	long_names();
	units();
	return test_end();
}
