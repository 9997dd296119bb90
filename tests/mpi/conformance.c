/* Persistent requests, matched probes, neighbours: each call recorded once, on its communicator, with its bytes and peer.
 * 4 ranks. */
#include "tests/mpi/want.h"

static char buf[4096], in[4096];
static uint64_t world;
static int right, left;

static uint32_t request_of_last(void)
{
	return last_call()->request;
}

/* A call that completed what `number` started: also whom and where the record of the call itself shows. */
#define ENDS_ON(name, number, peer_, received_)                                                                                    \
	do {                                                                                                                       \
		WANT_END(name, number, peer_, received_);                                                                          \
		CHECK_INT(last_call()->peer, peer_);                                                                               \
		CHECK(last_call()->comm == world);                                                                                 \
	} while (0)

static void one_persistent(MPI_Request *send, MPI_Request *receive, int bytes, int from)
{
	uint32_t before = 0;

	for (int round = 0; round < 2; round++) {
		uint32_t sent, received;

		MPI_Start(receive);
		WANT_ON("MPI_Start", world, from, 0, 0);
		CHECK_INT(last_call()->flags, PP_MPI_RECEIVES);
		received = request_of_last();
		MPI_Barrier(MPI_COMM_WORLD);
		forget();
		MPI_Start(send);
		WANT_ON("MPI_Start", world, right, bytes, 0);
		CHECK_INT(last_call()->flags, 0);
		sent = request_of_last();
		CHECK(sent && received && sent != received && sent != before);
		before = sent;
		MPI_Wait(receive, MPI_STATUS_IGNORE);
		ENDS_ON("MPI_Wait", received, left, bytes);
		MPI_Wait(send, MPI_STATUS_IGNORE);
		ENDS_ON("MPI_Wait", sent, right, 0);
		CHECK(*send != MPI_REQUEST_NULL && *receive != MPI_REQUEST_NULL);
	}
	/* not started: nothing to wait for */
	MPI_Wait(send, MPI_STATUS_IGNORE);
	WANT_ON("MPI_Wait", 0, -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_REQUEST), 0);
}

TEST(test_persistent)
{
	int (*const init[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {MPI_Send_init, MPI_Bsend_init,
	                                                                                           MPI_Ssend_init, MPI_Rsend_init};
	const char *const name[] = {"MPI_Send_init", "MPI_Bsend_init", "MPI_Ssend_init", "MPI_Rsend_init"};
	static char attached[1 << 16];
	MPI_Request send, receive;
	MPI_Datatype three;
	void *back;
	int size;

	MPI_Buffer_attach(attached, sizeof attached);
	for (int i = 0; i < 4; i++) {
		int from = i & 1 ? MPI_ANY_SOURCE : left;

		/* the bytes are those of the type as it was when the request was made */
		MPI_Type_contiguous(3, MPI_INT, &three);
		MPI_Type_commit(&three);
		MPI_Recv_init(in, 100, MPI_INT, from, i, MPI_COMM_WORLD, &receive);
		WANT_ON("MPI_Recv_init", world, i & 1 ? -2 : left, 0, 0);
		init[i](buf, i + 1, three, right, i, MPI_COMM_WORLD, &send);
		WANT_ON(name[i], world, right, 0, 0);
		MPI_Type_free(&three);
		one_persistent(&send, &receive, 12 * (i + 1), i & 1 ? -2 : left);
		MPI_Request_free(&send);
		WANT_ON("MPI_Request_free", world, right, 0, 0);
		CHECK_INT(how_many(PP_RECORD_REQUEST), 0);
		MPI_Request_free(&receive);
		forget();
	}
	MPI_Buffer_detach(&back, &size);
	WANT("MPI_Buffer_detach", -1, 0, 0);
}

/* The calls that test_startall does not complete with: none of them nulls a persistent request. */
static void complete_otherwise(MPI_Request *r)
{
	uint32_t number;
	int index, flag;

	MPI_Start(&r[2]);
	MPI_Start(&r[0]);
	MPI_Start(&r[1]);
	MPI_Send(buf, 9, MPI_CHAR, right, 31, MPI_COMM_WORLD);
	for (int done = 0; done < 3; done += flag)
		MPI_Testany(3, r, &index, &flag, MPI_STATUS_IGNORE);
	take_all();
	CHECK_INT(how_many(PP_RECORD_REQUEST), 3);
	CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL && r[2] != MPI_REQUEST_NULL);
	MPI_Start(&r[2]);
	take_all();
	number = request_of_last();
	MPI_Request_free(&r[2]);
	one_call(__FILE__, __LINE__, "MPI_Request_free");
	CHECK_INT(how_many(PP_RECORD_REQUEST), 1);
	CHECK(nth(PP_RECORD_REQUEST, 0) && nth(PP_RECORD_REQUEST, 0)->record.request.flags == PP_MPI_FREED);
	CHECK(nth(PP_RECORD_REQUEST, 0) && nth(PP_RECORD_REQUEST, 0)->record.request.request == number);
	MPI_Recv(in, 5, MPI_CHAR, left, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
	MPI_Send_init(buf, 5, MPI_CHAR, MPI_PROC_NULL, 30, MPI_COMM_WORLD, &r[0]);
	forget();
	MPI_Start(&r[0]);
	WANT("MPI_Start", -1, 0, 0);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Request_free(&r[0]);
	forget();
}

TEST(test_startall)
{
	MPI_Request r[3];
	MPI_Status st[3];
	uint32_t number[3];
	int index, n, some[3];

	for (int i = 0; i < 2; i++)
		MPI_Recv_init(in + 100 * i, 100, MPI_CHAR, left, 30 + i, MPI_COMM_WORLD, &r[i]);
	MPI_Send_init(buf, 5, MPI_CHAR, right, 30, MPI_COMM_WORLD, &r[2]);
	MPI_Barrier(MPI_COMM_WORLD);
	forget();
	MPI_Startall(3, r);
	take_all();
	CHECK_INT(how_many(PP_RECORD_MPI), 3);
	for (int i = 0; i < 3 && nth(PP_RECORD_MPI, i); i++) {
		const struct pp_record *m = &nth(PP_RECORD_MPI, i)->record;

		CHECK_STR(pp_mpi_call_info(m->mpi.call)->name, "MPI_Startall");
		CHECK_INT(m->mpi.peer, i < 2 ? left : right);
		CHECK_INT(m->mpi.sent, i < 2 ? 0 : 5);
		CHECK(m->mpi.comm == world && m->mpi.request);
		CHECK(i == 0 || m->mpi.end == m->tick);
		checked[m->mpi.call] = 1;
		number[i] = m->mpi.request;
	}
	MPI_Waitany(1, r, &index, MPI_STATUS_IGNORE);
	ENDS_ON("MPI_Waitany", number[0], left, 5);
	MPI_Send(buf, 7, MPI_CHAR, right, 31, MPI_COMM_WORLD);
	forget();
	MPI_Waitsome(2, r, &n, some, MPI_STATUSES_IGNORE);
	CHECK_INT(n, 1);
	CHECK_INT(some[0], 1);
	ENDS_ON("MPI_Waitsome", number[1], left, 7);
	MPI_Waitall(3, r, st);
	ENDS_ON("MPI_Waitall", number[2], right, 0);
	complete_otherwise(r);
}

TEST(test_matched)
{
	MPI_Message message;
	MPI_Status status;
	MPI_Request r;
	uint32_t number;
	int flag;

	for (int i = 0; i < 2; i++) {
		MPI_Send(buf, 10 + i, MPI_INT, right, 40 + i, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		forget();
		if (i == 0) {
			MPI_Mprobe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
			WANT_ON("MPI_Mprobe", world, left, 0, 0);
			MPI_Mrecv(in, 100, MPI_INT, &message, MPI_STATUS_IGNORE);
			WANT_ON("MPI_Mrecv", world, left, 0, 40);
			continue;
		}
		do
			MPI_Improbe(MPI_ANY_SOURCE, 41, MPI_COMM_WORLD, &flag, &message, &status);
		while (!flag);
		take_all();
		for (int k = 0; k < how_many(PP_RECORD_MPI) - 1; k++)
			CHECK(nth(PP_RECORD_MPI, k)->record.mpi.flags & PP_MPI_POLLS);
		got[0] = *nth(PP_RECORD_MPI, how_many(PP_RECORD_MPI) - 1);
		got_count = 1;
		CHECK_INT(last_call()->peer, left);
		CHECK(last_call()->comm == world);
		checked[last_call()->call] = 1;
		MPI_Imrecv(in, 100, MPI_INT, &message, &r);
		WANT_ON("MPI_Imrecv", world, left, 0, 0);
		number = request_of_last();
		MPI_Wait(&r, &status);
		ENDS_ON("MPI_Wait", number, left, 44);
	}
	MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
	WANT_ON("MPI_Mprobe", world, -1, 0, 0);
	MPI_Mrecv(in, 100, MPI_INT, &message, MPI_STATUS_IGNORE);
	WANT("MPI_Mrecv", -1, 0, 0);
}

struct near {
	uint64_t comm;
	int ins, outs;     /* entries of an array */
	int in[4], out[4]; /* neighbours, -1: nobody at this end */
};

/* What two ranks exchange: the same number from both sides. */
static int between(int neighbour)
{
	return neighbour < 0 ? 5 : me + neighbour + 1;
}

static void fill(const int *rank, int n, int *counts, int *ret_there, int *ret_bytes)
{
	*ret_there = *ret_bytes = 0;
	for (int i = 0; i < n; i++) {
		counts[i] = between(rank[i]);
		*ret_there += rank[i] >= 0;
		*ret_bytes += rank[i] >= 0 ? 4 * counts[i] : 0;
	}
}

/* With the first record of such a call, once: from whom this rank receives. */
static void said_near(MPI_Comm comm, const struct near *n)
{
	const struct fake_record *f;
	int there[4], ins = 0;

	for (int i = 0; i < n->ins; i++)
		if (n->in[i] >= 0)
			there[ins++] = n->in[i];
	fake->record_on(0);
	MPI_Neighbor_allgather(buf, 3, MPI_INT, in, 3, MPI_INT, comm);
	fake->record_on(1);
	take_all();
	CHECK_INT(how_many(PP_RECORD_COMM), 0);
	MPI_Neighbor_allgather(buf, 3, MPI_INT, in, 3, MPI_INT, comm);
	WANT_ON("MPI_Neighbor_allgather", n->comm, -1, n->outs && (n->outs > 1 || n->out[0] >= 0) ? 12 : 0, 12 * ins);
	CHECK_INT(how_many(PP_RECORD_COMM), 1);
	f = nth(PP_RECORD_COMM, 0);
	if (!f)
		return;
	CHECK(f->record.comm.is_name == PP_COMM_NEAR && f->record.comm.comm == n->comm);
	CHECK_INT(f->record.length, ins * (int)sizeof(int32_t));
	CHECK(!memcmp(f->text, there, (size_t)ins * sizeof(there[0])));
}

#define BOTH(symbol, sent_, received_, ...)                                                                                        \
	do {                                                                                                                       \
		uint32_t number_;                                                                                                  \
		MPI_Neighbor_##symbol(__VA_ARGS__, comm);                                                                          \
		WANT_ON("MPI_Neighbor_" #symbol, n->comm, -1, sent_, received_);                                                   \
		MPI_Ineighbor_##symbol(__VA_ARGS__, comm, &r);                                                                     \
		WANT_ON("MPI_Ineighbor_" #symbol, n->comm, -1, sent_, received_);                                                  \
		CHECK_INT(how_many(PP_RECORD_COMM), 0);                                                                            \
		number_ = how_many(PP_RECORD_REQUEST) ? 0 : request_of_last();                                                     \
		MPI_Wait(&r, MPI_STATUS_IGNORE);                                                                                   \
		if (number_)                                                                                                       \
			WANT_END("MPI_Wait", number_, -1, 0);                                                                      \
		forget();                                                                                                          \
	} while (0)

static void neighbours(MPI_Comm comm, const struct near *n)
{
	int three[4] = {3, 3, 3, 3}, counts_in[4], counts_out[4], displs[4], ins, outs, bytes_in, bytes_out;
	MPI_Datatype types[4];
	MPI_Aint at[4];
	MPI_Request r;

	for (int i = 0; i < 4; i++) {
		displs[i] = 16 * i;
		at[i] = 64 * i;
		types[i] = MPI_INT;
	}
	said_near(comm, n);
	fill(n->in, n->ins, counts_in, &ins, &bytes_in);
	fill(n->out, n->outs, counts_out, &outs, &bytes_out);
	BOTH(allgather, outs ? 12 : 0, 12 * ins, buf, 3, MPI_INT, in, 3, MPI_INT);
	BOTH(allgatherv, outs ? 12 : 0, 12 * ins, buf, 3, MPI_INT, in, three, displs, MPI_INT);
	BOTH(alltoall, 12 * outs, 12 * ins, buf, 3, MPI_INT, in, 3, MPI_INT);
	BOTH(alltoallv, bytes_out, bytes_in, buf, counts_out, displs, MPI_INT, in, counts_in, displs, MPI_INT);
	BOTH(alltoallw, bytes_out, bytes_in, buf, counts_out, at, types, in, counts_in, at, types);
}

static uint64_t made_id(void)
{
	take_all();
	return nth(PP_RECORD_COMM, 0) ? nth(PP_RECORD_COMM, 0)->record.comm.comm : 0;
}

TEST(test_neighbours)
{
	int line[1] = {4}, open[1] = {0}, index[4] = {1, 3, 5, 6}, edges[6] = {1, 0, 2, 1, 3, 2}, weights[2] = {1, 1};
	int below = me - 1, above = me < 3 ? me + 1 : -1;
	struct near n = {.ins = 2, .outs = 2, .in = {below, above}, .out = {below, above}};
	MPI_Comm c, split;

	/* a line with two ends: MPI_PROC_NULL there */
	MPI_Cart_create(MPI_COMM_WORLD, 1, line, open, 0, &c);
	n.comm = made_id();
	neighbours(c, &n);
	MPI_Comm_free(&c);
	forget();
	n.ins = n.outs = (me > 0) + (me < 3);
	n.in[0] = n.out[0] = me > 0 ? below : above;
	MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &c);
	n.comm = made_id();
	neighbours(c, &n);
	MPI_Comm_free(&c);
	forget();
	/* everybody sends to the right, rank 0 also to rank 2 */
	n = (struct near){.ins = me == 2 ? 2 : 1, .outs = me == 0 ? 2 : 1, .in = {left, 0}, .out = {right, 2}};
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n.ins, n.in, weights, n.outs, n.out, weights, MPI_INFO_NULL, 0, &c);
	n.comm = made_id();
	neighbours(c, &n);
	MPI_Comm_free(&c);
	forget();
	/* world ranks, not ranks of the communicator: the line the other way round; and a grid of one rank, without neighbours */
	MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &split);
	MPI_Cart_create(split, 1, line, open, 0, &c);
	forget();
	n = (struct near){.ins = 2, .outs = 2, .in = {me < 3 ? me + 1 : -1, below}, .out = {me < 3 ? me + 1 : -1, below}};
	MPI_Neighbor_allgather(buf, 3, MPI_INT, in, 3, MPI_INT, c);
	take_all();
	n.comm = last_call()->comm;
	CHECK(nth(PP_RECORD_COMM, 0) && !memcmp(nth(PP_RECORD_COMM, 0)->text, me < 3 ? &n.in[0] : &n.in[1], sizeof(int)));
	MPI_Comm_free(&c);
	MPI_Comm_free(&split);
	MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, open, 0, &c);
	forget();
	MPI_Neighbor_allgather(buf, 3, MPI_INT, in, 3, MPI_INT, c);
	take_all();
	CHECK(nth(PP_RECORD_COMM, 0) && nth(PP_RECORD_COMM, 0)->record.comm.is_name == PP_COMM_NEAR);
	CHECK(nth(PP_RECORD_COMM, 0) && nth(PP_RECORD_COMM, 0)->record.length == 0);
	MPI_Comm_free(&c);
	forget();
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	want_begin();
	WANT("MPI_Init", -1, 0, 0);
	world = nth(PP_RECORD_COMM, 0) ? nth(PP_RECORD_COMM, 0)->record.comm.comm : 0;
	right = (me + 1) % ranks;
	left = (me + ranks - 1) % ranks;
	CHECK_INT(ranks, 4);
	test_persistent();
	test_startall();
	test_matched();
	test_neighbours();
	return want_end();
}
