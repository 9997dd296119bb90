/* What pod_dataset.c and pod_clock.c share: columns of pod.h5 into members of a pp_dataset. Nobody else includes it. */
#pragma once

#include "aggregate/read/h5/pod.h"

struct pp_pod_fill {
	struct pp_pod_file *pod;
	struct pp_dataset *d;
	struct pp_err *err;
	int code; /* first error: what follows does nothing */
};

/* A column whose size is known; `kinds` is a set of 1 << enum pp_pod_file_kind. 0 where the file has none. */
int pp_pod_fill_get(struct pp_pod_fill *f, const char *group, const char *variable, size_t n, unsigned kinds,
                    struct pp_pod_file_column *ret);
/* One integer column into a member of an array of structs, 1, 4 or 8 bytes wide. */
void pp_pod_fill_put(struct pp_pod_fill *f, const char *group, const char *variable, void *array, size_t offset, size_t stride,
                     size_t size, size_t n);

#define PP_POD_FILL_PUT(f, group, variable, array, type, member, n)                                                                \
	pp_pod_fill_put(f, group, variable, array, offsetof(struct type, member), sizeof(struct type), sizeof((array)->member), n)

/* /clock by host; a file of an earlier podprof has none. */
void pp_pod_fill_clock(struct pp_pod_fill *f);
