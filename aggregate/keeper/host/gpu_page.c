/* The page of GPU samples; see gpu_page.h. Called by gpu_child.c and gpu_state.c. */
#include "aggregate/keeper/host/gpu_page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void pp_gpu_page_path(char *path, unsigned size)
{
	snprintf(path, size, "/dev/shm/podprof-gpu-%u", (unsigned)geteuid());
}

static int check_file(int fd, const char *path, struct stat *st, struct pp_err *err)
{
	if (fstat(fd, st))
		return pp_err_set(err, -errno, "cannot look at '%s': %s", path, strerror(errno));
	if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() || st->st_mode & 077)
		return pp_err_set(err, -EPERM, "'%s' is not a file of this user alone. Remove it", path);
	return 0;
}

int pp_gpu_page_open(const char *path, struct pp_gpu_page **ret, int *ret_fd, struct pp_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), rc;
	struct pp_gpu_page *page;
	struct stat st;

	if (fd < 0)
		return pp_err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	rc = check_file(fd, path, &st, err);
	if (!rc && (st.st_size < (off_t)sizeof(*page)) && posix_fallocate(fd, 0, sizeof(*page)))
		rc = pp_err_set(err, -ENOSPC, "no room for '%s'", path);
	if (rc)
		goto close_file;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		rc = pp_err_set(err, -errno, "cannot map '%s': %s", path, strerror(errno));
		goto close_file;
	}
	if (!atomic_load(&page->magic)) {
		atomic_store(&page->size, sizeof(*page));
		atomic_store(&page->magic, PP_GPU_MAGIC);
	}
	if (atomic_load(&page->magic) != PP_GPU_MAGIC || atomic_load(&page->size) != sizeof(*page)) {
		rc = pp_err_set(err, -EPROTO, "another version of podprof samples the GPUs of this host ('%s')", path);
		munmap(page, sizeof(*page));
		goto close_file;
	}
	*ret = page;
	*ret_fd = fd;
	return 0;
close_file:
	close(fd);
	return rc;
}

void pp_gpu_page_close(struct pp_gpu_page *page)
{
	if (page)
		munmap(page, sizeof(*page));
}

void pp_gpu_put(struct pp_gpu *gpu, const struct pp_gpu_sample *sample)
{
	const uint64_t number = atomic_load_explicit(&gpu->samples, memory_order_relaxed);
	struct pp_gpu_word *word = &gpu->word[number % PP_GPU_SAMPLES];

	atomic_store_explicit(&word->raw, sample->raw, memory_order_relaxed);
	atomic_store_explicit(&word->counter, sample->counter, memory_order_relaxed);
	for (int i = 0; i < PP_GPU_VALUES; i++)
		atomic_store_explicit(&word->value[i], sample->value[i], memory_order_relaxed);
	/* a reader that sees the number sees the sample */
	atomic_store_explicit(&gpu->samples, number + 1, memory_order_release);
}

int pp_gpu_get(const struct pp_gpu *gpu, uint64_t number, struct pp_gpu_sample *ret)
{
	const struct pp_gpu_word *word = &gpu->word[number % PP_GPU_SAMPLES];

	if (atomic_load_explicit(&gpu->samples, memory_order_acquire) <= number)
		return 0;
	ret->raw = atomic_load_explicit(&word->raw, memory_order_relaxed);
	ret->counter = atomic_load_explicit(&word->counter, memory_order_relaxed);
	for (int i = 0; i < PP_GPU_VALUES; i++)
		ret->value[i] = atomic_load_explicit(&word->value[i], memory_order_relaxed);
	/* the loads above come before this one; the place of the next sample is already being written to */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&gpu->samples, memory_order_relaxed) - number < PP_GPU_SAMPLES;
}

void pp_gpu_wait(struct pp_gpu_page *page, uint32_t seen, int64_t most_ns)
{
	const struct timespec most = {most_ns / 1000000000, most_ns % 1000000000};

	syscall(SYS_futex, &page->asked, FUTEX_WAIT, seen, &most, NULL, 0);
}

void pp_gpu_ask(struct pp_gpu_page *page)
{
	atomic_fetch_add(&page->asked, 1);
	syscall(SYS_futex, &page->asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
