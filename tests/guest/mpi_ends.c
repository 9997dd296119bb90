/* Ranks that call MPI, one way to end per mode: mpi_ends MODE. Run by guest_table.py under mpirun and podprof run. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/marks.h"

static int rank, size;

static void expect(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: wrong result: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 8);
}

static void train(int steps)
{
	for (int step = 0; step < steps; step++) {
		int mine = rank + step, sum = 0;
		podprof_step_begin(step);
		podprof_range_push("compute");
		sleep_ms(1);
		podprof_range_pop();
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		podprof_step_end();
		expect(sum == size * step + size * (size - 1) / 2, "allreduce");
	}
}

static int mode_normal(void)
{
	train(20);
	say("trained");
	MPI_Finalize();
	return 0;
}

/* A child that fork's handlers never saw makes calls that talk to nobody: they are not its parent's. */
static int mode_raw_fork(void)
{
	MPI_Request none = MPI_REQUEST_NULL;
	int status = 0;
	long child;

	podprof_step_begin(0);
	MPI_Wait(&none, MPI_STATUS_IGNORE);
	child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child) {
		for (int i = 0; i < 100; i++)
			MPI_Wait(&none, MPI_STATUS_IGNORE);
		sleep_ms(100); /* for the keeper to read them */
		_exit(0);
	}
	waitpid((pid_t)child, &status, 0);
	expect(status == 0, "child");
	podprof_step_end();
	train(20);
	MPI_Finalize();
	return 0;
}

static void *talk(void *arg)
{
	MPI_Comm comm = *(MPI_Comm *)arg;
	for (int i = 0; i < 50; i++) {
		int sum = 0, got = -1, right = (rank + 1) % size, left = (rank + size - 1) % size;
		MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
		expect(sum == i * size, "allreduce in a thread");
		MPI_Sendrecv(&i, 1, MPI_INT, right, 7, &got, 1, MPI_INT, left, 7, comm, MPI_STATUS_IGNORE);
		expect(got == i, "sendrecv in a thread");
	}
	return NULL;
}

static int mode_threads(void)
{
	enum { THREADS = 3 };
	pthread_t thread[THREADS];
	MPI_Comm comm[THREADS];
	for (int i = 0; i < THREADS; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
		pthread_create(&thread[i], NULL, talk, &comm[i]);
	}
	train(5);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		MPI_Comm_free(&comm[i]);
	}
	say("talked in threads");
	MPI_Finalize();
	return 0;
}

static int mode_spawn(const char *self)
{
	char mode[] = "spawned";
	char *child_argv[] = {mode, NULL};
	MPI_Comm child;
	int sum = -1, mine = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
	MPI_Comm_spawn(self, child_argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
	MPI_Bcast(&size, 1, MPI_INT, mine, child);
	if (rank == 0) {
		MPI_Recv(&sum, 1, MPI_INT, 0, 3, child, MPI_STATUS_IGNORE);
		expect(sum == size + 1, "answer of the spawned rank");
	}
	MPI_Comm_disconnect(&child);
	say("spawned one");
	MPI_Finalize();
	return 0;
}

static int mode_spawned(void)
{
	MPI_Comm parent;
	int number = 0;
	MPI_Comm_get_parent(&parent);
	MPI_Bcast(&number, 1, MPI_INT, 0, parent);
	number++;
	MPI_Send(&number, 1, MPI_INT, 0, 3, parent);
	MPI_Comm_disconnect(&parent);
	MPI_Finalize();
	return 0;
}

static int mode_exit3(void)
{
	train(5);
	if (rank == 1) {
		sleep_ms(200);
		exit(3);
	}
	sleep_ms(20000);
	return 0;
}

static int mode_abort5(void)
{
	train(5);
	if (rank == 1)
		MPI_Abort(MPI_COMM_WORLD, 5);
	sleep_ms(20000);
	return 0;
}

static int mode_sigkill(void)
{
	train(30);
	if (rank == 1)
		raise(SIGKILL);
	sleep_ms(20000);
	return 0;
}

static void *finalize(void *arg)
{
	(void)arg;
	sleep_ms(300);
	train(3);
	say("second thread finalizes");
	MPI_Finalize();
	return NULL;
}

static int mode_main_leaves(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, finalize, NULL))
		return 9;
	pthread_detach(thread);
	pthread_exit(NULL);
}

/* The four ways to end without MPI_Finalize: mpirun says 1 to each. */
static int mode_no_finalize(const char *how)
{
	train(5);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(how, "uexit"))
		_exit(0);
	if (!strcmp(how, "quick"))
		quick_exit(0);
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int provided = 0, threads = !strcmp(mode, "threads") || !strcmp(mode, "main_leaves");

	if (!strcmp(mode, "crash_early")) { /* before MPI_Init; the others wait in it */
		sleep_ms(400);              /* what mpirun says depends on how far it is with its own start */
		if (world_rank() == 1)
			abort();
		sleep_ms(20000);
	}
	if (threads)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (threads)
		expect(provided == MPI_THREAD_MULTIPLE, "thread level");
	if (!strcmp(mode, "normal"))
		return mode_normal();
	if (!strcmp(mode, "raw_fork"))
		return mode_raw_fork();
	if (!strcmp(mode, "threads"))
		return mode_threads();
	if (!strcmp(mode, "spawn"))
		return mode_spawn(argv[0]);
	if (!strcmp(mode, "spawned"))
		return mode_spawned();
	if (!strcmp(mode, "exit3"))
		return mode_exit3();
	if (!strcmp(mode, "abort5"))
		return mode_abort5();
	if (!strcmp(mode, "sigkill"))
		return mode_sigkill();
	if (!strcmp(mode, "main_leaves"))
		return mode_main_leaves();
	if (!strncmp(mode, "no_finalize", 11))
		return mode_no_finalize(argc > 2 ? argv[2] : "return");
	if (!strcmp(mode, "one_leaves")) /* the launcher ends the others when it sees that */
		return rank ? (sleep_ms(200000), 0) : 0;
	fprintf(stderr, "usage: mpi_ends MODE\n");
	MPI_Abort(MPI_COMM_WORLD, 2);
	return 2;
}
