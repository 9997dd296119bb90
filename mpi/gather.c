/* libpodprof-gather.so: carries files' blocks between the ranks of `mpirun podprof analyze`. Called by launchers/analyze/several.c,
 * which loads the MPI library first: this one is linked with none. See core/coord/analysis.h. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coord/analysis.h"

enum { PART = 1 << 24, TAG = 15 }; /* bytes of a message: MPI counts in int */

static int is_up;

static int begin_all(struct pp_analysis_world *ret_world, char *why, uint64_t size)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	struct pp_analysis_world w = {.rank = 0};
	int length = 0;

	MPI_Get_library_version(version, &length);
#ifdef OPEN_MPI
	if (strncmp(version, "Open MPI", 8) != 0) {
		snprintf(why, size, "libpodprof-gather.so was built for Open MPI, and this is '%.60s'", version);
		return -ENOTSUP;
	}
#endif
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
		snprintf(why, size, "MPI_Init failed");
		return -EIO;
	}
	is_up = 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &w.size);
	snprintf(w.library, sizeof(w.library), "%.*s", (int)strcspn(version, ","), version);
	*ret_world = w;
	return 0;
}

static void share_part_all(char *bytes, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PART)
		MPI_Bcast(bytes + at, (int)(size - at < PART ? size - at : PART), MPI_BYTE, 0, MPI_COMM_WORLD);
}

static int share_all(void **bytes, uint64_t *size)
{
	int rank, failed, any = 0;
	void *to = NULL;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Bcast(size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	if (rank)
		to = malloc(*size + 1);
	failed = rank && !to;
	MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (any) {
		free(to);
		return -ENOMEM;
	}
	share_part_all(rank ? to : *bytes, *size);
	if (rank)
		*bytes = to;
	return 0;
}

static void receive(int from, uint64_t size, void (*take)(void *context, int rank, const void *bytes, uint64_t size), void *context)
{
	char *bytes = malloc(size + 1);
	static char hole[PART]; /* takes what there is no memory for: the sender must not hang */

	for (uint64_t at = 0; at < size; at += PART)
		MPI_Recv(bytes ? bytes + at : hole, (int)(size - at < PART ? size - at : PART), MPI_BYTE, from, TAG, MPI_COMM_WORLD,
		         MPI_STATUS_IGNORE);
	take(context, from, bytes, size);
	free(bytes);
}

static void gather_all(const void *bytes, uint64_t size, void (*take)(void *context, int rank, const void *bytes, uint64_t size),
                       void *context)
{
	int rank, ranks;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank) {
		MPI_Send(&size, 1, MPI_UINT64_T, 0, TAG, MPI_COMM_WORLD);
		for (uint64_t at = 0; at < size; at += PART)
			MPI_Send((const char *)bytes + at, (int)(size - at < PART ? size - at : PART), MPI_BYTE, 0, TAG,
			         MPI_COMM_WORLD);
		return;
	}
	take(context, 0, bytes, size);
	for (int from = 1; from < ranks; from++) {
		uint64_t its = 0;

		MPI_Recv(&its, 1, MPI_UINT64_T, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		receive(from, its, take, context);
	}
}

static void end_all(void)
{
	if (is_up)
		MPI_Finalize();
	is_up = 0;
}

extern const struct pp_analysis_ops podprof_analysis_ops;
__attribute__((visibility("default"))) const struct pp_analysis_ops podprof_analysis_ops = {
        .begin_all = begin_all,
        .share_all = share_all,
        .gather_all = gather_all,
        .end_all = end_all,
};
