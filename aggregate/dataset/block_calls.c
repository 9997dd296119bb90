/* What no table of a block holds of collectives: the exposed segments of their calls, and checks over several rows.
 * Called by block_fields.c. */
#include "aggregate/dataset/block_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/dataset.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

enum { LINK_NONE, LINK_NEW, LINK_BACK }; /* of a row to segments: none, the next ones, those of an earlier row and how far back */

/* What no column says of calls and their rows. */
static void check_calls(struct pp_block_io *io, const struct pp_dataset *d)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < d->collectives && !io->fault; i++) {
		const struct pp_row_collective *c = &d->collective[i];

		if (c->row_first != rows || !c->row_count || c->row_count > d->arrivals - rows ||
		    !pp_mpi_call_is_known(c->operation))
			pp_block_fault(io, -EBADMSG, "a call");
		else if (c->device_ns < 0 || c->device_ns > PP_BLOCK_TIME_MAX || c->exposed_ns < 0 ||
		         c->exposed_ns > PP_BLOCK_TIME_MAX || c->device_ranks < 0 || c->exposed_ranks < 0 || c->shared_ranks < 0 ||
		         c->algorithm < 0 || c->protocol < 0 || c->channels < 0)
			pp_block_fault(io, -EBADMSG, "how a call ran on devices");
		for (uint32_t k = 1; !io->fault && k < c->row_count; k++)
			if (d->arrival[rows + k].worker < d->arrival[rows + k - 1].worker)
				pp_block_fault(io, -EBADMSG, "the order of a call's ranks");
		rows += c->row_count;
	}
	if (!io->fault && rows != d->arrivals)
		pp_block_fault(io, -EBADMSG, "rows of a collective");
	for (size_t i = 0; i < d->arrivals && !io->fault; i++) {
		const struct pp_row_arrival *a = &d->arrival[i];

		if (a->arrival_ns == INT64_MIN || a->exit_ns == INT64_MIN)
			pp_block_fault(io, -EBADMSG, "a time");
		if (a->call_begin_ns == INT64_MIN || a->call_end_ns == INT64_MIN ||
		    (!a->call && (a->call_begin_ns || a->call_end_ns || a->polls)))
			pp_block_fault(io, -EBADMSG, "the call that completed an operation");
	}
}

/* Most calls are one segment, from begin to end of the call that completes the row, in the previous call's step. */
static void do_segments(struct pp_block_io *io, struct pp_dataset *d, const struct pp_row_arrival *row, size_t *at, uint32_t *step)
{
	int64_t begin = row->call ? row->call_begin_ns : row->arrival_ns, end = row->call ? row->call_end_ns : row->exit_ns;

	for (uint64_t more = 1; more && !io->fault; (*at)++) {
		struct pp_exposed *e;
		int64_t length, number;
		uint64_t flags;

		if (*at >= d->exposeds) {
			pp_block_fault(io, -EBADMSG, "segments of a call");
			return;
		}
		e = &d->exposed[*at];
		flags = e->more | (uint64_t)e->blocks << 1;
		PP_BLOCK_T(io, e->begin_ns, begin);
		length = e->length_ns;
		pp_block_delta(io, &length, pp_wrap_minus(end, e->begin_ns), 0);
		number = e->step;
		pp_block_delta(io, &number, *step, 0);
		pp_block_u(io, &flags);
		if (length < 0 || length > PP_EXPOSED_LENGTH_MOST || number < 0 || (size_t)number >= d->steps ||
		    flags >> 1 > PP_EXPOSED_BLOCKS_MOST) {
			pp_block_fault(io, -EBADMSG, "a segment of a call");
			return;
		}
		e->length_ns = (uint32_t)length & PP_EXPOSED_LENGTH_MOST;
		e->step = (uint32_t)number & INT32_MAX;
		e->more = more = flags & 1;
		e->blocks = flags >> 1 & 3;
		*step = e->step;
		begin = pp_wrap_plus(e->begin_ns, length);
	}
}

/* Whose data it gets, whether it sends any, and its side: mostly as in the previous row. */
static uint64_t need_of(const struct pp_row_arrival *row)
{
	return (uint64_t)(row->needs << 3 | row->is_empty << 2 | row->side);
}

static void set_need(struct pp_row_arrival *row, uint64_t need)
{
	row->needs = need >> 3 & 3;
	row->is_empty = need >> 2 & 1;
	row->side = need & 3;
}

/* starts: [exposeds] 1 where a call's segments begin */
static void do_exposed(struct pp_block_io *io, struct pp_dataset *d, uint8_t *starts)
{
	size_t at = 0;
	uint32_t step = 0;
	uint64_t need = 0;

	for (size_t i = 0; i < d->arrivals && !io->fault; i++) {
		struct pp_row_arrival *row = &d->arrival[i];
		uint64_t link = !row->exposed ? LINK_NONE : row->exposed == at + 1 ? LINK_NEW : LINK_BACK + at - row->exposed;

		link = link << 4 | (uint64_t)(row->shared << 2 | row->is_root << 1 | row->exit_open) | (need_of(row) != need) << 3;
		pp_block_u(io, &link);
		row->shared = link >> 2 & 1;
		row->is_root = link >> 1 & 1;
		row->exit_open = link & 1;
		if (!io->reads)
			need = need_of(row);
		if (link >> 3 & 1)
			pp_block_u(io, &need);
		set_need(row, need);
		link >>= 4;
		if (link == LINK_NEW && at < d->exposeds) {
			starts[at] = 1;
			row->exposed = (uint32_t)(at + 1) & PP_EXPOSED_MOST;
			do_segments(io, d, row, &at, &step);
		} else if (link >= LINK_BACK && link - LINK_BACK < at && starts[at - 1 - (link - LINK_BACK)]) {
			row->exposed = (uint32_t)(at - (link - LINK_BACK)) & PP_EXPOSED_MOST;
		} else if (link != LINK_NONE) {
			pp_block_fault(io, -EBADMSG, "segments of a call");
		}
	}
	if (at != d->exposeds)
		pp_block_fault(io, -EBADMSG, "segments of calls");
}

void pp_block_calls(struct pp_block_io *io, struct pp_dataset *d)
{
	uint8_t *starts;

	check_calls(io, d);
	d->exposed = pp_block_array(io, d->exposed, &d->exposeds, sizeof(*d->exposed), 4);
	starts = calloc(d->exposeds + 1, 1);
	if (!starts) {
		pp_block_fault(io, -ENOMEM, "no memory");
		return;
	}
	if (d->exposeds >= PP_EXPOSED_MOST)
		pp_block_fault(io, -EBADMSG, "segments of calls");
	if (!io->fault)
		do_exposed(io, d, starts);
	free(starts);
}
