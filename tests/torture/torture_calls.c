/* The wrappers of libtorture.so: each asks torture_hits() and fails as the real call does when the machine has no more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/torture/torture.h"

#define CALLER __builtin_return_address(0)

/* A function that fails by a value and errno. */
#define WRAP(kind, result, failure, usual, name, parameters, arguments)                                                            \
	result name parameters;                                                                                                    \
	result name parameters                                                                                                     \
	{                                                                                                                          \
		static result(*real) parameters;                                                                                   \
		if (!real)                                                                                                         \
			real = (result(*) parameters)torture_next(#name);                                                          \
		if (torture_hits(kind, #name, CALLER)) {                                                                           \
			errno = torture_error(usual);                                                                              \
			return failure;                                                                                            \
		}                                                                                                                  \
		return real arguments;                                                                                             \
	}

/* A function that returns its error. */
#define WRAP_CODE(kind, usual, name, parameters, arguments)                                                                        \
	int name parameters;                                                                                                       \
	int name parameters                                                                                                        \
	{                                                                                                                          \
		static int(*real) parameters;                                                                                      \
		if (!real)                                                                                                         \
			real = (int(*) parameters)torture_next(#name);                                                             \
		return torture_hits(kind, #name, CALLER) ? torture_error(usual) : real arguments;                                  \
	}

/* What takes memory. */
WRAP(TORTURE_ALLOC, void *, NULL, ENOMEM, malloc, (size_t n), (n))
WRAP(TORTURE_ALLOC, void *, NULL, ENOMEM, calloc, (size_t n, size_t size), (n, size))
WRAP(TORTURE_ALLOC, void *, NULL, ENOMEM, realloc, (void *p, size_t n), (p, n))
WRAP(TORTURE_ALLOC, void *, NULL, ENOMEM, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
WRAP(TORTURE_ALLOC, void *, NULL, ENOMEM, aligned_alloc, (size_t align, size_t n), (align, n))
WRAP_CODE(TORTURE_ALLOC, ENOMEM, posix_memalign, (void **p, size_t align, size_t n), (p, align, n))
WRAP(TORTURE_ALLOC, char *, NULL, ENOMEM, strdup, (const char *text), (text))
WRAP(TORTURE_ALLOC, char *, NULL, ENOMEM, strndup, (const char *text, size_t n), (text, n))
WRAP(TORTURE_ALLOC, char *, NULL, ENOMEM, realpath, (const char *path, char *room), (path, room))
WRAP(TORTURE_ALLOC, FILE *, NULL, ENOMEM, open_memstream, (char **text, size_t *size), (text, size))
WRAP(TORTURE_ALLOC, ssize_t, -1, ENOMEM, getline, (char **line, size_t *size, FILE *f), (line, size, f))
WRAP(TORTURE_ALLOC, int, -1, ENOMEM, vasprintf, (char **text, const char *format, va_list args), (text, format, args))
WRAP(TORTURE_ALLOC, int, -1, ENOMEM, __vasprintf_chk, (char **text, int flag, const char *format, va_list args),
     (text, flag, format, args))

int asprintf(char **text, const char *format, ...)
{
	va_list args;
	int n;

	if (torture_hits(TORTURE_ALLOC, "asprintf", CALLER)) {
		errno = torture_error(ENOMEM);
		return -1;
	}
	va_start(args, format);
	n = vasprintf(text, format, args);
	va_end(args);
	return n;
}

/* What takes a descriptor. */
#define WRAP_OPEN(name)                                                                                                            \
	int name(const char *path, int flags, ...)                                                                                 \
	{                                                                                                                          \
		static int (*real)(const char *, int, ...);                                                                        \
		va_list args;                                                                                                      \
		mode_t mode;                                                                                                       \
		if (!real)                                                                                                         \
			real = (int (*)(const char *, int, ...))torture_next(#name);                                               \
		va_start(args, flags);                                                                                             \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                                                   \
		va_end(args);                                                                                                      \
		if (torture_hits(TORTURE_OPEN, #name, CALLER)) {                                                                   \
			errno = torture_error(EMFILE);                                                                             \
			return -1;                                                                                                 \
		}                                                                                                                  \
		return real(path, flags, mode);                                                                                    \
	}
WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP(TORTURE_OPEN, int, -1, EMFILE, __open_2, (const char *path, int flags), (path, flags))
WRAP(TORTURE_OPEN, int, -1, EMFILE, __open64_2, (const char *path, int flags), (path, flags))
WRAP(TORTURE_OPEN, int, -1, EMFILE, creat, (const char *path, mode_t mode), (path, mode))
WRAP(TORTURE_OPEN, FILE *, NULL, EMFILE, fopen, (const char *path, const char *mode), (path, mode))
WRAP(TORTURE_OPEN, FILE *, NULL, EMFILE, fopen64, (const char *path, const char *mode), (path, mode))
WRAP(TORTURE_OPEN, FILE *, NULL, ENOMEM, fdopen, (int fd, const char *mode), (fd, mode))
WRAP(TORTURE_OPEN, DIR *, NULL, EMFILE, opendir, (const char *path), (path))
WRAP(TORTURE_OPEN, DIR *, NULL, ENOMEM, fdopendir, (int fd), (fd))
WRAP(TORTURE_OPEN, int, -1, EMFILE, dup, (int fd), (fd))
WRAP(TORTURE_OPEN, int, -1, EMFILE, dup2, (int fd, int to), (fd, to))
WRAP(TORTURE_OPEN, int, -1, EMFILE, pipe, (int fd[2]), (fd))
WRAP(TORTURE_OPEN, int, -1, EMFILE, pipe2, (int fd[2], int flags), (fd, flags))
WRAP(TORTURE_OPEN, int, -1, EMFILE, eventfd, (unsigned count, int flags), (count, flags))

/* What changes names. */
WRAP(TORTURE_NAME, int, -1, ENOSPC, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(TORTURE_NAME, int, -1, ENOSPC, rename, (const char *from, const char *to), (from, to))
WRAP(TORTURE_NAME, int, -1, ENOSPC, link, (const char *from, const char *to), (from, to))
WRAP(TORTURE_NAME, int, -1, EACCES, chmod, (const char *path, mode_t mode), (path, mode))
WRAP(TORTURE_NAME, int, -1, EIO, access, (const char *path, int mode), (path, mode))
WRAP(TORTURE_NAME, int, -1, EIO, stat, (const char *restrict path, struct stat *restrict st), (path, st))
WRAP(TORTURE_NAME, int, -1, EIO, lstat, (const char *restrict path, struct stat *restrict st), (path, st))
WRAP(TORTURE_NAME, ssize_t, -1, EACCES, readlink, (const char *restrict path, char *restrict to, size_t n), (path, to, n))
WRAP(TORTURE_NAME, char *, NULL, ENOENT, getcwd, (char *to, size_t n), (to, n))

/* What an open file is asked for. */
WRAP(TORTURE_FILE, int, -1, EIO, fsync, (int fd), (fd))
WRAP(TORTURE_FILE, int, -1, ENOSPC, ftruncate, (int fd, off_t n), (fd, n))
WRAP(TORTURE_FILE, int, -1, ENOSPC, ftruncate64, (int fd, off64_t n), (fd, n))
WRAP_CODE(TORTURE_FILE, ENOSPC, posix_fallocate, (int fd, off_t from, off_t n), (fd, from, n))
WRAP_CODE(TORTURE_FILE, ENOSPC, posix_fallocate64, (int fd, off64_t from, off64_t n), (fd, from, n))
WRAP(TORTURE_FILE, int, -1, ENOLCK, flock, (int fd, int how), (fd, how))
WRAP(TORTURE_FILE, int, -1, EIO, fstat, (int fd, struct stat *st), (fd, st))
WRAP(TORTURE_FILE, int, -1, EIO, fstat64, (int fd, struct stat64 *st), (fd, st))
WRAP(TORTURE_FILE, off_t, -1, EIO, lseek, (int fd, off_t n, int how), (fd, n, how))
WRAP(TORTURE_FILE, off64_t, -1, EIO, lseek64, (int fd, off64_t n, int how), (fd, n, how))
WRAP(TORTURE_FILE, int, -1, EIO, statvfs, (const char *restrict path, struct statvfs *restrict fs), (path, fs))

int fcntl(int fd, int command, ...)
{
	static int (*real)(int, int, ...);
	va_list args;
	void *argument;

	if (!real)
		real = (int (*)(int, int, ...))torture_next("fcntl");
	va_start(args, command);
	argument = va_arg(args, void *);
	va_end(args);
	if (torture_hits(TORTURE_FILE, "fcntl", CALLER)) {
		errno = torture_error(command == F_SETLK ? ENOLCK : EMFILE);
		return -1;
	}
	return real(fd, command, argument);
}

/* What takes address space. */
WRAP(TORTURE_MMAP, void *, MAP_FAILED, ENOMEM, mmap, (void *at, size_t n, int protection, int flags, int fd, off_t from),
     (at, n, protection, flags, fd, from))
WRAP(TORTURE_MMAP, void *, MAP_FAILED, ENOMEM, mmap64, (void *at, size_t n, int protection, int flags, int fd, off64_t from),
     (at, n, protection, flags, fd, from))
WRAP(TORTURE_MMAP, void *, MAP_FAILED, ENOMEM, mremap, (void *at, size_t from, size_t to, int flags, ...), (at, from, to, flags))
WRAP(TORTURE_MMAP, int, -1, EINVAL, madvise, (void *at, size_t n, int advice), (at, n, advice))

/* What moves bytes. */
WRAP(TORTURE_READ, ssize_t, -1, EIO, read, (int fd, void *to, size_t n), (fd, to, n))
WRAP(TORTURE_READ, ssize_t, -1, EIO, pread, (int fd, void *to, size_t n, off_t from), (fd, to, n, from))
WRAP(TORTURE_READ, ssize_t, -1, EIO, pread64, (int fd, void *to, size_t n, off64_t from), (fd, to, n, from))
WRAP(TORTURE_READ, char *, NULL, EIO, fgets, (char *restrict to, int n, FILE *restrict f), (to, n, f))
WRAP(TORTURE_READ, struct dirent *, NULL, EIO, readdir, (DIR * d), (d))

#define WRAP_WRITE(name, parameters, arguments, shorter)                                                                           \
	ssize_t name parameters                                                                                                    \
	{                                                                                                                          \
		static ssize_t(*real) parameters;                                                                                  \
		if (!real)                                                                                                         \
			real = (ssize_t(*) parameters)torture_next(#name);                                                         \
		if (!torture_hits(TORTURE_WRITE, #name, CALLER))                                                                   \
			return real arguments;                                                                                     \
		if (torture_is_short() && n > 1)                                                                                   \
			return real shorter;                                                                                       \
		errno = torture_error(ENOSPC);                                                                                     \
		return -1;                                                                                                         \
	}
WRAP_WRITE(write, (int fd, const void *from, size_t n), (fd, from, n), (fd, from, n / 2))
WRAP_WRITE(pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at), (fd, from, n / 2, at))
WRAP_WRITE(pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at), (fd, from, n / 2, at))
WRAP(TORTURE_WRITE, ssize_t, -1, ENOSPC, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
WRAP(TORTURE_WRITE, size_t, 0, ENOSPC, fwrite, (const void *restrict from, size_t size, size_t n, FILE *restrict f),
     (from, size, n, f))
WRAP(TORTURE_WRITE, int, EOF, ENOSPC, fflush, (FILE * f), (f))

/* The stream is closed all the same, as by the real call. */
int fclose(FILE *f)
{
	static int (*real)(FILE *);
	int rc, hit = torture_hits(TORTURE_WRITE, "fclose", CALLER);

	if (!real)
		real = (int (*)(FILE *))torture_next("fclose");
	rc = real(f);
	if (!hit)
		return rc;
	errno = torture_error(ENOSPC);
	return EOF;
}

int close(int fd)
{
	static int (*real)(int);
	int rc, hit = torture_hits(TORTURE_WRITE, "close", CALLER);

	if (!real)
		real = (int (*)(int))torture_next("close");
	rc = real(fd);
	if (!hit)
		return rc;
	errno = torture_error(EIO);
	return -1;
}

/* What makes processes and threads, or asks about them. */
WRAP(TORTURE_PROCESS, pid_t, -1, EAGAIN, fork, (void), ())
WRAP(TORTURE_PROCESS, pid_t, -1, ECHILD, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
WRAP(TORTURE_PROCESS, int, -1, EPERM, kill, (pid_t pid, int number), (pid, number))
WRAP(TORTURE_PROCESS, int, -1, EPERM, setpriority, (__priority_which_t which, id_t who, int value), (which, who, value))
WRAP(TORTURE_PROCESS, int, -1, EPERM, sched_setaffinity, (pid_t pid, size_t n, const cpu_set_t *set), (pid, n, set))
WRAP_CODE(TORTURE_PROCESS, EAGAIN, pthread_create, (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *x),
          (t, a, f, x))
WRAP_CODE(TORTURE_PROCESS, EAGAIN, pthread_key_create, (pthread_key_t * key, void (*f)(void *)), (key, f))
WRAP_CODE(TORTURE_PROCESS, ENOMEM, pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
WRAP(TORTURE_PROCESS, int, -1, ENOMEM, on_exit, (void (*f)(int, void *), void *x), (f, x))

/* The one that podprof makes and that a kernel may not have. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	va_list args;
	long a[6];

	if (!real)
		real = (long (*)(long, ...))torture_next("syscall");
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_pidfd_open && torture_hits(TORTURE_PROCESS, "pidfd_open", CALLER)) {
		errno = torture_error(ENOSYS);
		return -1;
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int execve(const char *path, char *const argv[], char *const env[])
{
	static int (*real)(const char *, char *const[], char *const[]);

	if (!real)
		real = (int (*)(const char *, char *const[], char *const[]))torture_next("execve");
	if (torture_hits(TORTURE_PROCESS, "execve", CALLER)) {
		errno = torture_error(ENOMEM);
		return -1;
	}
	return real(path, argv, torture_environment(argv, env));
}
