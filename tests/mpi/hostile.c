/* What an application may do that a wrapper must live through: signal handlers that leave marks, calls that MPI refuses,
 * communicators that a callback frees, threads that end while they poll. 4 ranks. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tests/mpi/want.h"

enum { CALLS = 200000 };

static const struct podprof_collector *collector;
static uint64_t marks, refused;

/* As podprof_mark() does it. */
static void on_signal(int number)
{
	struct pp_ring_cursor *k = collector->cursor();
	struct pp_record *r = pp_ring_take(k, collector->recording);

	(void)number;
	if (!r) {
		refused++;
		return;
	}
	memset(r, 0, sizeof *r);
	r->kind = PP_RECORD_MARK;
	r->range.id = ++marks;
	pp_ring_commit(k);
}

static pthread_t target;
static _Atomic int over;

static void *strike(void *arg)
{
	while (!over)
		pthread_kill(target, SIGUSR1);
	return arg;
}

/* Whatever moment a handler comes in: every call and every mark is recorded, whole and once. */
TEST(test_handlers)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	uint64_t calls = 0, seen = 0, wrong = 0;
	uint32_t next = 0;
	pthread_t thread;

	MPI_Barrier(MPI_COMM_SELF);
	take_all();
	next = last_call()->sequence + 1;
	target = pthread_self();
	sigaction(SIGUSR1, &a, NULL);
	pthread_create(&thread, NULL, strike, NULL);
	for (int i = 0; i < CALLS; i++) {
		MPI_Barrier(MPI_COMM_SELF);
		if (i % 1000 && i + 1 < CALLS)
			continue;
		if (i + 1 == CALLS) {
			over = 1;
			pthread_join(thread, NULL);
			pthread_kill(target, SIGUSR1); /* none is left on its way */
		}
		do {
			take_all();
			for (size_t n = 0; n < got_count; n++) {
				const struct pp_record *r = &got[n].record;

				if (r->kind == PP_RECORD_MARK)
					wrong += r->range.id != ++seen;
				else if (r->kind == PP_RECORD_MPI)
					wrong += r->mpi.sequence != next + calls++;
				else
					wrong++;
			}
		} while (got_count);
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(calls, CALLS);
	CHECK_INT(seen, marks);
	CHECK(marks > 0);
}

/* A call that MPI refuses may have been given nowhere to put its results. */
TEST(test_refused)
{
	MPI_Request r = MPI_REQUEST_NULL, live;
	MPI_Status status;
	int in = 0, flag = 0, index = 0, count = 0, out = 1;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_SELF, &live);
	CHECK(MPI_Test(&live, NULL, &status) != MPI_SUCCESS);
	CHECK(MPI_Testall(1, &live, NULL, &status) != MPI_SUCCESS);
	CHECK(MPI_Testany(1, &live, NULL, NULL, &status) != MPI_SUCCESS);
	CHECK(MPI_Testany(1, &live, &index, NULL, &status) != MPI_SUCCESS);
	CHECK(MPI_Waitany(1, &live, NULL, &status) != MPI_SUCCESS);
	CHECK(MPI_Testsome(1, &live, NULL, &index, &status) != MPI_SUCCESS);
	CHECK(MPI_Waitsome(1, &live, NULL, &index, &status) != MPI_SUCCESS);
	CHECK(MPI_Request_get_status(live, NULL, &status) != MPI_SUCCESS);
	CHECK(MPI_Wait(NULL, &status) != MPI_SUCCESS);
	CHECK(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
	CHECK(MPI_Request_free(NULL) != MPI_SUCCESS);
	CHECK(MPI_Start(NULL) != MPI_SUCCESS);
	CHECK(MPI_Startall(1, NULL) != MPI_SUCCESS);
	take_all();
	for (int i = 1; i < how_many(PP_RECORD_MPI); i++)
		CHECK(nth(PP_RECORD_MPI, i)->record.mpi.flags & PP_MPI_FAILED);
	MPI_Send(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
	MPI_Wait(&live, &status);
	CHECK_INT(in, 1);
	forget();
	/* nothing but inactive ones */
	CHECK_INT(MPI_Testsome(1, &r, &count, &index, &status), MPI_SUCCESS);
	CHECK_INT(count, MPI_UNDEFINED);
	CHECK_INT(MPI_Waitany(1, &r, &index, &status), MPI_SUCCESS);
	CHECK_INT(index, MPI_UNDEFINED);
	CHECK_INT(MPI_Testall(0, NULL, &flag, NULL), MPI_SUCCESS);
	forget();
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int free_inner(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm;
	(void)key;
	(void)extra;
	return MPI_Comm_free(value);
}

/* A library's communicator hangs on the application's, and is freed with it: its handle means another one next time. */
TEST(test_freed_inside)
{
	MPI_Comm outer, inner[8];
	uint64_t id[8];
	int key;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_inner, &key, NULL);
	for (int i = 0; i < 8; i++) {
		MPI_Comm_dup(MPI_COMM_SELF, &outer);
		MPI_Comm_dup(MPI_COMM_WORLD, &inner[i]);
		MPI_Comm_set_attr(outer, key, &inner[i]);
		forget();
		MPI_Barrier(inner[i]);
		take_all();
		CHECK_INT(last_call()->sequence, 0);
		id[i] = last_call()->comm;
		for (int before = 0; before < i; before++)
			CHECK(id[before] != id[i]);
		CHECK(equal_on(MPI_COMM_WORLD, id[i]));
		MPI_Comm_free(&outer);
		forget();
	}
	MPI_Comm_free_keyval(&key);
}

static void *poll_and_go(void *arg)
{
	int flag;

	for (int i = 0; i < 3; i++)
		MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	return arg;
}

static int polls_seen(void)
{
	int polls = 0;

	take_all();
	for (int i = 0; i < how_many(PP_RECORD_MPI); i++)
		if (nth(PP_RECORD_MPI, i)->record.mpi.flags & PP_MPI_POLLS)
			polls += (int)nth(PP_RECORD_MPI, i)->record.mpi.sequence;
	return polls;
}

/* The last polls of a thread that ends, and those before recording went off elsewhere. */
TEST(test_last_polls)
{
	pthread_t thread;

	forget();
	pthread_create(&thread, NULL, poll_and_go, NULL);
	pthread_join(thread, NULL);
	CHECK_INT(polls_seen(), 3);
	poll_and_go(NULL);
	fake->record_on(0);
	MPI_Barrier(MPI_COMM_SELF);
	fake->record_on(1);
	CHECK_INT(polls_seen(), 3);
	forget();
}

int main(int argc, char **argv)
{
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	want_begin();
	collector = dlsym(RTLD_DEFAULT, "podprof_collector");
	forget();
	test_refused();
	test_freed_inside();
	test_last_polls();
	test_handlers();
	return want_end();
}
