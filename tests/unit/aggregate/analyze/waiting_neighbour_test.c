/* Waiting in neighbourhood collectives, of captures made by hand: each rank waits for those from which it receives. */
#include "tests/unit/aggregate/dataset/merge_kit.h"

#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { RANKS = 4 };

/* One step 0..1000: rank r calls at arrival[r] and leaves at exit[r]; it receives from near[r], which ends with -1. */
static struct pp_capture capture_of(const char *call, const int64_t *arrival, const int64_t *exit, int32_t (*near)[RANKS])
{
	struct pp_capture c = make_capture(RANKS);

	for (size_t r = 0; r < RANKS; r++) {
		struct pp_comm *comm = calloc(1, sizeof(*comm));

		add_step(&c, r, 1, 0, 1000);
		add_mpi(&c, r, call, 0, arrival[r], exit[r]);
		*comm = (struct pp_comm){.id = 77, .size = RANKS, .near = near[r], .near_known = near[r][0] != -2};
		while (comm->near_known && near[r][comm->nears] >= 0)
			comm->nears++;
		c.rank[r].comm = comm;
		c.rank[r].comms = 1;
	}
	return c;
}

/* A line of four ranks, of which the last is late: only its neighbour waits for it. A rank far away leaves long before. */
TEST(neighbours)
{
	int32_t line[][RANKS] = {{1, -1}, {2, 0, -1}, {1, 3, -1}, {2, -1}};
	const int64_t arrival[] = {100, 120, 110, 700}, exit[] = {130, 140, 750, 750}, wait[] = {20, 0, 590, 0};
	const int32_t late[] = {1, -1, 3, -1}, rows[][2] = {{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 2}};
	struct pp_capture c;
	struct made m;

	c = capture_of("MPI_Neighbor_alltoallv", arrival, exit, line);
	build(&m, &c, 1, 0);
	for (size_t r = 0; r < RANKS; r++) {
		CHECK_INT(m.d.arrival[r].late_rank, late[r]);
		CHECK_INT(m.d.arrival[r].exposed_wait_ns, wait[r]);
		CHECK_INT(m.d.cell[r].wait_ns, wait[r]);
		CHECK_INT(m.d.cell[r].transfer_ns, exit[r] - arrival[r] - wait[r]);
	}
	CHECK_INT(m.d.collective[0].wait_ns, 610);
	CHECK_INT(m.d.late[0].rank, 3);
	CHECK_INT(m.d.late[0].wait_ns, 590);
	CHECK(m.d.unsplit == 0 && m.d.violations == 0);
	CHECK_INT(m.d.neighbours, 6);
	for (size_t i = 0; i < m.d.neighbours && i < 6; i++)
		CHECK(m.d.neighbour[i].communicator == 77 && m.d.neighbour[i].worker == rows[i][0] &&
		      m.d.neighbour[i].source == rows[i][1]);
	drop(&m, RANKS);
	free_capture(&c);
}

/* Nobody to receive from, only itself, not known, and one that made no call: the last two are not split. */
TEST(neighbours_of_all_kinds)
{
	int32_t kinds[][RANKS] = {{-1}, {1, -1}, {-2}, {0, 9, -1}};
	const int64_t arrival[] = {300, 100, 100, 100}, exit[] = {500, 500, 500, 500};
	struct pp_capture c;
	struct made m;

	c = capture_of("MPI_Neighbor_allgather", arrival, exit, kinds);
	build(&m, &c, 1, 0);
	for (size_t r = 0; r < RANKS; r++) {
		CHECK_INT(m.d.arrival[r].late_rank, -1);
		CHECK_INT(m.d.cell[r].wait_ns, 0);
		CHECK_INT(m.d.cell[r].transfer_ns, r < 2 ? exit[r] - arrival[r] : 0);
	}
	CHECK_INT(m.d.unsplit, 2);
	CHECK_INT(m.d.neighbours, 4);
	CHECK(m.d.neighbour[0].worker == 0 && m.d.neighbour[0].source == -1); /* known to be none */
	CHECK(m.d.neighbour[1].worker == 1 && m.d.neighbour[1].source == 1);
	drop(&m, RANKS);
	free_capture(&c);
}

/* Open MPI returns at once from these two where the count is 0; the others exchange empty messages. */
TEST(neighbours_without_data)
{
	static const struct {
		const char *name;
		int waits;
	} call[] = {{"MPI_Neighbor_allgather", 0}, {"MPI_Neighbor_alltoall", 0},  {"MPI_Neighbor_allgatherv", 1},
	            {"MPI_Neighbor_alltoallv", 1}, {"MPI_Neighbor_alltoallw", 1}, {"MPI_Ineighbor_allgather", 1},
	            {"MPI_Ineighbor_alltoallw", 1}};
	int32_t ring[][RANKS] = {{3, -1}, {0, -1}, {1, -1}, {2, -1}};
	const int64_t arrival[] = {400, 100, 100, 100}, exit[] = {500, 500, 500, 500};

	for (size_t i = 0; i < sizeof(call) / sizeof(call[0]); i++) {
		struct pp_capture c;
		struct made m;

		c = capture_of(call[i].name, arrival, exit, ring);
		for (size_t r = 0; r < RANKS; r++) {
			struct pp_thread *thread = &c.rank[r].thread[0];

			thread->span[thread->spans - 1].mpi.sent = thread->span[thread->spans - 1].mpi.received = 0;
		}
		build(&m, &c, 1, 0);
		CHECK_INT(m.d.arrival[1].late_rank, call[i].waits ? 0 : -1);
		CHECK_INT(m.d.arrival[2].late_rank, -1);
		CHECK_INT(m.d.unsplit, 0);
		drop(&m, RANKS);
		free_capture(&c);
	}
}

/* Rank 1 has the data of rank 0 before that one calls: the record or the clock is wrong. */
TEST(neighbours_against_causality)
{
	int32_t ring[][RANKS] = {{3, -1}, {0, -1}, {1, -1}, {2, -1}};
	const int64_t arrival[] = {400, 100, 100, 100}, exit[] = {500, 200, 150, 500};
	struct pp_capture c;
	struct made m;

	c = capture_of("MPI_Neighbor_alltoall", arrival, exit, ring);
	build(&m, &c, 1, 0);
	CHECK_INT(m.d.violations, 1);
	CHECK_INT(m.d.cell[1].wait_ns, 100);
	drop(&m, RANKS);
	free_capture(&c);
}

int main(void)
{
	neighbours();
	neighbours_of_all_kinds();
	neighbours_without_data();
	neighbours_against_causality();
	return test_end();
}
