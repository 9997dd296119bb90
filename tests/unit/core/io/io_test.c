/* Reads of files are counted, by each of libc's functions; what is no file is not, nor a descriptor that was one. Results and errno
 * are libc's, and a thread that blocks in a read can be cancelled. The program runs itself with both libraries preloaded, and with
 * the collector alone, which counts nothing and has no function of libc. */
#include "core/io/io.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/source/shim.h"
#include "tests/test.h"

static const struct podprof_shim *shim;
static char place[] = "/tmp/podprof-file-read-XXXXXX";

static uint64_t now(void)
{
	return shim->file_reads();
}

TEST(each_function_counts)
{
	char text[8192] = "", more[4] = "";
	struct iovec part[2] = {{text, 4}, {more, 4}};
	int fd = open(place, O_RDONLY);
	FILE *stream = fopen(place, "r");
	uint64_t before = now();

	CHECK_INT(read(fd, text, 4), 4);
	CHECK(!memcmp(text, "abcd", 4));
	CHECK_INT(now() - before, 1);
	CHECK_INT(pread(fd, text, 4, 1), 4);
	CHECK(!memcmp(text, "bcde", 4));
	CHECK_INT(readv(fd, part, 2), 8);
	CHECK(!memcmp(text, "efgh", 4) && !memcmp(more, "ijkl", 4));
	CHECK_INT(preadv(fd, part, 2, 0), 8);
	CHECK_INT(now() - before, 4);
	CHECK_INT(fread(text, 1, sizeof(text), stream), 5000);
	CHECK_INT(now() - before, 5);
	CHECK_INT(lseek(fd, 0, SEEK_END), 5000);
	CHECK_INT(read(fd, text, 4), 0); /* its end is no data */
	CHECK_INT(now() - before, 5);
	fclose(stream);
	close(fd);
}

TEST(what_is_no_file_is_not_counted)
{
	int ends[2], fd = open(place, O_RDONLY), other;
	char text[16];
	uint64_t before;

	CHECK_INT(read(fd, text, 4), 4);
	before = now();
	CHECK_INT(close(fd), 0);
	CHECK_INT(pipe(ends), 0);
	CHECK_INT(ends[0], fd); /* the same number */
	CHECK_INT(write(ends[1], "x", 1), 1);
	CHECK_INT(read(ends[0], text, 1), 1);
	other = open("/proc/self/stat", O_RDONLY);
	CHECK(read(other, text, 4) == 4);
	CHECK_INT(now(), before);
	CHECK_INT(dup2(open(place, O_RDONLY), ends[0]), ends[0]);
	CHECK_INT(read(ends[0], text, 4), 4);
	CHECK_INT(now(), before + 1);
	close(other);
	close(ends[0]);
	close(ends[1]);
}

TEST(errors_are_those_of_libc)
{
	char text[4];

	errno = 0;
	CHECK_INT(read(-1, text, 4), -1);
	CHECK_INT(errno, EBADF);
	errno = 0;
	CHECK_INT(close(1000000), -1);
	CHECK_INT(errno, EBADF);
	errno = 7;
	for (int i = 0; i < 2; i++) {
		int fd = open(place, O_RDONLY);

		CHECK_INT(read(fd, text, 4), 4);
		CHECK_INT(close(fd), 0);
	}
	CHECK_INT(errno, 7);
}

TEST(a_child_counts_for_all_its_threads)
{
	int ends[2], fd = open(place, O_RDONLY);
	uint64_t before = shim->file_reads_of_all(), got = 0;
	pid_t child;
	char text[4];

	CHECK_INT(pipe(ends), 0);
	child = fork();
	if (!child) {
		CHECK_INT(read(fd, text, 4), 4);
		CHECK_INT(read(fd, text, 4), 4);
		got = shim->file_reads_of_all();
		_exit(write(ends[1], &got, sizeof(got)) != sizeof(got));
	}
	CHECK_INT(read(ends[0], &got, sizeof(got)), sizeof(got));
	CHECK_INT(got - before, 2);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

static void *blocks(void *arg)
{
	char text[4];

	return read(*(int *)arg, text, 4) < 0 ? NULL : arg;
}

TEST(a_thread_that_blocks_can_be_cancelled)
{
	pthread_t thread;
	void *result = NULL;
	int ends[2];

	CHECK_INT(pipe(ends), 0);
	CHECK_INT(pthread_create(&thread, NULL, blocks, &ends[0]), 0);
	CHECK_INT(pthread_cancel(thread), 0);
	CHECK_INT(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
	close(ends[0]);
	close(ends[1]);
}

static int find_shim(void)
{
	const struct podprof_shim *(*find)(void) = (const struct podprof_shim *(*)(void))dlsym(RTLD_DEFAULT, "podprof_shim");

	CHECK(find != NULL);
	shim = find ? find() : NULL;
	return shim != NULL;
}

/* The library that has the function that this program calls. */
static int is_in(const char *function, const char *library)
{
	Dl_info found;

	return dladdr(dlsym(RTLD_DEFAULT, function), &found) && strstr(found.dli_fname, library);
}

static int alone(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char text[4];

	if (!find_shim())
		return 1;
	CHECK_INT(shim->file_reads_start(), 0);
	CHECK_INT(read(fd, text, 4), 4);
	CHECK(!shim->file_reads() && !shim->file_reads_of_all() && !shim->file_read_ticks() && !shim->file_read_ticks_of_all());
	CHECK(!is_in("read", "podprof") && !is_in("close", "podprof") && !is_in("fread", "podprof"));
	close(fd);
	return test_end();
}

static int counted(void)
{
	int fd = mkstemp(place);
	char text[5000];

	if (!find_shim() || fd < 0)
		return 1;
	CHECK(is_in("read", "podprof-io"));
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	CHECK_INT(write(fd, text, sizeof(text)), sizeof(text));
	CHECK_INT(pread(fd, text, 4, 0), 4);
	CHECK_INT(now(), 0); /* not started */
	CHECK_INT(shim->file_reads_start(), 1);
	close(fd);
	each_function_counts();
	what_is_no_file_is_not_counted();
	errors_are_those_of_libc();
	a_child_counts_for_all_its_threads();
	a_thread_that_blocks_can_be_cancelled();
	unlink(place);
	return test_end();
}

static void run_with(const char *preload, const char *what)
{
	int status = 1;
	pid_t child = fork();

	if (!child) {
		setenv("LD_PRELOAD", preload, 1);
		execl("/proc/self/exe", "io_test", what, (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
}

int main(int argc, char **argv)
{
	char both[8192];

	if (argc < 2)
		return 1;
	if (!strcmp(argv[1], "counted"))
		return counted();
	if (!strcmp(argv[1], "alone"))
		return alone();
	snprintf(both, sizeof(both), "%s:%s", argv[1], argv[2]);
	run_with(both, "counted");
	run_with(argv[1], "alone");
	return test_failures != 0;
}
