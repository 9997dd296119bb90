/* podprof.h: mark steps and ranges of a training job. No link flag, harmless where podprof is absent.
 *
 * All functions may be called from any thread at any time, never fail, keep errno and never write to stdout.
 * The first call of a source file looks the collector up once (dlsym); without it every call is one load and a branch.
 * In a fully static program they do nothing. Names are copied; NULL is taken as "". */
#ifndef PODPROF_H
#define PODPROF_H

#include <stddef.h>
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
	void (*window_start)(const char *name);
	void (*window_stop)(void);
	void (*profile_steps)(int64_t first, int64_t last);
};

/* Does a collector of any age have it? The functions up to `recording` are as old as the table. */
#define PODPROF_HAS_(table, member) ((table) && (table)->size >= offsetof(struct podprof_api, member) + sizeof((table)->member))

#ifdef PODPROF_HAS_LOOKUP
/* Weak: a static program has no dlsym, is linked without a warning, and stays inert. */
extern void *podprof_dlsym_(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));

/* Anything that is neither NULL nor the table: not looked up yet. */
static const struct podprof_api podprof_unknown_ __attribute__((unused)) = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
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
		if (!PODPROF_HAS_(found, recording))
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

/* A window from here to podprof_window_stop(), a session of its own. Every rank calls them at the same place: the n-th window of a
 * rank is the n-th window of the job. From the first one on nothing is recorded outside of windows. A start inside a window goes on
 * with it until its own stop; a stop without a start does nothing; a window that is open at the end of the job ends there. */
static inline void podprof_window_start(const char *name)
{
	const struct podprof_api *table = podprof_get_();

	if (PODPROF_HAS_(table, window_start))
		table->window_start(name);
}

static inline void podprof_window_stop(void)
{
	const struct podprof_api *table = podprof_get_();

	if (PODPROF_HAS_(table, window_stop))
		table->window_stop();
}

/* Steps first to last - 1 as a window, as by --steps, on every rank. What has begun already, or overlaps another window of steps,
 * is refused in one line of rank 0. */
static inline void podprof_profile_steps(int64_t first, int64_t last)
{
	const struct podprof_api *table = podprof_get_();

	if (PODPROF_HAS_(table, profile_steps))
		table->profile_steps(first, last);
}

#if defined(__GNUC__)
static inline void podprof_window_leave_(const int *unused_)
{
	(void)unused_;
	podprof_window_stop();
}

/* A window to the end of the block: PODPROF_WINDOW("evaluation"); at the place of a declaration. */
#define PODPROF_JOIN_(a, b) a##b
#define PODPROF_NAME_(line) PODPROF_JOIN_(podprof_window_, line)
#define PODPROF_WINDOW(name)                                                                                                       \
	int PODPROF_NAME_(__LINE__) __attribute__((cleanup(podprof_window_leave_), unused)) = (podprof_window_start(name), 0)
#endif

#ifdef __cplusplus
}

namespace podprof
{
/* A window as long as the object lives. */
class window
{
      public:
	explicit window(const char *name)
	{
		podprof_window_start(name);
	}
	~window()
	{
		podprof_window_stop();
	}

      private:
	window(const window &);
	window &operator=(const window &);
};
} // namespace podprof
#endif

#endif
