/* Joins every rank's operations: collectives by communicator and sequence number, messages also by sender, receiver and tag.
 * Arrivals, exits, and the calls that wait; finish.c says for whom. Called by build.c. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/completing.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/message.h"
#include "aggregate/analyze/place.h"
#include "aggregate/analyze/request.h"
#include "aggregate/dataset/table/table.h"
#include "core/base/compare.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

static int compare_member(const void *a, const void *b)
{
	const struct pp_member *x = a, *y = b;
	int order = pp_operation_compare(&x->key, &y->key);

	if (order)
		return order;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

static void add_member(struct pp_join *j, size_t r, uint32_t t, uint32_t i, const struct pp_requests *requests)
{
	const struct pp_span *span = &j->in->capture->rank[r].thread[t].span[i];
	struct pp_member m = {
	        .key = {.communicator = span->mpi.comm, .sequence = span->mpi.sequence},
	        .worker = (uint32_t)r,
	        .thread = t,
	        .span = i,
	        .arrival = span->begin,
	        .exit = span->end,
	        .exit_known = !(span->flags & PP_SPAN_CUT_END),
	        .is_root = (span->flags & PP_SPAN_IS_ROOT) != 0,
	        .call = span->mpi.call,
	};

	if (pp_mpi_call_info(span->mpi.call)->nonblocking) {
		const struct pp_done *done = pp_requests_find(requests, span->mpi.request);

		m.request = span->mpi.request;
		m.exit_known = done != NULL;
		if (done)
			m.exit = done->span->end;
	}
	j->member[j->members++] = m;
}

/* The call of a receive's request, which stands behind it with the same begin; of a call its own. */
static uint32_t call_of(const struct pp_thread *thread, uint32_t i)
{
	const struct pp_span *span = &thread->span[i];

	for (uint32_t k = i + 1; span->kind == PP_SPAN_REQUEST && k < thread->spans && thread->span[k].begin == span->begin; k++)
		if (thread->span[k].kind == PP_SPAN_MPI && thread->span[k].mpi.request == span->mpi.request)
			return k;
	return i;
}

/* The ends of messages that a span carries; a rank's messages to itself make nobody wait. */
static size_t add_ends(struct pp_join *j, size_t r, uint32_t t, uint32_t i, const struct pp_requests *requests)
{
	const struct pp_rank *rank = &j->in->capture->rank[r];
	const struct pp_span *span = &rank->thread[t].span[i];
	struct pp_message_half half[2];
	unsigned all[2];
	size_t n = pp_message_halves(rank, span, half, all), added = 0;

	j->d->messages_uncertain += !j->member ? all[0] + all[1] - n : 0;
	for (size_t k = 0; k < n; k++) {
		const struct pp_done *done = pp_requests_find(requests, span->mpi.request);

		if (half[k].sender == half[k].receiver)
			continue;
		added++;
		if (!j->member)
			continue;
		j->member[j->members++] = (struct pp_member){
		        .key = {span->mpi.comm, 1, half[k].sender, half[k].receiver, half[k].tag, half[k].order},
		        .worker = (uint32_t)r,
		        .thread = t,
		        .span = call_of(&rank->thread[t], i),
		        .arrival = span->begin,
		        .exit = done ? done->span->end : span->end,
		        .request = span->mpi.request,
		        .exit_known = span->mpi.request ? done != NULL : !(span->flags & PP_SPAN_CUT_END),
		        .is_root = !half[k].receives,
		        .call = (uint16_t)pp_mpi_call_of_message(span->mpi.call),
		};
	}
	return added;
}

/* What a span adds to the members, or would add where there is no room for them yet. */
static size_t add_span(struct pp_join *j, size_t r, uint32_t t, uint32_t i, const struct pp_requests *requests)
{
	const struct pp_span *span = &j->in->capture->rank[r].thread[t].span[i];
	enum pp_mpi_class class;

	if ((span->kind != PP_SPAN_MPI && span->kind != PP_SPAN_REQUEST) || (span->flags & PP_SPAN_FAILED))
		return 0;
	class = pp_mpi_call_info(span->mpi.call)->class;
	if (pp_mpi_class_is_message(class))
		return add_ends(j, r, t, i, requests);
	if (span->kind != PP_SPAN_MPI || !span->mpi.comm || !pp_mpi_class_joins(class))
		return 0;
	if (j->member)
		add_member(j, r, t, i, requests);
	return 1;
}

/* Lists all ranks' calls of operations in one order. */
static int list_members(struct pp_join *j, struct pp_requests *requests)
{
	const struct pp_capture *capture = j->in->capture;
	const uint32_t calls = PP_SPAN_BIT(PP_SPAN_MPI) | PP_SPAN_BIT(PP_SPAN_REQUEST);
	size_t room = 1;

	for (int filling = 0; filling < 2; filling++) {
		if (filling && !(j->member = calloc(room, sizeof(*j->member))))
			return -ENOMEM;
		for (size_t r = 0; r < capture->ranks; r++)
			for (uint32_t t = 0; t < capture->rank[r].threads; t++) {
				const struct pp_thread *thread = &capture->rank[r].thread[t];

				for (size_t k = 0; k < pp_thread_others(thread, calls); k++)
					room += add_span(j, r, t, (uint32_t)pp_thread_other(thread, k), &requests[r]);
			}
	}
	qsort(j->member, j->members, sizeof(*j->member), compare_member);
	return 0;
}

/* A call that receives no data waits for none: Open MPI returns at once where there is nothing to move. */
static enum pp_row_needs needs_of(const struct pp_span *span)
{
	if (!pp_mpi_call_only_moves_data(span->mpi.call))
		return PP_ROW_NEEDS_ALL;
	if (!span->mpi.received || (span->mpi.flags & PP_MPI_FROM_NONE))
		return PP_ROW_NEEDS_NONE;
	return span->mpi.flags & PP_MPI_FROM_SOME ? PP_ROW_NEEDS_SOME : PP_ROW_NEEDS_ALL;
}

/* Its group of an intercommunicator: 1 or 2. */
static uint32_t side_of(const struct pp_span *span)
{
	return span->mpi.flags & PP_MPI_SIDE_FIRST ? 1 : span->mpi.flags & PP_MPI_SIDE_SECOND ? 2 : 0;
}

/* What other hosts take for a duration. */
static int64_t at_most(int64_t ns)
{
	return ns < PP_TABLE_TIME_MAX ? ns : PP_TABLE_TIME_MAX;
}

/* Algorithm and protocol are equal on all ranks. */
static void add_run(const struct pp_operation_runs *runs, uint32_t request, struct pp_row_arrival *row, struct pp_row_collective *c)
{
	const struct pp_operation_run *run = pp_operation_runs_find(runs, request);
	int64_t share = run && run->shares ? run->shares : 1;

	if (!run)
		return;
	row->device_length_ns = run->device_ns;
	row->device = run->device;
	if (run->correlation && run->end > run->ready) {
		row->device_begin_ns = run->ready;
		row->device_end_ns = run->end;
		row->device_length_ns = at_most(run->end - run->ready);
		row->device_operations = run->shares;
		row->device_input_ns = run->input_ns;
		row->device_beside = (pp_c_FLAG)run->is_beside;
		row->device_error_ns = runs->error_ns;
	}
	c->device_ns = at_most(c->device_ns + run->device_ns / share);
	c->exposed_ns = at_most(c->exposed_ns + run->exposed_ns / share);
	c->device_ranks += run->device_ns > 0;
	c->exposed_ranks += run->shares > 0;
	c->shared_ranks += run->shares > 1;
	if (run->how) {
		c->algorithm = (int8_t)(run->how >> 4);
		c->protocol = (int8_t)(run->how & 15);
	}
	c->channels = run->channels > c->channels ? run->channels : c->channels;
}

/* What the rank did since its row before. Of several rows with one arrival the first has it. */
static void fill_lap(struct pp_join *j, const struct pp_member *m, struct pp_row_arrival *row)
{
	size_t r = m->worker, at;
	const struct pp_attr *attr = &j->in->attr[r];

	at = pp_lap_find(attr->lap, attr->laps, m->arrival);
	if (at == SIZE_MAX || j->lap_taken[r][at])
		return;
	j->lap_taken[r][at] = 1;
	for (int c = 1; c <= PP_CATEGORIES; c++)
		row->local_us[c] = attr->lap[at].us[c];
	row->between_us = attr->lap[at].us[0];
}

static const struct pp_span *span_of(const struct pp_join *j, const struct pp_member *m)
{
	return &j->in->capture->rank[m->worker].thread[m->thread].span[m->span];
}

/* Bytes of the member. A receive that has a request knows them when it is complete, as its request does. */
static uint64_t bytes_of(const struct pp_member *m, const struct pp_span *span, const struct pp_requests *requests)
{
	const struct pp_done *done = m->key.is_message && !m->is_root ? pp_requests_find(requests, m->request) : NULL;

	if (m->key.is_message)
		return m->is_root ? span->mpi.sent : done ? done->span->mpi.received : span->mpi.received;
	return span->mpi.sent > span->mpi.received ? span->mpi.sent : span->mpi.received;
}

/* The member's row, and what it says of the operation. */
static void fill_row(struct pp_join *j, struct pp_member *m, const struct pp_requests *requests, struct pp_row_collective *c)
{
	const struct pp_span *span = span_of(j, m);
	uint64_t bytes = bytes_of(m, span, &requests[m->worker]);
	enum pp_row_needs needs = m->call != c->operation ? PP_ROW_OTHER_CALL
	                          : m->key.is_message     ? PP_ROW_NEEDS_ALL
	                                                  : needs_of(span);
	struct pp_row_arrival *row = &j->d->arrival[j->d->arrivals];

	if (needs == PP_ROW_OTHER_CALL)
		pp_mismatch_add(c, PP_MISMATCH_CALL);
	else if (j->d->arrivals > c->row_first && bytes != c->bytes && (m->key.is_message || pp_mpi_call_has_equal_bytes(m->call)))
		pp_mismatch_add(c, PP_MISMATCH_BYTES);
	if (j->d->arrivals > c->row_first && row[-1].worker == j->d->worker[m->worker].rank)
		pp_mismatch_add(c, PP_MISMATCH_TWICE);
	c->bytes = bytes > c->bytes ? bytes : c->bytes;
	*row = (struct pp_row_arrival){.worker = j->d->worker[m->worker].rank,
	                               .arrival_ns = m->arrival,
	                               .exit_ns = m->exit,
	                               .late_rank = -1,
	                               .device_begin_ns = INT64_MIN,
	                               .device_end_ns = INT64_MIN,
	                               .device = -1,
	                               .is_root = m->is_root,
	                               .exit_open = !m->exit_known,
	                               .needs = needs & 3};
	fill_lap(j, m, row);
	j->d->arrivals++;
	add_run(&j->run[m->worker], span->mpi.request, row, c);
	if (m->key.is_message)
		return;
	row->is_empty = pp_mpi_call_only_moves_data(span->mpi.call) && !span->mpi.sent;
	row->side = side_of(span);
}

/* Rows have the numbers of their members. */
static void fill_collective(struct pp_join *j, struct pp_member *m, size_t n, const struct pp_requests *requests,
                            struct pp_row_collective *c)
{
	*c = (struct pp_row_collective){.communicator = m[0].key.communicator,
	                                .operation = m[0].call,
	                                .sequence = m[0].key.sequence,
	                                .message = (int8_t)m[0].key.is_message,
	                                .source = m[0].key.source,
	                                .destination = m[0].key.destination,
	                                .tag = m[0].key.tag,
	                                .row_first = j->d->arrivals,
	                                .row_count = (uint32_t)n};
	for (size_t i = 0; i < n; i++) {
		m[i].operation = c->operation;
		fill_row(j, &m[i], requests, c);
	}
}

static struct pp_call *note_of(struct pp_join *j, size_t r, uint32_t t, uint32_t span)
{
	if (!j->call[r][t])
		j->call[r][t] = calloc(j->in->capture->rank[r].thread[t].spans, sizeof(*j->call[r][t]));
	if (!j->call[r][t])
		return NULL;
	if (!j->call[r][t][span])
		j->call[r][t][span] = (uint32_t)++j->noteds;
	return pp_join_call(j, r, t, span);
}

/* The call waits until the row's operation is through, maybe for others too: its row numbers the call. */
static int add_wait(struct pp_join *j, size_t r, uint32_t t, uint32_t span, struct pp_row_arrival *row)
{
	struct pp_call *call = note_of(j, r, t, span);

	if (!call || j->waits == PP_EXPOSED_MOST)
		return -ENOMEM;
	if (!call->waits)
		call->waits = ++j->waits;
	row->exposed = call->waits & PP_EXPOSED_MOST;
	return 0;
}

/* The operation's kernel waits, and with it a Wait of the host: of several kernels for the one that ends last. */
static int add_kernel(struct pp_join *j, size_t r, struct pp_row_arrival *row, const struct pp_operation_run *run,
                      const struct pp_done *done)
{
	struct pp_call *wait;

	if (add_wait(j, r, run->thread, run->span, row) < 0)
		return -ENOMEM;
	if (!done || done->wait_span == UINT32_MAX)
		return 0;
	wait = note_of(j, r, done->wait_thread, done->wait_span);
	if (!wait)
		return -ENOMEM;
	if (!wait->waits || (wait->kernel_end_ns && wait->kernel_end_ns < row->device_end_ns)) {
		wait->waits = row->exposed;
		wait->kernel_end_ns = row->device_end_ns;
	}
	return 0;
}

static int note_member(struct pp_join *j, size_t member, const struct pp_requests *requests)
{
	const struct pp_member *m = &j->member[member];
	struct pp_row_arrival *row = &j->d->arrival[member];
	size_t r = m->worker;
	const struct pp_done *done;
	struct pp_call *call;

	if (m->key.is_message ? !m->request : !pp_mpi_call_info(m->call)->nonblocking)
		return add_wait(j, r, m->thread, m->span, row);
	call = note_of(j, r, m->thread, m->span);
	if (!call)
		return -ENOMEM;
	if (!call->starts)
		call->starts = (uint32_t)member + 1;
	done = pp_requests_find(&requests[r], m->request);
	if (row->device_operations)
		return add_kernel(j, r, row, pp_operation_runs_find(&j->run[r], m->request), done);
	return done && done->wait_span != UINT32_MAX ? add_wait(j, r, done->wait_thread, done->wait_span, row) : 0;
}

static int take_laps(struct pp_join *j)
{
	size_t ranks = j->in->capture->ranks;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a rank */
	j->lap_taken = calloc(ranks + 1, sizeof(*j->lap_taken));
	for (size_t r = 0; r < ranks && j->lap_taken; r++)
		if (!(j->lap_taken[r] = calloc(j->in->attr[r].laps + 1, 1)))
			return -ENOMEM;
	return j->lap_taken ? 0 : -ENOMEM;
}

int pp_join_collectives(struct pp_join *j)
{
	size_t ranks = j->in->capture->ranks;
	struct pp_requests *requests = calloc(ranks + 1, sizeof(*requests));
	int rc = requests ? 0 : -ENOMEM;

	for (size_t r = 0; r < ranks && rc == 0; r++)
		rc = pp_requests_init(&requests[r], &j->in->capture->rank[r]);
	if (rc == 0)
		rc = take_laps(j);
	if (rc == 0)
		rc = list_members(j, requests);
	if (rc < 0)
		goto out;
	j->d->collective = calloc(j->members + 1, sizeof(*j->d->collective));
	j->d->arrival = calloc(j->members + 1, sizeof(*j->d->arrival));
	j->noted = calloc(3 * j->members + 1, sizeof(*j->noted));
	rc = j->d->collective && j->d->arrival && j->noted ? 0 : -ENOMEM;
	for (size_t i = 0, n; i < j->members && rc == 0; i += n) {
		for (n = 1; i + n < j->members; n++)
			if (pp_operation_compare(&j->member[i + n].key, &j->member[i].key))
				break;
		fill_collective(j, &j->member[i], n, requests, &j->d->collective[j->d->collectives++]);
	}
	if (rc == 0)
		rc = pp_completing_fill(j, requests);
	if (rc == 0)
		rc = pp_places_fill(j);
	for (size_t i = 0; i < j->members && rc == 0; i++)
		rc = note_member(j, i, requests);
out:
	for (size_t r = 0; requests && r < ranks; r++)
		pp_requests_release(&requests[r]);
	free(requests);
	return rc;
}

int pp_join_operations(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	uint64_t without_kernel = 0, without_operation = 0;

	j->run = calloc(capture->ranks + 1, sizeof(*j->run));
	if (!j->run)
		return -ENOMEM;
	for (size_t r = 0; r < capture->ranks; r++) {
		if (pp_operation_runs_init(&j->run[r], &capture->rank[r], j->d->names))
			return -ENOMEM;
		without_kernel += j->run[r].without_kernel;
		without_operation += j->run[r].without_operation;
	}
	if (without_kernel)
		pp_dataset_warn(j->d,
		                "the kernels of %" PRIu64
		                " operations of NCCL are not in the recording: their time on the device is "
		                "not known, or only as NCCL timed it",
		                without_kernel);
	if (without_operation)
		pp_dataset_warn(j->d,
		                "%" PRIu64 PP_WARNING_ADDS
		                " belong to no recorded operation, as in CUDA graphs and in XSpace files: they are in /kernel "
		                "only, and for which rank they wait is not known",
		                without_operation);
	return 0;
}
