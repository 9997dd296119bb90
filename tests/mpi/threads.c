/* Four threads with a communicator each, and a request that one thread starts and another ends; polls everywhere. 2 ranks. */
#include <pthread.h>

#include "tests/mpi/want.h"

enum { THREADS = 4, ROUNDS = 200 };

static MPI_Comm comm[THREADS];

static void *work(void *arg)
{
	int t = *(int *)arg, x = t, y = 0, other = 1 - me;
	MPI_Request r[2];

	for (int i = 0; i < ROUNDS; i++) {
		MPI_Irecv(&y, 1, MPI_INT, other, i, comm[t], &r[0]);
		MPI_Isend(&x, 1, MPI_INT, other, i, comm[t], &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		if (i % 20 == 0)
			MPI_Barrier(comm[t]);
	}
	return NULL;
}

static MPI_Request handed;

static void *finish(void *arg)
{
	(void)arg;
	MPI_Wait(&handed, MPI_STATUS_IGNORE);
	return NULL;
}

static void check_work(void)
{
	static struct fake_record all[THREADS * ROUNDS * 8];
	size_t n = fake->take(all, sizeof all / sizeof all[0]);
	int calls = 0, starts = 0, ends = 0, barriers = 0;
	static unsigned char started[1 << 16], ended[1 << 16];
	uint64_t received = 0;

	for (size_t i = 0; i < n; i++) {
		const struct pp_record *r = &all[i].record;

		if (r->kind == PP_RECORD_MPI) {
			calls++;
			barriers += !strcmp(pp_mpi_call_info(r->mpi.call)->name, "MPI_Barrier");
			if (r->mpi.request) {
				starts++;
				started[r->mpi.request % sizeof started]++;
			}
		} else if (r->kind == PP_RECORD_REQUEST) {
			ends++;
			ended[r->request.request % sizeof ended]++;
			received += r->request.received;
			CHECK_INT(r->request.peer, 1 - me);
		}
	}
	CHECK_INT(calls, THREADS * (3 * ROUNDS + ROUNDS / 20));
	CHECK_INT(barriers, THREADS * ROUNDS / 20);
	CHECK_INT(starts, 2 * THREADS * ROUNDS);
	CHECK_INT(ends, 2 * THREADS * ROUNDS);
	CHECK_INT(received, 4 * THREADS * ROUNDS);
	CHECK(memcmp(started, ended, sizeof started) == 0);
}

int main(int argc, char **argv)
{
	int provided, in, out = 5, number[THREADS];
	pthread_t thread[THREADS];
	uint32_t request;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	want_begin();
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
	forget();
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, work, &number[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check_work();
	MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &handed);
	WANT("MPI_Irecv", -2, 0, 0);
	request = last_call()->request;
	pthread_create(&thread[0], NULL, finish, NULL);
	MPI_Send(&out, 1, MPI_INT, 1 - me, 1, MPI_COMM_WORLD);
	pthread_join(thread[0], NULL);
	take_all();
	CHECK_INT(how_many(PP_RECORD_REQUEST), 1);
	CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.request, request);
	CHECK_INT(nth(PP_RECORD_REQUEST, 0)->record.request.peer, 1 - me);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comm[i]);
	return want_end();
}
