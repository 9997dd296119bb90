/* Pages of a file on disk that is cut: a load and a store go on, others' SIGBUS ends the process as without us. */
#include "core/ring/disk_fault.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

enum { PAGES = 4 };

static size_t page;

static char *mapped(const char *dir, int *ret_fd)
{
	char path[128], *at;

	snprintf(path, sizeof(path), "%s/podprof-disk-fault-XXXXXX", dir);
	*ret_fd = mkstemp(path);
	if (*ret_fd < 0)
		return NULL;
	unlink(path);
	if (ftruncate(*ret_fd, (off_t)(PAGES * page)))
		return NULL;
	at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* The status of a child that runs it. */
static int child(void (*body)(char *at, int fd), char *at, int fd)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		body(at, fd);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void lose(char *at, int fd)
{
	volatile char *p = at;

	if (!pp_disk_fault_guard(at, PAGES * page, fd))
		_exit(77);
	p[0] = 5;
	if (pp_disk_fault_pages() || ftruncate(fd, 0))
		_exit(1);
	p[page] = 7;
	if (p[page] != 7 || p[2 * page] != 0 || pp_disk_fault_pages() != 2)
		_exit(2);
	pp_disk_fault_forget(at);
	p[3 * page] = 1; /* nobody's any more */
	_exit(3);
}

static void sent(char *at, int fd)
{
	pp_disk_fault_guard(at, PAGES * page, fd);
	raise(SIGBUS);
}

static void other_file(char *at, int fd)
{
	pp_disk_fault_guard(at, page, fd);
	if (!ftruncate(fd, 0))
		((volatile char *)at)[2 * page] = 1;
}

static void on_bus(int number)
{
	(void)number;
	_exit(9);
}

static void set_theirs(void)
{
	struct sigaction theirs = {.sa_handler = on_bus};

	sigaction(SIGBUS, &theirs, NULL);
}

/* Others' handlers are called for all but our pages, whether they were set before ours or since. */
static void handled(char *at, int fd)
{
	set_theirs();
	if (!pp_disk_fault_guard(at, page, fd) || ftruncate(fd, 0))
		_exit(1);
	((volatile char *)at)[0] = 1;
	((volatile char *)at)[page] = 1;
}

static void handled_since(char *at, int fd)
{
	if (!pp_disk_fault_guard(at, page, fd) || ftruncate(fd, 0))
		_exit(1);
	set_theirs();
	pp_disk_fault_again();
	((volatile char *)at)[0] = 1;
	((volatile char *)at)[page] = 1;
}

static struct sigaction saved;

static void on_bus_chained(int number, siginfo_t *info, void *context)
{
	saved.sa_sigaction(number, info, context);
}

/* A handler that calls ours, behind which ours stands again: the process ends all the same. */
static void in_circle(char *at, int fd)
{
	struct sigaction theirs = {.sa_sigaction = on_bus_chained, .sa_flags = SA_SIGINFO};

	if (!pp_disk_fault_guard(at, page, fd) || sigaction(SIGBUS, &theirs, &saved) || ftruncate(fd, 0))
		_exit(1);
	pp_disk_fault_again();
	((volatile char *)at)[0] = 1;
	((volatile char *)at)[page] = 1;
}

static void in_memory(char *at, int fd)
{
	struct sigaction is;

	if (pp_disk_fault_guard(at, PAGES * page, fd) || sigaction(SIGBUS, NULL, &is) || is.sa_handler != SIG_DFL)
		_exit(1);
}

static int is_bus(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
}

int main(void)
{
	int fd, shm, status;
	char *at;

	page = (size_t)sysconf(_SC_PAGESIZE);
	at = mapped("/dev/shm", &shm);
	CHECK(at && child(in_memory, at, shm) == 0);
	at = mapped(".", &fd);
	CHECK(at != NULL);
	status = child(lose, at, fd);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		fprintf(stderr, "skipped: the build directory is in memory\n");
		return 77;
	}
	CHECK(is_bus(status));
	for (int i = 0; i < 5; i++) {
		static void (*const body[])(char *, int) = {sent, other_file, in_circle, handled, handled_since};

		at = mapped(".", &fd);
		status = child(body[i], at, fd);
		CHECK(i < 3 ? is_bus(status) : WIFEXITED(status) && WEXITSTATUS(status) == 9);
	}
	return test_end();
}
