/* Stand-in for an MPI that has the calls of MPI 4 for large counts. They move nothing, so a count may be larger than any buffer.
 * Linked by large.c. */
#include <mpi.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { TYPE_BYTES = 4 }; /* large.c calls with MPI_INT */

#define HAS(symbol, params, ...)                                                                                                   \
	__attribute__((visibility("default"))) int PMPI_##symbol params                                                            \
	{                                                                                                                          \
		__VA_ARGS__                                                                                                        \
		return MPI_SUCCESS;                                                                                                \
	}                                                                                                                          \
	__attribute__((visibility("default"))) extern __typeof__(PMPI_##symbol) MPI_##symbol                                       \
	        __attribute__((alias("PMPI_" #symbol)));

static void fill(MPI_Status *status, int source, int tag, MPI_Count count)
{
	if (status == MPI_STATUS_IGNORE)
		return;
	status->MPI_SOURCE = source;
	status->MPI_TAG = tag;
	status->_ucount = (size_t)count * TYPE_BYTES;
}

#define PP_WRAP_SEND(symbol, params, ...) HAS(symbol, params, )
#define PP_WRAP_COLL(symbol, params, ...) HAS(symbol, params, )
#define PP_WRAP_RMA(symbol, params, ...) HAS(symbol, params, )
#define PP_WRAP_FILE_BEGIN(symbol, params, ...) HAS(symbol, params, )
#define PP_WRAP_PLAIN(symbol, params, ...) HAS(symbol, params, )
#define PP_WRAP_RECV(symbol, params, ...) HAS(symbol, params, fill(status, source, tag, count);)
#define PP_WRAP_SENDRECV(symbol, params, ...) HAS(symbol, params, fill(status, source, recvtag, 1);)
#define PP_WRAP_FILE_IO(symbol, params, ...) HAS(symbol, params, fill(status, 0, 0, count);)
#define PP_WRAP_ISEND(symbol, params, ...) HAS(symbol, params, *request = MPI_REQUEST_NULL;)
#define PP_WRAP_IRECV(symbol, params, ...) HAS(symbol, params, *request = MPI_REQUEST_NULL;)
#define PP_WRAP_SEND_INIT(symbol, params, ...) HAS(symbol, params, *request = MPI_REQUEST_NULL;)
#define PP_WRAP_RECV_INIT(symbol, params, ...) HAS(symbol, params, *request = MPI_REQUEST_NULL;)
#define PP_WRAP_ICOLL(symbol, params, ...) HAS(symbol, params, *request = MPI_REQUEST_NULL;)
#define PP_WRAP_RRMA(symbol, params, ...) HAS(symbol, params, *request = MPI_REQUEST_NULL;)
#define PP_WRAP_FILE_I(symbol, params, ...) HAS(symbol, params, *request = MPI_REQUEST_NULL;)
#define PP_WRAP_WIN_MAKE(symbol, params, ...) HAS(symbol, params, return PMPI_Win_create(0, 0, (int)unit, info, comm, win);)
#define PP_WRAP_HAND(symbol, params, ...)
#define PP_MPI_LARGE(symbol, of, family, ...) PP_WRAP_##family(symbol, __VA_ARGS__)

#include "mpi/pmpi_large.def"

HAS(Mrecv_c, (void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
    return PMPI_Mrecv(buf, (int)count, type, message, status);)
HAS(Imrecv_c, (void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
    return PMPI_Imrecv(buf, (int)count, type, message, request);)
