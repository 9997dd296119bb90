/* A rank that filters its own system calls (seccomp) once it has begun: filtered FORM CALL..., where the calls named end the
 * process. FORM is how it goes on: a word of `forms` below. Run by filtered.py, as filtered_mpi under MPI. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#ifdef GUEST_MPI
#include <mpi.h>
#endif

#include "tests/guest/marks.h"

#define CALL(name)                                                                                                                 \
	{                                                                                                                          \
#name, SYS_##name                                                                                                  \
	}

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
        CALL(openat),         CALL(fallocate),    CALL(ftruncate), CALL(lseek),     CALL(statfs),        CALL(fstatfs),
        CALL(newfstatat),     CALL(fstat),        CALL(statx),     CALL(faccessat), CALL(readlinkat),    CALL(getdents64),
        CALL(fcntl),          CALL(dup),          CALL(read),      CALL(pread64),   CALL(close),         CALL(mmap),
        CALL(munmap),         CALL(madvise),      CALL(kill),      CALL(tgkill),    CALL(tkill),         CALL(getpid),
        CALL(gettid),         CALL(prctl),        CALL(getrusage), CALL(poll),      CALL(ppoll),         CALL(sched_yield),
        CALL(futex),          CALL(rt_sigaction), CALL(socket),    CALL(connect),   CALL(sendto),        CALL(pidfd_open),
        CALL(unlinkat),       CALL(renameat2),    CALL(execve),    CALL(wait4),     CALL(rt_sigpending), CALL(clock_nanosleep),
        CALL(rt_sigprocmask),
#ifdef SYS_open
        CALL(open),           CALL(stat),         CALL(access),    CALL(unlink),    CALL(rename),        CALL(getdents),
#endif
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* What becomes of a named call: the process ends, with GUEST_TRAP it says before which one it was, with GUEST_ERRNO the call
 * fails. */
static unsigned action(void)
{
	if (env_number("GUEST_TRAP", 0))
		return SECCOMP_RET_TRAP;
	return env_number("GUEST_ERRNO", 0) ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
}

static int filter(char **names)
{
	struct sock_filter code[CALLS + 3];
	struct sock_fprog program = {0, code};
	unsigned wanted[CALLS], count = 0;

	for (; *names; names++)
		for (size_t i = 0; i < CALLS; i++)
			if (!strcmp(calls[i].name, *names) && count < CALLS)
				wanted[count++] = calls[i].number;
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < count; i++)
		code[program.len++] =
		        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wanted[i], (unsigned char)(count - i), 0);
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action());
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void trapped(int number, siginfo_t *info, void *context)
{
	char text[] = "calls 000\n";

	(void)number, (void)context;
	for (int i = 8, n = info->si_syscall; i > 5; i--, n /= 10)
		text[i] = (char)('0' + n % 10);
	if (write(2, text, sizeof text - 1) < 0)
		_exit(98);
	_exit(99);
}

static void range(const char *name)
{
	podprof_range_push(name);
	podprof_range_pop();
}

static void steps(int64_t first)
{
	for (int64_t i = first; i < first + 3; i++) {
		podprof_step_begin(i);
		range("work");
		podprof_mark("half way");
		podprof_counter("loss", 1.0);
		podprof_step_end();
	}
}

static void more_steps(void)
{
	steps(3);
}

/* More than the ring has at first. */
static void grow(void)
{
	steps(3);
	for (int i = 0; i < 200000; i++)
		range("one of many");
}

static void *marking(void *barrier)
{
	range("thread");
	pthread_barrier_wait(barrier);
	return NULL;
}

/* More threads at once than the ring has slots at first. */
static void threads(void)
{
	enum { THREADS = 40 };
	pthread_t thread[THREADS];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, marking, &barrier))
			_exit(4);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void windows(void)
{
	podprof_profile_steps(4, 5);
	steps(3);
	podprof_window_start("late");
	steps(6);
	podprof_window_stop();
	podprof_window_stop();
}

static void children(void)
{
	int status = 0;
	pid_t child = fork();

	steps(3);
	if (!child)
		exit(0);
	waitpid(child, &status, 0);
	if (status)
		_exit(5);
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*go_on)(void);
} forms[] = {{"steps", more_steps}, {"grow", grow},         {"threads", threads},
             {"windows", windows},  {"children", children}, {"nothing", nothing}};

/* list: the names of all calls; names NUMBER...: of these. */
static int print_names(char **numbers)
{
	for (size_t i = 0; i < CALLS; i++) {
		int is_one = !*numbers;

		for (char **n = numbers; *n; n++)
			is_one |= strtoul(*n, NULL, 10) == calls[i].number;
		if (is_one)
			printf("%s\n", calls[i].name);
	}
	return 0;
}

/* Under MPI the filter comes after MPI_Finalize where there is GUEST_FINALIZED. */
int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
	size_t form = 0;

	if (argc > 1 && (!strcmp(argv[1], "list") || !strcmp(argv[1], "names")))
		return print_names(argv + 2);
	while (argc > 1 && form < sizeof forms / sizeof forms[0] && strcmp(argv[1], forms[form].name) != 0)
		form++;
	if (argc < 2 || form == sizeof forms / sizeof forms[0])
		return 2;
	if (sigaction(SIGSYS, &act, NULL))
		return 3;
#ifdef GUEST_MPI
	MPI_Init(NULL, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	if (env_number("GUEST_FINALIZED", 0))
		MPI_Finalize();
#endif
	if (forms[form].go_on != nothing)
		steps(0);
	printf("filters\n");
	fflush(stdout);
	if (filter(argv + 2))
		return 77;
	forms[form].go_on();
#ifdef GUEST_MPI
	if (!env_number("GUEST_FINALIZED", 0)) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Finalize();
	}
#endif
	printf("ends\n");
	fflush(stdout);
	return 0;
}
