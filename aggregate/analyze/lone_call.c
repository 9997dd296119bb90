/* Lists the calls that may wait and are in no row of /collective; see lone_call.h. */
#include "aggregate/analyze/lone_call.h"

#include <errno.h>
#include <stddef.h>

#include "aggregate/analyze/message.h"
#include "aggregate/dataset/table/table.h"
#include "aggregate/dataset/table/table_list.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

enum {
	AT_ONCE_NS = 5000, /* mpi/pmpi_poll.h has it too: the program did nothing worth a record between two calls */
	MOST_BETWEEN = 2,  /* times as long as in the polls: a rank that is longer between them works there */
};

struct run {                          /* calls of a thread in one row, which more may continue */
	struct pp_row_lone_call *row; /* NULL: the call before is in no row here */
	int64_t polled, between;
};

/* Messages to MPI_PROC_NULL and to the rank itself wait for nobody. */
static int has_unknown_end(const struct pp_rank *rank, const struct pp_span *span)
{
	struct pp_message_half half[2];
	unsigned all[2];
	size_t n;

	if (span->mpi.call >= PP_C10D_FIRST || (span->flags & PP_SPAN_FAILED))
		return 1;
	n = pp_message_halves(rank, span, half, all);
	return all[0] + all[1] > n;
}

static int is_transfer(enum pp_mpi_class class)
{
	return class == PP_MPI_PUT || class == PP_MPI_GET || class == PP_MPI_PUTGET;
}

static int may_wait(const struct pp_rank *rank, const struct pp_span *span)
{
	enum pp_mpi_class class = pp_mpi_call_info(span->mpi.call)->class;

	if (class == PP_MPI_START && !span->mpi.comm) /* of a request that podprof did not see made: it goes on for other ranks */
		return 1;
	if (pp_mpi_class_is_message(class))
		return has_unknown_end(rank, span);
	return class == PP_MPI_PROBE || class == PP_MPI_WAIT || class == PP_MPI_EPOCH || is_transfer(class) ||
	       pp_mpi_class_joins(class);
}

/* Polls, or transfers, that the thread made without work between them; and the probe that polls for a message end in. */
static int continues(const struct run *run, const struct pp_span *span)
{
	const struct pp_row_lone_call *row = run->row;
	const enum pp_mpi_class class = pp_mpi_call_info(span->mpi.call)->class;
	const int polls = (span->flags & PP_SPAN_POLLS) != 0;
	int64_t gap;

	if (!row || row->operation != span->mpi.call)
		return 0;
	gap = span->begin - row->end_ns;
	if (class == PP_MPI_PROBE && row->polls)
		return run->between + gap <= MOST_BETWEEN * (run->polled + span->end - span->begin) || gap < AT_ONCE_NS;
	return row->polls == polls && gap < AT_ONCE_NS && (polls || is_transfer(class));
}

static void go_on(struct run *run, const struct pp_span *span, uint32_t calls)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): continues() has looked at it */
	run->between += span->begin - run->row->end_ns;
	run->polled += span->end - span->begin;
	run->row->end_ns = span->end;
	run->row->calls += calls;
	if (run->row->polls && !(span->flags & PP_SPAN_POLLS)) /* it was there */
		run->row = NULL;
}

static int64_t add_thread(const struct pp_rank *rank, const struct pp_thread *thread, const uint32_t *in_row, size_t most,
                          struct pp_table *to)
{
	struct run run = {.row = NULL};
	int64_t more = 0;

	for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
		size_t i = pp_thread_other(thread, k);
		const struct pp_span *span = &thread->span[i];
		uint32_t calls = span->flags & PP_SPAN_POLLS ? span->mpi.sequence : 1;

		if (span->kind != PP_SPAN_MPI)
			continue;
		if ((in_row && in_row[i]) || !may_wait(rank, span)) {
			run.row = NULL;
		} else if (continues(&run, span)) {
			go_on(&run, span, calls);
		} else if (to->rows == most) {
			more += calls;
		} else {
			run = (struct run){.row = pp_table_add(to), .polled = span->end - span->begin};
			if (!run.row)
				return -ENOMEM;
			*run.row = (struct pp_row_lone_call){.worker = rank->rank,
			                                     .operation = span->mpi.call,
			                                     .begin_ns = span->begin,
			                                     .end_ns = span->end,
			                                     .polls = (pp_c_FLAG)((span->flags & PP_SPAN_POLLS) != 0),
			                                     .calls = calls};
		}
	}
	return more;
}

int64_t pp_lone_calls_add(const struct pp_rank *rank, uint32_t *const *in_row, struct pp_table *to)
{
	const size_t most = to->rows + PP_LONE_CALLS_MOST;
	int64_t left_out = 0;

	for (size_t t = 0; t < rank->threads; t++) {
		int64_t more = add_thread(rank, &rank->thread[t], in_row ? in_row[t] : NULL, most, to);

		if (more < 0)
			return more;
		left_out += more;
	}
	return left_out;
}
