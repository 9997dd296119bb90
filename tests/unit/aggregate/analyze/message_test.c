/* Sends matched with receives: what is a pair, and why the others are none. */
#include "aggregate/analyze/message.h"

#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "tests/test.h"

enum { RANKS = 2, SPANS = 16, US = 1000 };

struct made {
	struct pp_capture c;
	struct pp_rank rank[RANKS];
	struct pp_thread thread[RANKS];
	struct pp_span span[RANKS][SPANS];
	struct pp_span_message message[RANKS][SPANS];
};

static uint16_t call_number(const char *name)
{
	for (unsigned i = 0; i < pp_mpi_call_count(); i++)
		if (!strcmp(pp_mpi_call_info(i)->name, name))
			return (uint16_t)i;
	return 0;
}

static void make(struct made *m)
{
	memset(m, 0, sizeof(*m));
	m->c.rank = m->rank;
	m->c.ranks = RANKS;
	for (int r = 0; r < RANKS; r++) {
		m->rank[r].rank = r;
		m->rank[r].thread = &m->thread[r];
		m->rank[r].threads = 1;
		m->rank[r].message = m->message[r];
		m->thread[r].span = m->span[r];
	}
}

static struct pp_record_message_half half(int peer, int tag, uint32_t order)
{
	return (struct pp_record_message_half){
	        .peer = peer, .tag = tag, .order = order, .flags = PP_MESSAGE_TAGGED | PP_MESSAGE_CERTAIN};
}

/* A call of rank r at `begin` that takes 10 us. */
static struct pp_span *add(struct made *m, int r, const char *name, int64_t begin, struct pp_record_message_half sent,
                           struct pp_record_message_half received)
{
	struct pp_span *s = &m->span[r][m->thread[r].spans++];

	m->message[r][m->rank[r].messages++] = (struct pp_span_message){.sent = sent, .received = received};
	*s = (struct pp_span){.begin = begin, .end = begin + 10 * US, .kind = PP_SPAN_MPI};
	s->mpi.comm = 77;
	s->mpi.call = call_number(name);
	s->mpi.peer = 1 - r;
	s->mpi.flags = PP_MPI_HAS_MESSAGE;
	s->mpi.sequence = (uint32_t)m->rank[r].messages;
	s->mpi.sent = sent.flags ? 100 : 0;
	s->mpi.received = received.flags ? 100 : 0;
	return s;
}

static const struct pp_record_message_half none;

static struct pp_span *sends(struct made *m, int r, int64_t begin, int tag, uint32_t order)
{
	return add(m, r, "MPI_Send", begin, half(1 - r, tag, order), none);
}

static struct pp_span *receives(struct made *m, int r, int64_t begin, int tag, uint32_t order)
{
	return add(m, r, "MPI_Recv", begin, none, half(1 - r, tag, order));
}

static struct pp_messages match(struct made *m, const int64_t *bound_ns)
{
	struct pp_messages ret;
	struct pp_err err;

	CHECK_INT(pp_messages_match(&m->c, bound_ns, &ret, &err), 0);
	CHECK_INT(2 * ret.pairs + ret.uncertain + ret.unmatched + ret.twice + 2 * ret.too_early + 2 * ret.other_size,
	          ret.sends + ret.receives);
	return ret;
}

TEST(test_pairs)
{
	static struct made m;
	struct pp_messages got;

	make(&m);
	sends(&m, 0, 0, 1, 4);
	sends(&m, 0, 20 * US, 2, 4);
	sends(&m, 0, 40 * US, 1, 5);
	receives(&m, 1, 5 * US, 1, 4);
	receives(&m, 1, 60 * US, 1, 5);
	receives(&m, 1, 80 * US, 2, 4);
	add(&m, 0, "MPI_Sendrecv", 100 * US, half(1, 3, 0), half(1, 3, 0));
	add(&m, 1, "MPI_Sendrecv", 100 * US, half(0, 3, 0), half(0, 3, 0));
	got = match(&m, NULL);
	CHECK_INT(got.pairs, 5);
	CHECK_INT(got.pair[0].to.span, 0);
	CHECK_INT(got.pair[1].to.span, 2);
	CHECK_INT(got.pair[1].tag, 2);
	CHECK_INT(got.pair[2].to.span, 1);
	CHECK_INT(got.pair[2].order, 5);
	CHECK_INT(got.pair[3].from.rank, 0);
	CHECK_INT(got.pair[3].to.rank, 1);
	CHECK_INT(got.pair[4].from.rank, 1);
	CHECK_INT(got.pair[4].to.rank, 0);
	pp_messages_release(&got);
}

TEST(test_none)
{
	static struct made m;
	struct pp_messages got;

	make(&m);
	got = match(&m, NULL);
	CHECK_INT(got.pairs + got.sends + got.receives, 0);
	sends(&m, 0, 0, 1, 0);                /* not received in what was recorded */
	receives(&m, 1, 0, 1, 1);             /* not sent */
	sends(&m, 0, 0, 2, 0)->mpi.comm = 78; /* another communicator */
	receives(&m, 1, 0, 2, 0);
	sends(&m, 0, 0, 3, 0)->mpi.flags = 0; /* no tag is known */
	receives(&m, 1, 0, 3, 0);
	sends(&m, 0, 0, 4, 0);
	m.message[0][3].sent.flags = PP_MESSAGE_TAGGED; /* its order is not certain */
	receives(&m, 1, 0, 4, 0);
	sends(&m, 0, 0, 5, 0)->flags = PP_SPAN_FAILED; /* no message */
	add(&m, 0, "MPI_Barrier", 0, half(1, 6, 0), none);
	got = match(&m, NULL);
	CHECK_INT(got.pairs, 0);
	CHECK_INT(got.sends, 4);
	CHECK_INT(got.receives, 4);
	CHECK_INT(got.uncertain, 2);
	CHECK_INT(got.unmatched, 6);
	pp_messages_release(&got);
}

TEST(test_request)
{
	static struct made m;
	struct pp_messages got;
	struct pp_span *call, *request;

	make(&m);
	sends(&m, 1, 50 * US, 1, 0);
	sends(&m, 1, 70 * US, 1, 1);
	for (uint32_t n = 0; n < 2; n++) {
		request = add(&m, 0, "MPI_Irecv", 0, none, half(1, 1, n));
		request->kind = PP_SPAN_REQUEST;
		request->end = 90 * US;
		request->mpi.request = 8 + n;
		request->flags = n ? PP_SPAN_CUT_END : 0; /* it was not seen complete */
		call = &m.span[0][m.thread[0].spans++];
		*call = *request;
		call->kind = PP_SPAN_MPI;
		call->end = 1 * US;
		call->flags = 0;
	}
	got = match(&m, NULL);
	CHECK_INT(got.receives, 2);
	CHECK_INT(got.pairs, 1);
	CHECK_INT(got.pair[0].to.span, 0);
	CHECK_INT(got.uncertain, 1);
	CHECK_INT(got.unmatched, 1);
	pp_messages_release(&got);
}

TEST(test_impossible)
{
	static const int64_t bound[RANKS] = {3 * US, 3 * US};
	static struct made m;
	struct pp_messages got;

	make(&m);
	sends(&m, 0, 15 * US, 1, 0); /* 5 us after its receive ended */
	receives(&m, 1, 0, 1, 0);
	sends(&m, 0, 30 * US, 2, 0)->mpi.sent = 99;
	receives(&m, 1, 30 * US, 2, 0);
	sends(&m, 0, 60 * US, 3, 0);
	sends(&m, 0, 80 * US, 3, 0);
	receives(&m, 1, 90 * US, 3, 0);
	got = match(&m, NULL);
	CHECK_INT(got.pairs, 0);
	CHECK_INT(got.too_early, 1);
	CHECK_INT(got.other_size, 1);
	CHECK_INT(got.twice, 3);
	pp_messages_release(&got);
	got = match(&m, bound); /* the clocks may be wrong by more */
	CHECK_INT(got.pairs, 1);
	CHECK_INT(got.too_early, 0);
	pp_messages_release(&got);
}

int main(void)
{
	test_pairs();
	test_none();
	test_request();
	test_impossible();
	return test_end();
}
