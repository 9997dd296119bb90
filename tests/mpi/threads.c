/* Four threads with a communicator each, and a request that one thread starts and another ends; polls everywhere. 2 ranks. */
#include <pthread.h>
#include <unistd.h>

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

static void *receive(void *arg)
{
	int in;

	MPI_Recv(&in, 1, MPI_INT, 1 - me, 77, *(MPI_Comm *)arg, MPI_STATUS_IGNORE);
	return NULL;
}

/* Which threads are inside MPI_Recv now, by their lines. */
static const struct pp_where *receiving(void)
{
	const struct pp_where *w;

	for (int i = 0; (w = fake->line_of(i)) != NULL; i++)
		if (((const volatile struct pp_where *)w)->call && !strcmp(pp_mpi_call_info(w->call - 1u)->name, "MPI_Recv"))
			return w;
	return NULL;
}

/* Where a thread hangs is seen from outside, also while nothing is recorded. */
static void check_where(uint64_t comm_id)
{
	const struct pp_where *w = NULL;
	pthread_t thread;
	int out = 1;

	fake->record_on(0);
	MPI_Barrier(comm[0]);
	CHECK(receiving() == NULL);
	pthread_create(&thread, NULL, receive, &comm[0]);
	for (int i = 0; i < 5000 && !w; i++) {
		usleep(1000);
		w = receiving();
	}
	CHECK(w != NULL);
	if (w) {
		CHECK_INT(w->peer, 1 - me);
		CHECK(w->comm == comm_id);
		CHECK_INT(w->sequence, ROUNDS / 20 + 1);
	}
	MPI_Barrier(comm[1]); /* the other one has looked too */
	MPI_Send(&out, 1, MPI_INT, 1 - me, 77, comm[0]);
	pthread_join(thread, NULL);
	CHECK(receiving() == NULL);
	take_all();
	CHECK_INT(got_count, 0);
	fake->record_on(1);
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

enum { MADE = 6 };

static MPI_Comm made[THREADS][MADE];

/* Each thread of its own communicator, in the order in which they happen to run. */
static void *make(void *arg)
{
	int t = *(int *)arg;

	for (int i = 0; i < MADE; i++) {
		char name[] = {'m', 'a', 'd', 'e', ' ', (char)('0' + t), (char)('0' + i), 0};

		if (me)
			usleep(1000 * (unsigned)(THREADS - t));
		MPI_Comm_dup(comm[t], &made[t][i]);
		MPI_Comm_set_name(made[t][i], name);
	}
	return NULL;
}

/* The communicators that threads made at once have ids that are equal on both ranks, and all differ. */
static void check_made(void)
{
	uint64_t id[THREADS][MADE] = {{0}}, low[THREADS][MADE], high[THREADS][MADE];

	take_all();
	for (int i = 0; i < how_many(PP_RECORD_COMM); i++) {
		const struct fake_record *f = nth(PP_RECORD_COMM, i);

		if (f->record.comm.is_name == PP_COMM_NAME && !strncmp(f->text, "made ", 5))
			id[f->text[5] - '0'][f->text[6] - '0'] = f->record.comm.comm;
	}
	fake->record_on(0);
	MPI_Allreduce(id, low, THREADS * MADE, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
	MPI_Allreduce(id, high, THREADS * MADE, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
	fake->record_on(1);
	CHECK(memcmp(low, high, sizeof low) == 0);
	for (int i = 0; i < THREADS * MADE; i++)
		for (int k = 0; k < i; k++)
			CHECK((&id[0][0])[i] && (&id[0][0])[i] != (&id[0][0])[k]);
	for (int i = 0; i < THREADS * MADE; i++)
		MPI_Comm_free(&made[i / MADE][i % MADE]);
	forget();
}

int main(int argc, char **argv)
{
	int provided, in, out = 5, number[THREADS];
	pthread_t thread[THREADS];
	uint32_t request;
	uint64_t first;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	want_begin();
	forget();
	MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]);
	take_all();
	first = nth(PP_RECORD_COMM, 0) ? nth(PP_RECORD_COMM, 0)->record.comm.comm : 0;
	for (int i = 1; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
	forget();
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, work, &number[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check_work();
	check_where(first);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, make, &number[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check_made();
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
