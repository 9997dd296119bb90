/* What a test program says after a call of MPI: the records it wants to find, no more and no fewer. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call/mpi_call.h"
#include "tests/mpi/fake.h"
#include "tests/test.h"

enum { WANT_ROOM = 4096 };

static const struct pp_fake *fake;
static struct fake_record got[WANT_ROOM];
static size_t got_count;
static int me, ranks;
static unsigned char checked[4096]; /* rows of the table of which a record was found as wanted */

static inline void want_begin(void)
{
	fake = dlsym(RTLD_DEFAULT, "pp_fake");
	if (!fake) {
		fprintf(stderr, "fake_guest.so is not preloaded\n");
		exit(1);
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static inline void take_all(void)
{
	got_count = fake->take(got, WANT_ROOM);
}

static inline void forget(void)
{
	take_all();
	got_count = 0;
}

/* Of the records taken: the n-th of a kind, NULL if there is none. */
static inline const struct fake_record *nth(int kind, int n)
{
	for (size_t i = 0; i < got_count; i++)
		if (got[i].record.kind == kind && n-- == 0)
			return &got[i];
	return NULL;
}

static inline int how_many(int kind)
{
	int n = 0;

	while (nth(kind, n))
		n++;
	return n;
}

/* Takes all records since the last look: exactly one call, of this name. */
static inline const struct pp_record_mpi *one_call(const char *file, int line, const char *name)
{
	static const struct pp_record_mpi none;
	const struct fake_record *f;

	take_all();
	f = nth(PP_RECORD_MPI, 0);
	test_checks++;
	if (!f || how_many(PP_RECORD_MPI) != 1 || strcmp(pp_mpi_call_info(f->record.mpi.call)->name, name) ||
	    f->record.mpi.end < f->record.tick) {
		test_failures++;
		fprintf(stderr, "%s:%d: rank %d: %d calls, first %s, not one %s\n", file, line, me, how_many(PP_RECORD_MPI),
		        f ? pp_mpi_call_info(f->record.mpi.call)->name : "none", name);
	} else {
		checked[f->record.mpi.call % sizeof checked] = 1;
	}
	return f ? &f->record.mpi : &none;
}

static inline void same(const char *file, int line, const char *name, const char *what, long long have, long long want)
{
	test_checks++;
	if (have == want)
		return;
	test_failures++;
	fprintf(stderr, "%s:%d: rank %d: %s: %s is %lld, not %lld\n", file, line, me, name, what, have, want);
}

#define WANT(name, peer_, sent_, received_)                                                                                        \
	do {                                                                                                                       \
		const struct pp_record_mpi *m_ = one_call(__FILE__, __LINE__, name);                                               \
		same(__FILE__, __LINE__, name, "peer", m_->peer, (peer_));                                                         \
		same(__FILE__, __LINE__, name, "sent", (long long)m_->sent, (sent_));                                              \
		same(__FILE__, __LINE__, name, "received", (long long)m_->received, (received_));                                  \
	} while (0)

/* Also: on this communicator. */
#define WANT_ON(name, comm_, peer_, sent_, received_)                                                                              \
	do {                                                                                                                       \
		WANT(name, peer_, sent_, received_);                                                                               \
		same(__FILE__, __LINE__, name, "comm", (long long)last_call()->comm, (long long)(comm_));                          \
	} while (0)

/* Also: one REQUEST record of the number that the call before had. */
#define WANT_END(name, number, peer_, received_)                                                                                   \
	do {                                                                                                                       \
		const struct fake_record *f_;                                                                                      \
		one_call(__FILE__, __LINE__, name);                                                                                \
		same(__FILE__, __LINE__, name, "ends", how_many(PP_RECORD_REQUEST), 1);                                            \
		f_ = nth(PP_RECORD_REQUEST, 0);                                                                                    \
		if (f_) {                                                                                                          \
			same(__FILE__, __LINE__, name, "request", f_->record.request.request, (number));                           \
			same(__FILE__, __LINE__, name, "source", f_->record.request.peer, (peer_));                                \
			same(__FILE__, __LINE__, name, "bytes", (long long)f_->record.request.received, (received_));              \
		}                                                                                                                  \
	} while (0)

static inline const struct pp_record_mpi *last_call(void)
{
	static const struct pp_record_mpi none;
	const struct fake_record *f = nth(PP_RECORD_MPI, 0);

	return f ? &f->record.mpi : &none;
}

/* All ranks have the same number. Not recorded. */
static inline int equal_on(MPI_Comm comm, uint64_t value)
{
	uint64_t low, high;

	fake->record_on(0);
	MPI_Allreduce(&value, &low, 1, MPI_UINT64_T, MPI_MIN, comm);
	MPI_Allreduce(&value, &high, 1, MPI_UINT64_T, MPI_MAX, comm);
	fake->record_on(1);
	return low == high;
}

/* For covered.py: the names of the calls that were found. */
static inline void say_checked(void)
{
	const char *to = getenv("PP_COVERED");
	char path[1024];
	FILE *f;

	if (!to)
		return;
	snprintf(path, sizeof path, "%s.%d", to, me);
	f = fopen(path, "w");
	for (unsigned i = 0; f && i < pp_mpi_call_count(); i++)
		if (checked[i])
			fprintf(f, "%s\n", pp_mpi_call_info(i)->name);
	if (f)
		fclose(f);
}

/* The sum of what went wrong on all ranks, so that every rank ends alike. */
static inline int want_end(void)
{
	int bad = test_end(), any = 0;

	MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (!any)
		say_checked();
	MPI_Finalize();
	return any;
}
