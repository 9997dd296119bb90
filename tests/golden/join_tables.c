/* join_tables SESSION RING...: reads the rings whole and as two halves that pp_capture_join() puts together, and writes a session
 * of each below whole/ and joined/. Run by golden.py --join, which compares their tables. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/finish.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/session/session.h"
#include "core/capture/capture.h"
#include "core/capture/join.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"

static void stop_if(int rc, const struct pp_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "join_tables: %s\n", err->text);
	exit(1);
}

/* The last ring first: texts get other ids then. */
static struct pp_capture read_rings(char **path, int n, int backwards)
{
	struct pp_rings *r = pp_rings_new((size_t)256 << 20);
	struct pp_capture c = {0};
	struct pp_err err = {""};

	pp_rings_private(r);
	for (int i = 0; i < n; i++)
		stop_if(pp_rings_open(r, path[backwards ? n - 1 - i : i], &err), &err);
	pp_rings_drain_all(r);
	stop_if(pp_rings_finish(r, &c, &err), &err);
	pp_rings_free(r);
	return c;
}

/* The begin of the n-th span of this kind, or of any kind; *ret_spans: how many there are. */
static int64_t begin_of(const struct pp_rank *rank, uint32_t kinds, size_t n, size_t *ret_spans)
{
	int64_t begin = INT64_MIN;

	*ret_spans = 0;
	for (size_t t = 0; t < rank->threads; t++)
		for (size_t i = 0; i < rank->thread[t].spans; i++)
			if (kinds & PP_SPAN_BIT(rank->thread[t].span[i].kind) && (*ret_spans)++ == n)
				begin = rank->thread[t].span[i].begin;
	return begin;
}

/* Where its middle step begins; without steps the middle span. */
static int64_t middle(const struct pp_rank *rank)
{
	uint32_t kinds = PP_SPAN_BIT(PP_SPAN_STEP);
	size_t spans;

	begin_of(rank, kinds, 0, &spans);
	if (!spans)
		begin_of(rank, kinds = UINT32_MAX, 0, &spans);
	return begin_of(rank, kinds, spans / 2, &spans);
}

static void halve_thread(struct pp_thread *t, int64_t cut, int second)
{
	size_t remaining = 0;

	for (size_t i = 0; i < t->spans; i++)
		if ((t->span[i].begin >= cut) == second)
			t->span[remaining++] = t->span[i];
	t->spans = remaining;
	if (second && t->first < cut)
		t->first = cut;
	if (!second && t->last >= cut)
		t->last = cut - 1;
	if (t->first > t->last)
		t->first = t->last = 0;
	pp_thread_list_others(t);
}

/* Visits where spans refer to rows of messages; takes `before` off, and gives the first and last row. */
static void number_messages(struct pp_rank *rank, uint32_t before, uint32_t *ret_first, uint32_t *ret_last)
{
	*ret_first = UINT32_MAX;
	*ret_last = 0;
	for (size_t t = 0; t < rank->threads; t++)
		for (size_t i = 0; i < rank->thread[t].spans; i++) {
			uint32_t *index = pp_side_index(&rank->thread[t].span[i], PP_SIDE_ID_message);

			if (!index || !*index)
				continue;
			*index -= before;
			*ret_first = *index < *ret_first ? *index : *ret_first;
			*ret_last = *index > *ret_last ? *index : *ret_last;
		}
}

/* Keeps the rows from the first that a span refers to until the last. */
static void halve_messages(struct pp_rank *rank)
{
	uint32_t first, last;

	number_messages(rank, 0, &first, &last);
	rank->messages = 0;
	if (!last)
		return;
	rank->messages = last - first + 1;
	memmove(rank->message, rank->message + first - 1, rank->messages * sizeof(*rank->message));
	number_messages(rank, first - 1, &first, &last);
}

/* Rows without a time are halved by number. */
static void halve_side(const struct pp_side_array *side, struct pp_rank *rank, int64_t cut, int second)
{
	const struct pp_side_field *time = pp_side_time(side);
	char *rows = pp_side_rows(side, rank);
	size_t count = pp_side_count(side, rank), remaining = 0;

	for (size_t i = 0; i < count; i++) {
		char *row = rows + i * side->size;
		int64_t at = i < count / 2 ? INT64_MIN : INT64_MAX;

		if (time)
			memcpy(&at, row + time->offset, sizeof(at));
		if ((at >= cut) == second)
			memmove(rows + remaining++ * side->size, row, side->size);
	}
	pp_side_set(side, rank, rows, remaining);
}

/* Counts of the whole are those of the first half. */
static void halve(struct pp_rank *rank, int second)
{
	int64_t cut = middle(rank);

	for (size_t t = 0; t < rank->threads; t++)
		halve_thread(&rank->thread[t], cut, second);
	for (int id = 0; id < PP_SIDE_IDS; id++)
		if (id == PP_SIDE_ID_message)
			halve_messages(rank);
		else if (pp_side_arrays[id].same == PP_SIDE_EACH)
			halve_side(&pp_side_arrays[id], rank, cut, second);
	if (second) {
		rank->recorded_from = cut;
		memset(rank->lost, 0, sizeof(rank->lost));
		rank->records = rank->unlaunched = rank->unrun = 0;
		rank->c10d = (struct pp_c10d_count){0};
	} else {
		rank->recorded_to = cut - 1;
	}
}

static size_t spans_of(const struct pp_capture *c)
{
	size_t spans = 0;

	for (size_t r = 0; r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads; t++)
			spans += c->rank[r].thread[t].spans;
	return spans;
}

static size_t messages_of(const struct pp_capture *c)
{
	size_t messages = 0;

	for (size_t r = 0; r < c->ranks; r++)
		messages += c->rank[r].messages;
	return messages;
}

static struct pp_capture read_halves(char **path, int n)
{
	struct pp_capture first = read_rings(path, n, 0), second = read_rings(path, n, 1);
	struct pp_err err = {""};
	size_t spans;

	for (size_t r = 0; r < first.ranks; r++)
		halve(&first.rank[r], 0);
	for (size_t r = 0; r < second.ranks; r++)
		halve(&second.rank[r], 1);
	spans = spans_of(&first);
	printf("halves of %zu and %zu spans, %zu and %zu rows of messages\n", spans, spans_of(&second), messages_of(&first),
	       messages_of(&second));
	if (!spans || !spans_of(&second)) {
		fprintf(stderr, "join_tables: a half has no spans\n");
		exit(1);
	}
	stop_if(pp_capture_join(&first, &second, &err), &err);
	return first;
}

/* The recordings have CLOCK_MONOTONIC_RAW, so that a tick is a ns. */
static void write_session(const char *logdir, const char *session, struct pp_capture *c)
{
	struct pp_clock_pair a = {0}, b = {0};
	struct pp_session_options o = {
	        .logdir = logdir, .session = session, .job = "golden", .command = "", .options = "", .salvaged = 1};
	struct pp_clock_map map;
	struct pp_err err = {""};
	char message[4096];

	a.tick = (pp_tick)c->rank[0].recorded_from;
	a.raw_ns = c->rank[0].recorded_from;
	b.tick = a.tick + 1000000000;
	b.raw_ns = a.raw_ns + 1000000000;
	stop_if(pp_clock_map_init(&map, PP_TICK_RAW, &a, &b, a.tick, &err), &err);
	c->epoch_realtime_ns = 0;
	stop_if(pp_session_write(c, &map, &o, message, sizeof(message), &err), &err);
	printf("%s\n", message);
	pp_capture_release(c);
}

int main(int argc, char **argv)
{
	struct pp_capture whole, joined;

	if (argc < 3)
		return 2;
	whole = read_rings(argv + 2, argc - 2, 0);
	joined = read_halves(argv + 2, argc - 2);
	write_session("whole", argv[1], &whole);
	write_session("joined", argv[1], &joined);
	return 0;
}
