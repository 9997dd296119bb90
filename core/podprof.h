/* podprof.h: mark steps and ranges of a training job. No link flag, harmless where podprof is absent.
 *
 * All functions may be called from any thread at any time, never fail, keep errno and never write to stdout.
 * The first call looks the collector up once (dlsym); without it every call is one load and one branch.
 * In a fully static program they do nothing. Names are copied; NULL is taken as "". */
#ifndef PODPROF_H
#define PODPROF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a range is; names and ids as in every podprof table. */
enum podprof_category {
	PODPROF_BY_NAME = 0,
	PODPROF_DEVICE_COMPUTE = 1,
	PODPROF_DEVICE_TO_DEVICE = 2,
	PODPROF_DEVICE_COLLECTIVE = 3,
	PODPROF_HOST_COMPUTE = 4,
	PODPROF_KERNEL_LAUNCH = 5,
	PODPROF_INPUT = 6,
	PODPROF_OUTPUT = 7,
	PODPROF_COMPILATION = 8,
	PODPROF_OTHER = 9,
	PODPROF_HOST_COMMUNICATION = 10
};

/* The collector's table; `size` lets old programs and new collectors meet. Not for direct use. */
struct podprof_api {
	uint64_t size;
	void (*step_begin)(int64_t number);
	void (*step_end)(void);
	void (*range_push)(const char *name, enum podprof_category category);
	void (*range_pop)(void);
	void (*mark)(const char *name);
	void (*counter)(const char *name, double value);
	int (*recording)(void);
};

/* body: see below */
#ifdef __cplusplus
}
#endif

#endif
