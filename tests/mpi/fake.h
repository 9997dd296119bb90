/* The records of this process, for test programs that run with fake_guest.so and libpodprof-mpi.so preloaded. */
#pragma once

#include <dlfcn.h>
#include <stddef.h>

#include "core/source/services.h"

struct fake_record {
	struct pp_record record;
	char text[512]; /* members or name of a COMM record */
};

struct pp_fake {
	size_t (*take)(struct fake_record *to, size_t room);
	void (*record_on)(int on);
	uint64_t (*counted)(void);                     /* records so far, with PP_FAKE_BENCH */
	const struct pp_where *(*line_of)(int thread); /* by first use; NULL: no such thread */
	void (*pattern_on)(int on);                    /* collectives on MPI_COMM_WORLD are told, from now on */
	uint64_t (*pattern_steps)(void);
	void (*claimed)(int *rank, int *size, uint32_t *mpi_state);
};
