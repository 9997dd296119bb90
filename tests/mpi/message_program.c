/* What messages.py runs under podprof: message_program FILE [threads]. Each message has its own identity: its receiver knows whose
 * it is. A call that sends or posts a receive lies in a range of its own name; FILE.RANK says which receive got which send. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "podprof.h"

enum { PIECES = 64 };

static int me, ranks;
static atomic_int sends, receives;
static const char *part;
static FILE *truth;
static MPI_Comm separate; /* of messages that a receive of any source and tag must not get */

/* Begins the range of the next send; its name is the payload. */
static void name_send(char *to)
{
	memset(to, 0, PIECES);
	snprintf(to, PIECES, "S %s %d %d", part, me, sends++);
	podprof_range_push(to);
}

static void name_receive(char *to)
{
	snprintf(to, PIECES, "R %s %d %d", part, me, receives++);
	podprof_range_push(to);
}

static void say(const char *receive, const char *got)
{
	fprintf(truth, "%s < %s\n", receive, got);
}

static void send(int to, int tag, MPI_Comm comm, int (*how)(const void *, int, MPI_Datatype, int, int, MPI_Comm))
{
	char text[PIECES];

	name_send(text);
	how(text, PIECES, MPI_CHAR, to, tag, comm);
	podprof_range_pop();
}

static MPI_Status receive(int from, int tag, MPI_Comm comm)
{
	char name[PIECES], text[PIECES] = "nobody";
	MPI_Status status;

	name_receive(name);
	MPI_Recv(text, PIECES, MPI_CHAR, from, tag, comm, &status);
	podprof_range_pop();
	if (from != MPI_PROC_NULL)
		say(name, text);
	return status;
}

static void ring(void)
{
	char name[PIECES], other[PIECES], in[PIECES];

	for (int i = 0; i < 5; i++) { /* both halves have the same range */
		memset(name, 0, sizeof name);
		snprintf(name, sizeof name, "B %s %d %d", part, me, sends++);
		snprintf(other, sizeof other, "%s", name);
		podprof_range_push(name);
		MPI_Sendrecv(name, PIECES, MPI_CHAR, (me + 1) % ranks, 3, in, PIECES, MPI_CHAR, (me + ranks - 1) % ranks, 3,
		             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		podprof_range_pop();
		say(other, in);
	}
}

/* The master takes any result and gives the worker more. */
static void master(void)
{
	if (me) {
		for (int i = 0; i < 6; i++) {
			send(0, 10 + i % 2, MPI_COMM_WORLD, MPI_Send);
			receive(0, MPI_ANY_TAG, MPI_COMM_WORLD);
		}
		return;
	}
	for (int i = 0; i < 6 * (ranks - 1); i++) {
		MPI_Status s = receive(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);

		send(s.MPI_SOURCE, 20, MPI_COMM_WORLD, MPI_Send);
	}
}

static void crossing(void)
{
	enum { N = 12 };
	static char out[N][PIECES], in[N][PIECES], name[N][PIECES];
	MPI_Request r[2 * N];
	const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;

	for (int i = 0; i < N; i++) { /* posted in another order of tags than sent, completed in another one */
		name_receive(name[i]);
		MPI_Irecv(in[i], PIECES, MPI_CHAR, left, (N - i) % 3, MPI_COMM_WORLD, &r[2 * N - 1 - i]);
		podprof_range_pop();
	}
	for (int i = 0; i < N; i++) {
		name_send(out[i]);
		MPI_Isend(out[i], PIECES, MPI_CHAR, right, i % 3, MPI_COMM_WORLD, &r[i]);
		podprof_range_pop();
	}
	MPI_Waitall(2 * N, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < N; i++)
		say(name[i], in[i]);
}

static void persistent(void)
{
	static char out[PIECES], in[PIECES];
	char name[PIECES];
	MPI_Request r[2];

	MPI_Recv_init(in, PIECES, MPI_CHAR, (me + ranks - 1) % ranks, 5, MPI_COMM_WORLD, &r[0]);
	MPI_Send_init(out, PIECES, MPI_CHAR, (me + 1) % ranks, 5, MPI_COMM_WORLD, &r[1]);
	for (int i = 0; i < 4; i++) {
		name_receive(name);
		MPI_Start(&r[0]);
		podprof_range_pop();
		name_send(out);
		MPI_Start(&r[1]);
		podprof_range_pop();
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		say(name, in);
	}
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
}

static void modes(void)
{
	static char room[1 << 14];
	void *back;
	int size;

	MPI_Buffer_attach(room, sizeof room);
	for (int i = 0; i < 4; i++) {
		if (me % 2 == 0) {
			send(me + 1, 6, MPI_COMM_WORLD, i % 2 ? MPI_Bsend : MPI_Ssend);
			receive(me + 1, 6, MPI_COMM_WORLD);
		} else {
			receive(me - 1, 6, MPI_COMM_WORLD);
			send(me - 1, 6, MPI_COMM_WORLD, MPI_Bsend);
		}
	}
	MPI_Buffer_detach(&back, &size);
	send(MPI_PROC_NULL, 6, MPI_COMM_WORLD, MPI_Send);
	receive(MPI_PROC_NULL, 6, MPI_COMM_WORLD);
}

static void probes(void)
{
	char name[PIECES], text[PIECES];
	MPI_Message message;

	for (int i = 0; i < 4; i++) {
		if (me) {
			send(0, 7, MPI_COMM_WORLD, MPI_Send);
			continue;
		}
		for (int n = 1; n < ranks; n++) {
			MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
			name_receive(name);
			MPI_Mrecv(text, PIECES, MPI_CHAR, &message, MPI_STATUS_IGNORE);
			podprof_range_pop();
			say(name, text);
		}
	}
}

/* Evens and odds are two groups. */
static void inter(void)
{
	MPI_Comm half, both;

	MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 99, &both);
	for (int i = 0; i < 3; i++) {
		if (me % 2)
			receive(me / 2, 8, both);
		else
			send(me / 2, 8, both, MPI_Send);
	}
	MPI_Comm_free(&both);
	MPI_Comm_free(&half);
}

/* Receives of any source that are pending while others of the same messages are posted, and complete in whatever order. */
static void wild(void)
{
	enum { N = 8 };
	static char in[N][PIECES], name[N][PIECES];
	MPI_Request r[N];
	int at;

	if (me == 1 || me == 2)
		for (int i = 0; i < N / 2; i++)
			send(0, 9, MPI_COMM_WORLD, MPI_Send);
	if (me)
		return;
	for (int i = 0; i < N; i++) {
		name_receive(name[i]);
		MPI_Irecv(in[i], PIECES, MPI_CHAR, i < 2 || i > 5 ? MPI_ANY_SOURCE : 1 + i % 2, 9, MPI_COMM_WORLD, &r[i]);
		podprof_range_pop();
	}
	for (int i = 0; i < N; i++) {
		MPI_Waitany(N - i % 2, r, &at, MPI_STATUS_IGNORE);
		if (at == MPI_UNDEFINED)
			MPI_Waitany(N, r, &at, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < N; i++)
		say(name[i], in[i]);
}

/* Sent in one step, received in the next ones: in flight over the begin and the end of a window. */
static void in_flight(int step)
{
	const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;

	for (int i = 0; i < 3; i++)
		send(right, 11, separate, MPI_Send);
	if (step >= 2)
		for (int i = 0; i < 3; i++)
			receive(left, 11, separate);
}

enum { TIMES = 50 };

/* Threads of ranks 0 and 2 send to the next rank with one tag, whose threads receive from that one or from any. */
static void *at_once(void *number)
{
	const int thread = *(const int *)number;

	for (int i = 0; i < TIMES; i++) {
		if (me % 2 == 0)
			send(me + 1, 12, MPI_COMM_WORLD, MPI_Send);
		else
			receive(thread && i % 5 == 0 ? MPI_ANY_SOURCE : me - 1, 12, MPI_COMM_WORLD);
	}
	return NULL;
}

/* Each thread has its own tag: nothing is at one time. */
static void *own_tag(void *number)
{
	const int thread = *(const int *)number;

	for (int i = 0; i < TIMES; i++) {
		if (me % 2 == 0)
			send(me + 1, 30 + thread, MPI_COMM_WORLD, MPI_Send);
		else
			receive(me - 1, 30 + thread, MPI_COMM_WORLD);
	}
	return NULL;
}

static void threads(void)
{
	static void *(*const run[])(void *) = {own_tag, at_once};
	static const char *const names[] = {"own_tag", "at_once"};
	int number[2] = {0, 1};
	pthread_t t[2];

	for (int step = 0; step < 4; step++) {
		podprof_step_begin(step);
		part = names[step % 2];
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, run[step % 2], &number[i]);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	podprof_step_end();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {{"ring", ring},   {"master", master}, {"crossing", crossing}, {"persistent", persistent},
	             {"modes", modes}, {"probes", probes}, {"inter", inter},       {"wild", wild}};
	const int steps = argc > 2 ? 0 : 6;
	int level;
	char path[4096];

	MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(path, sizeof path, "%s.%d", argv[1], me);
	truth = argc > 1 ? fopen(path, "w") : NULL;
	if (!truth)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Comm_dup(MPI_COMM_WORLD, &separate);
	for (int step = 0; step < steps; step++) {
		podprof_step_begin(step);
		for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
			part = parts[i].name;
			parts[i].run();
			MPI_Barrier(MPI_COMM_WORLD);
		}
		part = "flight";
		in_flight(step);
	}
	if (steps)
		podprof_step_end();
	else
		threads();
	for (int i = 0; steps && i < 6; i++)
		receive((me + ranks - 1) % ranks, 11, separate);
	MPI_Comm_free(&separate);
	MPI_Finalize();
	return fclose(truth) != 0;
}
