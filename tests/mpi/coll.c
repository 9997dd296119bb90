/* Collectives, blocking and nonblocking: bytes, root and sequence number of each; one record a call. 4 ranks. */
#include "tests/mpi/want.h"

static int a[4096], b[4096];
static int counts[64], displs[64], bdispls[64];
static MPI_Datatype types[64];
static uint32_t sequence; /* the next on COMM_WORLD */

/* A collective on the world: its number, its root flag. */
#define COLL(call, peer_, sent_, received_)                                                                                        \
	do {                                                                                                                       \
		MPI_##call;                                                                                                        \
		char name_[64];                                                                                                    \
		snprintf(name_, sizeof name_, "MPI_%.*s", (int)strcspn(#call, "("), #call);                                        \
		WANT(name_, peer_, sent_, received_);                                                                              \
		CHECK_INT(last_call()->sequence, sequence);                                                                        \
		CHECK_INT(!!(last_call()->flags & PP_MPI_IS_ROOT), (peer_) == me);                                                 \
		sequence++;                                                                                                        \
	} while (0)

/* A nonblocking one: the same, and a request that MPI_Wait ends. */
#define ICOLL(call, peer_, sent_, received_)                                                                                       \
	do {                                                                                                                       \
		MPI_Request q;                                                                                                     \
		uint32_t number_;                                                                                                  \
		COLL(call, peer_, sent_, received_);                                                                               \
		number_ = last_call()->request;                                                                                    \
		CHECK(number_ != 0);                                                                                               \
		if (how_many(PP_RECORD_REQUEST)) {                                                                                 \
			MPI_Wait(&q, MPI_STATUS_IGNORE);                                                                           \
			forget();                                                                                                  \
		} else {                                                                                                           \
			MPI_Wait(&q, MPI_STATUS_IGNORE);                                                                           \
			WANT_END("MPI_Wait", number_, peer_, 0);                                                                   \
		}                                                                                                                  \
	} while (0)

#define W MPI_COMM_WORLD

static void setup(void)
{
	int at = 0, bat = 0;

	for (int i = 0; i < ranks; i++) {
		counts[i] = i + 1;
		displs[i] = at;
		at += i + 1;
		bdispls[i] = bat * 4;
		bat += i + 1;
		types[i] = MPI_INT;
	}
}

enum { SUM = 10 }; /* of counts on 4 ranks */

TEST(test_blocking)
{
	COLL(Barrier(W), -1, 0, 0);
	COLL(Bcast(a, 8, MPI_INT, 2, W), 2, me == 2 ? 32 : 0, me == 2 ? 0 : 32);
	COLL(Reduce(a, b, 8, MPI_INT, MPI_SUM, 1, W), 1, 32, me == 1 ? 32 : 0);
	COLL(Allreduce(a, b, 8, MPI_DOUBLE, MPI_SUM, W), -1, 64, 64);
	COLL(Gather(a, 2, MPI_INT, b, 2, MPI_INT, 3, W), 3, 8, me == 3 ? 8 * ranks : 0);
	COLL(Gatherv(a, me + 1, MPI_INT, b, me ? NULL : counts, me ? NULL : displs, MPI_INT, 0, W), 0, 4 * (me + 1),
	     me ? 0 : 4 * SUM);
	COLL(Scatter(a, 2, MPI_INT, b, 2, MPI_INT, 0, W), 0, me ? 0 : 8 * ranks, 8);
	COLL(Scatterv(a, me ? NULL : counts, me ? NULL : displs, MPI_INT, b, me + 1, MPI_INT, 0, W), 0, me ? 0 : 4 * SUM,
	     4 * (me + 1));
	COLL(Allgather(a, 3, MPI_INT, b, 3, MPI_INT, W), -1, 12, 12 * ranks);
	COLL(Allgatherv(a, me + 1, MPI_INT, b, counts, displs, MPI_INT, W), -1, 4 * (me + 1), 4 * SUM);
	COLL(Alltoall(a, 3, MPI_INT, b, 3, MPI_INT, W), -1, 12 * ranks, 12 * ranks);
	COLL(Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, W), -1, 4 * SUM, 4 * (me + 1));
	COLL(Reduce_scatter_block(a, b, 3, MPI_INT, MPI_SUM, W), -1, 12 * ranks, 12);
	COLL(Scan(a, b, 3, MPI_INT, MPI_SUM, W), -1, 12, 12);
	COLL(Exscan(a, b, 3, MPI_INT, MPI_SUM, W), -1, 12, me ? 12 : 0);
}

/* Rank i gives me + 1 to each of the others, gets i + 1 from i. */
TEST(test_alltoallv)
{
	int mine[64], at[64], bat[64];

	for (int i = 0; i < ranks; i++) {
		mine[i] = me + 1;
		at[i] = i * (me + 1);
		bat[i] = 4 * at[i];
	}
	COLL(Alltoallv(a, mine, at, MPI_INT, b, counts, displs, MPI_INT, W), -1, 4 * ranks * (me + 1), 4 * SUM);
	COLL(Alltoallw(a, mine, bat, types, b, counts, bdispls, types, W), -1, 4 * ranks * (me + 1), 4 * SUM);
	ICOLL(Ialltoallv(a, mine, at, MPI_INT, b, counts, displs, MPI_INT, W, &q), -1, 4 * ranks * (me + 1), 4 * SUM);
	ICOLL(Ialltoallw(a, mine, bat, types, b, counts, bdispls, types, W, &q), -1, 4 * ranks * (me + 1), 4 * SUM);
}

TEST(test_in_place)
{
	void *const here = MPI_IN_PLACE;
	MPI_Datatype none = MPI_DATATYPE_NULL;

	COLL(Allreduce(here, b, 8, MPI_DOUBLE, MPI_SUM, W), -1, 64, 64);
	COLL(Reduce(me == 1 ? here : a, b, 8, MPI_INT, MPI_SUM, 1, W), 1, 32, me == 1 ? 32 : 0);
	COLL(Gather(me == 3 ? here : a, me == 3 ? 0 : 2, me == 3 ? none : MPI_INT, b, 2, MPI_INT, 3, W), 3, 8,
	     me == 3 ? 8 * ranks : 0);
	COLL(Gatherv(me ? a : here, me + 1, MPI_INT, b, counts, displs, MPI_INT, 0, W), 0, 4 * (me + 1), me ? 0 : 4 * SUM);
	COLL(Scatter(a, 2, MPI_INT, me ? b : here, 2, MPI_INT, 0, W), 0, me ? 0 : 8 * ranks, 8);
	COLL(Scatterv(a, counts, displs, MPI_INT, me ? b : here, me + 1, MPI_INT, 0, W), 0, me ? 0 : 4 * SUM, 4 * (me + 1));
	COLL(Allgather(here, 0, none, b, 3, MPI_INT, W), -1, 12, 12 * ranks);
	COLL(Allgatherv(here, 0, none, b, counts, displs, MPI_INT, W), -1, 4 * (me + 1), 4 * SUM);
	COLL(Alltoall(here, 0, none, b, 3, MPI_INT, W), -1, 12 * ranks, 12 * ranks);
	COLL(Reduce_scatter(here, b, counts, MPI_INT, MPI_SUM, W), -1, 4 * SUM, 4 * (me + 1));
	COLL(Scan(here, b, 3, MPI_INT, MPI_SUM, W), -1, 12, 12);
	ICOLL(Iallreduce(here, b, 8, MPI_DOUBLE, MPI_SUM, W, &q), -1, 64, 64);
	ICOLL(Iallgather(here, 0, none, b, 3, MPI_INT, W, &q), -1, 12, 12 * ranks);
}

TEST(test_nothing_and_derived)
{
	MPI_Datatype pair, other;

	COLL(Allreduce(a, b, 0, MPI_INT, MPI_SUM, W), -1, 0, 0);
	COLL(Allgather(a, 0, MPI_INT, b, 0, MPI_INT, W), -1, 0, 0);
	for (int i = 0; i < 3; i++) {
		MPI_Type_contiguous(2 + i, MPI_INT, &pair);
		MPI_Type_commit(&pair);
		MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &other);
		MPI_Type_commit(&other);
		COLL(Bcast(a, 3, pair, 0, W), 0, me ? 0 : 12 * (2 + i), me ? 12 * (2 + i) : 0);
		COLL(Bcast(a, 2, other, 0, W), 0, me ? 0 : 32, me ? 32 : 0);
		MPI_Type_free(&pair);
		MPI_Type_free(&other);
	}
}

TEST(test_nonblocking)
{
	ICOLL(Ibarrier(W, &q), -1, 0, 0);
	ICOLL(Ibcast(a, 8, MPI_INT, 2, W, &q), 2, me == 2 ? 32 : 0, me == 2 ? 0 : 32);
	ICOLL(Ireduce(a, b, 8, MPI_INT, MPI_SUM, 1, W, &q), 1, 32, me == 1 ? 32 : 0);
	ICOLL(Iallreduce(a, b, 8, MPI_DOUBLE, MPI_SUM, W, &q), -1, 64, 64);
	ICOLL(Igather(a, 2, MPI_INT, b, 2, MPI_INT, 3, W, &q), 3, 8, me == 3 ? 8 * ranks : 0);
	ICOLL(Igatherv(a, me + 1, MPI_INT, b, counts, displs, MPI_INT, 0, W, &q), 0, 4 * (me + 1), me ? 0 : 4 * SUM);
	ICOLL(Iscatter(a, 2, MPI_INT, b, 2, MPI_INT, 0, W, &q), 0, me ? 0 : 8 * ranks, 8);
	ICOLL(Iscatterv(a, counts, displs, MPI_INT, b, me + 1, MPI_INT, 0, W, &q), 0, me ? 0 : 4 * SUM, 4 * (me + 1));
	ICOLL(Iallgather(a, 3, MPI_INT, b, 3, MPI_INT, W, &q), -1, 12, 12 * ranks);
	ICOLL(Iallgatherv(a, me + 1, MPI_INT, b, counts, displs, MPI_INT, W, &q), -1, 4 * (me + 1), 4 * SUM);
	ICOLL(Ialltoall(a, 3, MPI_INT, b, 3, MPI_INT, W, &q), -1, 12 * ranks, 12 * ranks);
	ICOLL(Ireduce_scatter(a, b, counts, MPI_INT, MPI_SUM, W, &q), -1, 4 * SUM, 4 * (me + 1));
	ICOLL(Ireduce_scatter_block(a, b, 3, MPI_INT, MPI_SUM, W, &q), -1, 12 * ranks, 12);
	ICOLL(Iscan(a, b, 3, MPI_INT, MPI_SUM, W, &q), -1, 12, 12);
	ICOLL(Iexscan(a, b, 3, MPI_INT, MPI_SUM, W, &q), -1, 12, me ? 12 : 0);
}

TEST(test_idle)
{
	fake->record_on(0);
	for (int i = 0; i < 5; i++)
		MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, W);
	sequence += 5;
	take_all();
	CHECK_INT(got_count, 0);
	fake->record_on(1);
	COLL(Barrier(W), -1, 0, 0);
	CHECK(equal_on(W, last_call()->comm));
	sequence += 2;
	COLL(Barrier(W), -1, 0, 0);
}

/* The root of side 0 is its rank 1 (world rank 1): side 1 names it by 1. */
TEST(test_intercomm)
{
	MPI_Comm half, inter;
	int side = me / 2, root = side ? 1 : me == 1 ? MPI_ROOT : MPI_PROC_NULL;

	fake->record_on(0);
	MPI_Comm_split(W, side, me, &half);
	MPI_Intercomm_create(half, 0, W, side ? 0 : 2, 5, &inter);
	fake->record_on(1);
	MPI_Bcast(a, 4, MPI_INT, root, inter);
	WANT("MPI_Bcast", me == 0 ? -1 : 1, me == 1 ? 16 : 0, side ? 16 : 0);
	CHECK(equal_on(W, last_call()->comm));
	MPI_Gather(a, 2, MPI_INT, b, 2, MPI_INT, root, inter);
	WANT("MPI_Gather", me == 0 ? -1 : 1, side ? 8 : 0, me == 1 ? 16 : 0);
	CHECK_INT(!!(last_call()->flags & PP_MPI_IS_ROOT), me == 1);
	MPI_Allgather(a, 3, MPI_INT, b, 3, MPI_INT, inter);
	WANT("MPI_Allgather", -1, 12, 24);
	MPI_Sendrecv(a, 1, MPI_INT, me % 2, 1, b, 1, MPI_INT, me % 2, 1, inter, MPI_STATUS_IGNORE);
	WANT("MPI_Sendrecv", (me + 2) % 4, 4, 4);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	forget();
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	want_begin();
	WANT("MPI_Init", -1, 0, 0);
	setup();
	test_blocking();
	test_alltoallv();
	test_in_place();
	test_nothing_and_derived();
	test_nonblocking();
	test_idle();
	test_intercomm();
	return want_end();
}
