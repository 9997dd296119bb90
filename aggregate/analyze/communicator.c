/* Lists the communicators of all ranks, each once, and who is whose neighbour in them. Called by build.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/order.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

/* Each rank of such a communicator brings its own place; -1 for the others until they come. */
static int put_own(struct pp_row_communicator *to, const struct pp_comm *from, int32_t rank)
{
	to->member = malloc(from->size * sizeof(*to->member));
	if (!to->member)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->size; i++)
		to->member[i] = i == (uint32_t)from->own ? rank : -1;
	return 0;
}

static int copy_members(struct pp_row_communicator *to, const struct pp_comm *from, int32_t rank)
{
	if (from->kind == PP_COMM_RANK)
		return put_own(to, from, rank);
	if (to->member || !from->member || !from->size)
		return 0;
	to->member = malloc(from->size * sizeof(*to->member));
	if (!to->member)
		return -ENOMEM;
	memcpy(to->member, from->member, from->size * sizeof(*to->member));
	return 0;
}

static int put_near(struct pp_table *to, const struct pp_comm *from, int32_t rank)
{
	const int32_t nobody = -1, *near = from->nears ? from->near : &nobody;
	size_t n = from->nears ? from->nears : 1;

	for (size_t i = 0; i < n && from->near_known; i++) {
		struct pp_row_neighbour *row = pp_table_add(to);

		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_neighbour){.communicator = from->id, .worker = rank, .source = near[i]};
	}
	return 0;
}

/* In order, for the rule of waiting. */
static int join_neighbours(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct pp_table t = {.desc = pp_table_desc(PP_TABLE_neighbour)};
	int rc = 0;

	for (size_t r = 0; r < capture->ranks; r++)
		for (size_t c = 0; c < capture->rank[r].comms && !rc; c++)
			rc = put_near(&t, &capture->rank[r].comm[c], capture->rank[r].rank);
	if (!rc)
		rc = pp_table_seal(&t, NULL);
	j->d->neighbour = t.row;
	j->d->neighbours = t.rows;
	return rc;
}

int pp_join_communicators(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct pp_dataset *d = j->d;
	size_t room = 1;

	for (size_t r = 0; r < capture->ranks; r++)
		room += capture->rank[r].comms;
	d->communicator = calloc(room, sizeof(*d->communicator));
	if (!d->communicator)
		return -ENOMEM;
	for (size_t r = 0; r < capture->ranks; r++) {
		for (size_t c = 0; c < capture->rank[r].comms; c++) {
			const struct pp_comm *comm = &capture->rank[r].comm[c];
			struct pp_row_communicator *to = &d->communicator[d->communicators++];

			*to = (struct pp_row_communicator){.id = comm->id,
			                                   .name = comm->name,
			                                   .size = comm->size,
			                                   .devices = comm->devices,
			                                   .kind = comm->kind == PP_COMM_RANK ? PP_COMM_MEMBERS : comm->kind};
			if (copy_members(to, comm, capture->rank[r].rank) < 0)
				return -ENOMEM;
		}
	}
	pp_communicators_fold(d);
	return join_neighbours(j);
}
