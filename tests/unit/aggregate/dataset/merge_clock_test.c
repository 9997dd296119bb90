/* Shares of hosts that have one clock: merged, they are field by field what one keeper makes of the same ranks, however they are
 * split, ordered and grouped, with calls of all kinds, ranks and calls that are missing, and clocks of two kinds. */
#include "aggregate/analyze/finish.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/clock/wall.h"
#include "tests/unit/aggregate/dataset/merge_kit.h"

enum { STEPS = 10, STEP_NS = 100000, COMMS = 4, PARTS = 4 };

#define NOBODY SIZE_MAX
#define EVERYBODY (SIZE_MAX - 1)
#define COMM 70 /* of all, of even and odd ranks, of neighbours, a file of all */

static int marked = 1; /* steps are said by the job; else the window is one */
static int64_t asked = STEPS - 1;
static int32_t member[MADE_RANKS][COMMS][MADE_RANKS];

static uint32_t count_ranks(void)
{
	return (uint32_t)(2 + kit_random(MADE_RANKS - 1));
}

static uint64_t comm_id(uint32_t k, size_t r)
{
	return k == 1 ? COMM + 10 + r % 2 : k == 2 ? COMM + 20 + r / 2 : COMM + k;
}

/* Members in an order that is not the world's. */
static void add_comms(struct pp_capture *c)
{
	uint32_t n = (uint32_t)c->ranks, turn = (uint32_t)kit_random(n);

	for (uint32_t r = 0; r < n; r++) {
		c->rank[r].comms = COMMS;
		c->rank[r].comm = calloc(COMMS, sizeof(*c->rank[r].comm));
		for (uint32_t k = 0; k < COMMS; k++) {
			struct pp_comm *comm = &c->rank[r].comm[k];

			*comm = (struct pp_comm){.id = comm_id(k, r), .kind = k == 3 ? PP_COMM_FILE : 0};
			comm->name = kit_random(3) ? kit_name(c->names, k == 3 ? "file" : "comm", kit_random(3)) : 0;
			for (uint32_t i = 0; i < n; i++) {
				uint32_t who = (i + turn) % n;

				if (comm_id(k, who) == comm->id)
					member[r][k][comm->size++] = (int32_t)who;
			}
			comm->member = kit_random(4) ? member[r][k] : NULL;
		}
	}
}

static void add_call(struct pp_capture *c, size_t r, uint32_t k, const char *name, uint32_t sequence, int64_t at, int64_t end)
{
	struct pp_span *span = add_mpi(c, r, name, sequence, at, end);

	span->mpi.comm = comm_id(k, r);
	span->mpi.sent = kit_random(5000);
	if (strstr(name, "cast") || strstr(name, "Reduce") || strstr(name, "atter"))
		span->flags |= r == (k == 2 ? r / 2 * 2 : r % 2) && (k == 1 || k == 2 || r == 0) ? PP_SPAN_IS_ROOT : 0;
	if (kit_random(20) == 0)
		span->flags |= PP_SPAN_CUT_END;
}

static void add_wait(struct pp_capture *c, size_t r, uint32_t t, int64_t at, int64_t end)
{
	struct pp_span *span = add_span(c, r, t, PP_SPAN_MPI, "MPI_Waitall", at, end);

	span->mpi.call = call_number("MPI_Waitall");
}

/* Operations of several communicators that one Waitall ends. */
static void add_requests(struct pp_capture *c, size_t r, const char *const *name, uint32_t n, uint32_t sequence, int64_t at,
                         int64_t end)
{
	for (uint32_t k = 0; k < n; k++) {
		struct pp_span *span, *done;
		uint32_t request = sequence * COMMS + k + 1;

		add_call(c, r, k % 3, name[k], sequence, at, at + 50);
		span = &c->rank[r].thread[0].span[c->rank[r].thread[0].spans - 1];
		span->mpi.request = request;
		done = add_span(c, r, 0, PP_SPAN_REQUEST, name[k], at, end);
		*done = (struct pp_span){
		        .kind = PP_SPAN_REQUEST, .begin = at, .end = end, .mpi = {.call = span->mpi.call, .request = request}};
		done->mpi.peer = -1;
		at += 100;
	}
	/* Another thread may wait before they begin. */
	add_wait(c, r, kit_random(3) == 0, at - 2000 + (int64_t)kit_random(4000), end + 1);
}

static void add_rank_step(struct pp_capture *c, size_t r, int64_t s, const char *const *call)
{
	int64_t at = s * STEP_NS, start;
	const char *requests[] = {"MPI_Iallreduce", "MPI_Ibcast", "MPI_Iscan"};

	if (kit_random(12) && marked) {
		add_step(c, r, s, at, at + STEP_NS - (int64_t)kit_random(50));
		add_range(c, r, 0, r % 2 ? "forward" : "backward", at + 10, at + 1000);
	}
	for (uint32_t k = 0; k < COMMS; k++) {
		int64_t late = (int64_t)kit_random(8000);

		if (kit_random(15)) /* else its record was lost */
			add_call(c, r, k, k == 3 ? "MPI_File_write_all" : call[k], (uint32_t)s, at + 2000 + k * 12000 + late,
			         at + 2000 + k * 12000 + 4000 + (int64_t)kit_random(8000) + late / 4);
	}
	/* Two begin at once more often than clocks of hosts let them, and some are done before the last begins. */
	start = at + 53000 + (int64_t)kit_random(4) * 5000;
	add_requests(c, r, requests, 3, (uint32_t)(100 + s), start,
	             start + (kit_random(3) ? 12000 + (int64_t)kit_random(3) * 5000 : 600));
	add_mpi(c, r, r % 2 ? "MPI_Recv" : "MPI_Send", 0, at + 90500, at + 91000)->mpi.peer = (int32_t)((r ^ 1) % c->ranks);
	if (r % 3 == 0) { /* on another thread: it takes what it lies over; no range of the program, which may be a step */
		struct pp_span *kernel = add_range(c, r, 2, "kernel", at + 5000, at + 9000 + (int64_t)kit_random(30000));

		kernel->category = 1;
		kernel->range.origin = PP_ORIGIN_LIBRARY;
	}
}

static struct pp_capture capture_of_all(size_t clocks)
{
	static const char *const calls[] = {"MPI_Allreduce", "MPI_Bcast",     "MPI_Reduce",  "MPI_Scan",  "MPI_Exscan",
	                                    "MPI_Barrier",   "MPI_Win_fence", "MPI_Scatter", "MPI_Gather"};
	struct pp_capture c = make_capture(count_ranks());

	c.epoch_realtime_ns = 1700000000000000000;
	c.ranks_asked += (int32_t)kit_random(2);
	for (size_t r = 0; r < c.ranks; r++) {
		struct pp_rank *rank = &c.rank[r];

		rank->domain = (int32_t)kit_random(clocks);
		snprintf(rank->clock, sizeof(rank->clock), "boot%d counter", (int)rank->domain);
		snprintf(rank->host, sizeof(rank->host), "host%d", (int)r % 3);
		snprintf(rank->memory_note, sizeof(rank->memory_note), "%s", kit_random(2) ? "" : "not looked at");
		rank->remarks = (uint32_t)kit_random(2);
		snprintf(rank->remark[0], PP_REMARK_TEXT, "%s", rank->remarks ? "no recorder" : "");
		rank->c10d = (struct pp_c10d_count){.calls = 9, .unannotated = kit_random(3), .unended = kit_random(3)};
		rank->records = 100;
		rank->lost[kit_random(PP_LOSSES)] = kit_random(3);
		rank->memory = calloc(3, sizeof(*rank->memory));
		for (; rank->memories < 3; rank->memories++)
			rank->memory[rank->memories] =
			        (struct pp_memory){.time = (int64_t)rank->memories * 200000, .rss_bytes = kit_random(1 << 20)};
	}
	add_comms(&c);
	for (int64_t s = 0; s < STEPS; s++) {
		const char *call[COMMS] = {calls[kit_random(9)], calls[kit_random(9)], calls[kit_random(9)]};

		for (size_t r = 0; r < c.ranks; r++)
			add_rank_step(&c, r, s, call);
	}
	return c;
}

/* Some ranks of `all`, which lends what they point to. */
static struct pp_capture select_ranks(const struct pp_capture *all, const size_t *part_of, size_t part)
{
	struct pp_capture c = *all;

	c.rank = calloc(all->ranks + 1, sizeof(*c.rank));
	c.ranks = 0;
	for (size_t r = 0; r < all->ranks; r++)
		if (part_of[r] == part || (part == EVERYBODY && part_of[r] != NOBODY))
			c.rank[c.ranks++] = all->rank[r];
	return c;
}

/* Two parts at a time in any order, over the wire again or not. */
static struct pp_dataset merge_tree(struct pp_dataset *part, size_t parts, struct pp_intern *names)
{
	while (parts > 1) {
		size_t a = kit_random(parts), b;
		struct pp_dataset one = part[a], two, both;

		part[a] = part[--parts];
		b = kit_random(parts);
		two = part[b];
		both = merge_two(&one, &two);
		pp_dataset_release(&one);
		pp_dataset_release(&two);
		part[b] = both;
		if (kit_random(2)) {
			travel(&both, names, &part[b]);
			pp_dataset_release(&both);
		}
	}
	return part[0];
}

static void compare_all(const struct pp_dataset *a, const struct pp_dataset *b)
{
	compare_workers(a, b);
	compare_cells(a, b);
	compare_collectives(a, b);
	compare_tables(a, b);
	compare_clocks(a, b);
}

static int64_t one_round(size_t clocks)
{
	struct pp_capture all = capture_of_all(clocks), some;
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset part[PARTS], d;
	struct made whole, made[PARTS];
	size_t part_of[MADE_RANKS], parts = 1 + kit_random(PARTS), came = 0,
	                            dead = kit_random(3) == 0 ? kit_random(all.ranks) : NOBODY;
	int64_t waited = 0;

	for (size_t r = 0; r < all.ranks; r++)
		part_of[r] = r == dead ? NOBODY : kit_random(parts);
	some = select_ranks(&all, part_of, EVERYBODY);
	build(&whole, &some, asked, 0);
	free(some.rank);
	for (size_t p = 0; p < parts; p++) {
		size_t n;

		some = select_ranks(&all, part_of, p);
		n = some.ranks;
		if (n) {
			build(&made[p], &some, asked, 1);
			travel(&made[p].d, names, &part[came++]);
			drop(&made[p], n);
		}
		free(some.rank);
	}
	d = merge_tree(part, came, names);
	CHECK_INT(pp_dataset_finish(&d, NULL), 0);
	compare_all(&whole.d, &d);
	for (size_t i = 0; i < d.workers; i++)
		waited += d.late[i].wait_ns;
	pp_dataset_release(&d);
	drop(&whole, all.ranks - (dead != NOBODY));
	free_capture(&all);
	pp_intern_free(names);
	return waited;
}

TEST(one_clock)
{
	int64_t waited = 0;

	for (int i = 0; i < 150 && !test_failures; i++)
		waited += one_round(1);
	CHECK(waited > 1000000);
}

TEST(no_marks)
{
	marked = 0;
	for (int i = 0; i < 50 && !test_failures; i++)
		one_round(1);
	marked = 1;
}

/* A step is one where all ranks that have steps completed it. */
TEST(nobody_asked)
{
	asked = 0;
	for (int i = 0; i < 50 && !test_failures; i++)
		one_round(1);
	asked = STEPS - 1;
}

TEST(two_clocks)
{
	for (int i = 0; i < 80 && !test_failures; i++)
		one_round(2);
}

/* A host that sleeps and whose date is set when it wakes: two changes between the same two readings. */
TEST(two_changes_at_once)
{
	struct pp_row_clock_change change[2] = {{.from_ns = 5, .to_ns = 9, .by_ns = 100, .error_ns = 1, .event = PP_WALL_SUSPENDED},
	                                        {.from_ns = 5, .to_ns = 9, .by_ns = -3, .error_ns = 2, .event = PP_WALL_STEPPED}};
	struct pp_row_host_clock c = {.change = change, .changes = 2};
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset d = {.names = names};

	CHECK_INT(pp_dataset_add_clock(&d, &c), 0);
	CHECK_INT(pp_dataset_seal(&d), 0);
	CHECK_INT(d.clock_changes, 2);
	CHECK_INT(d.host_clock[0].changes, 2);
	CHECK(d.host_clock[0].change == d.clock_change);
	CHECK_INT(d.clock_change[0].event, PP_WALL_STEPPED);
	CHECK_INT(d.clock_change[0].by_ns, -3);
	CHECK_INT(d.clock_change[1].by_ns, 100);
	pp_dataset_release(&d);
	pp_intern_free(names);
}

int main(void)
{
	two_changes_at_once();
	one_clock();
	no_marks();
	nobody_asked();
	two_clocks();
	return test_end();
}
