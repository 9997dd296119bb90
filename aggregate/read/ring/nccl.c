/* Puts the parts of operations of NCCL and RCCL together. In: NCCL, NCCL_TASK and NCCL_DONE records, and payloads of NCCL's NVTX
 * ranges; their parts come from different threads. Out: spans of kinds MPI and REQUEST; pp_rank.operation. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/nccl_kernel.h"
#include "aggregate/read/ring/nccl_number.h"
#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/read/ring/rows.h"
#include "aggregate/read/ring/track.h"
#include "core/base/comm_id.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { PARTS_MOST = 1 << 18, FIRST_SCHEMA = 1 << 24, REQUEST_BIT = 1 << 30, PENDING_MOST = 1024 };

#define RANGE_REQUEST (UINT32_C(1) << 31 | REQUEST_BIT) /* and a number: of an operation that only its range tells */

enum row {
	ROW_BEFORE = PP_NCCL_FIRST - 1,
#define PP_NCCL(symbol, ...) ROW_##symbol,
#include "core/call/nccl_call.def"
#undef PP_NCCL
};

struct part { /* a TASK or a DONE */
	int64_t time;
	int64_t launch, launched, device_ns; /* 0: unknown */
	uint32_t operation, sequence;
	int32_t peer;
	uint32_t tid; /* of the thread that wrote it */
	uint8_t is_done, flags, channels, how;
};

struct range { /* payload of an NVTX range of NCCL */
	int64_t begin;
	uint64_t comm, bytes;
	int32_t peer; /* or root; -1: none */
	uint32_t tid;
	uint16_t call;
};

struct parts { /* of a ring */
	struct part *part;
	struct range *range;
	size_t parts, parts_room, ranges, ranges_room;
};

static int is_bad(const struct pp_record *r)
{
	switch (r->kind) {
	case PP_RECORD_NCCL:
		return r->nccl.end < r->tick || r->nccl.end > PP_TICK_MOST || r->nccl.call < PP_NCCL_FIRST ||
		       !pp_mpi_call_is_known(r->nccl.call) || !r->nccl.operation || r->nccl.operation >= REQUEST_BIT;
	case PP_RECORD_NCCL_TASK:
		return r->nccl_task.launched > PP_TICK_MOST || r->nccl_task.launch > PP_TICK_MOST;
	default:
		return 0;
	}
}

static void add_part(struct pp_track *track, const struct part *part)
{
	struct parts *n = pp_pair_state(track->pair, PP_READER_NCCL, sizeof(*n));
	struct part *more;

	if (!n) {
		track->pair->lost[PP_LOSS_EVICTED]++;
		return;
	}
	more = pp_rows_grow(n->part, &n->parts, &n->parts_room, sizeof(*more), PARTS_MOST, &track->pair->lost[PP_LOSS_EVICTED]);
	if (!more)
		return;
	n->part = more;
	n->part[n->parts] = *part;
	n->part[n->parts++].tid = track->tid;
}

static void add_call(struct pp_track *track, const struct pp_record *r)
{
	const struct pp_record_nccl *x = &r->nccl;
	const char *name = pp_mpi_call_info(x->call)->name;
	struct pp_span *s =
	        pp_track_add(track, PP_SPAN_MPI, (int64_t)r->tick, pp_intern_put(track->pair->shared->names, name, strlen(name)));

	if (!s)
		return;
	s->end = (int64_t)x->end;
	s->source = PP_SOURCE_NCCL;
	s->flags = x->flags & PP_NCCL_IS_ROOT ? PP_SPAN_IS_ROOT : 0;
	s->mpi = (struct pp_span_mpi){.comm = x->comm,
	                              .sent = x->sent,
	                              .received = x->received,
	                              .sequence = x->flags,
	                              .peer = x->peer < -1 ? -1 : x->peer,
	                              .request = x->operation | REQUEST_BIT,
	                              .call = x->call,
	                              .flags = PP_MPI_PEER_IN_COMM};
}

/* By the device's own clock; 0: unknown. */
static int64_t duration(const struct pp_record_nccl_done *done)
{
	uint64_t ns = done->device_end - done->device_begin;

	return done->device_begin && done->device_end > done->device_begin && ns < PP_TICK_MOST ? (int64_t)ns : 0;
}

static void take(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct part part = {.time = (int64_t)r->tick};

	(void)text;
	(void)length;
	if (r->kind == PP_RECORD_NCCL) {
		add_call(track, r);
		return;
	}
	if (r->kind == PP_RECORD_NCCL_DONE) {
		part.operation = r->nccl_done.operation;
		part.is_done = 1;
		part.device_ns = duration(&r->nccl_done);
	} else {
		part.launch = (int64_t)r->nccl_task.launch;
		part.launched = (int64_t)r->nccl_task.launched;
		part.operation = r->nccl_task.operation;
		part.sequence = r->nccl_task.sequence;
		part.peer = r->nccl_task.peer;
		part.flags = r->nccl_task.flags;
		part.channels = r->nccl_task.channels;
		part.how = r->nccl_task.how;
	}
	add_part(track, &part);
}

/* Calls by NCCL's static schema; 0: no operation. */
static uint16_t call_of_schema(uint64_t schema)
{
	static const uint16_t row[] = {
	        [4] = ROW_ALLGATHER, [5] = ROW_ALLREDUCE, [6] = ROW_BROADCAST, [7] = ROW_REDUCE_SCATTER, [8] = ROW_REDUCE,
	        [9] = ROW_SEND,      [10] = ROW_RECV,     [16] = ROW_ALLTOALL, [17] = ROW_GATHER,        [18] = ROW_SCATTER};

	return schema >= FIRST_SCHEMA && schema - FIRST_SCHEMA < sizeof(row) / sizeof(row[0]) ? row[schema - FIRST_SCHEMA] : 0;
}

static int has_peer(unsigned call)
{
	return call == ROW_BROADCAST || call == ROW_REDUCE || call == ROW_SEND || call == ROW_RECV || call == ROW_GATHER ||
	       call == ROW_SCATTER;
}

/* Before 2.25 NCCL's payload has no communicator and begins with the bytes; it is shorter then. */
static void take_payload(struct pp_track *track, const struct pp_record *r, const char *bytes, size_t length)
{
	uint16_t call = r->payload.type == PP_PAYLOAD_EXT ? call_of_schema(r->payload.schema) : 0;
	size_t whole = call == ROW_ALLGATHER || call == ROW_ALLTOALL ? 16 : 24;
	struct range range = {.begin = (int64_t)r->tick, .peer = -1, .tid = track->tid, .call = call}, *more;
	struct parts *n;
	uint64_t hash = 0;

	if (!call || length < 8)
		return;
	n = pp_pair_state(track->pair, PP_READER_NCCL, sizeof(*n));
	if (!n)
		return;
	if (length >= whole) {
		memcpy(&hash, bytes, 8);
		memcpy(&range.bytes, bytes + 8, 8);
		if (has_peer(call))
			memcpy(&range.peer, bytes + 16, 4);
		range.comm = hash ? pp_comm_id_nccl(hash) : 0;
	} else {
		memcpy(&range.bytes, bytes, 8);
	}
	more = pp_rows_grow(n->range, &n->ranges, &n->ranges_room, sizeof(*more), PARTS_MOST, NULL);
	if (!more)
		return;
	n->range = more;
	n->range[n->ranges++] = range;
}

static void drop_between(struct pp_pair *p, int64_t from, int64_t to)
{
	struct parts *n = p->state[PP_READER_NCCL];

	if (!n)
		return;
	pp_rows_drop(n->part, &n->parts, sizeof(*n->part), offsetof(struct part, time), from, to);
	pp_rows_drop(n->range, &n->ranges, sizeof(*n->range), offsetof(struct range, begin), from, to);
}

static void release(struct pp_pair *p)
{
	struct parts *n = p->state[PP_READER_NCCL];

	if (!n)
		return;
	free(n->part);
	free(n->range);
}

/* ---- at the end ---- */

struct finish {
	struct pp_pair *pair;
	const struct parts *parts;
	struct pp_rank *rank;
	struct pp_nccl_kernels kernels;
	struct pp_span *extra; /* requests of one thread */
	size_t extras, extras_room, operations_room;
	uint64_t unnumbered;
};

/* By operation, its task first, the last completion last. */
PP_COMPARE_BY_3(compare_part, struct part, operation, is_done, time)

PP_COMPARE_BY_2(compare_range, struct range, tid, begin)

PP_COMPARE_BY(compare_operation, struct pp_operation, request)

/* Index of the first part of an operation. */
static size_t first_part(const struct parts *n, uint32_t operation)
{
	return PP_PARTITION(n->parts, at, n->part[at].operation < operation);
}

static int add_request(struct finish *f, const struct pp_span *call, int64_t done)
{
	struct pp_span *more;

	if (PP_GROW(f->extra, f->extras, f->extras_room))
		return -ENOMEM;
	more = &f->extra[f->extras++];
	*more = *call;
	more->kind = PP_SPAN_REQUEST;
	more->end = done > call->begin ? done : call->begin;
	return 0;
}

/* How the operation ran on the device, by its request. */
static int add_operation(struct finish *f, uint32_t request, const struct part *task, const struct part *done,
                         const struct pp_nccl_kernel *kernel)
{
	struct pp_rank *rank = f->rank;

	if (PP_GROW(rank->operation, rank->operations, f->operations_room))
		return -ENOMEM;
	rank->operation[rank->operations++] = (struct pp_operation){.request = request,
	                                                            .correlation = kernel ? kernel->correlation : 0,
	                                                            .device_ns = done ? done->device_ns : 0,
	                                                            .channels = task ? task->channels : 0,
	                                                            .how = task ? task->how : 0};
	return 0;
}

/* Without a number that all ranks have, the operation matches none of theirs. Its end is its kernel's, else when NCCL saw it. */
static int finish_call(struct finish *f, struct pp_span *s)
{
	const struct parts *n = f->parts;
	const uint32_t operation = s->mpi.request & ~(uint32_t)REQUEST_BIT, flags = s->mpi.sequence;
	const struct part *task = NULL, *done = NULL;
	const struct pp_nccl_kernel *kernel = NULL;

	for (size_t i = first_part(n, operation); i < n->parts && n->part[i].operation == operation; i++)
		*(n->part[i].is_done ? &done : &task) = &n->part[i];
	s->mpi.sequence = 0;
	if (flags & PP_NCCL_CAPTURED) /* nothing runs */
		s->mpi.sent = s->mpi.received = s->mpi.request = 0;
	if (task && !(flags & (PP_NCCL_CAPTURED | PP_NCCL_REPLAYED)) && !(task->flags & PP_NCCL_COPIED))
		kernel = pp_nccl_kernel_before(&f->kernels, task->tid, task->time, task->launch, task->launched);
	if (task && task->peer >= 0)
		s->mpi.peer = task->peer;
	if (task && (task->flags & PP_NCCL_NUMBERED) && !(flags & (PP_NCCL_CAPTURED | PP_NCCL_REPLAYED)))
		s->mpi.sequence = task->sequence;
	else if (pp_mpi_class_joins(pp_mpi_call_info(s->mpi.call)->class)) {
		s->mpi.comm = 0;
		f->unnumbered++;
	}
	if (s->mpi.request && add_operation(f, s->mpi.request, task, done, kernel))
		return -ENOMEM;
	return s->mpi.request && (kernel || done) ? add_request(f, s, kernel ? kernel->end : done->time) : 0;
}

static const struct range *find_range(const struct parts *n, uint32_t tid, int64_t begin)
{
	struct range key = {.tid = tid, .begin = begin};

	return n->ranges ? bsearch(&key, n->range, n->ranges, sizeof(key), compare_range) : NULL;
}

static const struct pp_comm *find_comm(const struct pp_rank *rank, uint64_t id)
{
	for (size_t i = 0; id && i < rank->comms; i++)
		if (rank->comm[i].id == id)
			return &rank->comm[i];
	return NULL;
}

/* The plug-in reports nothing of such a communicator: NCCL is older, or has no kernel to run. */
static void finish_range(struct finish *f, struct pp_span *s, const struct range *x)
{
	const struct pp_comm *comm = find_comm(f->rank, x->comm);

	if (comm && comm->kind == PP_COMM_RANK)
		return;
	s->kind = PP_SPAN_MPI;
	s->category = 0;
	s->flags &= PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END;
	s->mpi = (struct pp_span_mpi){.comm = x->comm,
	                              .sent = x->call == ROW_RECV ? 0 : x->bytes,
	                              .received = x->call == ROW_SEND ? 0 : x->bytes,
	                              .sequence = UINT32_MAX,
	                              .peer = x->peer >= 0 ? x->peer : -1,
	                              .call = x->call,
	                              .flags = PP_MPI_PEER_IN_COMM};
}

struct group { /* operations of an NVTX group that its end launches */
	struct pp_span *pending[PENDING_MOST];
	size_t pendings, depth;
};

static int join_range(struct finish *f, struct pp_span *s, const struct pp_nccl_kernel *kernel)
{
	if (add_operation(f, s->mpi.request, NULL, NULL, kernel))
		return -ENOMEM;
	return kernel ? add_request(f, s, kernel->end) : 0;
}

/* One kernel runs all operations of the group, or each has its own; of other numbers it is not known which runs which. A range of
 * this name with many kernels is not read for each of them. */
static int end_group(struct finish *f, struct group *g, const struct pp_thread *t, const struct pp_span *s)
{
	size_t kernels = 0;
	int rc = 0;

	while (kernels <= g->pendings && pp_nccl_kernel_within(&f->kernels, t->tid, s->begin, s->end, kernels))
		kernels++;
	g->depth -= g->depth > 0;
	if (!kernels && g->depth)
		return 0;
	for (size_t i = 0; i < g->pendings && !rc; i++) {
		int is_known = kernels == 1 || kernels == g->pendings;

		rc = join_range(f, g->pending[i],
		                is_known ? pp_nccl_kernel_within(&f->kernels, t->tid, s->begin, s->end, kernels == 1 ? 0 : i)
		                         : NULL);
	}
	g->pendings = 0;
	return rc;
}

/* Ranges are around the launch, but in a group: there the group's end is. */
static int join_ranges(struct finish *f, struct pp_thread *t)
{
	struct group *g = calloc(1, sizeof(*g));
	int rc = g ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->spans && !rc; i++) {
		struct pp_span *s = &t->span[i];
		const char *name = s->source == PP_SOURCE_NVTX ? pp_intern_text(f->pair->shared->names, s->name, NULL) : "";
		const struct pp_nccl_kernel *kernel;

		if (s->kind == PP_SPAN_RANGE && !strcmp(name, "ncclGroupStart"))
			g->depth++;
		if (s->kind == PP_SPAN_RANGE && !strcmp(name, "ncclGroupEnd"))
			rc = end_group(f, g, t, s);
		if (s->kind != PP_SPAN_MPI || s->source != PP_SOURCE_NVTX || s->mpi.request)
			continue;
		s->mpi.request = RANGE_REQUEST | (uint32_t)(f->rank->operations + g->pendings + 1);
		kernel = pp_nccl_kernel_within(&f->kernels, t->tid, s->begin, s->end, 0);
		if (!kernel && g->depth && g->pendings < PENDING_MOST)
			g->pending[g->pendings++] = s;
		else
			rc = join_range(f, s, kernel);
	}
	for (size_t i = 0; g && i < g->pendings && !rc; i++) /* the group's end is not in the window */
		rc = join_range(f, g->pending[i], NULL);
	free(g);
	return rc;
}

static int place_extras(struct finish *f, struct pp_thread *t)
{
	struct pp_span *all = malloc((t->spans + f->extras) * sizeof(*all));
	size_t n = t->spans;

	if (!all)
		return -ENOMEM;
	memcpy(all, t->span, n * sizeof(*all));
	memcpy(all + n, f->extra, f->extras * sizeof(*all));
	pp_thread_release(t);
	t->span = all;
	t->spans = n + f->extras;
	f->extras = 0;
	t->kinds |= PP_SPAN_BIT(PP_SPAN_REQUEST);
	return pp_order_spans(all, t->spans) ? -ENOMEM : 0;
}

static int finish_thread(struct finish *f, struct pp_thread *t)
{
	const struct parts *n = f->parts;
	int rc = 0;

	for (size_t i = 0; i < t->spans && rc == 0; i++) {
		struct pp_span *s = &t->span[i];
		const struct range *range;

		if (s->kind == PP_SPAN_MPI && s->source == PP_SOURCE_NCCL)
			rc = finish_call(f, s);
		if (s->kind != PP_SPAN_RANGE || !n->ranges || s->source != PP_SOURCE_NVTX)
			continue;
		range = find_range(n, t->tid, s->begin);
		if (!range || memcmp(f->pair->header->domain[s->range.domain].text, "NCCL", sizeof("NCCL")) != 0)
			continue;
		finish_range(f, s, range);
		t->kinds |= PP_SPAN_BIT(PP_SPAN_MPI);
	}
	if (!rc && n->ranges && !t->device)
		rc = join_ranges(f, t);
	return rc || !f->extras ? rc : place_extras(f, t);
}

static int finish(struct pp_pair *p, struct pp_rank *rank, size_t first)
{
	static const struct parts none;
	struct parts *n = p->state[PP_READER_NCCL];
	struct finish f = {.pair = p, .parts = n ? n : &none, .rank = rank};
	char text[PP_REMARK_TEXT];
	int rc = 0, any = n && (n->parts || n->ranges);

	for (size_t t = first; !any && t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; !any && k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
			const struct pp_span *s = &thread->span[pp_thread_other(thread, k)];

			any = s->kind == PP_SPAN_MPI && s->source == PP_SOURCE_NCCL;
		}
	}
	if (!any)
		return 0;
	if (n && n->parts)
		qsort(n->part, n->parts, sizeof(*n->part), compare_part);
	if (n && n->ranges)
		qsort(n->range, n->ranges, sizeof(*n->range), compare_range);
	f.operations_room = rank->operations;
	rc = pp_nccl_kernels_init(&f.kernels, rank, first);
	for (size_t t = first; t < rank->threads && rc == 0; t++) {
		rc = finish_thread(&f, &rank->thread[t]);
		pp_thread_list_others(&rank->thread[t]);
	}
	pp_nccl_kernels_release(&f.kernels);
	free(f.extra);
	if (rank->operations)
		qsort(rank->operation, rank->operations, sizeof(*rank->operation), compare_operation);
	if (rc == 0 && f.parts->ranges)
		rc = pp_nccl_number_ranges(rank, first, &f.unnumbered);
	if (rc == 0)
		rc = pp_nccl_number_messages(rank, first);
	if (f.unnumbered) {
		snprintf(text, sizeof(text),
		         "%" PRIu64 " collectives of NCCL have no number that all ranks share: they are in no row of /collective",
		         f.unnumbered);
		pp_remark_add(rank->remark, &rank->remarks, text);
	}
	return rc;
}

/* ---- peers ---- */

struct member { /* of a communicator: what a rank of this host said of itself */
	uint64_t comm;
	int32_t own, world;
};

PP_COMPARE_BY_2(compare_member, struct member, comm, own)

/* Ranks of a communicator as large as the job have their world ranks, where all that are known here have them. */
static int is_world(const struct member *member, size_t members, uint64_t comm)
{
	for (size_t i = 0; i < members; i++)
		if (member[i].comm == comm && member[i].own != member[i].world)
			return 0;
	return 1;
}

static void set_peer(const struct pp_capture *c, const struct pp_rank *rank, const struct member *member, size_t members,
                     uint64_t comm, struct pp_span *s)
{
	struct member key = {.comm = comm, .own = s->mpi.peer};
	const struct member *found = members ? bsearch(&key, member, members, sizeof(key), compare_member) : NULL;
	const struct pp_comm *own = find_comm(rank, comm);

	if (found)
		s->mpi.peer = found->world;
	else if (!own || own->size != (uint32_t)c->ranks_asked || !is_world(member, members, comm)) {
		s->flags |= PP_SPAN_PEER_IN_COMM;
		return;
	}
	s->mpi.flags &= (uint16_t)~PP_MPI_PEER_IN_COMM;
}

/* Gives peers their world ranks, where the members of their communicators are known on this host. */
static int finish_capture(struct pp_capture *c)
{
	struct member *member;
	size_t members = 0, room = 1;

	for (size_t r = 0; r < c->ranks; r++)
		room += c->rank[r].comms;
	member = calloc(room, sizeof(*member));
	if (!member)
		return -ENOMEM;
	for (size_t r = 0; r < c->ranks; r++)
		for (size_t i = 0; i < c->rank[r].comms; i++)
			if (c->rank[r].comm[i].kind == PP_COMM_RANK)
				member[members++] = (struct member){c->rank[r].comm[i].id, c->rank[r].comm[i].own, c->rank[r].rank};
	if (members)
		qsort(member, members, sizeof(*member), compare_member);
	for (size_t r = 0; r < c->ranks; r++) {
		for (size_t t = 0; t < c->rank[r].threads; t++) {
			struct pp_thread *thread = &c->rank[r].thread[t];

			for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
				struct pp_span *s = &thread->span[pp_thread_other(thread, k)];

				if ((s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST) && s->mpi.peer >= 0 &&
				    s->mpi.call >= PP_NCCL_FIRST)
					set_peer(c, &c->rank[r], member, members, s->mpi.comm, s);
			}
		}
	}
	free(member);
	return 0;
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_NCCL, .flags = PP_READER_HAS_END, .is_bad = is_bad, .take = take},
        {.kind = PP_RECORD_NCCL_TASK, .is_bad = is_bad, .take = take},
        {.kind = PP_RECORD_NCCL_DONE, .take = take},
        {.kind = PP_RECORD_PAYLOAD, .take = take_payload},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_nccl = {
        .name = "nccl",
        .kinds = kinds,
        .drop_between = drop_between,
        .finish = finish,
        .finish_capture = finish_capture,
        .release = release,
};
