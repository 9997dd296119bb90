/* Large tables of the collector: zeroed memory that a process gets when it first uses one, not when the library is loaded into it.
 * In: a pointer that is zero before. Out: the memory, for the life of the process; forked children have a copy. Any thread, and in
 * signal handlers. */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/* NULL: the process may have no more memory. errno stays as it was. */
static inline void *pp_lazy(void *_Atomic *at, size_t bytes)
{
	void *had = atomic_load_explicit(at, memory_order_acquire), *made;
	int saved;

	if (__builtin_expect(had != NULL, 1))
		return had;
	saved = errno;
	made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved;
	if (made == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(at, &had, made))
		return made;
	munmap(made, bytes); /* another thread was faster */
	return had;
}

/* What pp_lazy() returned before; no order: the caller has what it found there from a thread that had it. */
static inline void *pp_lazy_had(void *_Atomic *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}
