/* Needs of calls by the kind of their operation; see needs.h. Called by analyze/waiting.c, which sets the rows' late_rank,
 * and by replay.c. */
#include "aggregate/graph/needs.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"

enum { LIST = sizeof(((struct pp_need_list *)0)->row) / sizeof(uint32_t) };

int pp_needs_are_odd(const struct pp_dataset *d, const struct pp_row_collective *c)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(d, c->communicator);
	const struct pp_row_arrival *row = &d->arrival[c->row_first];

	if (comm && comm->kind == PP_COMM_UNKNOWN)
		return 1;
	if (c->message)
		return c->row_count != 2 || row[0].is_root == row[1].is_root || c->mismatch;
	for (uint32_t i = 0; i < c->row_count; i++) {
		if (i + PP_GRAPH_AHEAD < c->row_count)
			__builtin_prefetch(&row[i + PP_GRAPH_AHEAD]); /* rows are long: each is far from the one before */
		if (row[i].needs == PP_ROW_OTHER_CALL || (i && row[i].worker == row[i - 1].worker))
			return 1;
	}
	return 0;
}

enum pp_graph_kind pp_needs_kind(const struct pp_dataset *d, const struct pp_row_collective *c)
{
	/* Between clocks that are not joined nothing is earlier or later. */
	if (c->bound_ns == INT64_MAX || pp_needs_are_odd(d, c))
		return PP_GRAPH_UNCLEAR;
	if (c->message || pp_mpi_call_info(c->operation)->class != PP_MPI_ALL)
		return PP_GRAPH_BY_ROW;
	for (uint64_t i = c->row_first; i < c->row_first + c->row_count; i++)
		if (d->arrival[i].needs != PP_ROW_NEEDS_ALL || d->arrival[i].side || d->arrival[i].is_empty)
			return PP_GRAPH_BY_ROW;
	return PP_GRAPH_JOIN;
}

/* Puts a row among the latest ones, if it gives data. */
static void add_late(const struct pp_row_arrival *a, uint32_t row, uint32_t *latest, uint32_t *n)
{
	uint32_t at;

	if (a[row].is_empty)
		return;
	at = *n < LIST ? (*n)++ : LIST;
	while (at && a[latest[at - 1]].arrival_ns < a[row].arrival_ns) {
		if (at < LIST)
			latest[at] = latest[at - 1];
		at--;
	}
	if (at < LIST)
		latest[at] = row;
}

/* Place of a rank in a communicator; its world rank where the members are unknown. */
static int64_t place_of(const struct pp_row_communicator *comm, int32_t rank)
{
	for (uint32_t i = 0; comm && comm->member && i < comm->size; i++)
		if (comm->member[i] == rank)
			return i;
	return rank;
}

/* Do the members stand in the order of their world ranks? Then no place has to be searched. */
static int is_ordered(const struct pp_row_communicator *comm)
{
	for (uint32_t i = 1; comm && comm->member && i < comm->size; i++)
		if (comm->member[i] < comm->member[i - 1])
			return 0;
	return 1;
}

/* Rows stand in the order of world ranks. */
static void add_lower(const struct pp_dataset *d, const struct pp_row_collective *c, uint32_t row, struct pp_need_list *list)
{
	const struct pp_row_communicator *comm;
	const struct pp_row_arrival *a = d->arrival;
	int64_t own;

	if (row > c->row_first && list->upto == row) {
		add_late(a, row - 1, list->lower, &list->lowers);
	} else {
		list->lowers = 0;
		comm = pp_dataset_communicator(d, c->communicator);
		if (is_ordered(comm)) {
			for (uint32_t one = (uint32_t)c->row_first; one < row; one++)
				add_late(a, one, list->lower, &list->lowers);
		} else {
			own = place_of(comm, a[row].worker);
			for (uint32_t one = (uint32_t)c->row_first; one < c->row_first + c->row_count; one++)
				if (place_of(comm, a[one].worker) < own)
					add_late(a, one, list->row, &list->rows);
			return;
		}
	}
	list->upto = (uint64_t)row + 1;
	memcpy(list->row, list->lower, sizeof(list->row));
	list->rows = list->lowers;
}

PP_COMPARE_BY(compare_worker, struct pp_row_arrival, worker)

/* 1: its neighbours are known. */
static int add_near(const struct pp_dataset *d, const struct pp_row_collective *c, uint32_t row, struct pp_need_list *list)
{
	const int32_t rank = d->arrival[row].worker;
	size_t first = PP_PARTITION(d->neighbours, at,
	                            d->neighbour[at].communicator < c->communicator ||
	                                    (d->neighbour[at].communicator == c->communicator && d->neighbour[at].worker < rank));
	size_t at = first;

	for (; at < d->neighbours && d->neighbour[at].communicator == c->communicator && d->neighbour[at].worker == rank; at++) {
		const struct pp_row_arrival key = {.worker = d->neighbour[at].source};
		const struct pp_row_arrival *one =
		        bsearch(&key, &d->arrival[c->row_first], c->row_count, sizeof(key), compare_worker);

		if (key.worker < 0 || key.worker == rank)
			continue;
		if (!one)
			return 0;
		add_late(d->arrival, (uint32_t)(one - d->arrival), list->row, &list->rows);
	}
	return at > first;
}

/* A receiver needs the message; a sender the receiver where it was still sending when that arrived: a request has its own end. */
static enum pp_need_kind of_message(const struct pp_dataset *d, const struct pp_row_collective *c, uint32_t row,
                                    struct pp_need_list *list)
{
	const uint32_t first = (uint32_t)c->row_first, other = row == first ? first + 1 : first;
	const struct pp_row_arrival *one = &d->arrival[row], *two = &d->arrival[other];

	if (one->is_root && (one->exit_open || one->exit_ns < two->arrival_ns))
		return PP_NEED_NOBODY;
	list->row[list->rows++] = other;
	return PP_NEED_ROWS;
}

static uint32_t root_of(const struct pp_dataset *d, const struct pp_row_collective *c, struct pp_need_list *list)
{
	const uint64_t end = c->row_first + c->row_count;

	if (list->of == c->row_first + 1)
		return list->root;
	list->of = c->row_first + 1;
	list->root = PP_GRAPH_NONE;
	for (uint64_t i = c->row_first; i < end && list->root == PP_GRAPH_NONE; i++)
		if (d->arrival[i].is_root)
			list->root = (uint32_t)i;
	return list->root;
}

/* Of an intercommunicator a rank gets the data of the other group. */
static void add_other_side(const struct pp_dataset *d, const struct pp_row_collective *c, uint32_t row, struct pp_need_list *list)
{
	for (uint32_t one = (uint32_t)c->row_first; one < c->row_first + c->row_count; one++)
		if (d->arrival[one].side != d->arrival[row].side)
			add_late(d->arrival, one, list->row, &list->rows);
}

enum pp_need_kind pp_needs_in(const struct pp_dataset *d, const struct pp_row_collective *c, uint32_t row,
                              struct pp_need_list *list)
{
	const struct pp_row_arrival *one = &d->arrival[row];
	uint32_t root;

	list->rows = 0;
	if (c->message)
		return of_message(d, c, row, list);
	if (one->needs == PP_ROW_NEEDS_NONE)
		return PP_NEED_NOBODY;
	if (one->needs != PP_ROW_NEEDS_ALL)
		return PP_NEED_UNKNOWN;
	switch (pp_mpi_call_info(c->operation)->class) {
	case PP_MPI_FROM_ROOT:
		root = root_of(d, c, list);
		if (root == PP_GRAPH_NONE || root == row || d->arrival[root].is_empty)
			return PP_NEED_NOBODY;
		list->row[list->rows++] = root;
		return PP_NEED_ROWS;
	case PP_MPI_TO_ROOT:
		if (!one->is_root)
			return PP_NEED_NOBODY;
		break;
	case PP_MPI_PREFIX:
		add_lower(d, c, row, list);
		return PP_NEED_ROWS;
	case PP_MPI_NEAR:
		return add_near(d, c, row, list) ? PP_NEED_ROWS : PP_NEED_UNKNOWN;
	default:
		break;
	}
	if (!one->side)
		return PP_NEED_ALL;
	add_other_side(d, c, row, list);
	return PP_NEED_ROWS;
}
