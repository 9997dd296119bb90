/* Every call of core/call/mpi_rma.def, each recorded once with its bytes and the target's world rank. 4 ranks, in a
 * communicator that has them in the opposite order. */
#include "tests/mpi/conform.h"

static const char *const rows[] = {
#define PP_MPI(symbol, ...) "MPI_" #symbol,
#include "core/call/mpi_rma.def"
#undef PP_MPI
};

static MPI_Comm turned;
static uint64_t turned_id;
static int rank, right, left, right_world;
static int64_t memory[64];

static void turn(void)
{
	MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &turned);
	MPI_Comm_rank(turned, &rank);
	right = (rank + 1) % ranks;
	left = (rank + ranks - 1) % ranks;
	right_world = ranks - 1 - right;
	forget();
	MPI_Barrier(turned);
	take_all();
	turned_id = last_call()->comm;
}

/* A window was just made by the n-th collective of `turned`: the next calls are on it. */
static void window_made(const char *name)
{
	static uint32_t before = 1;
	uint64_t id;

	CHECK(last_call()->comm == turned_id);
	CHECK_INT(last_call()->sequence, before);
	before += 3; /* equal_on() below counts too */
	id = on_comm;
	made_one(PP_COMM_WINDOW);
	CHECK(on_comm != turned_id && on_comm != id);
	CHECK_INT(how_many(PP_RECORD_COMM), 2); /* members, and that it is a window */
	CHECK(equal_on(turned, on_comm));
	for (unsigned call = 0; call < pp_mpi_call_count(); call++)
		if (!strcmp(pp_mpi_call_info(call)->name, name))
			did_call[call] = 1;
}

TEST(test_fence)
{
	int64_t two[2] = {me, me + 10}, got_here[2] = {-1, -1};
	MPI_Datatype sparse;
	MPI_Win win;

	MPI_Type_vector(3, 1, 2, MPI_INT64_T, &sparse);
	MPI_Type_commit(&sparse);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, turned, &win);
	WANT("MPI_Win_create", -1, 0, 0);
	window_made("MPI_Win_create");
	MPI_Win_set_name(win, "grid");
	DID(Win_set_name, -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_COMM), 1);
	CHECK_STR(nth(PP_RECORD_COMM, 0)->text, "grid");
	MPI_Win_fence(0, win);
	DID_ALL(Win_fence, 0, 0);
	MPI_Put(two, 2, MPI_INT64_T, right, 0, 2, MPI_INT64_T, win);
	DID(Put, right_world, 16, 0);
	MPI_Put(two, 2, MPI_INT64_T, MPI_PROC_NULL, 0, 2, MPI_INT64_T, win);
	DID(Put, -1, 0, 0);
	MPI_Win_fence(0, win);
	DID_ALL(Win_fence, 0, 0);
	CHECK_INT(memory[0], ranks - 1 - left);
	MPI_Get(got_here, 2, MPI_INT64_T, right, 0, 2, MPI_INT64_T, win);
	DID(Get, right_world, 0, 16);
	MPI_Win_fence(0, win);
	DID_ALL(Win_fence, 0, 0);
	CHECK_INT(got_here[0], me);
	MPI_Accumulate(two, 1, MPI_INT64_T, right, 4, 1, MPI_INT64_T, MPI_SUM, win);
	DID(Accumulate, right_world, 8, 0);
	MPI_Win_fence(0, win);
	DID_ALL(Win_fence, 0, 0);
	CHECK_INT(memory[4], ranks - 1 - left);
	MPI_Put(memory + 32, 1, sparse, right, 16, 3, MPI_INT64_T, win);
	DID(Put, right_world, 24, 0);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	DID_ALL(Win_fence, 0, 0);
	MPI_Win_free(&win);
	DID_ALL(Win_free, 0, 0);
	CHECK(win == MPI_WIN_NULL);
	MPI_Type_free(&sparse);
}

TEST(test_lock)
{
	int64_t one = 1, compare = 7, was = -1, *base;
	MPI_Win win;

	MPI_Win_allocate(sizeof memory, 8, MPI_INFO_NULL, turned, &base, &win);
	WANT("MPI_Win_allocate", -1, 0, 0);
	window_made("MPI_Win_allocate");
	memset(base, 0, sizeof memory);
	MPI_Win_fence(0, win);
	DID_ALL(Win_fence, 0, 0);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
	DID(Win_lock, right_world, 0, 0);
	MPI_Get_accumulate(&one, 1, MPI_INT64_T, &was, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, MPI_SUM, win);
	DID(Get_accumulate, right_world, 8, 8);
	MPI_Win_flush(right, win);
	DID(Win_flush, right_world, 0, 0);
	CHECK_INT(was, 0);
	MPI_Get_accumulate(NULL, 0, MPI_INT64_T, &was, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, MPI_NO_OP, win);
	DID(Get_accumulate, right_world, 0, 8);
	MPI_Win_flush_local(right, win);
	DID(Win_flush_local, right_world, 0, 0);
	CHECK_INT(was, 1);
	MPI_Fetch_and_op(&one, &was, MPI_INT64_T, right, 1, MPI_SUM, win);
	DID(Fetch_and_op, right_world, 8, 8);
	MPI_Fetch_and_op(NULL, &was, MPI_INT64_T, right, 1, MPI_NO_OP, win);
	DID(Fetch_and_op, right_world, 0, 8);
	MPI_Compare_and_swap(&compare, &one, &was, MPI_INT64_T, right, 0, win);
	DID(Compare_and_swap, right_world, 16, 8);
	MPI_Win_unlock(right, win);
	DID(Win_unlock, right_world, 0, 0);
	MPI_Win_fence(0, win);
	DID_ALL(Win_fence, 0, 0);
	CHECK_INT(base[0], 7);
	CHECK_INT(base[1], 1);
	MPI_Win_free(&win);
	DID_ALL(Win_free, 0, 0);
}

/* With a request: its end is told by the call or by a Wait. */
TEST(test_requests)
{
	int64_t one = 5, was = -1, *base;
	MPI_Request request;
	MPI_Win win;

	MPI_Win_allocate_shared(sizeof memory, 8, MPI_INFO_NULL, turned, &base, &win);
	WANT("MPI_Win_allocate_shared", -1, 0, 0);
	window_made("MPI_Win_allocate_shared");
	memset(base, 0, sizeof memory);
	MPI_Win_fence(0, win);
	DID_ALL(Win_fence, 0, 0);
	MPI_Win_lock_all(0, win);
	DID(Win_lock_all, -1, 0, 0);
	MPI_Rput(&one, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, win, &request);
	DID(Rput, right_world, 8, 0);
	ENDS(request, -1, 0);
	MPI_Raccumulate(&one, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, MPI_SUM, win, &request);
	DID(Raccumulate, right_world, 8, 0);
	ENDS(request, -1, 0);
	MPI_Win_flush_all(win);
	DID(Win_flush_all, -1, 0, 0);
	MPI_Rget(&was, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, win, &request);
	DID(Rget, right_world, 0, 8);
	ENDS(request, -1, 0);
	CHECK_INT(was, 10);
	MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &was, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, MPI_SUM, win, &request);
	DID(Rget_accumulate, right_world, 8, 8);
	ENDS(request, -1, 0);
	MPI_Rput(&one, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win, &request);
	DID(Rput, -1, 0, 0);
	ENDS(request, -1, 0);
	MPI_Win_flush_local_all(win);
	DID(Win_flush_local_all, -1, 0, 0);
	MPI_Win_sync(win);
	DID(Win_sync, -1, 0, 0);
	MPI_Win_unlock_all(win);
	DID(Win_unlock_all, -1, 0, 0);
	MPI_Win_fence(0, win);
	DID_ALL(Win_fence, 0, 0);
	CHECK_INT(base[0], 15);
	MPI_Win_free(&win);
	DID_ALL(Win_free, 0, 0);
}

/* Post, start, complete, wait; a test that spins is one record for all that found nothing, and one that found it. */
TEST(test_groups)
{
	MPI_Group all, to, from;
	int64_t value = me;
	int flag = 0, left_world = ranks - 1 - left;
	MPI_Win win;

	MPI_Comm_group(turned, &all);
	MPI_Group_incl(all, 1, &right, &to);
	MPI_Group_incl(all, 1, &left, &from);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, turned, &win);
	WANT("MPI_Win_create", -1, 0, 0);
	window_made("MPI_Win_create");
	for (int turn_ = 0; turn_ < 2; turn_++) {
		MPI_Win_post(from, 0, win);
		DID(Win_post, left_world, 0, 0);
		MPI_Win_start(to, 0, win);
		DID(Win_start, right_world, 0, 0);
		MPI_Put(&value, 1, MPI_INT64_T, right, 8 + turn_, 1, MPI_INT64_T, win);
		DID(Put, right_world, 8, 0);
		MPI_Win_complete(win);
		DID(Win_complete, right_world, 0, 0);
		if (turn_ == 0) {
			MPI_Win_wait(win);
			DID(Win_wait, left_world, 0, 0);
			continue;
		}
		while (!flag)
			MPI_Win_test(win, &flag);
		take_all();
		CHECK(how_many(PP_RECORD_MPI) >= 1);
		for (int i = 0; i < how_many(PP_RECORD_MPI); i++) {
			const struct pp_record_mpi *m = &nth(PP_RECORD_MPI, i)->record.mpi;

			CHECK_STR(pp_mpi_call_info(m->call)->name, "MPI_Win_test");
			CHECK_INT((m->flags & PP_MPI_POLLS) != 0, i + 1 < how_many(PP_RECORD_MPI));
			CHECK(m->comm == on_comm);
			CHECK_INT(m->peer, left_world);
			did_call[m->call] = checked[m->call] = 1;
		}
	}
	CHECK_INT(memory[8], ranks - 1 - left);
	CHECK_INT(memory[9], ranks - 1 - left);
	/* a group of more names nobody */
	MPI_Win_post(all, 0, win);
	DID(Win_post, -1, 0, 0);
	MPI_Win_start(all, 0, win);
	DID(Win_start, -1, 0, 0);
	MPI_Win_complete(win);
	DID(Win_complete, -1, 0, 0);
	MPI_Win_wait(win);
	DID(Win_wait, -1, 0, 0);
	MPI_Group_free(&all);
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	MPI_Win_free(&win);
	DID_ALL(Win_free, 0, 0);
}

TEST(test_dynamic)
{
	MPI_Aint where, wheres[64];
	int64_t value = me;
	MPI_Win win;

	MPI_Win_create_dynamic(MPI_INFO_NULL, turned, &win);
	WANT("MPI_Win_create_dynamic", -1, 0, 0);
	window_made("MPI_Win_create_dynamic");
	MPI_Win_attach(win, memory, sizeof memory);
	DID(Win_attach, -1, 0, 0);
	MPI_Get_address(memory + 20, &where);
	fake->record_on(0);
	MPI_Allgather(&where, 1, MPI_AINT, wheres, 1, MPI_AINT, turned);
	fake->record_on(1);
	MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
	DID(Win_lock, right_world, 0, 0);
	MPI_Put(&value, 1, MPI_INT64_T, right, wheres[right], 1, MPI_INT64_T, win);
	DID(Put, right_world, 8, 0);
	MPI_Win_unlock(right, win);
	DID(Win_unlock, right_world, 0, 0);
	fake->record_on(0);
	MPI_Barrier(turned);
	fake->record_on(1);
	CHECK_INT(memory[20], ranks - 1 - left);
	MPI_Win_detach(win, memory);
	DID(Win_detach, -1, 0, 0);
	MPI_Win_free(&win);
	DID_ALL(Win_free, 0, 0);
}

/* Made and used while nothing was recorded: its numbers were counted, and it is told who it is when it is first named. A call that
 * fails has no bytes. */
TEST(test_idle_and_failed)
{
	const struct pp_record_mpi *m;
	int64_t value = 1;
	MPI_Win win;

	fake->record_on(0);
	MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, turned, &win);
	MPI_Win_set_name(win, "idle");
	MPI_Win_fence(0, win);
	fake->record_on(1);
	MPI_Win_fence(0, win);
	take_all();
	CHECK_STR(made_one(PP_COMM_WINDOW)->text, "idle");
	on_sequence = 1;
	did(__FILE__, __LINE__, "MPI_Win_fence", 1);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	CHECK(MPI_Put(&value, 1, MPI_INT64_T, ranks + 5, 0, 1, MPI_INT64_T, win) != MPI_SUCCESS);
	m = one_call(__FILE__, __LINE__, "MPI_Put");
	CHECK(m->flags & PP_MPI_FAILED);
	CHECK_INT(m->sent, 0);
	CHECK_INT(m->peer, -1);
	MPI_Win_free(&win);
	DID_ALL(Win_free, 0, 0);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	want_begin();
	turn();
	test_fence();
	test_lock();
	test_requests();
	test_groups();
	test_dynamic();
	test_idle_and_failed();
	did_all_rows(rows, sizeof rows / sizeof rows[0]);
	MPI_Comm_free(&turned);
	return want_end();
}
