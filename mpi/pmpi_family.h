/* The families of wrappers in the table (core/call/mpi_call.def). A file defines PP_WRAP_<FAMILY> for those it writes, includes
 * this, and the rows of all others become nothing. A new family is three lines here. */
#pragma once

#ifndef PP_WRAP_SEND
#define PP_WRAP_SEND(...)
#endif
#ifndef PP_WRAP_ISEND
#define PP_WRAP_ISEND(...)
#endif
#ifndef PP_WRAP_RECV
#define PP_WRAP_RECV(...)
#endif
#ifndef PP_WRAP_IRECV
#define PP_WRAP_IRECV(...)
#endif
#ifndef PP_WRAP_IPROBE
#define PP_WRAP_IPROBE(...)
#endif
#ifndef PP_WRAP_SENDRECV
#define PP_WRAP_SENDRECV(...)
#endif
#ifndef PP_WRAP_COLL
#define PP_WRAP_COLL(...)
#endif
#ifndef PP_WRAP_ICOLL
#define PP_WRAP_ICOLL(...)
#endif
#ifndef PP_WRAP_MAKE
#define PP_WRAP_MAKE(...)
#endif
#ifndef PP_WRAP_HAND
#define PP_WRAP_HAND(...)
#endif
#ifndef PP_WRAP_WIN_MAKE
#define PP_WRAP_WIN_MAKE(...)
#endif
#ifndef PP_WRAP_RMA
#define PP_WRAP_RMA(...)
#endif
#ifndef PP_WRAP_RRMA
#define PP_WRAP_RRMA(...)
#endif
#ifndef PP_WRAP_EPOCH
#define PP_WRAP_EPOCH(...)
#endif
#ifndef PP_WRAP_FILE
#define PP_WRAP_FILE(...)
#endif
#ifndef PP_WRAP_FILE_IO
#define PP_WRAP_FILE_IO(...)
#endif
#ifndef PP_WRAP_FILE_BEGIN
#define PP_WRAP_FILE_BEGIN(...)
#endif
#ifndef PP_WRAP_FILE_I
#define PP_WRAP_FILE_I(...)
#endif
#ifndef PP_WRAP_SEND_INIT
#define PP_WRAP_SEND_INIT(...)
#endif
#ifndef PP_WRAP_RECV_INIT
#define PP_WRAP_RECV_INIT(...)
#endif
#ifndef PP_WRAP_SPAWN
#define PP_WRAP_SPAWN(...)
#endif
#ifndef PP_WRAP_PLAIN
#define PP_WRAP_PLAIN(...)
#endif

#define PP_MPI(symbol, class_, nonblocking, family, ...) PP_WRAP_##family(symbol, __VA_ARGS__)
#define PP_MPI_LARGE(symbol, of, family, ...) PP_WRAP_##family(symbol, __VA_ARGS__)
