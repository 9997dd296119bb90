/* Spans out of ring files made by hand. */
#include <errno.h>
#include <sys/stat.h>

#include "aggregate/read/ring/ring_clock.h"
#include "core/base/proc.h"
#include "core/call/mpi_call.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/ring/rings_kit.h"

TEST(nesting)
{
	struct maker m;
	struct pp_capture c;
	const struct pp_span *s;

	maker_open(&m, path_of("nest.ring"), 0, 1, 1, 4);
	maker_thread(&m, 0, 10);
	maker_push(&m, 0, 2000, "outer");
	maker_push(&m, 0, 2100, "inner");
	maker_pop(&m, 0, 2200);
	maker_push(&m, 0, 2300, "inner");
	maker_pop(&m, 0, 2400);
	maker_pop(&m, 0, 2500);
	maker_pop(&m, 0, 2600);
	maker_push(&m, 0, 2700, "left open");
	maker_range(&m, 0, PP_RECORD_MARK, 2800, 0, 0, "m");
	c = finished(&m);
	CHECK_INT(c.ranks, 1);
	CHECK_INT(c.rank[0].threads, 1);
	CHECK_INT(c.rank[0].thread[0].spans, 5);
	s = c.rank[0].thread[0].span;
	CHECK_STR(name_of(&c, &s[0]), "outer");
	CHECK_INT(s[0].begin, 2000);
	CHECK_INT(s[0].end, 2500);
	CHECK_INT(s[0].flags, 0);
	CHECK_STR(name_of(&c, &s[2]), "inner");
	CHECK_INT(s[2].end, 2400);
	CHECK_INT(s[1].name, s[2].name);
	CHECK_STR(name_of(&c, &s[3]), "left open");
	CHECK_INT(s[3].end, 2800);
	CHECK_INT(s[3].flags, PP_SPAN_CUT_END);
	CHECK_INT(s[4].kind, PP_SPAN_MARK);
	CHECK_INT(c.rank[0].lost[PP_LOSS_UNBALANCED], 1);
	CHECK_INT(c.rank[0].records, 9);
	CHECK_STR(c.rank[0].status, "delivered");
	CHECK_STR(pp_intern_text(c.names, c.rank[0].thread[0].name, NULL), "thread10");
	pp_capture_release(&c);
}

TEST(domains_and_async)
{
	struct maker m;
	struct pp_capture c;
	const struct pp_span *s;

	maker_open(&m, path_of("domains.ring"), 0, 1, 1, 8);
	maker_thread(&m, 0, 10);
	maker_thread(&m, 1, 11);
	maker_range(&m, 0, PP_RECORD_PUSH, 2000, 1, 0, "a");
	maker_range(&m, 0, PP_RECORD_PUSH, 2100, 2, 0, "b");
	maker_range(&m, 0, PP_RECORD_POP, 2200, 1, 0, NULL);
	maker_range(&m, 0, PP_RECORD_POP, 2300, 2, 0, NULL);
	maker_range(&m, 0, PP_RECORD_START, 2400, 0, 5, "async");
	maker_range(&m, 1, PP_RECORD_END, 2900, 0, 5, NULL);
	maker_range(&m, 1, PP_RECORD_END, 2950, 0, 6, NULL);
	maker_range(&m, 0, PP_RECORD_PUSH, 2960, 99, 0, "no such domain");
	c = finished(&m);
	CHECK_INT(c.rank[0].threads, 2);
	s = c.rank[0].thread[0].span;
	CHECK_INT(c.rank[0].thread[0].spans, 3);
	CHECK_STR(name_of(&c, &s[0]), "a");
	CHECK_INT(s[0].end, 2200);
	CHECK_INT(s[0].range.domain, 1);
	CHECK_STR(name_of(&c, &s[1]), "b");
	CHECK_INT(s[1].end, 2300);
	CHECK_INT(s[2].kind, PP_SPAN_ASYNC);
	CHECK_INT(s[2].end, 2900);
	CHECK_INT(c.rank[0].lost[PP_LOSS_UNBALANCED], 1);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], 1);
	pp_capture_release(&c);
}

TEST(names)
{
	struct maker m;
	struct pp_capture c;
	char big[10240], expect[] = "a\xef\xbf\xbd\xef\xbf\xbd"
	                            "b\xef\xbf\xbd";
	size_t length = 0;
	struct pp_record r = {.tick = 3000, .kind = PP_RECORD_MARK};

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)('a' + i % 26);
	maker_open(&m, path_of("names.ring"), 0, 1, 1, 8);
	maker_thread(&m, 0, 10);
	maker_put(&m, 0, &r, big, sizeof(big));
	maker_put(&m, 0, &r,
	          "a\xff\xc0"
	          "b\0",
	          5);
	maker_put(&m, 0, &r, big, 33);
	maker_put(&m, 0, &r, NULL, 0);
	c = finished(&m);
	CHECK_INT(c.rank[0].thread[0].spans, 4);
	pp_intern_text(c.names, c.rank[0].thread[0].span[0].name, &length);
	CHECK_INT(length, sizeof(big));
	CHECK(!memcmp(name_of(&c, &c.rank[0].thread[0].span[0]), big, sizeof(big)));
	CHECK_STR(name_of(&c, &c.rank[0].thread[0].span[1]), expect);
	CHECK(!strncmp(name_of(&c, &c.rank[0].thread[0].span[2]), big, 33));
	CHECK_STR(name_of(&c, &c.rank[0].thread[0].span[3]), "");
	pp_capture_release(&c);
}

TEST(deep)
{
	enum { DEPTH = 5000 };
	struct maker m;
	struct pp_capture c;

	maker_open(&m, path_of("deep.ring"), 0, 1, 1, 16);
	maker_thread(&m, 0, 10);
	for (int i = 0; i < DEPTH; i++)
		maker_push(&m, 0, (pp_tick)(2000 + i), "level");
	for (int i = 0; i < DEPTH; i++)
		maker_pop(&m, 0, (pp_tick)(2000 + DEPTH + i));
	c = finished(&m);
	CHECK_INT(c.rank[0].thread[0].spans, DEPTH);
	for (int i = 0; i < DEPTH; i += 777) {
		CHECK_INT(c.rank[0].thread[0].span[i].begin, 2000 + i);
		CHECK_INT(c.rank[0].thread[0].span[i].end, 2000 + 2 * DEPTH - 1 - i);
	}
	CHECK_INT(c.rank[0].lost[PP_LOSS_UNBALANCED], 0);
	pp_capture_release(&c);
}

TEST(steps_and_mpi)
{
	struct maker m;
	struct pp_capture c;
	const struct pp_span *s;
	struct pp_record done = {.tick = 2900, .kind = PP_RECORD_REQUEST, .request = {.request = 9, .peer = 3, .received = 55}};
	int32_t members[20];
	struct pp_record comm = {.tick = 2950, .kind = PP_RECORD_COMM, .comm = {.comm = 77, .size = 20}};
	struct pp_record name = {.tick = 2950, .kind = PP_RECORD_COMM, .comm = {.comm = 77, .size = 20, .is_name = 1}};

	for (int i = 0; i < 20; i++)
		members[i] = i * 2;
	maker_open(&m, path_of("mpi.ring"), 1, 4, 1, 8);
	maker_thread(&m, 0, 10);
	maker_step(&m, 0, PP_RECORD_STEP_BEGIN, 2000, 5);
	maker_mpi(&m, 0, 2100, 2200, 0, 9, -2);
	maker_step(&m, 0, PP_RECORD_STEP_BEGIN, 2500, 6);
	maker_step(&m, 0, PP_RECORD_STEP_END, 2600, 6);
	maker_put(&m, 0, &done, NULL, 0);
	maker_mpi(&m, 0, 2910, 2900, 0, 0, -1);
	maker_put(&m, 0, &comm, members, sizeof(members));
	maker_put(&m, 0, &name, "world", 5);
	c = finished(&m);
	CHECK_INT(c.ranks_asked, 4);
	CHECK_INT(c.rank[0].rank, 1);
	CHECK_INT(c.rank[0].thread[0].spans, 4);
	s = c.rank[0].thread[0].span;
	CHECK_INT(s[0].kind, PP_SPAN_STEP);
	CHECK_INT(s[0].step.number, 5);
	CHECK_INT(s[0].end, 2500);
	CHECK_INT(s[1].kind, PP_SPAN_REQUEST);
	CHECK_INT(s[1].begin, 2100);
	CHECK_INT(s[1].end, 2900);
	CHECK_INT(s[1].mpi.peer, 3);
	CHECK_INT(s[1].mpi.received, 55);
	CHECK_INT(s[1].mpi.comm, 77);
	CHECK_INT(s[2].kind, PP_SPAN_MPI);
	CHECK_INT(s[2].end, 2200);
	CHECK_STR(name_of(&c, &s[2]), pp_mpi_call_info(0)->name);
	CHECK_INT(s[1].name, s[2].name);
	CHECK_INT(s[3].step.number, 6);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], 1);
	CHECK_INT(c.rank[0].comms, 1);
	CHECK_INT(c.rank[0].comm[0].size, 20);
	CHECK(c.rank[0].comm[0].member && c.rank[0].comm[0].member[19] == 38);
	CHECK_STR(pp_intern_text(c.names, c.rank[0].comm[0].name, NULL), "world");
	pp_capture_release(&c);
}

static struct pp_capture left_behind(struct maker *m)
{
	struct pp_rings *r = pp_rings_new(64 << 20);
	struct pp_capture c = {0};

	pp_rings_private(r);
	CHECK_INT(pp_rings_open(r, m->path, NULL), 0);
	while (pp_rings_drain(r, 0, NULL))
		;
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	pp_rings_free(r);
	maker_close(m);
	return c;
}

static void put_impossible(struct maker *m, pp_tick now)
{
	const pp_tick hour = (pp_tick)3600 * 1000 * 1000 * 1000;
	struct pp_record nothing = {.tick = 0}, much = {.tick = now - 500, .kind = PP_RECORD_MPI};
	struct pp_record used = {.tick = now - 500, .kind = PP_RECORD_PROCESS};

	maker_mpi(m, 0, now - 800, now + hour, 0, 0, -1);
	maker_mpi(m, 0, now - 600, now + 4 * hour, 0, 0, -1);
	maker_mpi(m, 0, now - 4 * hour, now - 600, 0, 0, -1);
	maker_put(m, 0, &nothing, NULL, 0);
	maker_push(m, 0, 0, "at no time");
	much.mpi.end = now - 400;
	much.mpi.sent = (uint64_t)1 << 51;
	maker_put(m, 0, &much, NULL, 0);
	much.mpi.flags = PP_MPI_FAILED; /* it may have been given any count */
	maker_put(m, 0, &much, NULL, 0);
	used.process.user_ns = (uint64_t)1 << 63;
	maker_put(m, 0, &used, NULL, 0);
}

/* What no rank has written to a ring: a time to come, one long before the ring was made, zeros, pebibytes, counts of losses. */
TEST(impossible_records)
{
	for (int is_own = 0; is_own < 2; is_own++) {
		pp_tick now = pp_tick_raw();
		struct pp_capture c;
		struct maker m;

		maker_open(&m, path_of("left.ring"), 1, 4, 1, 8);
		m.header->open_tick = now - 1000;
		if (is_own) {
			pp_proc_boot_id(m.header->boot_id, sizeof(m.header->boot_id));
			pp_proc_timens(m.header->timens_ns, sizeof(m.header->timens_ns));
		}
		maker_thread(&m, 0, 10);
		maker_push(&m, 0, now - 900, "range");
		maker_mpi(&m, 0, now - 800, now - 700, 0, 0, -1);
		put_impossible(&m, now);
		m.header->thread[0].lost[PP_LOSS_RING_FULL] = (uint64_t)1 << 60;
		m.header->records_finalised = 5;
		m.header->records_taken = (uint64_t)1 << 63;
		maker_pop(&m, 0, now - 300);
		c = left_behind(&m);
		/* Of another boot it is not known what is to come. */
		CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], is_own ? 9 : 7);
		CHECK_INT(c.rank[0].lost[PP_LOSS_RING_FULL] + c.rank[0].lost[PP_LOSS_KEEPER_GONE], 0);
		CHECK_INT(c.rank[0].thread[0].spans, is_own ? 3 : 5);
		CHECK(!is_own || c.rank[0].thread[0].last == (int64_t)now - 300);
		pp_capture_release(&c);
	}
}

/* A record may be earlier than its ring, by as much as a first call takes, but not earlier than its process; however young the
 * host. A ring of an earlier podprof does not say when that began. */
TEST(early_records)
{
	const pp_tick second = 1000000000, day = 24 * 3600 * second;
	const struct {
		pp_tick uptime, age;
	} host[] = {{10 * second, 4 * second}, {10 * day, 4 * second}, {10 * day, 9 * day}};

	for (int i = 0; i < 6; i++) {
		const pp_tick open = host[i / 2].uptime, start = open - host[i / 2].age;
		const int says = i % 2, is_long_ago = host[i / 2].age > day;
		struct pp_capture c;
		struct maker m;

		maker_open(&m, path_of("early.ring"), 0, 1, 1, 8);
		m.header->open_tick = open;
		m.header->start_tick = says ? start : 0;
		maker_thread(&m, 0, 10);
		maker_mpi(&m, 0, 0, open + 10, 0, 0, -1);
		maker_mpi(&m, 0, start - 1, open + 20, 0, 0, -1);
		maker_mpi(&m, 0, start, open + 30, 0, 0, -1);
		maker_mpi(&m, 0, open + 40, open + 50, 0, 0, -1);
		c = left_behind(&m);
		CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], says ? 2 : is_long_ago ? 3 : 1);
		CHECK_INT(c.rank[0].thread[0].spans, says ? 2 : is_long_ago ? 1 : 3);
		CHECK_INT(c.rank[0].thread[0].first, says ? start : is_long_ago ? open + 40 : start - 1);
		pp_capture_release(&c);
	}
}

/* A header may be damaged too: its start, or when the ring was made, then says nothing. */
TEST(earliest_tick)
{
	static struct pp_ring_header h;

	h.open_tick = 1000;
	CHECK_INT(pp_ring_earliest(&h), 1);
	h.start_tick = 900;
	CHECK_INT(pp_ring_earliest(&h), 900);
	h.start_tick = 1001;
	CHECK_INT(pp_ring_earliest(&h), 1);
	h.start_tick = 0;
	h.open_tick = (pp_tick)1 << 44;
	CHECK_INT(pp_ring_earliest(&h), (pp_tick)1 << 43);
	h.open_tick = (pp_tick)1 << 63;
	CHECK_INT(pp_ring_earliest(&h), 1);
}

/* A list, one that is damaged, one with a rank that is none, an empty one; and what a later podprof says. */
TEST(neighbours)
{
	static const int32_t list[20] = {3, 1, 3}, negative[] = {2, -1};
	static const struct {
		uint64_t comm;
		uint32_t is_name;
		const void *text;
		size_t length;
	} row[] = {{77, PP_COMM_NAME, "grid", 4},   {77, PP_COMM_NEAR, list, sizeof(list)},
	           {77, PP_COMM_NEAR, list, 7},     {77, PP_COMM_NEAR, negative, sizeof(negative)},
	           {78, PP_COMM_NEAR, list, 0},     {79, PP_COMM_NEAR, negative, sizeof(negative)},
	           {77, PP_COMM_TEXTS, "what?", 5}, {80, UINT32_MAX, "what?", 5}};
	struct maker m;
	struct pp_capture c;
	const struct pp_comm *comm;

	maker_open(&m, path_of("near.ring"), 0, 4, 1, 8);
	maker_thread(&m, 0, 10);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pp_record r = {.tick = 2000 + i,
		                      .kind = PP_RECORD_COMM,
		                      .comm = {.comm = row[i].comm, .size = 4, .is_name = row[i].is_name}};

		maker_put(&m, 0, &r, row[i].text, row[i].length);
	}
	c = finished(&m);
	CHECK_INT(c.rank[0].comms, 3);
	comm = c.rank[0].comm;
	CHECK(comm[0].id == 77 && comm[0].near_known && comm[0].nears == 20 && !memcmp(comm[0].near, list, sizeof(list)));
	CHECK_STR(pp_intern_text(c.names, comm[0].name, NULL), "grid");
	CHECK(comm[1].id == 78 && comm[1].near_known && comm[1].nears == 0);
	CHECK(comm[2].id == 79 && !comm[2].near_known && !comm[2].name);
	pp_capture_release(&c);
}

TEST(gaps)
{
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r = pp_rings_new(1 << 20);

	maker_open(&m, path_of("gap.ring"), 0, 1, 1, 8);
	maker_thread(&m, 0, 10);
	maker_push(&m, 0, 2000, "whole");
	maker_range(&m, 0, PP_RECORD_GAP, 2100, 0, 0, NULL);
	maker_pop(&m, 0, 2200);
	maker_push(&m, 0, 2300, "torn");
	CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
	CHECK_INT(pp_rings_drain(r, 0, NULL), 4);
	m.header->thread[0].lost[PP_LOSS_RING_FULL] = 100;
	maker_range(&m, 0, PP_RECORD_GAP, 2400, 0, 0, NULL);
	maker_pop(&m, 0, 2500);
	CHECK_INT(pp_rings_drain(r, 0, NULL), 2);
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(c.rank[0].thread[0].span[0].end, 2200);
	CHECK_INT(c.rank[0].thread[0].span[0].flags, 0);
	CHECK_INT(c.rank[0].thread[0].span[1].end, 2300);
	CHECK_INT(c.rank[0].thread[0].span[1].flags, PP_SPAN_CUT_END);
	CHECK_INT(c.rank[0].lost[PP_LOSS_RING_FULL], 100);
	CHECK_INT(c.rank[0].lost[PP_LOSS_UNBALANCED], 0);
	pp_rings_free(r);
	pp_capture_release(&c);
	maker_close(&m);
}

/* The optimizer's step in which recording goes off ends while it is off. */
TEST(ranges_of_torch_end_with_the_window)
{
	struct maker m;
	struct pp_capture c;

	maker_open(&m, path_of("torch.ring"), 0, 1, 1, 8);
	maker_thread(&m, 0, 10);
	snprintf(m.header->domain[3].text, sizeof(m.header->domain[3].text), "PyTorch");
	maker_push(&m, 0, 2000, "epoch");
	maker_range(&m, 0, PP_RECORD_PUSH, 2100, 3, 0, "Optimizer.step#SGD.step");
	maker_range(&m, 0, PP_RECORD_GAP, 3000, 0, 0, NULL);
	maker_range(&m, 0, PP_RECORD_PUSH, 3100, 3, 0, "aten::mm");
	maker_range(&m, 0, PP_RECORD_POP, 3200, 3, 0, NULL);
	maker_pop(&m, 0, 3300);
	c = finished(&m);
	CHECK_INT(c.rank[0].thread[0].spans, 3);
	CHECK_INT(c.rank[0].thread[0].span[0].end, 3300);
	CHECK_INT(c.rank[0].thread[0].span[1].end, 2100);
	CHECK_INT(c.rank[0].thread[0].span[1].flags, PP_SPAN_CUT_END);
	CHECK_INT(c.rank[0].thread[0].span[2].end, 3200);
	CHECK_INT(c.rank[0].lost[PP_LOSS_UNBALANCED], 0);
	pp_capture_release(&c);
}

TEST(requests_without_an_end)
{
	static const uint16_t how[] = {PP_MPI_CANCELLED, PP_MPI_FREED, PP_MPI_FAILED, 0};
	static const uint8_t want[] = {PP_SPAN_FAILED, PP_SPAN_CUT_END, PP_SPAN_FAILED, 0};
	struct maker m;
	struct pp_capture c;

	maker_open(&m, path_of("ends.ring"), 0, 1, 1, 8);
	maker_thread(&m, 0, 10);
	for (uint32_t i = 0; i < 4; i++) {
		struct pp_record done = {.tick = 2050 + 100 * i, .kind = PP_RECORD_REQUEST, .request = {.request = 9, .peer = -1}};

		done.request.flags = how[i];
		maker_mpi(&m, 0, 2000 + 100 * i, 2010 + 100 * i, 0, 9, 0);
		maker_put(&m, 0, &done, NULL, 0);
	}
	c = finished(&m);
	CHECK_INT(c.rank[0].thread[0].spans, 8);
	for (size_t i = 0; i < 4; i++)
		CHECK_INT(c.rank[0].thread[0].span[2 * i].flags, want[i]);
	pp_capture_release(&c);
}

/* More ranges than the buffer holds, through a ring of 4 chunks that are reused; one range stays open all the time. */
TEST(eviction)
{
	enum { RANGES = 100000 };
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r = pp_rings_new(1 << 20);
	const struct pp_thread *t;

	maker_open(&m, path_of("evict.ring"), 0, 1, 1, 4);
	maker_thread(&m, 0, 10);
	CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
	maker_push(&m, 0, 2000, "epoch");
	for (int i = 0; i < RANGES; i++) {
		maker_push(&m, 0, (pp_tick)(3000 + 10 * i), "a");
		maker_pop(&m, 0, (pp_tick)(3005 + 10 * i));
		if (i % 500 == 0)
			pp_rings_drain(r, 0, NULL);
	}
	maker_pop(&m, 0, 3000 + 10 * RANGES);
	pp_rings_drain(r, 0, NULL);
	CHECK(pp_rings_bytes(r) < (3 << 20));
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	t = &c.rank[0].thread[0];
	CHECK(t->spans > 5000 && t->spans < RANGES);
	CHECK_INT(2 * t->spans + c.rank[0].lost[PP_LOSS_EVICTED], 2 * (RANGES + 1));
	CHECK_INT(c.rank[0].records, 2 * t->spans);
	CHECK_STR(name_of(&c, &t->span[0]), "epoch");
	CHECK_INT(t->span[0].end, 3000 + 10 * RANGES);
	CHECK(c.rank[0].horizon > 3000 && c.rank[0].horizon <= t->span[1].begin);
	for (size_t i = 1; i < t->spans; i++)
		if (t->span[i].begin < t->span[i - 1].begin)
			CHECK(0);
	CHECK_INT(c.rank[0].lost[PP_LOSS_RING_FULL], 0);
	pp_rings_free(r);
	pp_capture_release(&c);
	maker_close(&m);
}

TEST(slots_are_reused)
{
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r = pp_rings_new(1 << 20);

	maker_open(&m, path_of("slots.ring"), 0, 1, 1, 2);
	CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
	for (uint32_t i = 0; i < 300; i++) {
		maker_thread(&m, 0, 100 + i);
		m.header->thread[0].is_main = 0;
		maker_push(&m, 0, 2000 + i, "work");
		maker_pop(&m, 0, 2001 + i);
		atomic_store(&m.header->thread[0].state, PP_THREAD_ENDED);
		CHECK_INT(pp_rings_drain(r, 0, NULL), 2);
		CHECK_INT(atomic_load(&m.header->thread[0].state), PP_THREAD_FREE);
		CHECK_INT(atomic_load(&m.header->thread[0].first), 0);
	}
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(2 * c.rank[0].threads + c.rank[0].lost[PP_LOSS_EVICTED], 2 * 300);
	CHECK_INT(c.rank[0].thread[c.rank[0].threads - 1].tid, 399);
	CHECK_INT(m.header->chunk_used, 1);
	pp_rings_free(r);
	pp_capture_release(&c);
	maker_close(&m);
}

static void next_thread(struct maker *m, uint32_t slot, pp_tick tick, uint32_t tid)
{
	struct pp_thread_slot *s = &m->header->thread[slot];
	struct pp_record r = {.tick = tick, .kind = PP_RECORD_THREAD_END, .thread = {.tid = s->tid, .is_main = s->is_main}};

	memcpy(r.thread.name, s->name, sizeof(s->name));
	maker_put(m, slot, &r, NULL, 0);
	s->tid = tid;
	s->is_main = 0;
	snprintf(s->name, sizeof(s->name), "thread%u", tid);
}

/* Three threads in one slot before the keeper looks: each has its name and its own open ranges, the last one is not over. */
TEST(threads_that_go_on_in_a_slot)
{
	static const char *const name[] = {"thread100", "renamed", "thread102"};
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r = pp_rings_new(1 << 20);

	maker_open(&m, path_of("go_on.ring"), 0, 1, 1, 2);
	CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
	maker_thread(&m, 0, 100);
	maker_push(&m, 0, 2000, "open");
	next_thread(&m, 0, 2001, 101);
	maker_pop(&m, 0, 2002);
	maker_push(&m, 0, 2003, "open");
	snprintf(m.header->thread[0].name, sizeof(m.header->thread[0].name), "%s", "renamed");
	next_thread(&m, 0, 2004, 102);
	maker_push(&m, 0, 2005, "whole");
	CHECK_INT(pp_rings_drain(r, 0, NULL), 6);
	maker_pop(&m, 0, 2006);
	CHECK_INT(pp_rings_drain(r, 0, NULL), 1);
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(c.rank[0].threads, 3);
	CHECK_INT(c.rank[0].lost[PP_LOSS_UNBALANCED], 3); /* two pushes that never ended; a pop of another thread's */
	for (int i = 0; i < 3; i++) {
		const struct pp_thread *t = &c.rank[0].thread[i];

		CHECK_INT(t->tid, 100 + i);
		CHECK_STR(pp_intern_text(c.names, t->name, NULL), name[i]);
		CHECK_INT(t->is_main, i == 0);
		CHECK_INT(t->spans, 1);
		CHECK_INT(t->span[0].flags, i < 2 ? PP_SPAN_CUT_END : 0);
	}
	pp_rings_free(r);
	pp_capture_release(&c);
	maker_close(&m);
}

/* A slot that a keeper had closed and not freed when it died: the next one frees it. */
TEST(slot_of_a_dead_keeper)
{
	struct maker m;
	struct pp_rings *r = pp_rings_new(1 << 20);

	maker_open(&m, path_of("closing.ring"), 0, 1, 1, 2);
	CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
	maker_thread(&m, 0, 100);
	maker_push(&m, 0, 2000, "work");
	atomic_store(&m.header->thread[0].state, PP_THREAD_CLOSING);
	CHECK_INT(pp_rings_drain(r, 0, NULL), 1);
	CHECK_INT(atomic_load(&m.header->thread[0].state), PP_THREAD_FREE);
	pp_rings_free(r);
	maker_close(&m);
}

/* A short thread is charged the memory that it uses: 4000 of them fit where 585 whole blocks do; of more the oldest go, with all
 * that the keeper has of them. */
TEST(short_threads)
{
	enum { FIT = 4000, MORE = 40000 };
	struct maker m;
	struct pp_capture c;

	for (uint32_t threads = FIT; threads <= MORE; threads += MORE - FIT) {
		struct pp_rings *r = pp_rings_new(32 << 20);

		maker_open(&m, path_of("short.ring"), 0, 1, 1, 2);
		CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
		for (uint32_t i = 0; i < threads; i++) {
			maker_thread(&m, 0, 100 + i);
			m.header->thread[0].is_main = 0;
			for (uint32_t k = 0; k < 10; k++) {
				maker_push(&m, 0, 2000 + 100 * i + 2 * k, "work");
				maker_pop(&m, 0, 2001 + 100 * i + 2 * k);
			}
			atomic_store(&m.header->thread[0].state, PP_THREAD_ENDED);
			pp_rings_drain(r, 0, NULL);
		}
		CHECK(pp_rings_bytes(r) < (34 << 20));
		CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
		CHECK_INT(c.rank[0].threads * 20 + c.rank[0].lost[PP_LOSS_EVICTED], threads * 20);
		CHECK(c.rank[0].threads >= FIT);
		CHECK(threads > FIT || !c.rank[0].lost[PP_LOSS_EVICTED]);
		CHECK_INT(c.rank[0].thread[c.rank[0].threads - 1].tid, 99 + threads);
		CHECK_INT(c.rank[0].thread[c.rank[0].threads - 1].spans, 10);
		pp_rings_free(r);
		pp_capture_release(&c);
		maker_close(&m);
	}
}

TEST(two_rings_of_one_rank)
{
	struct maker a, b;
	struct pp_capture c;
	struct pp_rings *r = pp_rings_new(1 << 20);

	maker_open(&a, path_of("rank-2-1.ring"), 2, 4, 1, 4);
	maker_open(&b, path_of("rank-2-2.ring"), 2, 4, 2, 4);
	b.header->open_tick = 5000;
	maker_thread(&a, 0, 10);
	maker_thread(&b, 0, 20);
	maker_push(&a, 0, 2000, "a");
	maker_push(&b, 0, 6000, "b");
	CHECK_INT(pp_rings_open(r, a.path, NULL), 0);
	CHECK_INT(pp_rings_open(r, b.path, NULL), 0);
	CHECK_INT(pp_rings_drain(r, 0, NULL) + pp_rings_drain(r, 1, NULL), 2);
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(c.ranks, 1);
	CHECK_INT(c.rank[0].threads, 2);
	CHECK_INT(c.rank[0].thread[1].tid, 20);
	CHECK_INT(c.rank[0].open_tick, 1000);
	CHECK_INT(c.rank[0].pid, 2);
	pp_rings_free(r);
	pp_capture_release(&c);
	maker_close(&a);
	maker_close(&b);
}

int main(void)
{
	if (rings_kit_begin())
		return 1;
	nesting();
	domains_and_async();
	names();
	deep();
	steps_and_mpi();
	impossible_records();
	early_records();
	earliest_tick();
	neighbours();
	gaps();
	ranges_of_torch_end_with_the_window();
	requests_without_an_end();
	eviction();
	slots_are_reused();
	threads_that_go_on_in_a_slot();
	slot_of_a_dead_keeper();
	short_threads();
	two_rings_of_one_rank();
	return rings_kit_end();
}
