/* The numbers of messages alone, without MPI: each key has its own, a full table, receives of any source, threads. */
#include "mpi/pmpi_message.h"

#include <pthread.h>

#include "tests/test.h"

/* What pmpi_message.c needs of the other files. */
__thread struct pp_mpi_thread pp_mpi_thread;
struct pp_mpi_wiped pp_mpi_wiped;
struct pp_mpi_names pp_mpi_names;
const _Atomic uint32_t *pp_mpi_recording;
int pp_request_shared;

void pp_poll_end(struct pp_mpi_thread *t)
{
	(void)t;
}

void pp_mpi_put(const struct pp_record *record, const void *rest, uint32_t rest_length)
{
	(void)record;
	(void)rest;
	(void)rest_length;
}

void pp_comm_announce(struct pp_comm *c)
{
	(void)c;
}

uint32_t pp_request_add(struct pp_request *request)
{
	(void)request;
	return 0;
}

uint32_t pp_request_number(void)
{
	return 0;
}

static struct pp_comm comm(uint64_t id)
{
	return (struct pp_comm){.id = id, .size = 1 << 20, .peers = 1 << 20};
}

static struct pp_message one(struct pp_comm *c, enum pp_message_way way, int rank, int tag)
{
	struct pp_message m;

	pp_message_begin(&m, c, way, rank, tag);
	pp_message_end(&m, c, way, MPI_SUCCESS);
	return m;
}

static int is_certain(struct pp_record_message_half half)
{
	return (half.flags & PP_MESSAGE_CERTAIN) != 0;
}

#define WANT_ORDER(half_, order_, certain)                                                                                         \
	do {                                                                                                                       \
		const struct pp_record_message_half have_ = (half_);                                                               \
		CHECK_INT(have_.order, order_);                                                                                    \
		CHECK_INT(is_certain(have_), certain);                                                                             \
	} while (0)

TEST(test_keys)
{
	struct pp_comm a = comm(1), b = comm(2), unknown = comm(3);
	struct pp_message m;

	unknown.is_unknown = 1;
	for (uint32_t n = 0; n < 5; n++)
		for (int rank = 0; rank < 10; rank++)
			for (int tag = 0; tag < 10; tag++)
				for (int way = PP_MESSAGE_SEND; way <= PP_MESSAGE_RECEIVE; way++) {
					m = one(n % 2 ? &a : &b, (enum pp_message_way)way, rank, tag);
					WANT_ORDER(m.half, n / 2, 1);
					CHECK_INT(m.half.peer, rank);
					CHECK_INT(m.half.tag, tag);
				}
	m = one(&a, PP_MESSAGE_SEND, MPI_PROC_NULL, 0);
	CHECK_INT(m.half.flags, 0);
	m = one(NULL, PP_MESSAGE_SEND, 1, 0);
	CHECK_INT(m.half.flags, 0);
	m = one(&unknown, PP_MESSAGE_SEND, 1, 0);
	CHECK_INT(m.half.flags, PP_MESSAGE_TAGGED);
}

TEST(test_failed)
{
	struct pp_comm c = comm(10);
	struct pp_message m;

	pp_message_begin(&m, &c, PP_MESSAGE_SEND, 1, 1);
	pp_message_end(&m, &c, PP_MESSAGE_SEND, MPI_ERR_OTHER);
	CHECK(!is_certain(m.half));
	m = one(&c, PP_MESSAGE_SEND, 1, 1);
	CHECK(!is_certain(m.half));
	m = one(&c, PP_MESSAGE_SEND, 1, 2);
	CHECK(is_certain(m.half));
}

static struct pp_message_wild posted(struct pp_comm *c, int source, int tag)
{
	struct pp_message m;

	pp_message_begin(&m, c, PP_MESSAGE_RECEIVE, source, tag);
	CHECK(m.wild.is_pending);
	return m.wild;
}

static struct pp_record_message_half ended(struct pp_comm *c, struct pp_message_wild *w, int source, int tag)
{
	struct pp_record_message_half half;

	pp_message_end_wild(c, w, source, tag, &half);
	return half;
}

TEST(test_wild_alone_and_in_order)
{
	struct pp_comm c = comm(20);
	struct pp_message_wild w = posted(&c, MPI_ANY_SOURCE, 5), v;

	WANT_ORDER(ended(&c, &w, 3, 5), 0, 1);
	WANT_ORDER(one(&c, PP_MESSAGE_RECEIVE, 3, 5).half, 1, 1);
	w = posted(&c, MPI_ANY_SOURCE, 5);
	v = posted(&c, MPI_ANY_SOURCE, 5);
	WANT_ORDER(ended(&c, &w, 3, 5), 2, 1);
	WANT_ORDER(ended(&c, &v, 3, 5), 3, 1);
	/* not in order: the first one may have got the earlier message */
	w = posted(&c, MPI_ANY_SOURCE, 5);
	v = posted(&c, MPI_ANY_SOURCE, MPI_ANY_TAG);
	CHECK_INT(is_certain(ended(&c, &v, 3, 5)), 0);
	CHECK_INT(is_certain(ended(&c, &w, 3, 5)), 0);
	/* all have ended: the numbers are right again */
	WANT_ORDER(one(&c, PP_MESSAGE_RECEIVE, 3, 5).half, 6, 1);
	w = posted(&c, 3, MPI_ANY_TAG);
	WANT_ORDER(ended(&c, &w, 3, 5), 7, 1);
}

TEST(test_wild_and_others)
{
	struct pp_comm c = comm(30);
	struct pp_message_wild w = posted(&c, MPI_ANY_SOURCE, 5), v;

	/* may be what the pending one gets; those may not */
	CHECK(!is_certain(one(&c, PP_MESSAGE_RECEIVE, 3, 5).half));
	WANT_ORDER(one(&c, PP_MESSAGE_RECEIVE, 3, 6).half, 0, 1);
	WANT_ORDER(one(&c, PP_MESSAGE_SEND, 3, 5).half, 0, 1);
	CHECK(!is_certain(ended(&c, &w, 3, 5)));
	WANT_ORDER(one(&c, PP_MESSAGE_RECEIVE, 3, 5).half, 2, 1);
	/* a receive that was posted later, of another source, changes nothing */
	w = posted(&c, MPI_ANY_SOURCE, 5);
	CHECK(!is_certain(one(&c, PP_MESSAGE_RECEIVE, 4, 5).half));
	WANT_ORDER(ended(&c, &w, 3, 5), 3, 1);
	/* an earlier one that cannot get the message */
	w = posted(&c, 9, MPI_ANY_TAG);
	v = posted(&c, MPI_ANY_SOURCE, 7);
	WANT_ORDER(ended(&c, &v, 3, 7), 0, 1);
	pp_message_drop_wild(&c, &w);
	WANT_ORDER(one(&c, PP_MESSAGE_RECEIVE, 9, 1).half, 0, 1);
}

enum { THREADS = 4, TIMES = 20000 };

static struct pp_comm shared;
static _Atomic uint32_t sure;

static void *sends(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		sure += (uint32_t)is_certain(one(&shared, PP_MESSAGE_SEND, 1, 1).half);
	return unused;
}

TEST(test_threads)
{
	pthread_t t[THREADS];
	struct pp_message a, b;

	shared = comm(40);
	pp_request_shared = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, sends, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	a = one(&shared, PP_MESSAGE_SEND, 1, 1); /* none was lost */
	WANT_ORDER(a.half, THREADS * TIMES, 1);
	/* one inside the other: neither has an order */
	pp_message_begin(&a, &shared, PP_MESSAGE_SEND, 2, 2);
	b = one(&shared, PP_MESSAGE_SEND, 2, 2);
	pp_message_end(&a, &shared, PP_MESSAGE_SEND, MPI_SUCCESS);
	CHECK(!is_certain(a.half) && !is_certain(b.half));
	pp_message_begin(&a, &shared, PP_MESSAGE_RECEIVE, 2, 2);
	b.wild = posted(&shared, MPI_ANY_SOURCE, 2);
	pp_message_end(&a, &shared, PP_MESSAGE_RECEIVE, MPI_SUCCESS);
	CHECK(!is_certain(a.half));
	CHECK(!is_certain(ended(&shared, &b.wild, 2, 2)));
	pp_request_shared = 0;
}

/* Last, for it fills the table. Keys that have a slot go on; others have a tag and no number. */
TEST(test_full)
{
	struct pp_comm c = comm(50);
	unsigned counted = 0;
	enum { KEYS = 60000 };
	static unsigned char has[KEYS];

	for (int i = 0; i < KEYS; i++) {
		struct pp_message m = one(&c, PP_MESSAGE_SEND, i, 0);

		has[i] = (unsigned char)is_certain(m.half);
		counted += has[i];
		CHECK_INT(m.half.flags & PP_MESSAGE_TAGGED, PP_MESSAGE_TAGGED);
		if (has[i])
			CHECK_INT(m.half.order, 0);
	}
	CHECK(counted > 8000 && counted < 17000);
	for (int i = 0; i < KEYS; i++) {
		struct pp_message m = one(&c, PP_MESSAGE_SEND, i, 0);

		CHECK_INT(is_certain(m.half), has[i]);
		CHECK_INT(m.half.order, has[i]);
	}
	pp_message_lose_all();
	for (int i = 0; i < KEYS; i++)
		CHECK(!is_certain(one(&c, PP_MESSAGE_SEND, i, 0).half));
}

int main(void)
{
	test_keys();
	test_failed();
	test_wild_alone_and_in_order();
	test_wild_and_others();
	test_threads();
	test_full();
	return test_end();
}
