/* Which events of a timeline the page holds: all, whole steps, whole ranks, the longest; counts of the others are exact. */
#include "aggregate/report/data/timeline.h"
#include "tests/bench/timeline_make.h"
#include "tests/test.h"

#include <stdlib.h>

enum { ROOMY = 1 << 30 };

static const struct timeline_job small = {.ranks = 4, .steps = 10, .ranges = 20, .late = 3, .devices = 1};

static uint64_t in_page(const struct pp_page_part *part)
{
	return part->first[part->t->steps + 1];
}

static uint64_t left(const struct pp_page_part *part)
{
	return part->left_steps + part->left_ranks + part->left_short[0] + part->left_short[1];
}

/* Every event once, or not at all; within a chunk by track, begin, end descending, and of its step only. */
static void check_order(const struct pp_page_part *part)
{
	const struct pp_timeline *t = part->t;
	uint64_t wrong = 0, numbered = 0;

	for (size_t i = 0; i < t->events; i++)
		numbered += part->number[i] != PP_PAGE_NO_EVENT;
	for (size_t c = 0; c <= t->steps; c++)
		for (size_t i = part->first[c]; i < part->first[c + 1]; i++) {
			const struct pp_timeline_event *b = &t->event[part->event[i]],
			                               *a = i > part->first[c] ? &t->event[part->event[i - 1]] : NULL;

			wrong += part->number[part->event[i]] != i || pp_page_chunk_of(t, b) != c ||
			         !part->has_rank[t->track[b->track].rank];
			wrong += a && (a->track > b->track || (a->track == b->track && a->begin_ns > b->begin_ns) ||
			               (a->track == b->track && a->begin_ns == b->begin_ns && a->end_ns < b->end_ns));
		}
	CHECK_INT(wrong, 0);
	CHECK_INT(numbered, in_page(part));
	CHECK_INT(in_page(part) + left(part), t->events);
}

TEST(holds_everything_that_fits)
{
	struct pp_timeline t;
	struct pp_page_part part;

	timeline_make(&t, &small);
	CHECK_INT(pp_page_pick(&part, &t, 5, t.events), 0);
	CHECK_INT(in_page(&part), t.events);
	CHECK_INT(left(&part), 0);
	check_order(&part);
	pp_page_part_release(&part);
	pp_timeline_release(&t);
}

TEST(prefers_the_pinned_step_its_neighbours_and_the_longest)
{
	struct pp_timeline t;
	struct pp_page_part part;
	uint64_t of_step;

	timeline_make(&t, &small);
	of_step = t.events / 10;
	t.step[8].end_ns += 700; /* the longest */
	CHECK_INT(pp_page_pick(&part, &t, 5, of_step * 4 + 3), 0);
	for (size_t s = 0; s < 10; s++)
		CHECK_INT(part.has_chunk[s + 1], (s >= 4 && s <= 6) || s == 8);
	CHECK_INT(in_page(&part), of_step * 4);
	CHECK_INT(part.left_steps, of_step * 6);
	check_order(&part);
	pp_page_part_release(&part);
	pp_timeline_release(&t);
}

/* The late rank, then the ranks that wait, then one per host: 64 ranks are on 8 hosts. */
TEST(leaves_out_ranks_where_three_steps_do_not_fit)
{
	const struct timeline_job job = {.ranks = 64, .steps = 5, .ranges = 20, .late = 42, .devices = 0};
	struct pp_timeline t;
	struct pp_page_part part;
	uint64_t of_rank;
	int ranks = 0, hosts = 0;

	timeline_make(&t, &job);
	of_rank = t.events / 64 / 5 * 3;
	CHECK_INT(pp_page_pick(&part, &t, 2, of_rank * 17 + 1), 0);
	for (int r = 0; r < 64; r++) {
		ranks += part.has_rank[r];
		hosts += part.has_rank[r] && r % 8 == 0;
	}
	CHECK_INT(ranks, 17);
	CHECK_INT(hosts, 8);
	CHECK_INT(part.has_rank[42], 1);
	CHECK_INT(in_page(&part), of_rank * 17);
	CHECK_INT(part.left_ranks, t.events / 64 * 47);
	CHECK_INT(part.left_steps, t.events / 64 / 5 * 2 * 17);
	check_order(&part);
	pp_page_part_release(&part);
	pp_timeline_release(&t);
}

/* One rank whose pinned step is too large: its longest events. */
TEST(keeps_the_longest_events_of_a_huge_step)
{
	const struct timeline_job job = {.ranks = 1, .steps = 3, .ranges = 500, .late = 0, .devices = 0};
	struct pp_timeline t;
	struct pp_page_part part;

	timeline_make(&t, &job);
	CHECK_INT(pp_page_pick(&part, &t, 1, 50), 0);
	CHECK_INT(in_page(&part) <= 50 && in_page(&part) >= 4, 1);
	CHECK_INT(part.left_short[1], t.events / 3 - in_page(&part));
	CHECK_INT(part.shortest_ns[1] > 0, 1);
	check_order(&part);
	pp_page_part_release(&part);
	pp_timeline_release(&t);
}

/* What begins in no step, and what reaches over a whole step, is in chunk 0; a long end of its own step's is not. */
TEST(has_a_chunk_for_what_is_in_no_step)
{
	struct pp_timeline t;
	struct pp_page_part part;
	struct pp_timeline_event *e;

	timeline_make(&t, &small);
	e = &t.event[t.track[t.rank[3].track + 1].event]; /* of the late rank, which stays */
	e[0].step = 0;
	e[1].end_ns = t.step[2].begin_ns + 1;
	e[2].end_ns = t.step[1].end_ns;
	CHECK_INT(pp_page_chunk_of(&t, &e[0]), 0);
	CHECK_INT(pp_page_chunk_of(&t, &e[1]), 0);
	CHECK_INT(pp_page_chunk_of(&t, &e[2]), 1);
	CHECK_INT(pp_page_pick(&part, &t, 5, t.events), 0);
	CHECK_INT(part.first[1], 2);
	pp_page_part_release(&part);
	CHECK_INT(pp_page_pick(&part, &t, 5, 4), 0); /* a quarter of the room is theirs */
	CHECK_INT(part.left_short[0], 1);
	pp_page_part_release(&part);
	pp_timeline_release(&t);
}

static char *written(const struct pp_timeline *t, uint64_t events, uint64_t bytes)
{
	const struct pp_page_limit limit = {5, events, bytes};
	struct pp_err err = {""};
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	CHECK_INT(pp_page_timeline_put(to, t, &limit, &err), 0);
	fclose(to);
	return text;
}

TEST(says_what_it_leaves_out)
{
	struct pp_timeline t;
	char *text;

	timeline_make(&t, &small);
	text = written(&t, ROOMY, ROOMY);
	CHECK(strstr(text, "\"left_out\":[]}"));
	free(text);
	text = written(&t, t.events / 10 * 3, ROOMY);
	CHECK(strstr(text, "steps 0-3, 7-9: their events are not in this page: 980 events of 7 steps. "));
	CHECK(strstr(text, "{\"number\":3,\"begin\":16000000,\"end\":20999500,\"chunk\":null}"));
	CHECK(strstr(text, "{\"number\":4,\"begin\":21000000,\"end\":25999500,\"chunk\":0}"));
	free(text);
	t.left.damaged = 7;
	snprintf(t.rank[2].missing, sizeof(t.rank[2].missing), "no event file of host n2");
	snprintf(t.rank[3].missing, sizeof(t.rank[3].missing), "no event file of host n2");
	text = written(&t, ROOMY, ROOMY);
	CHECK(strstr(text, "7 events of the files are damaged and left out"));
	CHECK(strstr(text, "ranks 2-3 (2 ranks): no event file of host n2"));
	free(text);
	pp_timeline_release(&t);
}

TEST(stays_below_its_bytes)
{
	struct pp_timeline t;
	char *all, *text, *begin;

	timeline_make(&t, &small);
	all = written(&t, ROOMY, ROOMY);
	text = written(&t, ROOMY, 4000);
	CHECK(strlen(text) < strlen(all));
	CHECK(strstr(text, "their events are not in this page"));
	begin = strstr(text, "\"chunk\":[{");
	CHECK(begin && strstr(begin, "],\"flow\"") - begin < 4100);
	free(all);
	free(text);
	pp_timeline_release(&t);
}

TEST(widens_times_beyond_32_bits)
{
	struct pp_timeline t;
	char *text;

	timeline_make(&t, &small);
	text = written(&t, ROOMY, ROOMY);
	CHECK(!strstr(text, "\"wide\":1"));
	free(text);
	t.event[t.track[0].event + t.track[0].events - 1].end_ns += 5000000000;
	text = written(&t, ROOMY, ROOMY);
	CHECK(strstr(text, "\"wide\":1") && strstr(text, "\"wide\":0"));
	free(text);
	pp_timeline_release(&t);
}

int main(void)
{
	holds_everything_that_fits();
	prefers_the_pinned_step_its_neighbours_and_the_longest();
	leaves_out_ranks_where_three_steps_do_not_fit();
	keeps_the_longest_events_of_a_huge_step();
	has_a_chunk_for_what_is_in_no_step();
	says_what_it_leaves_out();
	stays_below_its_bytes();
	widens_times_beyond_32_bits();
	return test_end();
}
