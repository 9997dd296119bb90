/* podprof.h: mark steps and ranges of a training job. No link flag, harmless where podprof is absent.
 *
 * All functions may be called from any thread at any time, never fail, keep errno and never write to stdout.
 * The first call of a source file looks the collector up once (dlsym); without it every call is one load and a branch.
 * In a fully static program they do nothing. Names are copied; NULL is taken as "". */
#ifndef PODPROF_H
#define PODPROF_H

#include <stdint.h>

#if defined(__GNUC__) && defined(__linux__)
#define PODPROF_HAS_LOOKUP 1
#include <dlfcn.h>
#endif

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

#ifdef PODPROF_HAS_LOOKUP
/* Weak: a static program has no dlsym, is linked without a warning, and stays inert. */
extern void *podprof_dlsym_(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));

/* Anything that is neither NULL nor the table: not looked up yet. */
static const struct podprof_api podprof_unknown_ __attribute__((unused)) = {0, 0, 0, 0, 0, 0, 0, 0};
static const struct podprof_api *podprof_table_ __attribute__((unused)) = &podprof_unknown_;

static __attribute__((unused, noinline, cold)) const struct podprof_api *podprof_find_(void)
{
	const struct podprof_api *found = 0;

	if (podprof_dlsym_ != 0) {
		union {
			void *object;
			const struct podprof_api *(*function)(void);
		} entry;

		entry.object = podprof_dlsym_((void *)0 /* RTLD_DEFAULT */, "podprof_api");
		if (entry.object)
			found = entry.function();
		if (found && found->size < sizeof(struct podprof_api))
			found = 0;
	}
	__atomic_store_n(&podprof_table_, found, __ATOMIC_RELEASE);
	return found;
}

static inline const struct podprof_api *podprof_get_(void)
{
	const struct podprof_api *table = __atomic_load_n(&podprof_table_, __ATOMIC_ACQUIRE);

	return __builtin_expect(table == &podprof_unknown_, 0) ? podprof_find_() : table;
}
#else
static inline const struct podprof_api *podprof_get_(void)
{
	return 0;
}
#endif

/* Step `number` begins on this thread; the step before ends, if it has not. Numbers count up; they may begin anywhere. */
static inline void podprof_step_begin(int64_t number)
{
	const struct podprof_api *table = podprof_get_();

	if (table)
		table->step_begin(number);
}

static inline void podprof_step_end(void)
{
	const struct podprof_api *table = podprof_get_();

	if (table)
		table->step_end();
}

/* Ranges nest on their thread. */
static inline void podprof_range_push_as(const char *name, enum podprof_category category)
{
	const struct podprof_api *table = podprof_get_();

	if (table)
		table->range_push(name, category);
}

/* The category follows from the name. */
static inline void podprof_range_push(const char *name)
{
	podprof_range_push_as(name, PODPROF_BY_NAME);
}

static inline void podprof_range_pop(void)
{
	const struct podprof_api *table = podprof_get_();

	if (table)
		table->range_pop();
}

static inline void podprof_mark(const char *name)
{
	const struct podprof_api *table = podprof_get_();

	if (table)
		table->mark(name);
}

static inline void podprof_counter(const char *name, double value)
{
	const struct podprof_api *table = podprof_get_();

	if (table)
		table->counter(name, value);
}

/* 1 while marks are recorded, for work that is only done for the profile. */
static inline int podprof_recording(void)
{
	const struct podprof_api *table = podprof_get_();

	return table ? table->recording() : 0;
}

#ifdef __cplusplus
}
#endif

#endif
