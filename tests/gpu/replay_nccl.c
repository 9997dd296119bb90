/* A stand-in of libnccl.so.2 that only has a version, for podprof doctor: REPLAY_NCCL, 22809 without it. */
#include <stdlib.h>

#include "tests/gpu/replay.h"

int ncclGetVersion(int *ret_version);

int ncclGetVersion(int *ret_version)
{
	const char *text = getenv("REPLAY_NCCL");

	*ret_version = text ? (int)strtol(text, NULL, 10) : 22809;
	return replay_enters("ncclGetVersion");
}
