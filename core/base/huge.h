/* Puts large arrays of the keeper and the CLI into huge pages: first touches of 4 KiB pages took a third of a window's close. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PP_HUGE_FROM = 4 << 20 }; /* smaller arrays gain nothing */

/* Advice only: without huge pages in the kernel malloc()'s memory stays as it was. */
static inline void pp_huge_advise(void *p, size_t bytes)
{
	const uintptr_t page = 65536; /* the largest that Linux has: whole pages of any size */
	uintptr_t begin = ((uintptr_t)p + page - 1) & ~(page - 1), end = ((uintptr_t)p + bytes) & ~(page - 1);

	if (p && bytes >= PP_HUGE_FROM && end > begin)
		madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

/* As calloc(). */
static inline void *pp_huge_calloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p)
		pp_huge_advise(p, n * size);
	return p;
}

/* As malloc(); what is not small begins where a huge page may, and ends where one does if it would fill half of it. */
static inline void *pp_huge_malloc(size_t bytes)
{
	const size_t page = 2 << 20;
	void *p;

	if (bytes < page)
		return malloc(bytes ? bytes : 1);
	if (bytes % page > page / 2)
		bytes += page - bytes % page;
	if (posix_memalign(&p, page, bytes))
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}
