/* A job whose rank 0 gets SIGUSR2 in step 20, while it reads from a pipe. Called by tests/session/e2e_windows.py: signals HOW
 * before | after: the application has a handler of its own, put there before or after podprof knows the rank; none: it has none.
 * Ends with 3 where a call was interrupted, with 4 where the signal did not come to who should have it. */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/guest/marks.h"

static volatile sig_atomic_t own;
static pthread_t reader;
static int ends[2];

static void on_own(int number)
{
	(void)number;
	own++;
}

static void take_signal(void)
{
	struct sigaction a = {.sa_handler = on_own, .sa_flags = SA_RESTART};

	sigaction(SIGUSR2, &a, NULL);
}

static void *read_one(void *arg)
{
	char c;

	if (read(ends[0], &c, 1) != 1)
		*(int *)arg = errno;
	return NULL;
}

static int read_through_a_signal(void)
{
	int failed = 0;

	if (pipe(ends) || pthread_create(&reader, NULL, read_one, &failed))
		return 1;
	sleep_ms(50);
	pthread_kill(reader, SIGUSR2);
	sleep_ms(50);
	if (write(ends[1], "x", 1) != 1)
		failed = 1;
	pthread_join(reader, NULL);
	return failed;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";
	int rank, ones = 0, code = 0;

	if (!strcmp(how, "before"))
		take_signal();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!strcmp(how, "after"))
		take_signal();
	for (int step = 0; step < 100; step++) {
		podprof_step_begin(step);
		sleep_ms(5);
		if (step == 20 && !rank && read_through_a_signal())
			code = 3;
		MPI_Allreduce(MPI_IN_PLACE, &ones, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		podprof_step_end();
	}
	if (!rank && own != (strcmp(how, "none") != 0))
		code = 4;
	if (!rank)
		say("done");
	MPI_Finalize();
	return code;
}
