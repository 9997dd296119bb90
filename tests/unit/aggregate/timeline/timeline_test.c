/* What a timeline makes of captures: depths and own time, filters, overlapping events, waits, arrows, counters. */
#include "tests/unit/aggregate/timeline_kit.h"

#include "core/capture/thread.h"

enum { MANY = 3000 };

#define CHECK_EVENT(k, name, n, own, at)                                                                                           \
	do {                                                                                                                       \
		CHECK_INT(event_of(&(k).t, name, n)->self_ns, own);                                                                \
		CHECK_INT(event_of(&(k).t, name, n)->depth, at);                                                                   \
	} while (0)

/* Of each thread: own times fill exactly what its outermost events cover, none is negative, a depth has the one before it. */
static void check_whole(const struct pp_timeline *t)
{
	for (size_t i = 0; i < t->tracks; i++) {
		const struct pp_timeline_track *track = &t->track[i];
		int64_t own = 0, covered = 0;
		uint32_t depths = 0, before = 0;

		if (track->of != PP_TIMELINE_THREAD)
			continue;
		for (uint32_t e = track->event; e < track->event + track->events; e++) {
			CHECK(t->event[e].self_ns >= 0);
			CHECK(e == track->event ? !t->event[e].depth : t->event[e].depth <= before + 1);
			before = t->event[e].depth;
			depths = before + 1 > depths ? before + 1 : depths;
			own += t->event[e].self_ns;
			covered += t->event[e].depth ? 0 : t->event[e].end_ns - t->event[e].begin_ns;
		}
		CHECK_INT(own, covered);
		CHECK_INT(track->depths, depths);
	}
}

TEST(nested_events_have_depth_and_own_time)
{
	struct made k;

	begin_made(&k, 1, 1);
	set_step(&k, 0, 0, 4, 0, 90);
	add_range(k.c, 0, 0, "outer", 0, 100);
	add_range(k.c, 0, 0, "a", 10, 40);
	add_range(k.c, 0, 0, "a1", 10, 30);
	add_span(k.c, 0, 0, PP_SPAN_MARK, "mark", 20, 20);
	add_mpi(k.c, 0, "MPI_Send", 0, 50, 60);
	add_range(k.c, 0, 0, "b", 60, 60);
	add_range(k.c, 0, 0, "last", 100, 110);
	end_made(&k);
	check_whole(&k.t);
	CHECK_EVENT(k, "outer", 0, 60, 0);
	CHECK_EVENT(k, "a", 0, 10, 1);
	CHECK_EVENT(k, "a1", 0, 20, 2);
	CHECK_EVENT(k, "mark", 0, 0, 3);
	CHECK_EVENT(k, "MPI_Send", 0, 10, 1);
	CHECK_EVENT(k, "b", 0, 0, 1);
	CHECK_EVENT(k, "last", 0, 10, 0);
	CHECK_INT(event_of(&k.t, "a", 0)->step, 1);
	CHECK_INT(event_of(&k.t, "last", 0)->step, 0);
	CHECK_INT(event_of(&k.t, "step 4", 0)->end_ns, 90);
	CHECK_INT(k.t.tracks, 2);
	CHECK_INT(k.t.left.crossed, 0);
	CHECK_INT(k.t.begin_ns, 0);
	CHECK_INT(k.t.end_ns, 110);
	drop_made(&k);
}

/* Cut at the end of the one around it; an event that ends before it begins has no time. */
TEST(crossing_ranges_are_cut_and_counted)
{
	struct made k;

	begin_made(&k, 1, 0);
	add_range(k.c, 0, 0, "outer", 0, 100);
	add_range(k.c, 0, 0, "a", 10, 50);
	add_range(k.c, 0, 0, "crosses", 40, 80);
	add_range(k.c, 0, 0, "in it", 45, 70);
	add_range(k.c, 0, 0, "after", 60, 120);
	add_range(k.c, 0, 0, "backwards", 70, 65);
	end_made(&k);
	check_whole(&k.t);
	CHECK_INT(k.t.left.crossed, 3);
	CHECK_INT(event_of(&k.t, "crosses", 0)->end_ns, 50);
	CHECK_INT(event_of(&k.t, "in it", 0)->end_ns, 50);
	CHECK_INT(event_of(&k.t, "after", 0)->end_ns, 100);
	CHECK_EVENT(k, "outer", 0, 20, 0);
	CHECK_EVENT(k, "a", 0, 30, 1);
	CHECK_EVENT(k, "crosses", 0, 5, 2);
	CHECK_EVENT(k, "in it", 0, 5, 3);
	CHECK_EVENT(k, "backwards", 0, 0, 2);
	drop_made(&k);
}

static void colour(struct pp_span *s, int category)
{
	s->category = (uint8_t)category;
}

/* What is left out leaves no gap in depths, and its time is nobody's. */
TEST(categories_leave_out_the_others)
{
	struct made k;

	begin_made(&k, 1, 0);
	colour(add_range(k.c, 0, 0, "outer", 0, 100), PP_CATEGORY_HOST_COMPUTE);
	colour(add_range(k.c, 0, 0, "input", 10, 60), PP_CATEGORY_INPUT);
	colour(add_range(k.c, 0, 0, "write", 20, 30), PP_CATEGORY_OUTPUT);
	add_span(k.c, 0, 0, PP_SPAN_MARK, "mark", 25, 25);
	colour(add_range(k.c, 0, 0, "cut and left out", 50, 70), PP_CATEGORY_INPUT);
	k.options.categories = 1u << PP_CATEGORY_HOST_COMPUTE | 1u << PP_CATEGORY_OUTPUT;
	end_made(&k);
	CHECK_INT(k.t.events, 3);
	CHECK_EVENT(k, "outer", 0, 50, 0);
	CHECK_EVENT(k, "write", 0, 10, 1);
	CHECK_EVENT(k, "mark", 0, 0, 2);
	CHECK_INT(k.t.left.by_categories, 2);
	CHECK_INT(k.t.left.crossed, 0);
	drop_made(&k);
}

TEST(overlapping_requests_get_depths)
{
	struct made k;
	const int64_t begin[] = {0, 10, 20, 50, 55}, end[] = {50, 100, 30, 60, 55};
	const int depth[] = {0, 1, 2, 0, 2};

	begin_made(&k, 1, 0);
	for (int i = 0; i < 5; i++)
		add_span(k.c, 0, 0, PP_SPAN_REQUEST, "MPI_Irecv", begin[i], end[i]);
	end_made(&k);
	for (int i = 0; i < 5; i++)
		CHECK_INT(event_of(&k.t, "MPI_Irecv", (size_t)i)->depth, depth[i]);
	CHECK_INT(k.t.tracks, 1);
	CHECK_INT(k.t.track->of, PP_TIMELINE_REQUESTS);
	CHECK_INT(k.t.track->depths, 3);
	drop_made(&k);
}

/* Of all depths that are free the lowest is taken. */
TEST(many_overlapping_events_get_the_lowest_free_depth)
{
	struct made k;

	begin_made(&k, 1, 0);
	for (int i = 0; i < MANY; i++)
		add_span(k.c, 0, 0, PP_SPAN_ASYNC, "a", i, i == 1234 ? MANY : i == 77 ? MANY + 1 : 2 * MANY);
	for (int i = 0; i < 3; i++)
		add_span(k.c, 0, 0, PP_SPAN_ASYNC, "b", MANY + i, 3 * MANY);
	end_made(&k);
	for (size_t i = 0; i < MANY; i++)
		CHECK_INT(event_of(&k.t, "a", 0)[i].depth, i);
	CHECK_INT(event_of(&k.t, "b", 0)->depth, 1234);
	CHECK_INT(event_of(&k.t, "b", 1)->depth, 77);
	CHECK_INT(event_of(&k.t, "b", 2)->depth, MANY);
	CHECK_INT(k.t.track->depths, MANY + 1);
	drop_made(&k);
}

static void make_steps(struct made *k)
{
	begin_made(k, 2, 3);
	for (size_t s = 0; s < 3; s++)
		for (size_t r = 0; r < 2; r++)
			if (s < 2 || r == 0) /* rank 1 lacks the last */
				set_step(k, s, r, (int64_t)s + 10, (int64_t)s * 100, (int64_t)s * 100 + 100);
	for (size_t r = 0; r < 2; r++) {
		add_range(k->c, r, 0, "first", 0, 100);
		add_span(k->c, r, 0, PP_SPAN_MARK, "mark", 100, 100);
		add_range(k->c, r, 0, "reaches in", 150, 220);
		add_range(k->c, r, 0, "last", 230, 300);
	}
}

TEST(steps_and_last_leave_out_the_rest)
{
	struct made k;

	make_steps(&k);
	k.options.steps_first = 12;
	k.options.steps_last = 13;
	end_made(&k);
	CHECK_INT(k.t.events, 3); /* of rank 0 the step and two ranges */
	CHECK_INT(k.t.left.by_steps, 4 + 6);
	CHECK_INT(k.t.rank[1].tracks, 0);
	drop_made(&k);

	make_steps(&k);
	k.options.last_ns = 90;
	end_made(&k);
	CHECK_INT(k.t.left.by_time, 2 * 4); /* steps 10 and 11, first and mark end before 210 */
	CHECK_INT(event_of(&k.t, "reaches in", 1)->begin_ns, 150);
	drop_made(&k);

	make_steps(&k);
	k.options.last_ns = INT64_MAX;
	end_made(&k);
	CHECK_INT(k.t.left.by_time, 0);
	drop_made(&k);
}

static void barrier(struct made *k, size_t r, uint32_t sequence, int64_t begin, int64_t end)
{
	add_mpi(k->c, r, "MPI_Barrier", sequence, begin, end);
}

/* Rank 1 arrives last: rank 0 waits for it from 0 to 50. */
TEST(a_wait_has_its_last_rank_and_an_arrow)
{
	struct made k;
	const struct pp_timeline_detail *d;

	begin_made(&k, 2, 0);
	barrier(&k, 0, 1, 0, 60);
	barrier(&k, 1, 1, 50, 60);
	barrier(&k, 0, 2, 100, 110); /* a tie */
	barrier(&k, 1, 2, 100, 110);
	set_ledger(&k, 2, 0);
	add_arrival(&k, 0, 100, 110, 0, -1);
	add_arrival(&k, 1, 100, 110, 0, -1);
	set_ledger(&k, 1, 50);
	add_arrival(&k, 0, 0, 60, 50, 1);
	add_arrival(&k, 1, 50, 60, 0, -1);
	end_made(&k);
	d = detail_of(&k.t, "MPI_Barrier", 0);
	CHECK_INT(d->has & PP_TIMELINE_HAS_WAIT, PP_TIMELINE_HAS_WAIT);
	CHECK_INT(d->until_ns, 50);
	CHECK_INT(d->last, 1);
	CHECK_INT(d->sequence, 1);
	CHECK_INT(arrows(&k.t, PP_FLOW_COLLECTIVE, event_of(&k.t, "MPI_Barrier", 0), event_of(&k.t, "MPI_Barrier", 2)), 1);
	for (size_t i = 1; i < 4; i++) {
		CHECK_INT(detail_of(&k.t, "MPI_Barrier", i)->last, -1);
		CHECK_INT(detail_of(&k.t, "MPI_Barrier", i)->until_ns, event_of(&k.t, "MPI_Barrier", i)->begin_ns);
		CHECK_INT(detail_of(&k.t, "MPI_Barrier", i)->has & PP_TIMELINE_HAS_WAIT, PP_TIMELINE_HAS_WAIT);
	}
	CHECK_INT(k.t.flows, 1);
	CHECK_INT(k.t.left.unmatched_collectives, 0);
	drop_made(&k);
}

/* Where the session's table has it not, or no waiting by row, nothing is said. */
TEST(a_collective_without_rows_is_unknown)
{
	struct made k;

	begin_made(&k, 2, 0);
	barrier(&k, 0, 1, 0, 60);
	barrier(&k, 1, 1, 50, 60);
	barrier(&k, 0, 2, 100, 160);
	barrier(&k, 1, 2, 150, 160);
	set_ledger(&k, 1, 49);
	add_arrival(&k, 0, 0, 60, 50, 1);
	add_arrival(&k, 1, 50, 60, 0, -1);
	end_made(&k);
	for (size_t i = 0; i < 4; i++)
		CHECK_INT(detail_of(&k.t, "MPI_Barrier", i)->has & PP_TIMELINE_HAS_WAIT, 0);
	CHECK_INT(k.t.flows, 0);
	CHECK_INT(k.t.left.unmatched_collectives, 4);
	drop_made(&k);
}

/* A rank that is inside of a tree waits for one that comes late to an earlier operation. Of rank 2 no call began then. */
TEST(a_wait_may_be_for_another_call)
{
	struct made k;

	begin_made(&k, 3, 0);
	barrier(&k, 0, 1, 0, 60);
	barrier(&k, 1, 1, 0, 10);
	barrier(&k, 1, 2, 50, 70);
	barrier(&k, 2, 2, 0, 70);
	add_range(k.c, 2, 0, "work", 70, 90);
	set_ledger(&k, 1, 50);
	add_arrival(&k, 0, 0, 60, 50, 1);
	add_arrival(&k, 1, 0, 10, 0, -1);
	set_ledger(&k, 2, 10);
	add_arrival(&k, 1, 50, 70, 10, 2);
	add_arrival(&k, 2, 0, 70, -1, -1);
	end_made(&k);
	CHECK_INT(arrows(&k.t, PP_FLOW_COLLECTIVE, event_of(&k.t, "MPI_Barrier", 0), event_of(&k.t, "MPI_Barrier", 2)), 1);
	CHECK_INT(detail_of(&k.t, "MPI_Barrier", 2)->last, 2);
	CHECK_INT(k.t.flows, 2);
	CHECK_INT(k.t.left.unmatched_collectives, 1);
	drop_made(&k);
}

/* Polls without a result, then the Test that completes the operation: rank 0 waits in all of them until 40. */
TEST(a_row_of_polls_waits_in_each_of_them)
{
	struct made k;
	struct pp_row_arrival *row;

	begin_made(&k, 2, 0);
	add_mpi(k.c, 0, "MPI_Ibarrier", 1, 0, 5);
	for (int64_t at = 10; at < 40; at += 10) {
		struct pp_span *s = add_mpi(k.c, 0, "MPI_Test", 0, at, at + 5);

		s->mpi.comm = 0;
		s->flags |= PP_SPAN_POLLS;
	}
	add_mpi(k.c, 0, "MPI_Test", 0, 38, 45)->mpi.comm = 0;
	barrier(&k, 1, 1, 40, 45);
	set_ledger(&k, 1, 40);
	row = add_arrival(&k, 0, 0, 45, 40, 1);
	row->call_begin_ns = 20; /* the first of the polls is of another operation */
	row->polls = 1;
	add_arrival(&k, 1, 40, 45, 0, -1);
	end_made(&k);
	CHECK_INT(detail_of(&k.t, "MPI_Test", 0)->has & PP_TIMELINE_HAS_WAIT, 0);
	CHECK_INT(detail_of(&k.t, "MPI_Test", 1)->until_ns, 25);
	CHECK_INT(detail_of(&k.t, "MPI_Test", 2)->until_ns, 35);
	CHECK_INT(detail_of(&k.t, "MPI_Test", 3)->until_ns, 40);
	CHECK_INT(arrows(&k.t, PP_FLOW_COLLECTIVE, NULL, event_of(&k.t, "MPI_Barrier", 0)), 3);
	CHECK_INT(k.t.left.between_polls, 1);
	drop_made(&k);
}

/* So does a call without a row, whose waiting is inferred. Where the late rank began no call then, there is no arrow. */
TEST(inferred_waiting_has_an_arrow_if_there_is_a_call)
{
	struct made k;
	const struct pp_row_lone_call lone[] = {{.worker = 0,
	                                         .begin_ns = 0,
	                                         .end_ns = 50,
	                                         .operation = call_number("MPI_Win_unlock"),
	                                         .wait_ns = 40,
	                                         .late_rank = 1},
	                                        {.worker = 0,
	                                         .begin_ns = 60,
	                                         .end_ns = 90,
	                                         .operation = call_number("MPI_Win_unlock"),
	                                         .wait_ns = 20,
	                                         .late_rank = 1}};

	begin_made(&k, 2, 0);
	add_mpi(k.c, 0, "MPI_Win_unlock", 0, 0, 50);
	add_mpi(k.c, 0, "MPI_Win_unlock", 0, 60, 90);
	add_mpi(k.c, 1, "MPI_Win_lock", 0, 40, 45);
	k.d.lone_call = kit_rows(2, sizeof(*lone));
	memcpy(k.d.lone_call, lone, sizeof(lone));
	k.d.lone_calls = 2;
	end_made(&k);
	CHECK_INT(detail_of(&k.t, "MPI_Win_unlock", 0)->until_ns, 40);
	CHECK_INT(detail_of(&k.t, "MPI_Win_unlock", 1)->until_ns, 80);
	CHECK_INT(arrows(&k.t, PP_FLOW_COLLECTIVE, event_of(&k.t, "MPI_Win_unlock", 0), event_of(&k.t, "MPI_Win_lock", 0)), 1);
	CHECK_INT(k.t.flows, 1);
	CHECK_INT(k.t.left.unmatched_waits, 1);
	drop_made(&k);
}

static struct pp_span *with_request(struct pp_span *s, uint32_t request)
{
	s->mpi.request = request;
	return s;
}

/* The Wait that saw it complete waits, the call that began it does not. */
TEST(the_wait_of_a_nonblocking_collective_waits)
{
	struct made k;
	struct pp_span *s;

	begin_made(&k, 2, 0);
	for (size_t r = 0; r < 2; r++) {
		const int64_t late = r ? 40 : 0;

		with_request(add_mpi(k.c, r, "MPI_Ibarrier", 1, late, late + 5), 9);
		s = with_request(add_span(k.c, r, 0, PP_SPAN_REQUEST, "request", late, 60), 9);
		s->mpi.call = call_number("MPI_Ibarrier");
		s->mpi.comm = 77;
		s->mpi.sequence = 1;
		s = add_span(k.c, r, 0, PP_SPAN_MPI, "MPI_Wait", late + 10, 60);
		s->mpi.call = call_number("MPI_Wait");
	}
	set_ledger(&k, 1, 40);
	add_arrival(&k, 0, 0, 60, 40, 1)->call_begin_ns = 10;
	add_arrival(&k, 1, 40, 60, 0, -1)->call_begin_ns = 50;
	end_made(&k);
	CHECK_INT(k.t.left.unmatched_collectives, 0);
	CHECK_INT(detail_of(&k.t, "MPI_Wait", 0)->last, 1);
	CHECK_INT(detail_of(&k.t, "MPI_Wait", 0)->until_ns, 40);
	CHECK_INT(detail_of(&k.t, "MPI_Ibarrier", 0)->last, -1);
	CHECK_INT(detail_of(&k.t, "MPI_Wait", 1)->last, -1);
	CHECK_INT(arrows(&k.t, PP_FLOW_COLLECTIVE, event_of(&k.t, "MPI_Wait", 0), event_of(&k.t, "MPI_Ibarrier", 1)), 1);
	CHECK_INT(arrows(&k.t, PP_FLOW_COLLECTIVE, NULL, NULL), 1);
	CHECK_INT(arrows(&k.t, PP_FLOW_REQUEST, event_of(&k.t, "MPI_Ibarrier", 0), event_of(&k.t, "MPI_Wait", 0)), 1);
	CHECK_INT(arrows(&k.t, PP_FLOW_REQUEST, NULL, NULL), 2);
	drop_made(&k);
}

static void launch(struct made *k, uint64_t correlation, int64_t begin)
{
	add_range(k->c, 0, 0, "launch", begin, begin + 5)->range.id = correlation;
}

static void kernel(struct made *k, uint64_t correlation, int64_t begin)
{
	add_span(k->c, 0, 1, PP_SPAN_DEVICE, "kernel", begin, begin + 5)->device.correlation = correlation;
}

TEST(a_launch_is_the_last_of_its_number_before_the_work)
{
	struct made k;

	begin_made(&k, 1, 0);
	launch(&k, 3, 0);
	launch(&k, 4, 10);
	launch(&k, 3, 50);
	kernel(&k, 3, 20);
	kernel(&k, 3, 60);
	kernel(&k, 0, 70);
	kernel(&k, 5, 80);
	k.c->rank->thread[1].device = 1;
	end_made(&k);
	CHECK_INT(arrows(&k.t, PP_FLOW_LAUNCH, event_of(&k.t, "launch", 0), event_of(&k.t, "kernel", 0)), 1);
	CHECK_INT(arrows(&k.t, PP_FLOW_LAUNCH, event_of(&k.t, "launch", 2), event_of(&k.t, "kernel", 1)), 1);
	CHECK_INT(k.t.flows, 2);
	CHECK_INT(k.t.left.unmatched_launches, 2);
	CHECK_INT(k.t.track[1].of, PP_TIMELINE_STREAM);
	drop_made(&k);
}

/* The kernel of rank 0 waits until that of rank 1 begins; the calls that launched them do not wait. */
TEST(a_kernel_waits_for_a_kernel)
{
	struct made k;

	begin_made(&k, 2, 0);
	set_ledger(&k, 1, 40);
	for (int32_t r = 0; r < 2; r++) {
		const int64_t begin = 10 + 40 * r;
		struct pp_row_arrival *row = add_arrival(&k, r, r, 90, r ? 0 : 40, 1 - 2 * r);

		add_mpi(k.c, (size_t)r, "MPI_Iallreduce", 1, r, r + 5);
		add_span(k.c, (size_t)r, 1, PP_SPAN_DEVICE, "sum", begin, 90)->device.activity = PP_DEVICE_COLLECTIVE;
		k.c->rank[r].thread[1].device = 1;
		row->call = 0;
		row->device_begin_ns = begin;
		row->device_end_ns = 90;
		row->device_wait_ns = r ? 0 : 40;
		row->device_how = 1;
	}
	end_made(&k);
	CHECK_INT(detail_of(&k.t, "sum", 0)->until_ns, 50);
	CHECK_INT(detail_of(&k.t, "sum", 0)->last, 1);
	CHECK_INT(detail_of(&k.t, "sum", 1)->last, -1);
	CHECK_INT(detail_of(&k.t, "MPI_Iallreduce", 0)->last, -1);
	CHECK_INT(arrows(&k.t, PP_FLOW_COLLECTIVE, event_of(&k.t, "sum", 0), event_of(&k.t, "sum", 1)), 1);
	CHECK_INT(k.t.flows, 1);
	drop_made(&k);
}

static void make_samples(struct made *k)
{
	static const struct pp_row_process_sample sample[] = {
	        {.sample_worker = 1, .sample_time_ns = 0, .sample_cpu_user_ns = 5},
	        {.sample_worker = 0, .sample_time_ns = 0, .sample_cpu_user_ns = 100, .sample_cpu_system_ns = 10},
	        {.sample_worker = 0, .sample_time_ns = 100, .sample_cpu_user_ns = 250, .sample_cpu_system_ns = 60},
	        {.sample_worker = 0, .sample_time_ns = 200, .sample_cpu_user_ns = 200, .sample_cpu_system_ns = 60},
	        {.sample_worker = 9, .sample_time_ns = 200},
	        {.sample_worker = 0, .sample_time_ns = 300, .sample_cpu_user_ns = 250, .sample_cpu_system_ns = 60}};
	static const struct pp_row_memory memory[] = {{.worker = 0, .time_ns = 0, .rss_bytes = 7},
	                                              {.worker = 1, .time_ns = 1, .rss_bytes = 8, .children_rss_bytes = 2},
	                                              {.worker = 0, .time_ns = 2, .rss_bytes = 9}};

	k->d.process_sample = kit_rows(6, sizeof(*sample));
	memcpy(k->d.process_sample, sample, sizeof(sample));
	k->d.process_samples = 6;
	k->d.memory = kit_rows(3, sizeof(*memory));
	memcpy(k->d.memory, memory, sizeof(memory));
	k->d.memories = 3;
}

/* CPU: cores busy from each sample to the next; a count that goes back says nothing. */
TEST(counters_are_of_their_rank)
{
	struct made k;

	begin_made(&k, 2, 0);
	add_range(k.c, 0, 0, "a", 0, 300);
	add_range(k.c, 1, 0, "a", 0, 300);
	add_span(k.c, 1, 0, PP_SPAN_COUNTER, "loss", 10, 10)->value = 0.5;
	make_samples(&k);
	end_made(&k);
	CHECK_INT(k.t.counters, 5);
	CHECK_INT(k.t.rank[0].counters, 2);
	CHECK_INT(k.t.rank[1].counter, 2);
	CHECK_INT(k.t.rank[1].counters, 3);
	CHECK_STR(pp_intern_text(k.t.names, k.t.counter[1].name, NULL), "CPU");
	CHECK_INT(k.t.counter[1].samples, 2);
	CHECK_INT(k.t.sample[k.t.counter[0].sample + 1].value, 9);
	CHECK_INT(k.t.sample[k.t.counter[1].sample].time_ns, 0);
	CHECK(k.t.sample[k.t.counter[1].sample].value == 2.0);
	CHECK_INT(k.t.sample[k.t.counter[1].sample + 1].time_ns, 200);
	CHECK(k.t.sample[k.t.counter[1].sample + 1].value == 0.5);
	CHECK_INT(k.t.sample[k.t.counter[2].sample].value, 8);
	CHECK_STR(pp_intern_text(k.t.names, k.t.counter[4].name, NULL), "loss");
	drop_made(&k);
}

int main(void)
{
	nested_events_have_depth_and_own_time();
	crossing_ranges_are_cut_and_counted();
	categories_leave_out_the_others();
	overlapping_requests_get_depths();
	many_overlapping_events_get_the_lowest_free_depth();
	steps_and_last_leave_out_the_rest();
	a_wait_has_its_last_rank_and_an_arrow();
	a_collective_without_rows_is_unknown();
	a_wait_may_be_for_another_call();
	a_row_of_polls_waits_in_each_of_them();
	inferred_waiting_has_an_arrow_if_there_is_a_call();
	the_wait_of_a_nonblocking_collective_waits();
	a_launch_is_the_last_of_its_number_before_the_work();
	a_kernel_waits_for_a_kernel();
	counters_are_of_their_rank();
	return test_end();
}
