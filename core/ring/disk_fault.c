/* SIGBUS handler for pages of ring and control page whose disk has failed; see disk_fault.h. core/base/mapped.h is the same for
 * podprof's own processes, which may handle the signal as they like. */
#include "core/ring/disk_fault.h"

#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum { FILES = 4 };

static struct {
	char *_Atomic at; /* NULL: free */
	size_t bytes;
} file[FILES];
static _Atomic int pages;
static size_t page;
static struct sigaction before; /* what was there before ours */
static _Thread_local int inside __attribute__((tls_model("initial-exec")));

static int is_ours(const char *address)
{
	for (int i = 0; i < FILES; i++) {
		const char *at = atomic_load_explicit(&file[i].at, memory_order_acquire);

		if (at && address >= at && address < at + file[i].bytes)
			return 1;
	}
	return 0;
}

/* With what the page holds, where it can still be read: a store may fail where a load does not. */
static int replace(char *at)
{
	char *copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return -1;
	if (!madvise(at, page, MADV_POPULATE_READ))
		memcpy(copy, at, page);
	if (mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) {
		munmap(copy, page);
		return -1;
	}
	return 0;
}

/* As without ours: what another handler does, or the end of the process. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	struct sigaction other = before, none = {.sa_handler = SIG_DFL};
	int is_first = !inside; /* another handler may have saved ours, and call it in turn */

	inside = 1;
	if (is_first && other.sa_flags & SA_SIGINFO) {
		other.sa_sigaction(number, info, context);
	} else if (is_first && other.sa_handler != SIG_DFL && other.sa_handler != SIG_IGN) {
		other.sa_handler(number);
	} else if (other.sa_handler != SIG_IGN || info->si_code > 0) {
		/* may call sigaction: the handler is ours, and nobody handles the signal */
		sigaction(number, &none, NULL);
		if (info->si_code <= 0) /* somebody sent it; a fault comes again by itself */
			raise(number);
	}
	inside = !is_first;
}

static void on_bus(int number, siginfo_t *info, void *context)
{
	char *at = info->si_addr;
	int saved = errno;

	if (info->si_code == BUS_ADRERR && is_ours(at) && !replace(at - (uintptr_t)at % page))
		atomic_fetch_add_explicit(&pages, 1, memory_order_relaxed); /* the access is made again */
	else
		pass_on(number, info, context);
	errno = saved;
}

static int is_memory(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC;
}

/* Ours goes before the one that is there. 1: it is there. */
static int handle(void)
{
	struct sigaction ours = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK}, other;

	/* may call sigaction: without it a disk could end the application; what the signal did before, it does for all else */
	if (sigaction(SIGBUS, NULL, &other))
		return 0;
	if (other.sa_flags & SA_SIGINFO && other.sa_sigaction == on_bus)
		return 1;
	before = other;
	ours.sa_mask = other.sa_mask;
	ours.sa_flags |= other.sa_flags & ~(int)SA_RESETHAND;
	/* may call sigaction: as above */
	return !sigaction(SIGBUS, &ours, NULL);
}

void pp_disk_fault_again(void)
{
	int saved = errno;

	for (int i = 0; i < FILES; i++)
		if (atomic_load_explicit(&file[i].at, memory_order_relaxed)) {
			handle();
			break;
		}
	errno = saved;
}

int pp_disk_fault_guard(void *at, size_t bytes, int fd)
{
	int saved = errno, is_watched = 0;

	page = page ? page : (size_t)sysconf(_SC_PAGESIZE);
	for (int i = 0; i < FILES && !is_memory(fd) && !is_watched; i++) {
		if (atomic_load_explicit(&file[i].at, memory_order_relaxed))
			continue;
		file[i].bytes = bytes;
		is_watched = handle();
		if (is_watched) /* Release: its size is there */
			atomic_store_explicit(&file[i].at, at, memory_order_release);
		break;
	}
	errno = saved;
	return is_watched;
}

void pp_disk_fault_forget(const void *at)
{
	for (int i = 0; i < FILES; i++)
		if (atomic_load_explicit(&file[i].at, memory_order_relaxed) == at)
			atomic_store_explicit(&file[i].at, NULL, memory_order_relaxed);
}

int pp_disk_fault_pages(void)
{
	return atomic_load_explicit(&pages, memory_order_relaxed);
}
