/* The pattern of collectives: what is a step, what is none, and that all ranks say the same. */
#include "core/window/period.h"

#include <stdlib.h>

#include "core/call/mpi_call.h"
#include "tests/test.h"

enum { RANKS = 4, MOST = 40000, CASES = 1000 };

static struct pp_period machine;
static uint32_t stream[MOST];
static size_t length, ends;
static uint64_t end[MOST]; /* positions of the last collectives of steps */
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static uint32_t joining(uint32_t n)
{
	return 100 * (n + 1) | PP_PERIOD_JOINS;
}

static void put(uint32_t symbol, size_t times)
{
	while (times-- && length < MOST)
		stream[length++] = symbol;
}

/* 'a' to 'z' join, 'A' to 'Z' do not. */
static void put_text(const char *text, size_t times)
{
	while (times--)
		for (const char *c = text; *c; c++)
			put(*c >= 'a' ? joining((uint32_t)*c) : (uint32_t)*c * 1000, 1);
}

/* All steps of the stream, those before the pattern was found too. */
static void feed_all(struct pp_period *p)
{
	ends = 0;
	pp_period_init(p);
	for (size_t i = 0; i < length; i++) {
		enum pp_period_event event = pp_period_feed(p, stream[i]);

		for (uint64_t n = 0; event == PP_PERIOD_FOUND && n < p->steps; n++)
			end[ends++] = p->start + (n + 1) * p->period - 1;
		if (event == PP_PERIOD_STEP)
			end[ends++] = i;
	}
	for (size_t i = 1; i < ends; i++)
		CHECK(end[i] > end[i - 1]);
}

static void begin(void)
{
	length = 0;
}

TEST(plain_loop)
{
	begin();
	put_text("BCD", 1);
	put_text("abc", 100);
	feed_all(&machine);
	CHECK_INT(machine.period, 3);
	CHECK_INT(ends, 100);
	CHECK_INT(end[0], 5);
	CHECK_INT(end[99], 302);
	CHECK_INT(machine.irregular, 0);
	CHECK_INT(machine.found, 1);
}

TEST(not_a_step)
{
	begin();
	put_text("a", PP_PERIOD_MOST - 1); /* one a step, or a hundred buckets a step */
	feed_all(&machine);
	CHECK_INT(ends, 0);
	put_text("a", 1); /* more than any pattern can hold */
	feed_all(&machine);
	CHECK_INT(ends, PP_PERIOD_MOST);
	put_text("a", 5000 - PP_PERIOD_MOST);
	feed_all(&machine);
	CHECK_INT(ends, 5000);
	begin();
	put_text("BC", 50); /* broadcasts of like layers */
	feed_all(&machine);
	CHECK_INT(ends, 0);
	begin();
	put_text("ab", 5); /* 10 calls: too few */
	feed_all(&machine);
	CHECK_INT(ends, 0);
	begin();
	for (int i = 0; i < 3000; i++)
		put(joining((uint32_t)i), 1);
	feed_all(&machine);
	CHECK_INT(ends, 0);
}

/* One exchange, or its messages, between two reductions. */
static void put_exchange(const char *text, size_t times)
{
	while (times--)
		for (const char *c = text; *c; c++)
			put(*c == '.' ? PP_PERIOD_MESSAGES : joining((uint32_t)*c), 1);
}

TEST(messages)
{
	begin();
	put_text("B", 2);
	put_exchange(".a", 100);
	feed_all(&machine);
	CHECK_INT(machine.period, 2);
	CHECK_INT(ends, 100);
	CHECK_INT(end[0], 3);
	begin();
	put_exchange("a.a", 1); /* a start that looks like the end of a round: no step ends with messages */
	put_exchange(".a", 100);
	feed_all(&machine);
	CHECK_INT(ends, 101);
	CHECK_INT(end[0], 2);
	begin();
	put_text("BC", 1);
	for (int i = 0; i < 60; i++)
		put_exchange(i % 10 == 9 ? ".aa.a" : ".aa", 1); /* a check every 10th time */
	feed_all(&machine);
	CHECK_INT(machine.period, 3);
	CHECK_INT(ends, 60);
	begin();
	for (int i = 0; i < 60; i++)
		put_exchange(i % 7 == 6 ? "a.bc" : "abc", 1); /* messages at times, somewhere inside */
	feed_all(&machine);
	CHECK_INT(machine.period, 3);
	CHECK_INT(ends, 60);
}

TEST(renewed)
{
	uint32_t symbol[4];

	begin();
	put_text("BC", 1);
	for (uint64_t phase = 0; phase < 12; phase++) { /* sizes change, calls do not */
		for (uint64_t k = 0; k < 4; k++)
			symbol[k] = pp_period_symbol((uint16_t)(30 + k), 1, -1, 8 * (phase * 4 + k));
		put_text(phase % 3 ? "B" : "", 1);
		for (size_t n = 0; n < 40; n++)
			put(symbol[(n + (phase ? 2 : 0)) % 4], 1); /* each begins in the middle */
	}
	feed_all(&machine);
	CHECK_INT(machine.found, 1);
	CHECK_INT(machine.period, 4);
	CHECK_INT(ends, 10 + 11 * 9);
	begin();
	put_text("abcd", 60);
	put_text("efgh", 6); /* other calls are no renewal */
	put_text("abcd", 60);
	feed_all(&machine);
	CHECK_INT(machine.found, 1);
	CHECK_INT(ends, 120);
}

TEST(words_within_words)
{
	static const struct {
		const char *word;
		int period;
	} row[] = {{"aab", 3},
	           {"aabb", 4},
	           {"abac", 4},
	           {"ababac", 6},
	           {"abcbacc", 7},
	           {"abab", 2},
	           {"aaaaaaaaaaaaaaaaaaaaaaaab", 25},
	           {"aaaabaaaac", 10},
	           {"Bab", 3},
	           {"aabbaabbcc", 10}};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		begin();
		put_text("QRSQ", 1);
		put_text(row[i].word, 40);
		feed_all(&machine);
		CHECK_INT(machine.period, row[i].period);
		CHECK_INT(ends, 40 * strlen(row[i].word) / (size_t)row[i].period);
		CHECK_INT(end[ends - 1], length - 1);
	}
}

TEST(longest)
{
	for (uint32_t period = PP_PERIOD_MOST - 1; period <= PP_PERIOD_MOST + 1; period++) {
		begin();
		for (uint32_t i = 0; i < 10 * period; i++)
			put(joining(i % period), 1);
		feed_all(&machine);
		CHECK_INT(ends, period <= PP_PERIOD_MOST ? 10 : 0);
	}
}

TEST(evaluation_and_checkpoint)
{
	size_t steps = 0;

	begin();
	put_text("BCB", 1);
	for (int round = 0; round < 20; round++) {
		put_text("abcd", 25);
		put_text(round % 2 ? "xxxxxxxxxx" : "xY", 1);
		steps += 25;
	}
	put_text("abYcd", 1); /* a barrier within a step */
	put_text("abcd", 1);
	feed_all(&machine);
	CHECK_INT(machine.found, 1);
	CHECK_INT(ends, steps + 2);
	CHECK_INT(machine.irregular, 10 * 12 + 1);
	CHECK_INT(machine.matched, 4 * (steps + 2));
}

/* An evaluation with a pattern of its own is no new training. */
TEST(long_evaluation)
{
	begin();
	put_text("abcd", 100);
	put_text("xy", 30);
	put_text("abcd", 100);
	feed_all(&machine);
	CHECK_INT(machine.found, 1);
	CHECK_INT(ends, 200);
}

TEST(change)
{
	begin();
	put_text("abc", 100);
	put_text("defgh", 200);
	feed_all(&machine);
	CHECK_INT(machine.found, 2);
	CHECK_INT(machine.period, 5);
	CHECK_INT(ends, 300);
	CHECK_INT(end[100], 304);
	begin();
	put_text("abc", 100);
	put_text("abxy", 100); /* begins as the old one */
	feed_all(&machine);
	CHECK_INT(machine.found, 2);
	CHECK_INT(ends, 200);
	CHECK_INT(end[100], 303);
}

TEST(no_number_wraps)
{
	begin();
	feed_all(&machine);
	machine.position = UINT64_C(1) << 40;
	put_text("ab", 1000);
	for (size_t i = 0; i < length; i++)
		if (pp_period_feed(&machine, stream[i]) == PP_PERIOD_STEP)
			ends++;
	CHECK(ends > 900);
}

/* A collective as each rank sees it: its own bytes where they may differ, sent or received by its role. */
static uint32_t seen(uint32_t call, int32_t root, uint64_t bytes, int rank)
{
	uint64_t sent = root >= 0 && root != rank ? 0 : bytes, received = root == rank ? 0 : bytes;
	uint64_t most = sent > received ? sent : received;

	if (!pp_mpi_call_has_equal_bytes(call))
		most = bytes + (uint64_t)rank * 977 + draw(1000);
	return pp_period_symbol((uint16_t)call, pp_mpi_call_joins_data(call), root, pp_mpi_call_has_equal_bytes(call) ? most : 0);
}

struct made { /* a collective of the job */
	uint32_t call;
	int32_t root;
	uint64_t bytes;
};

static struct made job[MOST], word[64];
static size_t calls;
static uint32_t collective[64];

static struct made draw_call(uint32_t kinds)
{
	struct made m = {.call = collective[draw(kinds)], .root = -1, .bytes = 8u << draw(12)};
	enum pp_mpi_class class = pp_mpi_call_info(m.call)->class;

	if (class == PP_MPI_FROM_ROOT || class == PP_MPI_TO_ROOT)
		m.root = (int32_t)draw(RANKS);
	return m;
}

/* Prologue, then phases of a repeated word with others in between. */
static void draw_job(uint32_t kinds)
{
	calls = 0;
	for (uint32_t n = draw(40); n; n--)
		job[calls++] = draw_call(kinds);
	for (uint32_t phase = 1 + draw(3); phase; phase--) {
		uint32_t letters = 1 + draw(40), every = 1 + draw(60);

		for (uint32_t i = 0; i < letters; i++)
			word[i] = draw_call(kinds);
		for (uint32_t step = 0, steps = 3 + draw(100); step < steps; step++) {
			for (uint32_t i = 0; i < letters; i++)
				job[calls++] = word[i];
			for (uint32_t extra = step % every ? 0 : draw(4); extra; extra--)
				job[calls++] = draw_call(kinds);
		}
	}
}

/* Two communicators in an order of each rank's own: a machine each, and each says the same on all ranks. */
TEST(equal_on_all_ranks)
{
	static struct pp_period rank[RANKS][2];
	static uint8_t said[2][MOST];
	uint32_t kinds = 0, found = 0;

	for (unsigned call = 0; call < pp_mpi_call_count() && kinds < 64; call++)
		if (pp_mpi_call_is_collective(call))
			collective[kinds++] = call;
	CHECK(kinds > 20);
	for (seed = 1; seed <= CASES; seed++) {
		uint64_t kept = seed;

		draw_job(1 + draw(kinds));
		for (int r = 0; r < RANKS; r++) {
			size_t next[2] = {0, 0};

			pp_period_init(&rank[r][0]);
			pp_period_init(&rank[r][1]);
			while (next[0] < calls || next[1] < calls) {
				size_t which = next[0] == calls || (next[1] < calls && draw(2)), i = next[which]++;
				const struct made *m = &job[which ? calls - 1 - i : i];
				uint8_t event = (uint8_t)pp_period_feed(&rank[r][which], seen(m->call, m->root, m->bytes, r));

				if (r == 0)
					said[which][i] = event;
				else
					CHECK_INT(event, said[which][i]);
			}
			CHECK_INT(rank[r][0].start, rank[0][0].start);
			CHECK_INT(rank[r][0].steps, rank[0][0].steps);
			CHECK_INT(rank[r][1].irregular, rank[0][1].irregular);
		}
		found += rank[0][0].found;
		seed = kept;
	}
	CHECK(found > CASES / 2);
}

int main(void)
{
	plain_loop();
	not_a_step();
	messages();
	renewed();
	words_within_words();
	longest();
	evaluation_and_checkpoint();
	long_evaluation();
	change();
	no_number_wraps();
	equal_on_all_ranks();
	return test_end();
}
