/* Polls in vain, what a Wait shows, MPI_Pcontrol. 4 ranks. */
#include <unistd.h>

#include "tests/mpi/want.h"

static char buf[64], in[64];
static uint64_t world;
static int right, left;

static void poll_without_result(MPI_Request *r)
{
	int flag, polls = 0;

	forget();
	for (int i = 0; i < 1000; i++)
		MPI_Test(r, &flag, MPI_STATUS_IGNORE);
	MPI_Request_get_status(*r, &flag, MPI_STATUS_IGNORE);
	CHECK_INT(flag, 0);
	MPI_Pcontrol(1);
	take_all();
	for (int i = 0; i < how_many(PP_RECORD_MPI) - 1; i++) {
		const struct pp_record_mpi *m = &nth(PP_RECORD_MPI, i)->record.mpi;

		CHECK(m->flags & PP_MPI_POLLS);
		CHECK_INT(m->peer, left);
		CHECK(m->comm == world);
		polls += (int)m->sequence;
	}
	CHECK_INT(polls, 1001);
}

/* Polls in vain: all told, in few records, none of which hides what was done between two polls. */
TEST(test_polls)
{
	MPI_Request r;
	int flag;

	MPI_Irecv(in, 1, MPI_INT, left, 50, MPI_COMM_WORLD, &r);
	MPI_Barrier(MPI_COMM_WORLD);
	/* Polls far apart are records of their own: where others keep the cores busy, a round may be nothing but that. */
	for (int round = 0; round < 20 && (!round || how_many(PP_RECORD_MPI) >= 500); round++)
		poll_without_result(&r);
	CHECK(how_many(PP_RECORD_MPI) < 500);
	for (int i = 0; i < 5; i++) {
		MPI_Iprobe(left, 51, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		usleep(2000);
	}
	MPI_Iprobe(left, 51, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Iprobe(left, 51, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	MPI_Pcontrol(1);
	take_all();
	CHECK_INT(how_many(PP_RECORD_MPI), 9);
	for (int i = 0; i < 8 && how_many(PP_RECORD_MPI) == 9; i++)
		CHECK_INT(nth(PP_RECORD_MPI, i)->record.mpi.flags, i == 6 ? 0 : PP_MPI_POLLS);
	MPI_Send(buf, 1, MPI_INT, right, 50, MPI_COMM_WORLD);
	do {
		MPI_Pcontrol(1);
		forget();
		MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
	} while (!flag);
	WANT_ON("MPI_Request_get_status", world, left, 0, 0);
	CHECK_INT(how_many(PP_RECORD_REQUEST), 0);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	forget();
}

/* The record of a Wait shows what all its operations have in common. */
TEST(test_waits)
{
	MPI_Request r[3];
	MPI_Comm c;

	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	for (int i = 0; i < 3; i++) {
		MPI_Irecv(in, 1, MPI_INT, left, 60, MPI_COMM_WORLD, &r[0]);
		MPI_Irecv(in + 8, 1, MPI_INT, i == 1 ? right : left, 61, MPI_COMM_WORLD, &r[1]);
		MPI_Irecv(in + 16, 1, MPI_INT, left, 62, i == 2 ? c : MPI_COMM_WORLD, &r[2]);
		MPI_Send(buf, 1, MPI_INT, right, 60, MPI_COMM_WORLD);
		MPI_Send(buf, 1, MPI_INT, i == 1 ? left : right, 61, MPI_COMM_WORLD);
		MPI_Send(buf, 1, MPI_INT, right, 62, i == 2 ? c : MPI_COMM_WORLD);
		forget();
		MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
		WANT_ON("MPI_Waitall", i == 2 ? 0 : world, i ? -1 : left, 0, 0);
		CHECK_INT(how_many(PP_RECORD_REQUEST), 3);
	}
	MPI_Comm_free(&c);
	forget();
}

TEST(test_pcontrol)
{
	MPI_Pcontrol(0);
	WANT("MPI_Pcontrol", -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_MARK), 1);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Pcontrol(7);
	take_all();
	CHECK_INT(how_many(PP_RECORD_MPI) + how_many(PP_RECORD_MARK), 0);
	MPI_Pcontrol(1);
	WANT("MPI_Pcontrol", -1, 0, 0);
	MPI_Pcontrol(7);
	WANT("MPI_Pcontrol", -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_MARK), 1);
	if (nth(PP_RECORD_MARK, 0)) {
		CHECK_INT(nth(PP_RECORD_MARK, 0)->record.length, strlen("MPI_Pcontrol(7)"));
		CHECK_STR(nth(PP_RECORD_MARK, 0)->record.range.text, "MPI_Pcontrol(7)");
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	want_begin();
	WANT("MPI_Init", -1, 0, 0);
	world = nth(PP_RECORD_COMM, 0) ? nth(PP_RECORD_COMM, 0)->record.comm.comm : 0;
	right = (me + 1) % ranks;
	left = (me + ranks - 1) % ranks;
	test_polls();
	test_waits();
	test_pcontrol();
	return want_end();
}
