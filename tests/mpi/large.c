/* Calls of MPI 4 for large counts, of a stand-in (large_mpi.c): each has the record of the call that it is like, and no byte is
 * lost where a count does not fit into int. */
#include "tests/mpi/want.h"

#define PP_MPI_LARGE(symbol, of, family, params, ...) int MPI_##symbol params;
#include "mpi/pmpi_large.def"
#undef PP_MPI_LARGE

enum { RANKS = 4, ALL_CALLS = 99 };
static const MPI_Count many = 3000000000;
static const uint64_t bytes = UINT64_C(12000000000);

enum moves {
	LATER, /* or nothing */
	SOME,  /* a multiple of the bytes that `many` integers have, to some rank or from it */
	ONE    /* and an integer received */
};

static int seen;

static void called(int rc, const char *of, enum moves moves, uint64_t comm)
{
	const struct pp_record_mpi *m = one_call(__FILE__, __LINE__, of);
	uint64_t received = moves == ONE ? m->received - sizeof(int) : m->received;

	CHECK_INT(rc, MPI_SUCCESS);
	CHECK(!(m->flags & PP_MPI_FAILED));
	CHECK(comm == 0 || m->comm == comm);
	same(__FILE__, __LINE__, of, "sent", (long long)(m->sent % bytes), 0);
	same(__FILE__, __LINE__, of, "received", (long long)(received % bytes), 0);
	same(__FILE__, __LINE__, of, "moves", m->sent || m->received, moves != LATER);
	seen++;
}

static enum moves of_file(const char *name)
{
	return strstr(name, "read") ? LATER : SOME;
}

#define CALL(symbol, of, args, moves, comm) called(MPI_##symbol args, "MPI_" #of, moves, comm)
#define CALL_SEND(symbol, of, args) CALL(symbol, of, args, SOME, id);
#define CALL_ISEND(symbol, of, args) CALL(symbol, of, args, SOME, id);
#define CALL_RECV(symbol, of, args) CALL(symbol, of, args, SOME, id);
#define CALL_IRECV(symbol, of, args) CALL(symbol, of, args, LATER, id);
#define CALL_SENDRECV(symbol, of, args) CALL(symbol, of, args, ONE, id);
#define CALL_SEND_INIT(symbol, of, args) CALL(symbol, of, args, LATER, id);
#define CALL_RECV_INIT(symbol, of, args) CALL(symbol, of, args, LATER, id);
#define CALL_COLL(symbol, of, args) CALL(symbol, of, args, SOME, id);
#define CALL_ICOLL(symbol, of, args) CALL(symbol, of, args, SOME, id);
#define CALL_FILE_IO(symbol, of, args) CALL(symbol, of, args, SOME, 0);
#define CALL_FILE_I(symbol, of, args) CALL(symbol, of, args, of_file(#of), 0);
#define CALL_FILE_BEGIN(symbol, of, args) CALL(symbol, of, args, of_file(#of), 0);
#define CALL_RMA(symbol, of, args)                                                                                                 \
	{                                                                                                                          \
		MPI_Win win = kept;                                                                                                \
		CALL(symbol, of, args, SOME, 0);                                                                                   \
	}
#define CALL_RRMA(symbol, of, args) CALL_RMA(symbol, of, args)
#define CALL_WIN_MAKE(symbol, of, args)                                                                                            \
	{                                                                                                                          \
		MPI_Win made, *win = &made;                                                                                        \
		MPI_Aint size = 0;                                                                                                 \
		CALL(symbol, of, args, LATER, id);                                                                                 \
		MPI_Win_free(win);                                                                                                 \
		forget();                                                                                                          \
	}
#define CALL_PLAIN(symbol, of, args)                                                                                               \
	{                                                                                                                          \
		MPI_Count *size = &count;                                                                                          \
		CALL(symbol, of, args, LATER, 0);                                                                                  \
	}
#define CALL_HAND(symbol, of, args)

/* The arguments have the names that the table gives them. */
static void every_call(MPI_Comm comm, uint64_t id, MPI_Win kept, MPI_File file)
{
	MPI_Count count = many, sendcount = many, recvcount = many, origin_count = many, result_count = many, target_count = many,
	          sendcounts[RANKS] = {many, many, many, many}, *recvcounts = sendcounts;
	MPI_Aint displs[RANKS] = {0}, *sdispls = displs, *rdispls = displs, disp = 0, unit = 1;
	MPI_Datatype type = MPI_INT, sendtype = MPI_INT, recvtype = MPI_INT, origin_type = MPI_INT, result_type = MPI_INT,
	             target_type = MPI_INT, sendtypes[RANKS] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT}, *recvtypes = sendtypes;
	int dest = 1, source = 1, tag = 5, sendtag = 5, recvtag = 5, root = me, target = 1, cell = 0;
	void *buf = &cell, *sendbuf = &cell, *recvbuf = &cell, *origin = &cell, *result = &cell, *base = &cell, *buffer = &cell;
	MPI_Offset offset = 0;
	MPI_Status own, *status = &own;
	MPI_Request one, *request = &one;
	MPI_Op op = MPI_SUM;
	MPI_Info info = MPI_INFO_NULL;

#define PP_MPI_LARGE(symbol, of, family, params, args, ...) CALL_##family(symbol, of, args)
#include "mpi/pmpi_large.def"
#undef PP_MPI_LARGE
}

/* Its bytes to the last one; sums over all ranks, and a peer. */
static void exact(MPI_Comm comm)
{
	MPI_Count counts[RANKS] = {many, 1, 0, many + 2};
	MPI_Aint at[RANKS] = {0};
	MPI_Datatype types[RANKS] = {MPI_INT, MPI_CHAR, MPI_INT, MPI_SHORT};
	int cell = 0;

	MPI_Send_c(&cell, many + 1, MPI_CHAR, 2, 7, comm);
	WANT("MPI_Send", 2, (long long)many + 1, 0);
	MPI_Alltoallv_c(&cell, counts, at, MPI_INT, &cell, counts, at, MPI_INT, comm);
	WANT("MPI_Alltoallv", -1, 4 * (2 * (long long)many + 3), 4 * (2 * (long long)many + 3));
	MPI_Alltoallw_c(&cell, counts, at, types, &cell, counts, at, types, comm);
	WANT("MPI_Alltoallw", -1, 4 * (long long)many + 1 + 2 * ((long long)many + 2),
	     4 * (long long)many + 1 + 2 * ((long long)many + 2));
	MPI_Neighbor_alltoallv_c(&cell, counts, at, MPI_CHAR, &cell, counts, at, MPI_CHAR, comm);
	WANT("MPI_Neighbor_alltoallv", -1, (long long)many + 1, (long long)many + 1);
	MPI_Send_c(&cell, 1, MPI_CHAR, MPI_PROC_NULL, 7, comm);
	WANT("MPI_Send", -1, 0, 0);
}

static void matched(MPI_Comm comm, uint64_t id)
{
	MPI_Message message;
	MPI_Request sent, received;
	MPI_Status status;
	int in = 0;

	for (int i = 0; i < 2; i++) {
		MPI_Isend(&me, 1, MPI_INT, me, 9, comm, &sent);
		MPI_Mprobe(me, 9, comm, &message, &status);
		forget();
		if (i == 0) {
			MPI_Mrecv_c(&in, 1, MPI_INT, &message, &status);
			WANT_ON("MPI_Mrecv", id, me, 0, 4);
		} else {
			MPI_Imrecv_c(&in, 1, MPI_INT, &message, &received);
			WANT_ON("MPI_Imrecv", id, me, 0, 0);
			MPI_Wait(&received, MPI_STATUS_IGNORE);
		}
		CHECK_INT(in, me);
		MPI_Wait(&sent, MPI_STATUS_IGNORE);
		forget();
	}
}

TEST(large)
{
	static int cell;
	MPI_Comm comm;
	MPI_Win kept;
	MPI_File file;
	uint64_t id;

	MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (int[]){1}, 0, &comm);
	MPI_Win_create(&cell, sizeof(cell), 1, MPI_INFO_NULL, comm, &kept);
	MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	forget();
	MPI_Barrier(comm);
	take_all();
	id = last_call()->comm;
	every_call(comm, id, kept, file);
	CHECK_INT(seen, ALL_CALLS);
	exact(comm);
	matched(comm, id);
	MPI_File_close(&file);
	MPI_Win_free(&kept);
	MPI_Comm_free(&comm);
}

struct ompi_instance_t;
int MPI_Session_finalize(struct ompi_instance_t **session) __attribute__((weak));

/* What a program sees that asks whether its MPI has a call: the MPI's, never podprof's. */
TEST(asked)
{
	Dl_info at = {.dli_fname = ""};

	CHECK(!MPI_Session_finalize == !dlsym(RTLD_DEFAULT, "PMPI_Session_finalize"));
	CHECK(dladdr(dlsym(RTLD_DEFAULT, "MPI_Send_c"), &at) && strstr(at.dli_fname, "large_mpi"));
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	want_begin();
	asked();
	large();
	MPI_Finalize();
	return test_end();
}
