/* Why a job hangs: waits followed across communicators and messages, circles, mismatches; lists with any content. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/hang.h"
#include "aggregate/keeper/hang_nccl.h"
#include "aggregate/spool/place.h"
#include "aggregate/spool/still.h"
#include "core/base/comm_id.h"
#include "core/call/mpi_call.h"
#include "tests/test.h"

#define SECOND INT64_C(1000000000)
enum { MOST = 64 };

static struct pp_live_rank list[MOST];
static int32_t ranks;

static uint64_t world(void)
{
	return pp_comm_id_named(PP_COMM_NAME_WORLD, 0, ranks);
}

/* All are in the application, and do not move. */
static void begin(int32_t size)
{
	ranks = size;
	memset(list, 0, sizeof(list));
	for (int32_t i = 0; i < size; i++)
		list[i] = (struct pp_live_rank){.rank = i,
		                                .size = size,
		                                .pid = 100 + i,
		                                .host = "h",
		                                .peer = -1,
		                                .other = {-1, -1, -1, -1},
		                                .end = -1,
		                                .place_ns = 5 * SECOND};
}

static void in(int32_t rank, const char *call, uint64_t comm, uint32_t sequence, int32_t peer)
{
	struct pp_live_rank *r = &list[rank];

	snprintf(r->call, sizeof(r->call), "%s", call);
	snprintf(r->last, sizeof(r->last), "%s", call);
	r->comm = comm;
	r->sequence = sequence;
	r->peer = peer;
}

static void done(int32_t rank, const char *last, uint64_t comm, uint32_t sequence)
{
	in(rank, last, comm, sequence, -1);
	list[rank].call[0] = '\0';
}

static struct pp_hang find(void)
{
	struct pp_hang h = {.ranks = 0};

	CHECK_INT(pp_hang_find(list, ranks, 2 * SECOND, &h), 0);
	return h;
}

static const struct pp_hang_op *op_of(const struct pp_hang *h, uint64_t comm, uint32_t sequence)
{
	for (long i = 0; i < h->ops; i++)
		if (h->op[i].comm == comm && h->op[i].sequence == sequence && h->op[i].ins)
			return &h->op[i];
	return NULL;
}

TEST(missing_in_collective)
{
	struct pp_hang h;
	const struct pp_hang_op *op;

	begin(4);
	for (int32_t i = 0; i < 3; i++)
		in(i, "MPI_Allreduce", world(), 7, -1);
	done(3, "MPI_Allreduce", world(), 6);
	h = find();
	op = op_of(&h, world(), 7);
	CHECK(op && op->ins == 3 && op->missings == 1 && op->missing[0] == 3 && op->size == 4 && op->is_stuck);
	CHECK_INT(h.stuck, 3);
	CHECK_INT(h.causes, 1);
	CHECK(h.rank[3].is_cause && !h.circle && !h.is_unsure);
	pp_hang_release(&h);
	list[3].place_ns = SECOND; /* it moves: slow, not hung */
	h = find();
	CHECK_INT(h.stuck, 0);
	CHECK_INT(h.paused, 3);
	CHECK_INT(h.causes, 0);
	pp_hang_release(&h);
	for (int32_t i = 0; i < 4; i++)
		list[i].place_ns = SECOND;
	h = find();
	CHECK(!h.stuck && !h.paused && !h.causes);
	pp_hang_release(&h);
}

/* 5 receives from 4, 4 is in its half, where 3 is missing, which sends to 0, which has ended. */
TEST(followed)
{
	struct pp_hang h;

	begin(6);
	in(5, "MPI_Recv", world(), 3, 4);
	in(4, "MPI_Barrier", 77, 1, -1);
	snprintf(list[4].members, sizeof(list[4].members), "3:2:1,");
	in(3, "MPI_Send", world(), 3, 0);
	in(1, "MPI_Barrier", world(), 3, -1);
	in(2, "MPI_Barrier", world(), 3, -1);
	list[0].state = PP_LIVE_GONE;
	list[0].end = 9;
	h = find();
	CHECK_INT(h.stuck, 5);
	CHECK_INT(h.causes, 1);
	CHECK(h.rank[0].is_cause && h.rank[0].at == PP_HANG_ENDED);
	pp_hang_release(&h);
}

TEST(circles)
{
	struct pp_hang h;

	begin(5);
	in(0, "MPI_Recv", world(), 3, 1);
	in(1, "MPI_Recv", world(), 3, 2);
	in(2, "MPI_Ssend", world(), 3, 0);
	in(3, "MPI_Barrier", world(), 3, -1);
	h = find(); /* 4 loops, which is a cause of its own */
	CHECK_INT(h.circle, 3);
	CHECK(h.rank[0].in_circle && h.rank[1].in_circle && h.rank[2].in_circle && !h.rank[3].in_circle);
	CHECK(h.rank[4].is_cause && h.causes == 4);
	pp_hang_release(&h);
	in(1, "MPI_Recv", world(), 3, 1); /* from itself: a circle of one */
	h = find();
	CHECK_INT(h.stuck, 4);
	CHECK_INT(h.circle, 1);
	CHECK(h.rank[1].in_circle);
	pp_hang_release(&h);
}

/* One call began all that is waited for: messages of a rank, of several ranks, and data of a file. */
TEST(waits_of_one_call)
{
	static const char *const message[] = {"MPI_Irecv", "MPI_Recv_init", "MPI_Isend", "MPI_Rget"};
	struct pp_hang h;

	for (size_t i = 0; i < sizeof(message) / sizeof(message[0]); i++)
		for (int several = 0; several < 2; several++) {
			begin(3);
			in(0, several ? "MPI_Waitall" : "MPI_Wait", world(), 3, several ? -1 : 1);
			snprintf(list[0].waits, sizeof(list[0].waits), "%s", message[i]);
			list[0].other[0] = 1;
			list[0].other[1] = several ? 2 : -1;
			list[2].place_ns = 0;
			h = find();
			CHECK_INT(h.rank[0].targets, 1 + several);
			CHECK(h.rank[0].is_stuck && h.rank[1].is_cause && !h.rank[0].is_cause && !h.is_unsure);
			pp_hang_release(&h);
		}
	begin(2);
	in(0, "MPI_Wait", world(), 3, -1);
	snprintf(list[0].waits, sizeof(list[0].waits), "MPI_File_iread");
	in(1, "MPI_Barrier", world(), 3, -1);
	h = find();
	CHECK(!h.rank[0].is_stuck && h.rank[0].is_cause && h.stuck == 1);
	pp_hang_release(&h);
}

/* A lock is not held by the rank whose window it is. */
TEST(locks)
{
	struct pp_hang h;

	begin(3);
	in(0, "MPI_Win_lock", 9, 0, 0);
	in(2, "MPI_Win_lock", 9, 0, 0);
	h = find();
	CHECK(h.is_unsure && h.stuck == 2 && h.causes == 1 && h.rank[1].is_cause && !h.circle);
	pp_hang_release(&h);
}

/* A rank in MPI_Finalize, and waits of which one of several ends would do. */
TEST(finalize_and_some)
{
	struct pp_hang h;

	begin(3);
	in(0, "MPI_Finalize", 0, 0, -1);
	in(1, "MPI_Reduce", world(), 9, 2);
	in(2, "MPI_Reduce", world(), 9, 2);
	h = find();
	CHECK_INT(h.circle, 3);
	pp_hang_release(&h);
	begin(3);
	in(0, "MPI_Waitall", world(), 9, -1);
	list[0].other[0] = 1;
	list[0].other[1] = 2;
	in(1, "MPI_Recv", world(), 9, 0);
	done(2, "MPI_Send", world(), 9);
	h = find(); /* perhaps for 1 alone, so 2 may be innocent; both are shown */
	CHECK(h.rank[0].targets == 2 && !h.rank[0].is_sure && h.rank[2].is_cause && !h.rank[0].in_circle);
	pp_hang_release(&h);
	in(2, "MPI_Recv", world(), 9, 0);
	h = find();
	CHECK_INT(h.circle, 3);
	pp_hang_release(&h);
}

TEST(mismatches)
{
	struct pp_hang h;

	begin(4);
	for (int32_t i = 0; i < 4; i++)
		in(i, i == 2 ? "MPI_Barrier" : "MPI_Bcast", world(), 7, 0);
	h = find();
	CHECK_INT(op_of(&h, world(), 7)->mismatch, PP_HANG_CALLS_DIFFER);
	CHECK_INT(h.stuck, 4);
	pp_hang_release(&h);
	in(2, "MPI_Bcast", world(), 7, 1);
	h = find();
	CHECK_INT(op_of(&h, world(), 7)->mismatch, PP_HANG_ROOTS_DIFFER);
	pp_hang_release(&h);
	in(2, "MPI_Wait", world(), 8, 0); /* for the same, nonblocking */
	snprintf(list[2].waits, sizeof(list[2].waits), "MPI_Ibcast");
	list[2].waits_sequence = 7;
	h = find();
	CHECK_INT(op_of(&h, world(), 7)->ins, 4);
	CHECK_INT(op_of(&h, world(), 7)->mismatch, PP_HANG_CALLS_DIFFER);
	pp_hang_release(&h);
}

TEST(ended_and_absent)
{
	struct pp_hang h;

	begin(4);
	in(0, "MPI_Allreduce", world(), 7, -1);
	list[1] = list[0]; /* rank 0 twice; 1 and 3 never came */
	list[1].state = PP_LIVE_GONE;
	in(2, "MPI_Allreduce", world(), 7, -1);
	list[2].process = 'T';
	list[3].rank = 99; /* not of this job: it is larger, then */
	list[3].size = -5;
	h = find();
	CHECK_INT(h.ranks, 100);
	pp_hang_release(&h);
	list[3].rank = -1;
	h = find();
	CHECK_INT(h.ranks, 4);
	CHECK(h.rank[1].at == PP_HANG_ABSENT && h.rank[3].at == PP_HANG_ABSENT && h.rank[1].is_cause && h.rank[3].is_cause);
	CHECK(h.rank[0].at == PP_HANG_WAITS && h.rank[2].at == PP_HANG_STOPPED && h.rank[2].is_cause);
	pp_hang_release(&h);
}

/* One that is behind, and one that is past: only who has not begun is missing. */
TEST(past)
{
	struct pp_hang h;
	const struct pp_hang_op *op;

	begin(4);
	in(0, "MPI_Bcast", world(), 7, 3);
	done(1, "MPI_Bcast", world(), 7);
	in(2, "MPI_Send", world(), 7, 0); /* has begun 7 of them: the one with number 7 is its next */
	done(3, "MPI_Bcast", world(), 7);
	h = find();
	op = op_of(&h, world(), 7);
	CHECK(op->missings == 1 && op->missing[0] == 2 && op->is_known);
	pp_hang_release(&h);
}

TEST(blind)
{
	struct pp_hang h;

	begin(3);
	in(0, "MPI_Wait", 0, 0, -1);
	in(1, "MPI_Wait", 0, 0, -1);
	h = find();
	CHECK(h.is_unsure && h.stuck == 2 && h.rank[2].is_cause && !h.rank[0].is_cause);
	pp_hang_release(&h);
	in(2, "MPI_Wait", 0, 0, -1);
	h = find();
	CHECK(h.is_unsure && h.stuck == 3 && h.causes == 3);
	pp_hang_release(&h);
}

/* Its group and number are not known: who is in none may be the cause, unless it moves. */
TEST(torch_distributed)
{
	struct pp_hang h;

	begin(4);
	for (int32_t i = 0; i < 3; i++)
		in(i, "c10d::allreduce_", 0, 0, -1);
	list[3].last[0] = '\0';
	h = find();
	CHECK(h.stuck == 3 && h.causes == 1 && h.rank[3].is_cause && h.is_unsure && h.in_c10d && !h.circle);
	CHECK(h.ops == 1 && h.op[0].kind == PP_HANG_C10D && h.op[0].ins == 3 && h.op[0].missings == 1 && h.op[0].missing[0] == 3 &&
	      h.op[0].size == 0);
	pp_hang_release(&h);
	list[3].place_ns = SECOND; /* it works */
	h = find();
	CHECK(h.stuck == 0 && h.paused == 3 && h.causes == 0 && !h.is_unsure && !h.in_c10d);
	pp_hang_release(&h);
	in(3, "c10d::allreduce_", 0, 0, -1);
	list[3].place_ns = 5 * SECOND;
	h = find();
	CHECK(h.stuck == 4 && h.causes == 0 && h.op[0].missings == 0 && h.in_c10d);
	pp_hang_release(&h);
	in(3, "c10d::broadcast_", 0, 0, -1);
	h = find();
	CHECK(h.stuck == 4 && h.circle == 4 && h.in_c10d && h.ops == 2);
	pp_hang_release(&h);
	in(3, "c10d::wait", 0, 0, -1);
	h = find();
	CHECK(h.stuck == 4 && h.rank[3].is_blind && h.in_c10d);
	pp_hang_release(&h);
}

/* ---- NCCL ---- */

/* The rank has called so many collectives on a communicator; the last one as given. */
static void called(int32_t rank, uint64_t comm, uint64_t begun, const char *call, int root, unsigned bytes)
{
	struct pp_live_rank *r = &list[rank];
	size_t n = strlen(r->nccl);

	snprintf(r->nccl + n, sizeof(r->nccl) - n, "%llx:%d:%d:%llx:%llx:%x:%d:%llx:0:%s:-,", (unsigned long long)comm, rank, ranks,
	         (unsigned long long)begun, (unsigned long long)begun, bytes, root, (unsigned long long)(n + 1), call);
}

/* Of different numbers of calls, the first operation that is missing somewhere counts; ranks that moved on have enqueued it too. */
TEST(nccl_missing)
{
	struct pp_hang h;
	const struct pp_hang_op *op;

	begin(4);
	for (int32_t i = 0; i < 4; i++)
		called(i, 77, i == 1 ? 7 : i == 2 ? 9 : 8, "ncclAllReduce", 0, 400);
	h = find();
	op = op_of(&h, 77, 7);
	CHECK(op && op->kind == PP_HANG_NCCL && op->ins == 3 && op->missings == 1 && op->missing[0] == 1 && op->is_known &&
	      op->is_stuck);
	CHECK(op && op->size == 4 && !op->mismatch && pp_hang_nccl_call(&h, op) &&
	      !strcmp(pp_hang_nccl_call(&h, op)->call, "ncclAllReduce"));
	CHECK(h.stuck == 3 && h.causes == 1 && h.rank[1].is_cause && !h.is_unsure && !h.circle);
	pp_hang_release(&h);
	list[1].place_ns = SECOND; /* it moves */
	h = find();
	CHECK(h.stuck == 0 && h.paused == 3 && h.causes == 0);
	pp_hang_release(&h);
	list[1].place_ns = 5 * SECOND;
	in(1, "MPI_Recv", world(), 3, 0); /* it waits itself, for one that waits for it */
	h = find();
	CHECK(h.stuck == 4 && h.circle == 2 && h.rank[0].in_circle && h.rank[1].in_circle);
	pp_hang_release(&h);
	list[1].state = PP_LIVE_GONE;
	h = find();
	CHECK(h.stuck == 3 && h.causes == 1 && h.rank[1].at == PP_HANG_ENDED);
	pp_hang_release(&h);
}

/* Equal numbers: not known, unless the calls cannot match. */
TEST(nccl_equal)
{
	struct pp_hang h;

	for (int how = 0; how < 5; how++) {
		static const enum pp_hang_mismatch wanted[] = {PP_HANG_SAME, PP_HANG_CALLS_DIFFER, PP_HANG_ROOTS_DIFFER,
		                                               PP_HANG_SIZES_DIFFER, PP_HANG_SAME};
		const char *call = how == 1 || how == 2 ? "ncclBroadcast" : how == 4 ? "ncclAllGatherV" : "ncclAllReduce";

		begin(3);
		called(0, 77, 5, how == 1 ? "ncclAllReduce" : call, 0, 400);
		called(1, 77, 5, call, how == 2, how >= 3 ? 800 : 400);
		called(2, 77, 5, how == 1 ? "ncclAllReduce" : call, 0, 400);
		h = find();
		if (wanted[how]) {
			CHECK(op_of(&h, 77, 4) && op_of(&h, 77, 4)->mismatch == wanted[how] && op_of(&h, 77, 4)->ins == 3);
			CHECK(h.stuck == 3 && !h.is_unsure);
		} else {
			CHECK(h.stuck == 0 && pp_hang_is_unseen(&h) && h.lines == 3);
		}
		pp_hang_release(&h);
	}
}

/* Of several communicators: circles, the operation that was called first, members without a line, two devices of one process. */
TEST(nccl_several)
{
	struct pp_hang h;

	begin(4);
	for (int32_t i = 0; i < 4; i++) {
		called(i, 77, i % 2 ? 5 : 6, "ncclAllReduce", 0, 400);
		called(i, 88, i % 2 ? 6 : 5, "ncclAllReduce", 0, 400);
	}
	h = find();
	CHECK(h.stuck == 4 && h.circle == 4);
	pp_hang_release(&h);
	begin(3);
	called(0, 77, 6, "ncclAllReduce", 0, 400); /* called before the other */
	called(0, 88, 6, "ncclAllReduce", 0, 400);
	called(1, 77, 5, "ncclAllReduce", 0, 400);
	called(2, 77, 6, "ncclAllReduce", 0, 400);
	called(1, 88, 6, "ncclAllReduce", 0, 400);
	called(2, 88, 5, "ncclAllReduce", 0, 400);
	h = find();
	CHECK(h.rank[0].op >= 0 && h.op[h.rank[0].op].comm == 77 && h.stuck == 3);
	pp_hang_release(&h);
	begin(3); /* 2 has no line: it may be the cause too */
	called(0, 77, 6, "ncclAllReduce", 0, 400);
	called(1, 77, 5, "ncclAllReduce", 0, 400);
	h = find();
	CHECK(h.stuck == 1 && h.is_unsure && h.rank[1].is_cause && h.rank[2].is_cause && !op_of(&h, 77, 5)->is_known);
	pp_hang_release(&h);
	begin(2);
	called(0, 77, 6, "ncclAllReduce", 0, 400);
	called(0, 77, 5, "ncclAllReduce", 0, 400); /* by another of its threads */
	h = find();
	CHECK(h.stuck == 1 && h.circle == 1);
	pp_hang_release(&h);
}

/* A barrier of torch.distributed by NCCL: the communicator says more than the name of the call. */
TEST(nccl_under_torch)
{
	struct pp_hang h;

	begin(3);
	for (int32_t i = 0; i < 3; i++) {
		if (i != 2)
			in(i, "c10d::barrier", 0, 0, -1);
		called(i, 77, i == 2 ? 4 : 5, "ncclAllReduce", 0, 4);
	}
	list[2].last[0] = '\0';
	h = find();
	CHECK(h.stuck == 2 && h.causes == 1 && h.rank[2].is_cause && !h.in_c10d && !h.is_unsure && op_of(&h, 77, 4));
	pp_hang_release(&h);
}

/* Entries of a header, there and back; the last call of all. */
TEST(nccl_entries)
{
	struct pp_ring_header *h = calloc(1, PP_RING_HEADER_BYTES);
	struct pp_live_rank back = {.rank = 0};
	char line[PP_LIVE_LINE], text[160], *second;
	struct pp_live_nccl n;
	uint32_t entries = 0;
	const char *at;

	if (!h)
		return;
	pp_ring_set_comms(h, PP_RING_COMMS);
	for (unsigned i = 0; i < 3; i++) {
		struct pp_ring_comm *row = &h->comm[2 * i];

		*row = (struct pp_ring_comm){.id = 70 + i, .size = 8, .flags = i == 1 ? 0 : PP_RING_COMM_NCCL};
		row->nccl = (struct pp_ring_nccl){
		        .begun = 13, .ended = 13 - i / 2, .rank = 5, .root = -1, .turn = 100 + i, .bytes = 1 << 30};
		row->nccl.call = (uint16_t)(pp_nccl_call_of("ReduceScatter") + 1);
		snprintf(row->name, sizeof(row->name), "%s", i ? "a:b,c \n d" : "");
	}
	begin(1);
	pp_live_nccl_put(h, list[0].nccl, sizeof(list[0].nccl));
	at = pp_live_nccl_next(list[0].nccl, &n);
	CHECK(at && n.comm == 70 && n.begun == 13 && n.ended == 13 && n.rank == 5 && n.size == 8 && n.root == -1 &&
	      n.bytes == 1 << 30);
	CHECK(at && !n.name[0] && !strcmp(n.call, "ncclReduceScatter"));
	CHECK_STR(pp_live_nccl_name(&n, text, sizeof(text)), "communicator 0000000000000046");
	at = at ? pp_live_nccl_next(at, &n) : NULL;
	CHECK(at && n.comm == 72 && !strcmp(n.name, "a_b_c ? d") && !pp_live_nccl_next(at, &n));
	CHECK_INT(pp_live_nccl_more(list[0].nccl), 0);
	CHECK_STR(pp_live_nccl_text(list[0].nccl, text, sizeof(text)), "last called ncclReduceScatter number 12 of a_b_c ? d");
	CHECK(pp_live_put(&list[0], line, sizeof(line)) < (int)sizeof(line));
	second = strchr(line, '\n');
	CHECK(second && !pp_live_get_nccl(second + 1, &back) && !strncmp(back.nccl, list[0].nccl, strlen(list[0].nccl)));
	CHECK_INT(pp_live_get_nccl("rank 1", &back), -EINVAL);
	for (unsigned i = 0; i < PP_RING_COMMS; i++) /* whole entries, as many as fit */
		h->comm[i] = h->comm[4];
	pp_live_nccl_put(h, list[0].nccl, sizeof(list[0].nccl));
	h->comms_lost = 7;
	pp_live_nccl_put(h, list[0].nccl, sizeof(list[0].nccl));
	for (at = list[0].nccl; (at = pp_live_nccl_next(at, &n));)
		entries++;
	CHECK(entries > 20 && pp_live_nccl_more(list[0].nccl) == PP_RING_COMMS - entries + 7);
	CHECK(pp_place_where(h).calls == (uint32_t)PP_RING_COMMS * 25);
	free(h);
}

/* Ranks that stand still in no MPI call, whether or not they made one before: nothing is known of them. */
TEST(unseen)
{
	struct pp_hang h;

	begin(2);
	h = find();
	CHECK(h.stuck == 0 && pp_hang_is_unseen(&h));
	pp_hang_release(&h);
	list[1].place_ns = 0;
	h = find();
	CHECK(!pp_hang_is_unseen(&h));
	pp_hang_release(&h);
	begin(2);
	done(0, "MPI_Allreduce", world(), 3);
	h = find();
	CHECK(h.stuck == 0 && pp_hang_is_unseen(&h));
	pp_hang_release(&h);
	in(1, "MPI_Allreduce", world(), 4, -1);
	h = find();
	CHECK(h.stuck > 0 && !pp_hang_is_unseen(&h));
	pp_hang_release(&h);
}

/* A call of torch.distributed by any thread is the rank's place while it is in no MPI call. */
TEST(places)
{
	struct pp_ring_header *h = calloc(1, PP_RING_HEADER_BYTES);
	unsigned wait = pp_c10d_call_of("c10d::wait", 10), reduce = pp_c10d_call_of("c10d::allreduce_", 16);
	struct pp_where w;
	char text[160];

	if (!h)
		return;
	for (int i = 0; i < 2; i++)
		pp_slot_set_state(&h->thread[i], PP_THREAD_LIVE);
	pp_ring_set_thread_used(h, 2);
	h->thread[0].is_main = 1;
	h->thread[0].where =
	        (struct pp_where){.comm = 9, .sequence = 4, .peer = -1, .last = 1, .calls = 7, .c10d = (uint16_t)(wait + 1)};
	h->thread[1].where = (struct pp_where){.peer = -1, .c10d = (uint16_t)(reduce + 1), .c10d_calls = 3};
	w = pp_place_where(h);
	CHECK(w.call == reduce + 1 && w.comm == 0 && w.peer == -1 && w.last == 1 && w.calls == 10);
	pp_place_text(h, text, sizeof(text));
	CHECK_STR(text, "in c10d::allreduce_");
	h->thread[1].where.c10d = 0;
	CHECK_INT(pp_place_where(h).call, wait + 1);
	h->thread[0].where.c10d = UINT16_MAX; /* of no call */
	w = pp_place_where(h);
	CHECK(w.call == 0 && w.comm == 9 && w.sequence == 4);
	h->thread[1].where.c10d = (uint16_t)(reduce + 1);
	h->thread[0].where.call = 1;
	CHECK_INT(pp_place_where(h).call, 1);
	free(h);
}

static uint64_t seed = 88172645463325252u;

static uint32_t dice(uint32_t sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % sides;
}

/* Whatever keepers send: no list is read beyond its end, and the numbers agree. */
TEST(anything)
{
	static const char *const call[] = {"",          "MPI_Allreduce", "MPI_Recv",     "MPI_Send",        "MPI_Waitall",
	                                   "MPI_Bcast", "MPI_Gather",    "MPI_Finalize", "MPI_Iprobe",      "MPI_Win_fence",
	                                   "nonsense",  "MPI_Sendrecv",  "c10d::wait",   "c10d::allreduce_"};
	static const char *const members[] = {"",    "0:4:1,", "3:9:-1,", "0:2000000000:2000000000,", "-1:3:0,2:1:0,", "x",
	                                      "0:1", "0:0:0,", "5:-1:1,"};

	for (int round = 0; round < 3000; round++) {
		struct pp_hang h;
		long count = 1 + dice(MOST);
		int32_t stuck = 0, causes = 0;

		begin((int32_t)count);
		for (long i = 0; i < count; i++) {
			in((int32_t)i, call[dice(14)], dice(3) ? world() : dice(4), dice(3), (int32_t)dice(80) - 5);
			snprintf(list[i].waits, sizeof(list[i].waits), "%s", call[dice(14)]);
			snprintf(list[i].members, sizeof(list[i].members), "%s", members[dice(9)]);
			list[i].waits_sequence = dice(3);
			list[i].rank = dice(20) ? (int32_t)i : (int32_t)dice(1 << 30) - (1 << 29);
			list[i].size = dice(20) ? (int32_t)count : (int32_t)dice(400) - 200;
			list[i].place_ns = (int64_t)dice(5) * SECOND;
			list[i].state = (enum pp_live_state)(dice(8) ? 0 : dice(3));
			list[i].process = dice(9) ? 'S' : 'T';
			list[i].comm_flags = (int)dice(8);
			for (uint32_t k = dice(4); k > 0; k--)
				called((int32_t)i, dice(3) + 1, dice(4), dice(3) ? "ncclAllReduce" : "ncclBroadcast", (int)dice(3),
				       dice(2));
			for (int k = 0; k < PP_WHERE_PEERS; k++)
				list[i].other[k] = (int32_t)dice(90) - 10;
		}
		if (pp_hang_find(list, count, 2 * SECOND, &h))
			continue;
		for (int32_t i = 0; i < h.ranks; i++) {
			stuck += h.rank[i].is_stuck && !h.rank[i].is_paused;
			causes += h.rank[i].is_cause;
		}
		CHECK(stuck == h.stuck && causes == h.causes && h.circle <= h.causes);
		for (long i = 0; i < h.ops; i++)
			for (int32_t k = 0; k < h.op[i].missings; k++)
				CHECK(h.op[i].missing[k] >= 0 && h.op[i].missing[k] < h.ranks &&
				      (!k || h.op[i].missing[k - 1] <= h.op[i].missing[k]));
		pp_hang_release(&h);
	}
}

/* The line between keepers and clients keeps all of it. */
TEST(lines)
{
	char line[PP_LIVE_LINE];
	struct pp_live_rank back;

	begin(1);
	in(0, "MPI_Allreduce", 77, 3, -2);
	snprintf(list[0].comm_name, sizeof(list[0].comm_name), "upper half");
	snprintf(list[0].members, sizeof(list[0].members), "2:2:1,");
	list[0].process = 'S';
	list[0].comm_size = 2;
	CHECK(pp_live_put(&list[0], line, sizeof(line)) < (int)sizeof(line));
	CHECK_INT(pp_live_get(line, &back), 0);
	CHECK(!strcmp(back.comm_name, "upper half") && !strcmp(back.members, "2:2:1,") && back.process == 'S' &&
	      back.comm_size == 2);
	CHECK(!strcmp(back.last, "MPI_Allreduce") && !back.waits[0] && back.place_ns == 5 * SECOND && back.end == -1 &&
	      back.peer == -2);
}

/* A header with any bytes, as a torn or foreign file has them: nothing outside it is read, and texts end. */
TEST(any_header)
{
	struct pp_ring_header *h = malloc(PP_RING_HEADER_BYTES);
	uint8_t *bytes = (uint8_t *)h;
	char text[160];

	for (int round = 0; h && round < 300; round++) {
		struct pp_still still = {.since_ms = 0};
		struct pp_live_rank r = {.rank = 0};
		struct pp_ring_comm row;

		for (size_t i = 0; i < PP_RING_HEADER_BYTES; i++)
			bytes[i] = (uint8_t)(dice(4) ? dice(256) : dice(4));
		h->size = (int32_t)dice(2000) - 10; /* the id of a larger world takes long to make */
		pp_place_text(h, text, sizeof(text));
		CHECK(strlen(text) < sizeof(text));
		for (uint32_t i = 0; i < 8; i++)
			h->comm[dice(PP_RING_COMMS)].flags = PP_RING_COMM_NCCL;
		pp_live_nccl_put(h, r.nccl, sizeof(r.nccl));
		CHECK(strlen(r.nccl) < sizeof(r.nccl));
		pp_still_check(&still, h, 5);
		CHECK(still.since_ms == 5 && still.where.peers <= PP_WHERE_PEERS);
		pp_live_place(&r, &still, 10);
		if (pp_place_comm(h, atomic_load(&h->comm[dice(PP_RING_COMMS)].id), &row))
			pp_live_comm(&r, &row);
		CHECK(strlen(r.comm_name) < sizeof(r.comm_name) && strlen(r.members) < sizeof(r.members));
	}
	free(h);
}

/* All members are in it, and yet another group, or a program that connects, may be what they wait for. */
TEST(beyond)
{
	static const char *const call[] = {"MPI_Barrier", "MPI_Comm_accept", "MPI_Comm_spawn_multiple", "MPI_Intercomm_create"};

	for (int i = 0; i < 4; i++) {
		struct pp_hang h;

		begin(4);
		for (int32_t r = 0; r < 4; r++)
			in(r, call[i], world(), 7, -1);
		h = find();
		CHECK_INT(h.stuck, 4);
		CHECK_INT(h.is_unsure, i > 0);
		CHECK_INT(h.causes, 0);
		pp_hang_release(&h);
	}
}

int main(void)
{
	missing_in_collective();
	followed();
	circles();
	waits_of_one_call();
	locks();
	finalize_and_some();
	mismatches();
	ended_and_absent();
	past();
	beyond();
	blind();
	torch_distributed();
	nccl_missing();
	nccl_equal();
	nccl_several();
	nccl_under_torch();
	nccl_entries();
	unseen();
	places();
	lines();
	anything();
	any_header();
	return test_end();
}
