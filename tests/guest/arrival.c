/* A rank that lets podprof make its host's spool, and looks whether the application can tell: descriptors, children, fork handlers,
 * signals, errno. arrival [closed|seccomp|steps N MS]. Run by claim.py. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/marks.h"

static volatile sig_atomic_t children;
static int forks;

static void on_child(int signal_number)
{
	(void)signal_number;
	children++;
}

static void on_fork(void)
{
	forks++;
}

/* Lowest free descriptor, and how many are open that an exec would pass on. */
static void descriptors(int *ret_low, int *ret_passed)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	*ret_passed = 0;
	while (d && (e = readdir(d))) {
		int fd = (int)strtol(e->d_name, NULL, 10), flags = e->d_name[0] == '.' ? -1 : fcntl(fd, F_GETFD);

		*ret_passed += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	if (d)
		closedir(d);
	*ret_low = dup(1);
	close(*ret_low);
}

/* No new process from here on, threads only. */
static int refuse_processes(void)
{
	struct sock_filter code[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
	        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x10000 /* CLONE_THREAD */, 1, 0),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int look(void)
{
	struct sigaction act = {.sa_handler = on_child};
	int low, passed, low_now, passed_now, status, bad = 0;
	sigset_t before, after;

	sigaction(SIGCHLD, &act, NULL);
	pthread_atfork(on_fork, on_fork, on_fork);
	descriptors(&low, &passed);
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = 4711;
	mark_some();
	if (errno != 4711)
		bad = 1, printf("errno is %d\n", errno);
	descriptors(&low_now, &passed_now);
	if (low_now != low || passed_now != passed)
		bad = 1, printf("descriptors: first free %d, was %d; passed on %d, were %d\n", low_now, low, passed_now, passed);
	sigprocmask(SIG_SETMASK, NULL, &after);
	if (!sigismember(&after, SIGUSR2) || sigismember(&after, SIGUSR1))
		bad = 1, printf("the signal mask has changed\n");
	if (children || forks)
		bad = 1, printf("%d SIGCHLD, %d fork handlers\n", (int)children, forks);
	if (waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD)
		bad = 1, printf("there is a child\n");
	if (waitpid(-1, &status, WNOHANG | (int)__WALL) != -1 || errno != ECHILD)
		bad = 1, printf("there is a child of another kind\n");
	return bad;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int bad;

	if (!strcmp(mode, "closed")) { /* as daemons do */
		close(0);
		close(2);
	}
	if (!strcmp(mode, "seccomp") && refuse_processes())
		return 77;
	if (!strcmp(mode, "steps") && argc > 3) { /* for as long as somebody wants to look */
		for (int step = 0; step < strtol(argv[2], NULL, 10); step++) {
			podprof_step_begin(step);
			sleep_ms((int)strtol(argv[3], NULL, 10));
			podprof_step_end();
		}
		say("ends");
		return 0;
	}
	bad = look();
	say(bad ? "is harmed" : "is well");
	return bad;
}
