/* Finds the operations that ranks stand in, and who is missing in them; see hang.h. */
#include "aggregate/keeper/hang.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/hang_call.h"
#include "aggregate/keeper/hang_nccl.h"
#include "aggregate/spool/ranks.h"
#include "core/base/comm_id.h"
#include "core/base/compare.h"
#include "core/call/mpi_call.h"

enum { WANTED_MOST = 8 << 20 }; /* entries of all operations' lists; more is damaged */

struct find {
	struct pp_hang *h;
	uint64_t world;
	long *bucket; /* of operations, by communicator and sequence: index + 1 */
	long *next;
	size_t buckets;
	long room;
	size_t listed;
	int64_t after_ns;
};

const char *pp_live_comm_name(const struct pp_live_rank *r)
{
	static uint64_t world;
	static int32_t size;

	if (r->comm_name[0])
		return r->comm_name;
	if (r->size != size && r->size > 0 && r->size <= PP_RANKS_MOST) {
		size = r->size;
		world = pp_comm_id_named(PP_COMM_NAME_WORLD, 0, size);
	}
	if (r->comm && (r->comm == world || r->comm == pp_comm_id_named(PP_COMM_NAME_WORLD, r->rank, 1)))
		return "MPI_COMM_WORLD";
	return r->comm && r->comm == pp_comm_id_named(PP_COMM_NAME_SELF, r->rank, 1) ? "MPI_COMM_SELF" : NULL;
}

/* Is the call, or what it waits for, a collective with a number? A wait for messages stays one, of any number of them. */
static int stands_in(const struct pp_live_rank *r, uint32_t *ret_sequence, const char **ret_call, struct pp_hang_call *ret)
{
	struct pp_hang_call c = pp_hang_call_of(r->call), of = pp_hang_call_of(r->waits);

	*ret_call = r->call;
	*ret_sequence = r->sequence;
	if (c.known && c.class == PP_MPI_WAIT && of.known && (of.joins || pp_mpi_class_is_file(of.class))) {
		*ret_call = r->waits;
		*ret_sequence = r->waits_sequence;
		c = of;
	}
	*ret = c;
	return c.known && c.joins && !c.is_c10d && r->comm;
}

/* Number of the next collective that the rank begins on its last communicator. */
static uint64_t next_number(const struct pp_live_rank *r)
{
	struct pp_hang_call c = pp_hang_call_of(r->last);

	return (uint64_t)r->sequence + (!r->call[0] && c.known && c.joins);
}

/* Visits the members of a communicator as `r` knows them; 0: unknown. */
static int each_member(const struct pp_hang *h, const struct pp_live_rank *r, uint64_t world, int is_world,
                       void (*visit)(void *data, int32_t rank), void *data)
{
	const char *at = r->members;
	int32_t first, count, stride;
	int used = 0;

	if (is_world || r->comm == world) {
		for (int32_t i = 0; i < h->ranks; i++)
			visit(data, i);
		return 1;
	}
	if (!*at)
		return 0;
	/* NOLINTNEXTLINE(cert-err34-c): checked below */
	while (sscanf(at, "%d:%d:%d,%n", &first, &count, &stride, &used) == 3 && used > 0) {
		int64_t last = (int64_t)first + ((int64_t)count - 1) * stride;

		if (count < 1 || count > h->ranks || first >= h->ranks || last >= h->ranks)
			return 0;
		for (int32_t i = 0; i < count; i++)
			if (first + (int64_t)i * stride >= 0)
				visit(data, (int32_t)(first + (int64_t)i * stride));
		at += used;
		used = 0;
	}
	return !*at;
}

static struct pp_hang_op *op_of(struct find *f, enum pp_hang_kind kind, uint64_t comm, uint32_t sequence)
{
	size_t b = (size_t)(pp_comm_id_mix(comm ^ (uint64_t)sequence << 2 ^ (uint64_t)kind) % f->buckets);
	struct pp_hang *h = f->h;

	for (long i = f->bucket[b]; i; i = f->next[i - 1])
		if (h->op[i - 1].comm == comm && h->op[i - 1].sequence == sequence && h->op[i - 1].kind == kind)
			return &h->op[i - 1];
	if (h->ops == f->room)
		return NULL;
	h->op[h->ops] = (struct pp_hang_op){.kind = kind, .comm = comm, .sequence = sequence};
	f->next[h->ops] = f->bucket[b];
	f->bucket[b] = ++h->ops;
	return &h->op[h->ops - 1];
}

static void aim(struct pp_hang_rank *r, int32_t ranks, int32_t peer)
{
	for (int i = 0; i < r->targets; i++)
		if (r->target[i] == peer)
			return;
	if (peer >= 0 && peer < ranks && r->targets < (int)(sizeof(r->target) / sizeof(r->target[0])))
		r->target[r->targets++] = peer;
}

/* A message, or a wait for some: to or from single ranks, or from any. */
static void aim_message(struct find *f, struct pp_hang_rank *r, const struct pp_hang_call *c)
{
	const struct pp_live_rank *l = r->live;
	int both = c->class == PP_MPI_WAIT || c->class == PP_MPI_SENDRECV;
	struct pp_hang_op *op;

	if (l->comm_flags & PP_RING_COMM_INTER) /* the peer may be a rank of the other group */
		return;
	aim(r, f->h->ranks, l->peer);
	for (int i = 0; both && i < PP_WHERE_PEERS; i++)
		aim(r, f->h->ranks, l->other[i]);
	r->is_sure = r->targets == 1 && !(both && l->other_more);
	if (r->targets || l->peer != -2 || !l->comm)
		return;
	op = op_of(f, PP_HANG_ANY, l->comm, 0);
	if (op)
		r->op = op - f->h->op;
}

/* For the rank that holds the lock, which is not known; the peer is the one whose window it is. */
static int waits_for_lock(const struct pp_live_rank *r)
{
	return !strcmp(r->call, "MPI_Win_lock");
}

static void classify(struct find *f, struct pp_hang_rank *r)
{
	const struct pp_live_rank *l = r->live;
	struct pp_hang_op *op = NULL;
	uint32_t sequence;
	const char *name;
	struct pp_hang_call c;

	r->at = PP_HANG_OUTSIDE;
	if (!l->call[0])
		return;
	r->at = PP_HANG_INSIDE;
	if (stands_in(l, &sequence, &name, &c))
		op = op_of(f, PP_HANG_COLLECTIVE, l->comm, sequence);
	else if (c.is_c10d && c.joins)
		op = op_of(f, PP_HANG_C10D, pp_c10d_call_of(l->call, strlen(l->call)), 0);
	else if (!strcmp(l->call, "MPI_Finalize"))
		op = op_of(f, PP_HANG_FINALIZE, f->world, UINT32_MAX);
	else if (c.known && (pp_mpi_class_is_message(c.class) || c.class == PP_MPI_PROBE || c.class == PP_MPI_WAIT ||
	                     (c.class == PP_MPI_EPOCH && l->peer >= 0 && !waits_for_lock(l))))
		aim_message(f, r, &c);
	if (op)
		r->op = op - f->h->op;
	if (r->op >= 0 || r->targets)
		r->at = PP_HANG_WAITS;
	else
		r->is_blind = c.known && strcmp(l->call, "MPI_Finalize") != 0 && !pp_hang_is_poll(l->call) &&
		              (pp_mpi_class_is_message(c.class) || c.class == PP_MPI_PROBE || c.class == PP_MPI_WAIT ||
		               c.class == PP_MPI_EPOCH || c.joins);
}

static void place(struct find *f, struct pp_hang_rank *r)
{
	const struct pp_live_rank *l = r->live;

	r->op = -1;
	r->at = PP_HANG_ABSENT;
	if (!l)
		return;
	classify(f, r);
	r->moves = l->state == PP_LIVE_RUNNING && l->place_ns < f->after_ns;
	if (l->state != PP_LIVE_RUNNING) {
		r->at = l->lost ? PP_HANG_LOST : PP_HANG_ENDED;
		r->op = -1;
		r->targets = 0;
	} else if ((l->process == 'T' || l->process == 't') && !r->moves) {
		r->at = PP_HANG_STOPPED;
	}
	r->is_blind &= r->at == PP_HANG_INSIDE;
	r->is_stuck = !r->moves && (r->at == PP_HANG_WAITS || r->at == PP_HANG_STOPPED || r->is_blind);
}

struct members {
	struct pp_hang *h;
	struct pp_hang_op *op;
	size_t room;
	int32_t members;
};

static void add_missing(void *data, int32_t rank)
{
	struct members *m = data;
	const struct pp_hang_rank *r = &m->h->rank[rank];

	m->members++;
	if ((size_t)m->op->missings >= m->room || (r->op == m->op - m->h->op && m->op->kind != PP_HANG_ANY))
		return;
	/* It has ended or begun a later one already: it was in this one. */
	if (m->op->kind == PP_HANG_COLLECTIVE && r->live && r->live->comm == m->op->comm &&
	    next_number(r->live) > m->op->sequence &&
	    (r->at == PP_HANG_OUTSIDE || r->at == PP_HANG_WAITS || r->at == PP_HANG_INSIDE))
		return;
	m->op->missing[m->op->missings++] = rank;
}

/* The member that all others depend on; -1: none. *ret_kind: the class of the call. */
static int32_t root_of(const struct pp_hang_op *op, enum pp_mpi_class *ret_class)
{
	uint32_t sequence;
	const char *name;
	struct pp_hang_call c;

	stands_in(op->first, &sequence, &name, &c);
	*ret_class = c.class;
	if (op->first->comm_flags & PP_RING_COMM_INTER || (c.class != PP_MPI_FROM_ROOT && c.class != PP_MPI_TO_ROOT))
		return -1;
	return op->first->peer;
}

static void choose_wanted(struct pp_hang *h, struct pp_hang_op *op)
{
	enum pp_mpi_class class = PP_MPI_ALL;
	int32_t root = op->kind == PP_HANG_COLLECTIVE ? root_of(op, &class) : -1;

	op->is_sure = op->kind == PP_HANG_FINALIZE || (op->kind == PP_HANG_COLLECTIVE && class != PP_MPI_PREFIX &&
	                                               class != PP_MPI_NEAR && class != PP_MPI_FROM_ROOT);
	for (int32_t i = 0; i < op->missings; i++)
		if (op->missing[i] == root) {
			op->is_sure = 1;
			op->wanted[op->wanteds++] = root;
			return;
		}
	if (class == PP_MPI_TO_ROOT)
		op->is_sure = root >= 0 && root < h->ranks && h->rank[root].op == op - h->op;
	memcpy(op->wanted, op->missing, (size_t)op->missings * sizeof(*op->wanted));
	op->wanteds = op->missings;
}

static enum pp_hang_mismatch compare(const struct pp_live_rank *a, const struct pp_live_rank *b)
{
	uint32_t sequence;
	const char *mine, *others;
	struct pp_hang_call c;

	stands_in(b, &sequence, &others, &c);
	stands_in(a, &sequence, &mine, &c);
	if (strcmp(mine, others) != 0)
		return PP_HANG_CALLS_DIFFER;
	return (c.class == PP_MPI_FROM_ROOT || c.class == PP_MPI_TO_ROOT) && a->peer != b->peer &&
	                       !(a->comm_flags & PP_RING_COMM_INTER)
	               ? PP_HANG_ROOTS_DIFFER
	               : PP_HANG_SAME;
}

int pp_hang_agree(const struct pp_live_rank *a, const struct pp_live_rank *b)
{
	return compare(a, b) == PP_HANG_SAME;
}

/* Lists of one operation; `in` was counted. */
static int fill_op(struct find *f, struct pp_hang_op *op)
{
	struct pp_hang *h = f->h;
	struct members m = {.h = h, .op = op, .room = (size_t)h->ranks};

	if (f->listed > WANTED_MOST)
		m.room = 0;
	op->missing = calloc(m.room + 1, sizeof(*op->missing));
	if (!op->missing)
		return -ENOMEM;
	op->is_known = m.room && each_member(h, op->first, f->world, op->kind == PP_HANG_FINALIZE || op->kind == PP_HANG_C10D,
	                                     add_missing, &m);
	if (!op->is_known)
		op->missings = 0;
	op->size = op->is_known ? m.members : op->first->comm_size;
	if (op->size < op->ins || op->kind == PP_HANG_C10D)
		op->size = 0;
	qsort(op->missing, (size_t)op->missings, sizeof(*op->missing), pp_compare_int32);
	f->listed += (size_t)op->missings;
	op->wanted = calloc((size_t)op->missings + 1, sizeof(*op->wanted));
	if (!op->wanted)
		return -ENOMEM;
	choose_wanted(h, op);
	return 0;
}

static int fill_ops(struct find *f)
{
	struct pp_hang *h = f->h;

	for (int32_t i = 0; i < h->ranks; i++) {
		struct pp_hang_op *op = h->rank[i].op >= 0 ? &h->op[h->rank[i].op] : NULL;
		const struct pp_live_rank *l = h->rank[i].live;

		if (!op || !l)
			continue;
		op->ins++;
		if (!op->first || (!op->first->members[0] && l->members[0]))
			op->first = l;
		if (l->place_ns > op->since_ns)
			op->since_ns = l->place_ns;
	}
	for (long i = 0; h->op && i < h->ops; i++) {
		h->op[i].in = calloc((size_t)h->op[i].ins + 1, sizeof(*h->op[i].in));
		if (!h->op[i].in)
			return -ENOMEM;
		h->op[i].ins = 0;
	}
	for (int32_t i = 0; i < h->ranks; i++) {
		struct pp_hang_op *op = h->rank[i].op >= 0 ? &h->op[h->rank[i].op] : NULL;

		if (!op || !h->rank[i].live)
			continue;
		op->in[op->ins++] = i;
		if (op->kind == PP_HANG_COLLECTIVE && op->mismatch != PP_HANG_CALLS_DIFFER &&
		    compare(h->rank[i].live, op->first) != PP_HANG_SAME)
			op->mismatch = compare(h->rank[i].live, op->first);
	}
	for (long i = 0; h->op && i < h->ops; i++)
		if (h->op[i].ins && (h->op[i].kind == PP_HANG_NCCL ? pp_hang_nccl_fill(h, &h->op[i]) : fill_op(f, &h->op[i])))
			return -ENOMEM;
	return 0;
}

/* A rank that is in no call of MPI, or in one of torch.distributed, may wait for what it has enqueued. */
static int may_wait(const struct pp_hang *h, const struct pp_hang_rank *r)
{
	if (!r->live || r->live->state != PP_LIVE_RUNNING || r->at == PP_HANG_STOPPED)
		return 0;
	return r->at == PP_HANG_OUTSIDE || pp_hang_is_c10d(r->live->call) || (r->op >= 0 && h->op[r->op].kind == PP_HANG_C10D);
}

/* Of several operations that it has enqueued and others have not, a rank waits for the one that it called first. */
static int find_nccl(struct find *f)
{
	struct pp_hang *h = f->h;
	struct pp_hang_unfinished u;
	size_t at = 0;

	if (pp_hang_nccl_read(h))
		return -ENOMEM;
	while (pp_hang_nccl_next(h, &at, &u))
		for (const struct pp_hang_line *line = &h->line[u.line]; line < &h->line[u.line + u.lines]; line++) {
			struct pp_hang_rank *r = &h->rank[line->rank];

			if (pp_hang_nccl_has_called(line, u.number) && may_wait(h, r) &&
			    (!r->line || line->nccl.turn < r->line->nccl.turn))
				r->line = line;
		}
	for (at = 0; pp_hang_nccl_next(h, &at, &u);)
		for (const struct pp_hang_line *line = &h->line[u.line]; line < &h->line[u.line + u.lines]; line++) {
			struct pp_hang_rank *r = &h->rank[line->rank];
			struct pp_hang_op *op =
			        r->line == line ? op_of(f, PP_HANG_NCCL, line->nccl.comm, (uint32_t)u.number) : NULL;

			if (!op)
				continue;
			op->line = u.line;
			op->lines = u.lines;
			op->number = u.number;
			op->mismatch = u.mismatch;
			r->op = op - h->op;
			r->at = PP_HANG_WAITS;
			r->is_blind = 0;
			r->is_stuck = !r->moves;
		}
	return 0;
}

static int32_t size_of(const struct pp_live_rank *list, long count)
{
	int32_t size = 0;

	for (long i = 0; i < count; i++) {
		if (list[i].size > size && list[i].size <= PP_RANKS_MOST)
			size = list[i].size;
		if (list[i].rank >= size && list[i].rank < PP_RANKS_MOST)
			size = list[i].rank + 1;
	}
	return size;
}

int pp_hang_find(const struct pp_live_rank *list, long count, int64_t after_ns, struct pp_hang *ret)
{
	struct pp_hang h = {.ranks = size_of(list, count)};
	struct find f = {.h = &h, .after_ns = after_ns, .buckets = (size_t)h.ranks + 1, .room = 2 * (long)h.ranks};
	int rc = -ENOMEM;

	if (h.ranks < 1)
		return -EINVAL;
	f.world = pp_comm_id_named(PP_COMM_NAME_WORLD, 0, h.ranks);
	h.rank = calloc((size_t)h.ranks, sizeof(*h.rank));
	h.op = calloc((size_t)f.room + 1, sizeof(*h.op)); /* a rank leaves one for one of NCCL */
	f.bucket = calloc(f.buckets, sizeof(*f.bucket));
	f.next = calloc((size_t)f.room + 1, sizeof(*f.next));
	if (!h.rank || !h.op || !f.bucket || !f.next)
		goto out;
	for (long i = 0; i < count; i++) {
		const struct pp_live_rank **at = list[i].rank >= 0 && list[i].rank < h.ranks ? &h.rank[list[i].rank].live : NULL;

		if (at && (!*at || ((*at)->state != PP_LIVE_RUNNING && list[i].state == PP_LIVE_RUNNING)))
			*at = &list[i];
	}
	for (int32_t i = 0; i < h.ranks; i++)
		place(&f, &h.rank[i]);
	rc = find_nccl(&f);
	if (!rc)
		rc = fill_ops(&f);
	if (!rc)
		rc = pp_hang_follow(&h);
out:
	free(f.bucket);
	free(f.next);
	if (rc)
		pp_hang_release(&h);
	else
		*ret = h;
	return rc;
}

int pp_hang_is_unseen(const struct pp_hang *h)
{
	int standing = 0;

	for (int32_t i = 0; i < h->ranks; i++) {
		const struct pp_hang_rank *r = &h->rank[i];

		if (!r->live || r->live->state != PP_LIVE_RUNNING)
			continue;
		if (r->at != PP_HANG_OUTSIDE || r->moves)
			return 0;
		standing++;
	}
	return standing > 1;
}

void pp_hang_release(struct pp_hang *h)
{
	for (long i = 0; i < h->ops && h->op; i++) {
		free(h->op[i].in);
		free(h->op[i].missing);
		free(h->op[i].wanted);
	}
	free(h->op);
	free(h->rank);
	free(h->line);
	*h = (struct pp_hang){0};
}
