/* Point to point: each call is one record with the right peer and bytes; requests are tied to what completes them. 4 ranks. */
#include <time.h>

#include "tests/mpi/want.h"

static int buf[1024], in[1024];

TEST(test_blocking_sends)
{
	int (*const sends[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
	const char *names[] = {"MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"};
	static char attached[1 << 16];
	void *back;
	int size;

	MPI_Buffer_attach(attached, sizeof attached);
	for (int i = 0; i < 4; i++) {
		int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
		MPI_Request r;

		fake->record_on(0);
		MPI_Irecv(in, 10 + i, MPI_INT, left, i, MPI_COMM_WORLD, &r);
		MPI_Barrier(MPI_COMM_WORLD);
		fake->record_on(1);
		sends[i](buf, 10 + i, MPI_INT, right, i, MPI_COMM_WORLD);
		WANT(names[i], right, 4 * (10 + i), 0);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		/* it was started while nothing was recorded: one call, no end */
		WANT("MPI_Wait", -1, 0, 0);
		CHECK_INT(how_many(PP_RECORD_REQUEST), 0);
	}
	MPI_Buffer_detach(&back, &size);
	WANT("MPI_Buffer_detach", -1, 0, 0);
}

TEST(test_recv_and_probe)
{
	int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks, flag = 0;
	MPI_Status status;

	MPI_Send(buf, 3, MPI_DOUBLE, right, 7, MPI_COMM_WORLD);
	WANT("MPI_Send", right, 24, 0);
	MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	WANT("MPI_Probe", left, 0, 0);
	CHECK_INT(status.MPI_SOURCE, left);
	MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	CHECK_INT(flag, 1);
	WANT("MPI_Iprobe", left, 0, 0);
	MPI_Recv(in, 100, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	WANT("MPI_Recv", left, 0, 24);
	MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	CHECK_INT(flag, 0);
	/* in vain: put with the next record */
	MPI_Pcontrol(1);
	take_all();
	CHECK_INT(how_many(PP_RECORD_MPI), 2);
	CHECK(!strcmp(pp_mpi_call_info(last_call()->call)->name, "MPI_Iprobe"));
	CHECK_INT(last_call()->peer, -2);
	CHECK_INT(last_call()->flags, PP_MPI_POLLS);
	CHECK_INT(last_call()->sequence, 1);
	MPI_Sendrecv(buf, 5, MPI_INT, right, 1, in, 100, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	WANT("MPI_Sendrecv", right, 20, 20);
	MPI_Sendrecv_replace(buf, 6, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, &status);
	WANT("MPI_Sendrecv_replace", right, 24, 24);
	CHECK_INT(status.MPI_SOURCE, left);
}

TEST(test_nobody_and_nothing)
{
	MPI_Request r;

	MPI_Send(buf, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	WANT("MPI_Send", -1, 0, 0);
	MPI_Recv(in, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	WANT("MPI_Recv", -1, 0, 0);
	MPI_Sendrecv(buf, 5, MPI_INT, MPI_PROC_NULL, 0, in, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	WANT("MPI_Sendrecv", -1, 0, 0);
	MPI_Send(MPI_BOTTOM, 0, MPI_INT, me, 0, MPI_COMM_WORLD);
	WANT("MPI_Send", me, 0, 0);
	MPI_Recv(MPI_BOTTOM, 0, MPI_INT, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	WANT("MPI_Recv", me, 0, 0);
	/* complete at once: its end is told with it */
	MPI_Irecv(in, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
	WANT("MPI_Irecv", -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_REQUEST), 1);
	CHECK(last_call()->request == nth(PP_RECORD_REQUEST, 0)->record.request.request);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	WANT("MPI_Wait", -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_REQUEST), 0);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	WANT("MPI_Wait", -1, 0, 0);
	/* COMM_SELF's rank 0 is me in the world */
	MPI_Isend(buf, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
	WANT("MPI_Isend", me, 4, 0);
	MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	WANT("MPI_Recv", me, 0, 4);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	forget();
}

TEST(test_isends)
{
	int (*const sends[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {MPI_Isend, MPI_Issend,
	                                                                                            MPI_Ibsend, MPI_Irsend};
	const char *names[] = {"MPI_Isend", "MPI_Issend", "MPI_Ibsend", "MPI_Irsend"};
	static char attached[1 << 16];
	int size;
	void *back;

	MPI_Buffer_attach(attached, sizeof attached);
	for (int i = 0; i < 4; i++) {
		int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
		uint32_t number, in_number;
		MPI_Request r, s;
		int done;

		MPI_Irecv(in, 1024, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &r);
		WANT("MPI_Irecv", -2, 0, 0);
		in_number = last_call()->request;
		CHECK(in_number != 0);
		MPI_Barrier(MPI_COMM_WORLD);
		forget();
		sends[i](buf, 20 + i, MPI_INT, right, i, MPI_COMM_WORLD, &s);
		WANT(names[i], right, 4 * (20 + i), 0);
		number = last_call()->request;
		CHECK(number != 0 && number != in_number);
		done = how_many(PP_RECORD_REQUEST);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		WANT_END("MPI_Wait", in_number, left, 4 * (20 + i));
		MPI_Wait(&s, MPI_STATUS_IGNORE);
		if (done)
			WANT("MPI_Wait", -1, 0, 0);
		else
			WANT_END("MPI_Wait", number, right, 0);
		MPI_Barrier(MPI_COMM_WORLD);
		forget();
	}
	MPI_Buffer_detach(&back, &size);
	WANT("MPI_Buffer_detach", -1, 0, 0);
}

static uint32_t numbers[4];

/* Rank 0 posts three receives, 1..3 send in turn 4, 8, 12 bytes when rank 0 says so. */
static void post(MPI_Request *r)
{
	for (int i = 0; i < 3; i++) {
		MPI_Irecv(&in[16 * i], 16, MPI_INT, MPI_ANY_SOURCE, 100 + i + 1, MPI_COMM_WORLD, &r[i]);
		WANT("MPI_Irecv", -2, 0, 0);
		numbers[i] = last_call()->request;
	}
}

static void let_go(int rank)
{
	if (me == 0)
		MPI_Send(buf, 0, MPI_INT, rank, 99, MPI_COMM_WORLD);
	forget();
}

static void send_when_let(void)
{
	MPI_Recv(in, 0, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Ssend(buf, me, MPI_INT, 0, 100 + me, MPI_COMM_WORLD);
	forget();
}

TEST(test_wait_any_some_all)
{
	MPI_Request r[3];
	MPI_Status st[3];
	int index, some[3], n;

	for (int round = 0; round < 3; round++) {
		if (me) {
			send_when_let();
			continue;
		}
		post(r);
		let_go(2);
		if (round == 0) {
			MPI_Waitany(3, r, &index, MPI_STATUS_IGNORE);
			CHECK_INT(index, 1);
			WANT_END("MPI_Waitany", numbers[1], 2, 8);
		} else if (round == 1) {
			MPI_Waitsome(3, r, &n, some, MPI_STATUSES_IGNORE);
			CHECK_INT(n, 1);
			CHECK_INT(some[0], 1);
			WANT_END("MPI_Waitsome", numbers[1], 2, 8);
		} else {
			MPI_Wait(&r[1], &st[0]);
			CHECK_INT(st[0].MPI_SOURCE, 2);
			WANT_END("MPI_Wait", numbers[1], 2, 8);
		}
		let_go(1);
		let_go(3);
		MPI_Waitall(3, r, round ? st : MPI_STATUSES_IGNORE);
		one_call(__FILE__, __LINE__, "MPI_Waitall");
		CHECK_INT(how_many(PP_RECORD_REQUEST), 2);
		CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.request, numbers[0]);
		CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.peer, 1);
		CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.received, 4);
		CHECK_INT(nth(PP_RECORD_REQUEST, 1)->record.request.request, numbers[2]);
		CHECK_INT(nth(PP_RECORD_REQUEST, 1)->record.request.peer, 3);
		CHECK_INT(nth(PP_RECORD_REQUEST, 1)->record.request.received, 12);
		CHECK(r[0] == MPI_REQUEST_NULL);
		CHECK_INT(how_many(PP_RECORD_COMM), 0);
	}
}

/* Calls in the records taken: polls in vain that followed each other at once are one record, which counts them. */
static int polls_recorded(void)
{
	int reported = 0;

	for (size_t i = 0; i < got_count; i++)
		if (got[i].record.kind == PP_RECORD_MPI)
			reported += got[i].record.mpi.flags & PP_MPI_POLLS ? (int)got[i].record.mpi.sequence : 1;
	return reported;
}

/* A rank that the machine has no core for yet: its message is waited for, 3 s at most. */
static int poll_again(int polls)
{
	const struct timespec pause = {0, 1000000};

	if (polls > 1000)
		nanosleep(&pause, NULL);
	return polls < WANT_ROOM - 8;
}

/* Polls until something ended; how many polls were in vain is not known, but each is told. */
TEST(test_tests)
{
	MPI_Request r[3];
	MPI_Status st[3];
	int index, some[3], n = 0, flag, polls;

	for (int round = 0; round < 4; round++) {
		if (me) {
			send_when_let();
			continue;
		}
		post(r);
		let_go(2);
		if (round < 3) {
			polls = 0;
			do {
				if (round == 0)
					MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE);
				else if (round == 1)
					MPI_Testany(3, r, &index, &flag, MPI_STATUS_IGNORE);
				else
					flag = MPI_Testsome(3, r, &n, some, MPI_STATUSES_IGNORE) == MPI_SUCCESS && n > 0;
				polls++;
			} while (!flag && poll_again(polls));
			take_all();
			CHECK_INT(polls_recorded(), polls);
			CHECK_INT(how_many(PP_RECORD_REQUEST), flag);
			if (flag) {
				CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.request, numbers[1]);
				CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.peer, 2);
				CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.received, 8);
			}
		}
		let_go(1);
		let_go(3);
		polls = 0;
		do {
			MPI_Testall(3, r, &flag, round & 1 ? st : MPI_STATUSES_IGNORE);
			polls++;
		} while (!flag && poll_again(polls));
		take_all();
		CHECK_INT(polls_recorded(), polls);
		CHECK_INT(how_many(PP_RECORD_REQUEST), flag ? (round < 3 ? 2 : 3) : 0);
		MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
		forget();
	}
}

TEST(test_many_and_freed_and_cancelled)
{
	enum { TAG = 1000 }; /* none of test_tests: rank 0 may still wait there for any rank's */
	static MPI_Request r[300];
	int flag = 0, right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
	MPI_Request one;
	MPI_Status st;

	for (int i = 0; i < 300; i++)
		MPI_Irecv(&in[i], 1, MPI_INT, left, TAG + i, MPI_COMM_WORLD, &r[i]);
	for (int i = 0; i < 300; i++)
		MPI_Send(&buf[i], 1, MPI_INT, right, TAG + i, MPI_COMM_WORLD);
	forget();
	MPI_Waitall(300, r, MPI_STATUSES_IGNORE);
	one_call(__FILE__, __LINE__, "MPI_Waitall");
	CHECK_INT(how_many(PP_RECORD_REQUEST), 300);
	for (int i = 0; i < 300; i++)
		CHECK_INT(nth(PP_RECORD_REQUEST, i)->record.request.received, 4);
	MPI_Irecv(in, 1, MPI_INT, left, 999, MPI_COMM_WORLD, &one);
	forget();
	MPI_Cancel(&one);
	WANT("MPI_Cancel", -1, 0, 0);
	MPI_Wait(&one, &st);
	MPI_Test_cancelled(&st, &flag);
	CHECK_INT(flag, 1);
	one_call(__FILE__, __LINE__, "MPI_Wait");
	CHECK_INT(how_many(PP_RECORD_REQUEST), 1);
	CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.flags, PP_MPI_CANCELLED);
	MPI_Irecv(in, 1, MPI_INT, left, 998, MPI_COMM_WORLD, &one);
	forget();
	MPI_Request_free(&one);
	one_call(__FILE__, __LINE__, "MPI_Request_free");
	CHECK_INT(how_many(PP_RECORD_REQUEST), 1);
	CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.flags, PP_MPI_FREED);
	MPI_Send(buf, 1, MPI_INT, right, 998, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	forget();
}

TEST(test_errors_and_errno)
{
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	CHECK(MPI_Send(buf, 1, MPI_INT, ranks + 5, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
	WANT("MPI_Send", -1, 0, 0);
	CHECK_INT(last_call()->flags & PP_MPI_FAILED, PP_MPI_FAILED);
	CHECK(MPI_Send(buf, 1, MPI_INT, 0, 0, MPI_COMM_NULL) != MPI_SUCCESS);
	WANT("MPI_Send", -1, 0, 0);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
	int provided, rank, size;
	uint32_t state;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	want_begin();
	WANT("MPI_Init_thread", -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_COMM), 4);
	fake->claimed(&rank, &size, &state);
	CHECK_INT(rank, me);
	CHECK_INT(size, ranks);
	CHECK_INT(state, 1);
	test_blocking_sends();
	test_recv_and_probe();
	test_nobody_and_nothing();
	test_isends();
	test_wait_any_some_all();
	test_tests();
	test_many_and_freed_and_cancelled();
	test_errors_and_errno();
	return want_end();
}
