/* Collectives in a block: calls, ranks' arrivals and exits, and the exposed segments that wait for other hosts. By columns, each
 * as the difference to a prediction, since a job repeats itself. Called by block_fields.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/dataset.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

enum { LINK_NONE, LINK_NEW, LINK_BACK }; /* of a row to segments: none, the next ones, those of an earlier row and how far back */

/* How they ran on devices. */
static void do_runs(struct pp_block_io *io, struct pp_row_collective *c, size_t n)
{
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].device_ns);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].exposed_ns);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].device_ranks);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].exposed_ranks);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].shared_ranks);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].algorithm);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].protocol);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].channels);
	for (size_t i = 0; i < n; i++)
		if (c[i].device_ns < 0 || c[i].device_ns > PP_BLOCK_TIME_MAX || c[i].exposed_ns < 0 ||
		    c[i].exposed_ns > PP_BLOCK_TIME_MAX || c[i].device_ranks < 0 || c[i].exposed_ranks < 0 ||
		    c[i].shared_ranks < 0 || c[i].algorithm < 0 || c[i].protocol < 0 || c[i].channels < 0)
			pp_block_fault(io, -EBADMSG, "how a call ran on devices");
}

/* Which message: 1 of one like the operation before, 2 of other ranks or tag. */
static void do_messages(struct pp_block_io *io, struct pp_row_collective *c, size_t n)
{
	static const struct pp_row_collective none = {0};

	for (size_t i = 0; i < n && !io->fault; i++) {
		const struct pp_row_collective *before = i ? &c[i - 1] : &none;
		int is_like = c[i].source == before->source && c[i].destination == before->destination && c[i].tag == before->tag;
		uint64_t kind = !c[i].message ? 0 : is_like ? 1 : 2;

		pp_block_u(io, &kind);
		if (kind > 2)
			pp_block_fault(io, -EBADMSG, "a message");
		c[i].message = (int8_t)(kind > 0);
		if (kind == 1) {
			c[i].source = before->source;
			c[i].destination = before->destination;
			c[i].tag = before->tag;
		}
		if (kind != 2)
			continue;
		PP_BLOCK_S(io, c[i].source);
		PP_BLOCK_S(io, c[i].destination);
		PP_BLOCK_S(io, c[i].tag);
	}
}

/* Writing uses the row as it is; reading assembles it. */
static void do_collectives(struct pp_block_io *io, struct pp_dataset *d)
{
	struct pp_row_collective *c;
	size_t n;
	uint64_t rows = 0;

	d->collective = pp_block_array(io, d->collective, &d->collectives, sizeof(*d->collective), 13);
	c = d->collective;
	n = d->collectives;
	for (size_t i = 0; i < n; i++) {
		int64_t comm = (int64_t)c[i].communicator;

		pp_block_delta(io, &comm, i ? (int64_t)c[i - 1].communicator : 0, 0);
		if (io->reads)
			c[i].communicator = (uint64_t)comm;
	}
	for (size_t i = 0; i < n; i++) {
		int64_t sequence = c[i].sequence;

		pp_block_delta(io, &sequence, i && c[i].communicator == c[i - 1].communicator ? (int64_t)c[i - 1].sequence + 1 : 0,
		               1);
		if (sequence < 0 || sequence > UINT32_MAX)
			pp_block_fault(io, -EBADMSG, "a sequence number");
		if (io->reads)
			c[i].sequence = (uint32_t)sequence;
	}
	do_messages(io, c, n);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].mismatch);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].operation);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].bytes);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, n, c[i].row_count);
	do_runs(io, c, n);
	for (size_t i = 0; i < n; i++) {
		if (io->reads)
			c[i].row_first = rows;
		if (!io->reads && c[i].row_first != rows)
			pp_block_fault(io, -EBADMSG, "the order of collectives");
		rows += c[i].row_count;
		if (!c[i].row_count || !pp_mpi_call_is_known(c[i].operation) || c[i].mismatch < 0 ||
		    c[i].mismatch > PP_MISMATCH_TWICE)
			pp_block_fault(io, -EBADMSG, "a call");
	}
	if (!io->reads && rows != d->arrivals)
		pp_block_fault(io, -EBADMSG, "rows of a collective");
}

/* Workers, predicted as the one after the previous row's. */
static void do_workers(struct pp_block_io *io, const struct pp_dataset *d, const struct pp_row_collective *c)
{
	int64_t next = 0;

	for (uint32_t i = 0; i < c->row_count && !io->fault; i++) {
		struct pp_row_arrival *row = &d->arrival[c->row_first + i];
		size_t index = io->reads ? 0 : pp_dataset_worker(d, row->worker);
		int64_t worker = (int64_t)index;

		if (index == SIZE_MAX) {
			pp_block_fault(io, -EBADMSG, "a rank that is not in it");
			return;
		}
		pp_block_delta(io, &worker, next, 0);
		if (worker < 0 || (size_t)worker >= d->workers || (i && worker < next - 1)) {
			pp_block_fault(io, -EBADMSG, "a rank that is not in it");
			return;
		}
		row->worker = d->worker[worker].rank;
		next = worker + 1;
	}
}

/* Predicted: a rank arrives and leaves as the one before, the first of a collective when the previous one ended. */
static void do_times(struct pp_block_io *io, struct pp_dataset *d)
{
	int64_t before = 0;

	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *c = &d->collective[i];

		for (uint32_t k = 0; k < c->row_count; k++) {
			struct pp_row_arrival *row = &d->arrival[c->row_first + k];

			PP_BLOCK_T(io, row->arrival_ns, k ? row[-1].arrival_ns : before);
		}
		before = d->arrival[c->row_first].arrival_ns;
	}
	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *c = &d->collective[i];

		for (uint32_t k = 0; k < c->row_count; k++) {
			struct pp_row_arrival *row = &d->arrival[c->row_first + k];

			PP_BLOCK_T(io, row->exit_ns, k ? row[-1].exit_ns : row->arrival_ns);
		}
	}
}

/* Most calls are one segment, from the row's arrival to its exit, in the previous call's step. */
static void do_segments(struct pp_block_io *io, struct pp_dataset *d, const struct pp_row_arrival *row, size_t *at, uint32_t *step)
{
	int64_t begin = row->arrival_ns;

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
		pp_block_delta(io, &length, pp_wrap_minus(row->exit_ns, e->begin_ns), 0);
		number = e->step;
		pp_block_delta(io, &number, *step, 0);
		pp_block_u(io, &flags);
		if (length < 0 || length > INT32_MAX || number < 0 || (size_t)number >= d->steps || flags > 3) {
			pp_block_fault(io, -EBADMSG, "a segment of a call");
			return;
		}
		e->length_ns = (uint32_t)length & INT32_MAX;
		e->step = (uint32_t)number & INT32_MAX;
		e->more = more = flags & 1;
		e->blocks = flags >> 1 & 1;
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

/* What each rank did since its row before, and what its host alone knew of its waiting. */
static void do_laps(struct pp_block_io *io, struct pp_dataset *d)
{
	struct pp_row_arrival *a = d->arrival;

	for (int c = 1; c <= PP_CATEGORIES; c++)
		PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, d->arrivals, a[i].local_us[c]);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, d->arrivals, a[i].between_us);
	PP_BLOCK_COLUMN(PP_BLOCK_U, io, i, d->arrivals, a[i].exposed_wait_ns);
	for (size_t i = 0; i < d->arrivals && !io->fault; i++) {
		if (a[i].exposed_wait_ns)
			PP_BLOCK_U(io, a[i].wait_step);
		if (a[i].exposed_wait_ns < 0 || a[i].exposed_wait_ns > PP_BLOCK_TIME_MAX || a[i].wait_step > d->steps ||
		    (a[i].exposed_wait_ns && !a[i].wait_step))
			pp_block_fault(io, -EBADMSG, "the waiting of a call");
	}
}

static void do_awaited(struct pp_block_io *io, struct pp_dataset *d, const uint8_t *starts)
{
	d->awaited = pp_block_array(io, d->awaited, &d->awaiteds, sizeof(*d->awaited), 3);
	for (size_t i = 0; i < d->awaiteds; i++) {
		struct pp_awaited *a = &d->awaited[i];

		PP_BLOCK_U(io, a->exposed);
		PP_BLOCK_U(io, a->row);
		PP_BLOCK_S(io, a->late_rank);
		if (io->fault || a->row >= d->arrivals || a->exposed >= d->exposeds || !starts[a->exposed] ||
		    (i && a->exposed <= a[-1].exposed) || pp_dataset_worker(d, a->late_rank) == SIZE_MAX) {
			pp_block_fault(io, -EBADMSG, "what a call waits for");
			return;
		}
		PP_BLOCK_T(io, a->until_ns, d->exposed[a->exposed].begin_ns);
	}
}

void pp_block_calls(struct pp_block_io *io, struct pp_dataset *d)
{
	uint8_t *starts;

	do_collectives(io, d);
	d->arrival = pp_block_array(io, d->arrival, &d->arrivals, sizeof(*d->arrival), 4);
	if (!io->fault && io->reads && d->collectives &&
	    d->collective[d->collectives - 1].row_first + d->collective[d->collectives - 1].row_count != d->arrivals)
		pp_block_fault(io, -EBADMSG, "rows of a collective");
	if (!io->fault && !d->collectives && d->arrivals)
		pp_block_fault(io, -EBADMSG, "rows of a collective");
	for (size_t i = 0; i < d->collectives && !io->fault; i++)
		do_workers(io, d, &d->collective[i]);
	if (!io->fault)
		do_times(io, d);
	if (!io->fault)
		do_laps(io, d);
	d->exposed = pp_block_array(io, d->exposed, &d->exposeds, sizeof(*d->exposed), 4);
	starts = calloc(d->exposeds + 1, 1);
	if (!starts) {
		pp_block_fault(io, -ENOMEM, "no memory");
		return;
	}
	if (d->exposeds >= PP_EXPOSED_MOST)
		pp_block_fault(io, -EBADMSG, "segments of calls");
	if (!io->fault) {
		do_exposed(io, d, starts);
		do_awaited(io, d, starts);
	}
	free(starts);
}
