/* Memory that a child of this process finds zeroed, however it was made: fork(), _Fork(), a system call past libc's handlers. A
 * child that shares our memory (vfork, posix_spawn) sees it unchanged. Called by core/ring/thread_ring.c and mpi/pmpi_init.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#if defined(__x86_64__)
#define PP_PAGE_BYTES 4096
#else
#define PP_PAGE_BYTES 65536 /* the largest page size of kernels */
#endif

/* Whole pages of anonymous memory. Kernels older than 4.14 cannot: then only fork's handlers detect a child. */
static inline void pp_wipe_on_fork(void *at, size_t bytes)
{
	if (!((uintptr_t)at & ((uintptr_t)sysconf(_SC_PAGESIZE) - 1)))
		madvise(at, bytes, MADV_WIPEONFORK);
}
