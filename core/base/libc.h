/* Differences between C libraries. The collector is preloaded into programs of musl too: there the loader ends a program that
 * has a strong reference to a symbol of glibc alone. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#define PP_EXIT_STATUS_UNKNOWN INT_MIN

/* NOLINTBEGIN(bugprone-reserved-identifier): names of the linker, of glibc and of the C++ ABI */
extern void *__dso_handle __attribute__((visibility("hidden")));
/* glibc's pthread_atfork() is in a static archive and calls this function. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));
extern int __cxa_atexit(void (*)(void *), void *, void *) __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier): ours again */
#pragma weak pthread_atfork
#pragma weak on_exit

/* At the end of the process: ending(status, NULL), or ending_somehow(NULL) of a C library that does not pass the status. */
static inline void pp_at_exit(void (*ending)(int status, void *arg), void (*ending_somehow)(void *arg))
{
	if (on_exit)
		on_exit(ending, NULL);
	else if (__cxa_atexit)
		__cxa_atexit(ending_somehow, NULL, (void *)&__dso_handle);
}

/* `child` runs in each child that fork() makes. */
static inline void pp_at_fork(void (*child)(void))
{
	if (__register_atfork)
		__register_atfork(NULL, NULL, child, (void *)&__dso_handle);
	else if (pthread_atfork)
		pthread_atfork(NULL, NULL, child);
}
