/* libpodprof-io.so: wraps libc's reads; see io.h. Called by the application, started by core/source/file_read.c. */
#include "core/io/io.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	DESCRIPTORS = 65536, /* of a higher one nothing is counted */
	STREAM_BYTES = 4096, /* smaller reads of a stream are mostly copies from its buffer */
};

enum state { UNKNOWN, FILE_DATA, OTHER };

/* By descriptor: what it stands for, as found at its first read since it was opened or closed. NULL: nothing is counted. */
static _Atomic(_Atomic uint8_t *) states;
static _Atomic uint64_t all, all_ticks;

static _Thread_local struct {
	uint64_t reads, ticks;
} here;

static struct {
	int (*is_wanted)(void);
	uint64_t (*now)(void);
} collector; /* set before states */

/* Files of /proc and the like have no size. */
static __attribute__((cold, noinline)) uint8_t find_state(int fd)
{
	struct stat found;
	int saved = errno;
	uint8_t state = fstat(fd, &found) || !S_ISREG(found.st_mode) || found.st_size <= 0 ? OTHER : FILE_DATA;

	errno = saved;
	return state;
}

/* Is it a file, and wanted? */
static inline int is_counted(int fd)
{
	_Atomic uint8_t *state = atomic_load_explicit(&states, memory_order_acquire);
	uint8_t found;

	if (__builtin_expect(!state, 1) || (unsigned)fd >= DESCRIPTORS)
		return 0;
	found = atomic_load_explicit(&state[fd], memory_order_relaxed);
	if (__builtin_expect(found == UNKNOWN, 0)) {
		found = find_state(fd);
		atomic_store_explicit(&state[fd], found, memory_order_relaxed);
	}
	return found == FILE_DATA && collector.is_wanted();
}

static inline void add(_Atomic uint64_t *to, uint64_t value)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + value, memory_order_relaxed);
}

/* The end of a file is no data. */
static inline void add_read(int is_some, uint64_t begin)
{
	const uint64_t ticks = collector.now() - begin;

	if (!is_some)
		return;
	here.reads++;
	here.ticks += ticks;
	add(&all, 1);
	add(&all_ticks, ticks);
}

/* A descriptor is another one from now on. */
static inline void forget(int fd)
{
	_Atomic uint8_t *state = atomic_load_explicit(&states, memory_order_acquire);

	if (__builtin_expect(state != NULL, 0) && (unsigned)fd < DESCRIPTORS)
		atomic_store_explicit(&state[fd], UNKNOWN, memory_order_relaxed);
}

/* -1: a stream in memory */
static int descriptor(FILE *stream)
{
	int saved = errno, fd = fileno(stream);

	errno = saved;
	return fd;
}

#define EXPORTED __attribute__((visibility("default")))

/* libc's function of this name, looked up at the first call: the loader calls no function of ours before. */
#define NEXT(name)                                                                                                                 \
	static _Atomic(__typeof__(&name)) next_;                                                                                   \
	__typeof__(&name) next = atomic_load_explicit(&next_, memory_order_relaxed);                                               \
                                                                                                                                   \
	if (__builtin_expect(!next, 0)) {                                                                                          \
		int saved_ = errno;                                                                                                \
                                                                                                                                   \
		next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                                 \
		errno = saved_;                                                                                                    \
		atomic_store_explicit(&next_, next, memory_order_relaxed);                                                         \
	}

/* What libc exports under more than one name; each goes on to its own. */
#define READ(name, parameters, arguments)                                                                                          \
	EXPORTED ssize_t name parameters;                                                                                          \
	EXPORTED ssize_t name parameters                                                                                           \
	{                                                                                                                          \
		ssize_t bytes;                                                                                                     \
		uint64_t begin;                                                                                                    \
                                                                                                                                   \
		NEXT(name)                                                                                                         \
		if (__builtin_expect(!is_counted(fd), 1))                                                                          \
			return next arguments;                                                                                     \
		begin = collector.now();                                                                                           \
		bytes = next arguments;                                                                                            \
		add_read(bytes > 0, begin);                                                                                        \
		return bytes;                                                                                                      \
	}

#define CLOSE(result, name, parameters, arguments, fd)                                                                             \
	EXPORTED result name parameters;                                                                                           \
	EXPORTED result name parameters                                                                                            \
	{                                                                                                                          \
		NEXT(name)                                                                                                         \
		forget(fd);                                                                                                        \
		return next arguments;                                                                                             \
	}

/* Parameters named as in libc's headers. */
/* clang-format off */
READ(read, (int fd, void *buf, size_t nbytes), (fd, buf, nbytes))
READ(pread, (int fd, void *buf, size_t nbytes, off_t offset), (fd, buf, nbytes, offset))
READ(pread64, (int fd, void *buf, size_t nbytes, off64_t offset), (fd, buf, nbytes, offset))
READ(readv, (int fd, const struct iovec *iovec, int count), (fd, iovec, count))
READ(preadv, (int fd, const struct iovec *iovec, int count, off_t offset), (fd, iovec, count, offset))
READ(preadv64, (int fd, const struct iovec *iovec, int count, off64_t offset), (fd, iovec, count, offset))
READ(__read_chk, (int fd, void *buf, size_t size, size_t room), (fd, buf, size, room))
READ(__pread_chk, (int fd, void *buf, size_t size, off_t offset, size_t room), (fd, buf, size, offset, room))
READ(__pread64_chk, (int fd, void *buf, size_t size, off64_t offset, size_t room), (fd, buf, size, offset, room))
CLOSE(int, close, (int fd), (fd), fd)
CLOSE(int, dup2, (int fd, int fd2), (fd, fd2), fd2)
CLOSE(int, dup3, (int fd, int fd2, int flags), (fd, fd2, flags), fd2)
CLOSE(int, fclose, (FILE *stream), (stream), descriptor(stream))
/* clang-format on */

EXPORTED size_t fread(void *ptr, size_t size, size_t n, FILE *stream)
{
	size_t items;
	uint64_t begin;

	NEXT(fread)
	if (size * n < STREAM_BYTES || !is_counted(descriptor(stream)))
		return next(ptr, size, n, stream);
	begin = collector.now();
	items = next(ptr, size, n, stream);
	add_read(items > 0, begin);
	return items;
}

/* Looks up those of libc's functions that a forked child may call first. */
static __attribute__((constructor)) void loaded(void)
{
	int saved = errno;

	/* of no descriptor: they fail */
	(void)(close(-1) + dup2(-1, -1) + dup3(-1, -1, 0) + (int)read(-1, NULL, 0) + (int)pread(-1, NULL, 0, 0));
	errno = saved;
}

static void start(int (*is_wanted)(void), uint64_t (*now)(void))
{
	void *new;

	if (atomic_load_explicit(&states, memory_order_relaxed))
		return;
	new = mmap(NULL, DESCRIPTORS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (new == MAP_FAILED)
		return;
	collector.is_wanted = is_wanted;
	collector.now = now;
	(void)now(); /* its first call may read files itself */
	atomic_store_explicit(&states, (_Atomic uint8_t *)new, memory_order_release);
}

static uint64_t reads(void)
{
	return here.reads;
}

static uint64_t reads_of_all(void)
{
	return atomic_load_explicit(&all, memory_order_relaxed);
}

static uint64_t ticks(void)
{
	return here.ticks;
}

static uint64_t ticks_of_all(void)
{
	return atomic_load_explicit(&all_ticks, memory_order_relaxed);
}

EXPORTED const struct podprof_io podprof_io = {start, reads, reads_of_all, ticks, ticks_of_all};
