/* A conformance program calls every row of its table; what it wants of each record it says by DID(). */
#pragma once

#include "tests/mpi/want.h"

enum { CALLS_MOST = 1024 };

static unsigned char did_call[CALLS_MOST];
static uint64_t on_comm;     /* what the calls are made on */
static uint32_t on_sequence; /* collectives on it so far */

static inline void did(const char *file, int line, const char *name, int collective)
{
	const struct pp_record_mpi *m = last_call();

	if (m->call < CALLS_MOST)
		did_call[m->call] = 1;
	same(file, line, name, "communicator", (long long)m->comm, (long long)on_comm);
	same(file, line, name, "sequence", m->sequence, on_sequence);
	same(file, line, name, "failed", m->flags & PP_MPI_FAILED, 0);
	on_sequence += (uint32_t)collective;
}

/* The one call since the last look; DID_ALL: it is a collective. */
#define DID(symbol, peer, sent, received)                                                                                          \
	do {                                                                                                                       \
		WANT("MPI_" #symbol, peer, sent, received);                                                                        \
		did(__FILE__, __LINE__, "MPI_" #symbol, 0);                                                                        \
	} while (0)
#define DID_ALL(symbol, sent, received)                                                                                            \
	do {                                                                                                                       \
		WANT("MPI_" #symbol, -1, sent, received);                                                                          \
		did(__FILE__, __LINE__, "MPI_" #symbol, 1);                                                                        \
	} while (0)

/* The call before was a nonblocking one: wait for it; its end is told once, by the call itself or by the Wait. */
#define ENDS(request_handle, peer, received)                                                                                       \
	do {                                                                                                                       \
		uint32_t number_ = last_call()->request;                                                                           \
		int ended_ = how_many(PP_RECORD_REQUEST);                                                                          \
		CHECK(number_ != 0 && ended_ <= 1);                                                                                \
		MPI_Wait(&(request_handle), MPI_STATUS_IGNORE);                                                                    \
		if (ended_)                                                                                                        \
			WANT("MPI_Wait", -1, 0, 0);                                                                                \
		else                                                                                                               \
			WANT_END("MPI_Wait", number_, peer, received);                                                             \
	} while (0)

/* The COMM record of this kind among those just taken; its communicator is what the next calls are made on. */
static inline const struct fake_record *made_one(uint32_t kind)
{
	const struct fake_record *f;

	for (int n = 0; (f = nth(PP_RECORD_COMM, n)) != NULL; n++) {
		if (f->record.comm.is_name == kind) {
			on_comm = f->record.comm.comm;
			on_sequence = 0;
			return f;
		}
	}
	CHECK(!"a COMM record of this kind");
	return NULL;
}

/* Every row of the table was called. */
static inline void did_all_rows(const char *const *row, size_t rows)
{
	for (unsigned call = 0; call < pp_mpi_call_count() && call < CALLS_MOST; call++) {
		for (size_t i = 0; i < rows; i++) {
			if (strcmp(row[i], pp_mpi_call_info(call)->name) == 0 && !did_call[call]) {
				test_failures++;
				fprintf(stderr, "%s was not called\n", row[i]);
			}
		}
	}
	CHECK(rows > 0);
}
