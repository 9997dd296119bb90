/* Calls of torch.distributed that have records of their own: the ends of their operations, messages, and what is no call. */
#include "aggregate/analyze/message.h"
#include "tests/unit/aggregate/read/torch/c10d_kit.h"

enum { WORK = 0x4560, OTHER = 0x4570 };

static struct pp_span *add_call(struct pp_capture *c, size_t r, const char *name, uint32_t work, int64_t begin, int64_t end)
{
	struct pp_span *s = add_span(c, r, 0, PP_SPAN_MPI, name, begin, end);

	s->source = PP_SOURCE_SHIM;
	s->mpi.call = (uint16_t)pp_c10d_call_of(name, strlen(name));
	s->mpi.comm = GROUP_A;
	s->mpi.request = work;
	s->mpi.sent = s->mpi.received = 100;
	return s;
}

static void add_done(struct pp_capture *c, size_t r, uint32_t work, int64_t time)
{
	struct pp_annotation row = {.time = time, .correlation = work, .root = -1, .call = PP_C10D_FIRST};

	CHECK_INT(pp_side_append(&c->rank[r], PP_SIDE_ID_annotation, &row, 1), 0);
}

static void add_half(struct pp_capture *c, size_t r, struct pp_span *s, int receives, int32_t peer, uint32_t order)
{
	struct pp_span_message row = {.sent = {.peer = -1}, .received = {.peer = -1}};
	struct pp_record_message_half *half = receives ? &row.received : &row.sent;

	*half = (struct pp_record_message_half){
	        .peer = peer, .tag = 5, .order = order, .flags = PP_MESSAGE_TAGGED | PP_MESSAGE_CERTAIN};
	CHECK_INT(pp_side_append(&c->rank[r], PP_SIDE_ID_message, &row, 1), 0);
	s->mpi.sequence = (uint32_t)c->rank[r].messages;
	s->mpi.flags |= PP_MPI_HAS_MESSAGE;
}

/* An end belongs to the latest call before it that got the same address; reports of several threads come in any order. */
TEST(address_is_used_again)
{
	struct pp_capture c = make_capture(1);
	const struct pp_span *one, *two;

	add_call(&c, 0, "c10d::allreduce_", WORK, 100, 110);
	add_call(&c, 0, "c10d::allreduce_", OTHER, 120, 130);
	add_call(&c, 0, "c10d::allreduce_", WORK, 300, 310);
	add_call(&c, 0, "c10d::allreduce_", WORK, 500, 510);
	add_done(&c, 0, WORK, 400);
	add_done(&c, 0, OTHER, 350);
	add_done(&c, 0, WORK, 200);
	add_done(&c, 0, WORK, 90); /* of a call before the window */
	convert(&c);
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 0), 100, 200));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 1), 120, 350));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 2), 300, 400));
	one = nth(&c, 0, 0, PP_SPAN_REQUEST, 2);
	two = nth(&c, 0, 0, PP_SPAN_REQUEST, 3);
	CHECK(two && two->flags & PP_SPAN_CUT_END);
	CHECK(one && two && one->mpi.request && two->mpi.request && one->mpi.request != two->mpi.request);
	CHECK_INT(c.rank[0].c10d.calls, 4);
	CHECK_INT(c.rank[0].c10d.unannotated, 0);
	free_capture(&c);
}

/* Ranges of the same calls are only shown, also those of gloo's threads; a call of NCCL inside is the operation itself. */
TEST(counts_once)
{
	struct pp_capture c = make_capture(1);
	struct pp_span *nccl;

	add_itt(&c, 0, 0, "c10d::allreduce_", 95, 115);
	add_call(&c, 0, "c10d::allreduce_", WORK, 100, 110);
	add_itt(&c, 0, 1, "gloo:all_reduce", 120, 140);
	add_done(&c, 0, WORK, 145);
	add_call(&c, 0, "c10d::wait", WORK, 120, 146);
	add_call(&c, 0, "c10d::broadcast_", OTHER, 200, 230);
	nccl = add_span(&c, 0, 0, PP_SPAN_MPI, "ncclBroadcast", 205, 215);
	nccl->mpi.call = (uint16_t)pp_nccl_call_of("Broadcast");
	convert(&c);
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_REQUEST, 0), 100, 145));
	CHECK(!nth(&c, 0, 0, PP_SPAN_REQUEST, 1));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_MPI, 0), 100, 110));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_MPI, 1), 120, 146));
	CHECK(is_span(nth(&c, 0, 0, PP_SPAN_MPI, 2), 205, 215));
	CHECK(!nth(&c, 0, 0, PP_SPAN_MPI, 3));
	CHECK_INT(c.rank[0].c10d.calls, 1);
	free_capture(&c);
}

/* A send and its receive, of which the request has the message's end. */
TEST(messages)
{
	struct pp_capture c = make_capture(2);
	struct pp_messages m;
	struct pp_err err = {""};

	add_half(&c, 0, add_call(&c, 0, "c10d::send", WORK, 300, 310), 0, 1, 7);
	add_done(&c, 0, WORK, 330);
	add_half(&c, 1, add_call(&c, 1, "c10d::recv_", WORK, 100, 110), 1, 0, 7);
	add_call(&c, 1, "c10d::wait", WORK, 120, 340);
	add_done(&c, 1, WORK, 340);
	convert(&c);
	CHECK(is_span(nth(&c, 1, 0, PP_SPAN_REQUEST, 0), 100, 340));
	CHECK_INT(pp_messages_match(&c, NULL, &m, &err), 0);
	CHECK_INT(m.pairs, 1);
	CHECK(m.pairs == 1 && m.pair[0].from.rank == 0 && m.pair[0].to.rank == 1 && m.pair[0].tag == 5 && m.pair[0].order == 7);
	pp_messages_release(&m);
	free_capture(&c);
}

int main(void)
{
	address_is_used_again();
	counts_once();
	messages();
	return test_end();
}
