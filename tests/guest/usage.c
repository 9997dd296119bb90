/* An MPI job that knows what it uses: in every step it prints its own counts of faults, CPU time and switches, and its memory.
 * Step 3 of rank 1 faults 20 MiB in; rank 0 has a child that holds 50 MiB in step 5; odd steps of rank 1 compute.
 * usage [STEP_MS]. Run by tests/session/e2e_process.py. */
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/marks.h"

enum { MIB = 1 << 20, STEPS = 8 };

static void *hold(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(3);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	memset(p, 1, bytes);
	return p;
}

static void hold_in_child(int ms)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready))
		exit(3);
	pid = fork();
	if (!pid) {
		hold((size_t)50 * MIB);
		if (write(ready[1], &byte, 1) != 1)
			_exit(3);
		pause();
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		exit(3);
	sleep_ms(6 * ms);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static long rss_kib(void)
{
	long pages = 0, rest;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%ld %ld", &rest, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static double cpu_us(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e6 + (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

static void work(int rank, int step, int ms)
{
	struct timespec now;
	double until;

	if (rank == 1 && step == 3)
		hold((size_t)20 * MIB);
	if (rank == 0 && step == 5)
		hold_in_child(ms);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	until = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 + (rank == 1 && step % 2 ? ms / 2 : 0);
	while ((double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 < until)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	sleep_ms(ms);
}

int main(int argc, char **argv)
{
	int rank, ms = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 110;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sleep_ms(5);
	for (int step = 0; step < STEPS; step++) {
		struct rusage a, b;

		podprof_step_begin(step);
		getrusage(RUSAGE_SELF, &a);
		work(rank, step, ms);
		getrusage(RUSAGE_SELF, &b);
		podprof_step_end();
		printf("%d %d %ld %ld %.0f %ld %ld %ld\n", rank, step, b.ru_minflt - a.ru_minflt, b.ru_majflt - a.ru_majflt,
		       cpu_us(&b) - cpu_us(&a), b.ru_nvcsw - a.ru_nvcsw, b.ru_nivcsw - a.ru_nivcsw, rss_kib());
		fflush(stdout);
	}
	MPI_Finalize();
	return 0;
}
