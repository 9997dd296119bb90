/* Sums point-to-point and one-sided traffic by (source, destination), from the receiver's records, or the sender's where the
 * receiver has none; puts and gets from the caller's. Called by build.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/request.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

struct channels {
	struct pp_table out;
	struct pp_row_channel *from, *to; /* [world]: of one rank, by the peer */
	struct pp_row_channel *away;      /* [world]: to ranks without records here, which may have recorded it elsewhere */
	size_t world;
	uint8_t *recorded;                    /* [world]: this rank has records of its own */
	const struct pp_operation_runs *runs; /* of one rank */
};

static struct pp_row_channel *count(struct pp_row_channel *by_peer, size_t world, int32_t peer, uint64_t bytes, int64_t time_ns)
{
	if (peer < 0 || (size_t)peer >= world)
		return NULL;
	by_peer[peer].bytes += bytes;
	by_peer[peer].count++;
	by_peer[peer].time_ns += time_ns;
	return &by_peer[peer];
}

/* How NCCL ran the message on the device. */
static void count_run(struct pp_row_channel *row, const struct pp_operation_run *run)
{
	if (!row || !run)
		return;
	row->device_ns = pp_wrap_plus(row->device_ns, run->device_ns);
	row->device_count += run->device_ns > 0;
	row->nccl_channels = run->channels > row->nccl_channels ? run->channels : row->nccl_channels;
}

/* Its end on the device is not always known. */
static void count_nccl(struct channels *c, const struct pp_span *span, int is_receive, const struct pp_done *done)
{
	const struct pp_operation_run *run = pp_operation_runs_find(c->runs, span->mpi.request);

	if (is_receive)
		count_run(count(c->from, c->world, span->mpi.peer, span->mpi.received, done ? done->span->end - span->begin : 0),
		          run);
	else if (span->mpi.peer >= 0 && (size_t)span->mpi.peer < c->world && !c->recorded[span->mpi.peer])
		count_run(count(c->away, c->world, span->mpi.peer, span->mpi.sent, span->end - span->begin), run);
}

/* Counts an operation of this rank. The receiver's record of a Sendrecv does not name the sender, so the sender's counts. */
static void count_span(struct channels *c, const struct pp_span *span, const struct pp_requests *requests)
{
	const struct pp_mpi_call *info = pp_mpi_call_info(span->mpi.call);
	int64_t time_ns = span->end - span->begin;
	int in_world = span->mpi.peer >= 0 && (size_t)span->mpi.peer < c->world;
	const struct pp_done *done;

	if (span->kind != PP_SPAN_MPI || (span->flags & (PP_SPAN_FAILED | PP_SPAN_PEER_IN_COMM)))
		return;
	done = info->nonblocking ? pp_requests_find(requests, span->mpi.request) : NULL;
	if (done && (done->span->flags & PP_SPAN_FAILED)) /* or cancelled */
		return;
	if (span->mpi.call >= PP_NCCL_FIRST && (info->class == PP_MPI_RECV || info->class == PP_MPI_SEND)) {
		count_nccl(c, span, info->class == PP_MPI_RECV, done);
		return;
	}
	switch (info->class == PP_MPI_START ? (span->flags & PP_SPAN_RECEIVES ? PP_MPI_RECV : PP_MPI_SEND) : info->class) {
	case PP_MPI_RECV:
		if (!info->nonblocking) {
			count(c->from, c->world, span->mpi.peer, span->mpi.received, time_ns);
			return;
		}
		if (done) {
			int32_t peer = done->span->mpi.peer >= 0 ? done->span->mpi.peer : span->mpi.peer;
			uint64_t bytes = done->span->mpi.received ? done->span->mpi.received : span->mpi.received;

			count(c->from, c->world, peer, bytes, done->span->end - span->begin);
		}
		return;
	case PP_MPI_SEND:
		if (in_world && !c->recorded[span->mpi.peer])
			count(c->away, c->world, span->mpi.peer, span->mpi.sent, time_ns);
		return;
	case PP_MPI_PUT: /* the target has no record of one-sided calls */
	case PP_MPI_GET:
	case PP_MPI_PUTGET:
		if (done)
			time_ns = done->span->end - span->begin;
		if (span->mpi.sent)
			count(c->to, c->world, span->mpi.peer, span->mpi.sent, time_ns);
		if (span->mpi.received)
			count(c->from, c->world, span->mpi.peer, span->mpi.received, time_ns);
		return;
	case PP_MPI_SENDRECV:
		if (!(span->flags & PP_SPAN_RECEIVES)) /* otherwise the peer is the source, also of an empty message */
			count(c->to, c->world, span->mpi.peer, span->mpi.sent, time_ns);
		return;
	default:
		return;
	}
}

/* Adds a row. A pair may have two, one from each end; sealing sums them. */
static int put(struct channels *c, int32_t source, int32_t destination, const struct pp_row_channel *sum, int8_t unseen)
{
	struct pp_row_channel *row;

	if (!sum->count)
		return 0;
	row = pp_table_add(&c->out);
	if (!row)
		return -ENOMEM;
	*row = *sum;
	row->source = source;
	row->destination = destination;
	row->unseen = unseen;
	return 0;
}

static int count_rank(struct channels *c, const struct pp_rank *rank, const struct pp_operation_runs *runs)
{
	struct pp_requests requests;
	int rc = pp_requests_init(&requests, rank);

	if (rc < 0)
		return rc;
	c->runs = runs;
	for (size_t p = 0; p < c->world; p++)
		c->from[p] = c->to[p] = c->away[p] = (struct pp_row_channel){0};
	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST)); k++)
			count_span(c, &thread->span[pp_thread_other(thread, k)], &requests);
	}
	pp_requests_release(&requests);
	for (size_t p = 0; p < c->world && rc == 0; p++) {
		rc = put(c, (int32_t)p, rank->rank, &c->from[p], 0);
		if (rc == 0)
			rc = put(c, rank->rank, (int32_t)p, &c->to[p], 0);
		if (rc == 0)
			rc = put(c, rank->rank, (int32_t)p, &c->away[p], 1);
	}
	return rc;
}

int pp_join_channels(struct pp_join *j)
{
	struct pp_dataset *d = j->d;
	struct channels c = {.out = {.desc = pp_table_desc(PP_TABLE_channel)},
	                     .world = d->workers ? (size_t)d->worker[d->workers - 1].rank + 1 : 0};
	int rc = -ENOMEM;

	if (d->ranks_asked > 0 && (size_t)d->ranks_asked > c.world)
		c.world = (size_t)d->ranks_asked;
	c.away = calloc(c.world + 1, sizeof(*c.away));
	c.from = calloc(c.world + 1, sizeof(*c.from));
	c.to = calloc(c.world + 1, sizeof(*c.to));
	c.recorded = calloc(c.world + 1, 1);
	if (!c.from || !c.to || !c.away || !c.recorded)
		goto out;
	rc = 0;
	for (size_t r = 0; r < j->in->capture->ranks; r++)
		for (size_t t = 0; t < j->in->capture->rank[r].threads; t++)
			if (j->in->capture->rank[r].thread[t].spans)
				c.recorded[j->in->capture->rank[r].rank] = 1;
	for (size_t r = 0; r < j->in->capture->ranks && rc == 0; r++)
		rc = count_rank(&c, &j->in->capture->rank[r], &j->run[r]);
	d->channel = c.out.row;
	d->channels = c.out.rows;
out:
	free(c.away);
	free(c.from);
	free(c.to);
	free(c.recorded);
	return rc;
}
