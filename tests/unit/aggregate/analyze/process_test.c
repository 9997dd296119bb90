/* What steps have of a process's counts, what is said of a run that is one step, clocks that are not joined: hand-made. */
#include <math.h>

#include "aggregate/analyze/build.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/read/ring/finish.h"
#include "aggregate/read/ring/rings.h"
#include "tests/unit/aggregate/finding_kit.h"
#include "aggregate/write/text/text.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/capture/side.h"
#include "core/coord/claim.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/ring/ring_maker.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"
#include "tests/unit/capture.h"

struct made {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[2];
	struct pp_dataset d;
	char verdict[400];
};

static void build(struct made *m)
{
	struct pp_dataset_input in = {.capture = &m->capture,
	                              .steps = &m->steps,
	                              .attr = m->attr,
	                              .session = "s",
	                              .job = "j",
	                              .command = "c",
	                              .options = "o",
	                              .bound_ns = 2};
	struct pp_err err = {""};

	CHECK_INT(pp_steps_find(&m->capture, 0, 0, &m->steps, &err), 0);
	for (size_t r = 0; r < m->capture.ranks; r++)
		CHECK_INT(pp_attr_rank(&m->capture.rank[r], r, &m->steps, m->capture.ranks, m->capture.names, PP_ATTR_KEEP_ALL,
		                       &m->attr[r], &err),
		          0);
	CHECK_INT(pp_dataset_build(&in, &m->d, &err), 0);
	say_first_finding(&m->d, m->verdict, sizeof(m->verdict));
}

static void drop(struct made *m)
{
	pp_dataset_release(&m->d);
	for (size_t r = 0; r < m->capture.ranks; r++)
		pp_attr_release(&m->attr[r]);
	pp_steps_release(&m->steps);
	free_capture(&m->capture);
}

static void usage(struct pp_rank *r, int64_t time, int64_t number, uint32_t sequence, int is_end, uint32_t faults)
{
	r->usage = realloc(r->usage, (r->usages + 1) * sizeof(*r->usage));
	r->usage[r->usages++] = (struct pp_usage){
	        .time = time, .number = number, .sequence = sequence, .is_end = is_end, .minor_faults = faults, .user_ns = faults};
}

/* Steps 0..4 of 100 each, from 0. Only what was looked at on both sides, and in one piece, is present. */
TEST(both_edges_or_nothing)
{
	struct made m = {.capture = make_capture(1)};
	struct pp_rank *r = &m.capture.rank[0];

	r->step_marks = 1;
	for (int64_t k = 0; k < 5; k++) {
		add_step(&m.capture, 0, k, 100 * k, 100 * k + 90);
		add_range(&m.capture, 0, 0, "work", 100 * k + 1, 100 * k + 80);
	}
	usage(r, -3, 0, 1, 0, 0);   /* begin of 0 */
	usage(r, 91, 0, 2, 1, 5);   /* end of 0, shared by 1 */
	usage(r, 193, 1, 3, 1, 25); /* end of 1 */
	/* 2: no end; 3: begin, but a record between was lost; 4: its end is the end of another step of that number, much later */
	usage(r, 299, 3, 4, 0, 30);
	usage(r, 392, 3, 6, 1, 40);
	usage(r, 490, 9, 7, 1, 45);
	build(&m);
	CHECK_INT(m.d.steps, 5);
	CHECK_INT(m.d.processes, 2);
	for (int64_t s = 0; s < 2 && !test_failures; s++)
		CHECK(m.d.process[s].step == s && m.d.process[s].present);
	if (!test_failures) {
		CHECK_INT(m.d.process[0].minor_faults, 5);
		CHECK_INT(m.d.process[1].minor_faults, 20);
		CHECK_INT(m.d.process[1].cpu_user_ns, 20);
	}
	drop(&m);
}

TEST(start_up_is_no_communication)
{
	struct made m = {.capture = make_capture(2)};
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	for (size_t r = 0; r < 2; r++) {
		add_mpi(&m.capture, r, "MPI_Init", 0, 0, 600)->mpi.comm = 0;
		add_range(&m.capture, r, 0, "solve", 600, 700);
		add_mpi(&m.capture, r, "MPI_Barrier", 0, 700 + 2 * (int64_t)r, 750);
		add_mpi(&m.capture, r, "MPI_Finalize", 1, 760, 1000)->mpi.comm = 0;
	}
	build(&m);
	CHECK_INT(m.d.startup_ns, 0);
	CHECK_STR(m.verdict, "Host compute, 62 % of the run. No rank waits long for another one");
	f = open_memstream(&text, &size);
	CHECK_INT(pp_text_write(&m.d, NULL, f), 0);
	fclose(f);
	CHECK(strstr(text, "one step)") && !strstr(text, "half IQR") && !strstr(text, "1 of 1 steps"));
	free(text);
	drop(&m);
}

TEST(work_is_work)
{
	struct made m = {.capture = make_capture(1)};

	add_mpi(&m.capture, 0, "MPI_Init", 0, 0, 300)->mpi.comm = 0;
	add_range(&m.capture, 0, 0, "forward", 310, 900);
	add_mpi(&m.capture, 0, "MPI_Finalize", 1, 900, 1000)->mpi.comm = 0;
	build(&m);
	CHECK_STR(m.verdict, "Host compute, 98 % of the run. There is only one rank");
	drop(&m);
}

static const struct pp_row_collective *barrier(struct made *m, int32_t domain)
{
	*m = (struct made){.capture = make_capture(2)};
	m->capture.rank[1].domain = domain;
	for (size_t r = 0; r < 2; r++) {
		add_step(&m->capture, r, 0, 0, 1000);
		add_mpi(&m->capture, r, "MPI_Barrier", 0, 100 + 500 * (int64_t)r, 700);
	}
	build(m);
	CHECK_INT(m->d.collectives, 1);
	return m->d.collective;
}

TEST(waiting_between_clocks_that_are_not_joined_is_unknown)
{
	struct made m;

	CHECK_INT(barrier(&m, 0)->wait_ns, 500);
	CHECK_INT(m.d.collective->bound_ns, 2);
	CHECK_INT(m.d.cell[0].wait_ns, 500);
	drop(&m);
	CHECK_INT(barrier(&m, 1)->wait_ns, PP_UNKNOWN);
	CHECK(m.d.collective->transfer_ns == PP_UNKNOWN && m.d.arrival[0].waited_ns == PP_UNKNOWN && isnan(m.d.collective->algbw));
	CHECK(m.d.uncompared == 2 && m.d.unsplit == 0);
	CHECK(m.d.collective->bound_ns == PP_BOUND_UNKNOWN && m.d.worker[1].bound_ns == PP_BOUND_UNKNOWN);
	CHECK_INT(m.d.worker[0].bound_ns, 2);
	CHECK(m.d.cell[0].wait_ns == 0 && m.d.cell[0].transfer_ns == 0); /* until pp_dataset_mark_unseen() */
	CHECK_INT(m.d.late[0].wait_ns, 0);
	CHECK(m.d.budgets == 1 && m.d.budget[0].unsplit_ns == m.d.budget[0].time_ns && m.d.budget[0].wait_ns == 0);
	CHECK_INT(m.d.violations, 0);
	CHECK(strstr(m.verdict, "is unknown: the clocks of the ranks are not joined") && m.d.warnings);
	drop(&m);
}

/* Of a broadcast a rank needs its root alone: one on the same clock is known to wait, one on another is not. */
TEST(a_root_on_the_same_clock)
{
	struct made m = {.capture = make_capture(3)};

	m.capture.rank[2].domain = 1;
	for (size_t r = 0; r < 3; r++) {
		struct pp_span *span;

		add_step(&m.capture, r, 0, 0, 1000);
		span = add_mpi(&m.capture, r, "MPI_Bcast", 0, r ? 100 : 600, 700);
		span->mpi.sent = r ? 0 : 8;
		span->mpi.received = r ? 8 : 0;
		span->flags |= r ? 0 : PP_SPAN_IS_ROOT;
	}
	build(&m);
	CHECK_INT(m.d.collectives, 1);
	CHECK(m.d.collective->bound_ns == PP_BOUND_UNKNOWN && m.d.collective->last_worker == -1);
	CHECK(m.d.arrival[0].waited_ns == 0 && m.d.arrival[1].waited_ns == 500 && m.d.arrival[2].waited_ns == PP_UNKNOWN);
	CHECK_INT(m.d.collective->wait_ns, 500);
	CHECK_INT(m.d.cell[1].wait_ns, 500);
	CHECK_INT(m.d.cell[0].late_ns, 500);
	CHECK_INT(m.d.uncompared, 1);
	drop(&m);
}

TEST(clocks_by_boot_and_time_namespace)
{
	static const struct {
		const char *boot, *timens;
		uint32_t tick;
		int32_t domain;
	} ring[] = {{"boot-a", "monotonic 0 0", PP_TICK_RAW, 0}, {"boot-a", "monotonic 5 0", PP_TICK_RAW, 1},
	            {"boot-a", "monotonic 0 0", PP_TICK_TSC, 2}, {"boot-a", "monotonic 5 0", PP_TICK_TSC, 2},
	            {"boot-b", "monotonic 0 0", PP_TICK_RAW, 3}, {"boot-a", "monotonic 0 0", PP_TICK_RAW, 0}};
	enum { RINGS = sizeof(ring) / sizeof(ring[0]) };
	struct pp_rings *rings = pp_rings_new(16 << 20);
	struct pp_capture c = {0};
	struct pp_err err = {""};

	for (int i = 0; i < RINGS; i++) {
		struct maker m;
		char path[64];

		snprintf(path, sizeof(path), "/tmp/podprof-clocks-%d-%d.ring", (int)getpid(), i);
		maker_open(&m, path, i, RINGS, 1, 4);
		snprintf(m.header->boot_id, sizeof(m.header->boot_id), "%s", ring[i].boot);
		snprintf(m.header->timens_ns, sizeof(m.header->timens_ns), "%s", ring[i].timens);
		m.header->tick_kind = ring[i].tick;
		CHECK_INT(pp_rings_open(rings, path, &err), 0);
		maker_close(&m);
		unlink(path);
	}
	CHECK_INT(pp_rings_finish(rings, &c, &err), 0);
	CHECK_INT(c.ranks, RINGS);
	for (size_t i = 0; i < c.ranks && i < RINGS; i++)
		CHECK_INT(c.rank[i].domain, ring[i].domain);
	pp_capture_release(&c);
	pp_rings_free(rings);
}

/* A process of the same number that is no rank, with another clock. */
TEST(an_excluded_ring_gives_no_clock)
{
	static const struct {
		const char *boot;
		int32_t size;
		uint32_t by, tick;
	} ring[] = {{"boot-a", 2, PP_CLAIM_MEMBER, PP_TICK_RAW}, {"boot-b", 1, PP_CLAIM_MEMBER - 1, PP_TICK_TSC}};
	struct pp_rings *rings = pp_rings_new(16 << 20);
	struct pp_capture c = {0};
	struct pp_err err = {""};

	for (int i = 0; i < 2; i++) {
		struct maker m;
		char path[64];

		snprintf(path, sizeof(path), "/tmp/podprof-excluded-%d-%d.ring", (int)getpid(), i);
		maker_open(&m, path, 0, ring[i].size, 1 + i, 4);
		snprintf(m.header->boot_id, sizeof(m.header->boot_id), "%s", ring[i].boot);
		m.header->tick_kind = ring[i].tick;
		pp_ring_set_claim_by(m.header, ring[i].by);
		CHECK_INT(pp_rings_open(rings, path, &err), 0);
		maker_close(&m);
		unlink(path);
	}
	CHECK_INT(pp_rings_finish(rings, &c, &err), 0);
	CHECK_INT(c.ranks, 1);
	CHECK(pp_rings_is_excluded(rings, 1));
	CHECK_INT(c.rank->domain, 0);
	CHECK_INT(c.rank->counts_other, 0);
	CHECK(!strncmp(c.rank->clock, "boot-a ", 7));
	pp_capture_release(&c);
	pp_rings_free(rings);
}

TEST(bytes_as_people_read_them)
{
	char text[PP_TEXT_UNIT];

	CHECK_STR(pp_text_bytes(text, 0), "0 B");
	CHECK_STR(pp_text_bytes(text, 1023), "1023 B");
	CHECK_STR(pp_text_bytes(text, 1024), "1.00 KiB");
	CHECK_STR(pp_text_bytes(text, UINT64_C(1300000000)), "1.21 GiB");
	CHECK_STR(pp_text_bytes(text, UINT64_C(1023) * 1048576 + 700000), "1.00 GiB");
}

int main(void)
{
	both_edges_or_nothing();
	start_up_is_no_communication();
	work_is_work();
	waiting_between_clocks_that_are_not_joined_is_unknown();
	a_root_on_the_same_clock();
	clocks_by_boot_and_time_namespace();
	an_excluded_ring_gives_no_clock();
	bytes_as_people_read_them();
	return test_end();
}
