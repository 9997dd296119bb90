/* The part of Intel's ITT notify interface (ittnotify 3) that the collector answers, in our own declarations.
 * In: none. Out: types for itt_*.c. Each static copy of ittnotify shows its own struct pp_itt_global to __itt_api_init(). */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define PP_ITT_MAGIC "\xED\xAB\xAB\xEC\x0D\xEE\xDA\x30"

enum {
	PP_ITT_MAJOR = 3,
	PP_ITT_BUILD_FIRST = 20111111,   /* the oldest whose list has null_func */
	PP_ITT_BUILD_COUNTER = 20180723, /* from here on `counters` is there */
};

#define PP_ITT_TIMESTAMP_NONE UINT64_MAX

typedef void (*pp_itt_function)(void);

struct pp_itt_domain {
	volatile int flags; /* 0: the caller's inline part does not call */
	const char *name;
	void *wide;
	int extra1; /* this and the next: the collector's */
	void *extra2;
	struct pp_itt_domain *next;
};
_Static_assert(sizeof(struct pp_itt_domain) == 48, "as ittnotify lays it out");

struct pp_itt_string {
	const char *text;
	void *wide;
	int extra1;
	void *extra2;
	struct pp_itt_string *next;
};
_Static_assert(sizeof(struct pp_itt_string) == 40, "as ittnotify lays it out");

struct pp_itt_id { /* passed by value */
	uint64_t d1, d2, d3;
};

enum pp_itt_type { /* of a counter's value */
	           PP_ITT_UNKNOWN,
	           PP_ITT_U64,
	           PP_ITT_S64,
	           PP_ITT_U32,
	           PP_ITT_S32,
	           PP_ITT_U16,
	           PP_ITT_S16,
	           PP_ITT_FLOAT,
	           PP_ITT_DOUBLE,
};

struct pp_itt_counter_info { /* a counter made before the collector was loaded: its address is the handle */
	const char *name;
	void *wide;
	const char *domain;
	void *domain_wide;
	int type;
	long index;
	int extra1;
	void *extra2;
	struct pp_itt_counter_info *next;
};

struct pp_itt_api { /* one function of the caller's, ends with name NULL */
	const char *name;
	pp_itt_function *function;
	pp_itt_function init, null;
	int group; /* bits */
};

struct pp_itt_global {
	unsigned char magic[8];
	unsigned long version_major, version_minor, version_build;
	volatile long api_initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex; /* held while __itt_api_init() runs */
	void *library, *error_handler;
	const char **library_path;
	struct pp_itt_api *api;
	struct pp_itt_global *next;
	void *threads;
	struct pp_itt_domain *domains;
	struct pp_itt_string *strings;
	int state;
	struct pp_itt_counter_info *counters;
};
