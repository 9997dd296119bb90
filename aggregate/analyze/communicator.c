/* Lists the communicators of all ranks, each once. Called by build.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/order.h"

static int copy_members(struct pp_row_communicator *to, const struct pp_comm *from)
{
	if (to->member || !from->member || !from->size)
		return 0;
	to->member = malloc(from->size * sizeof(*to->member));
	if (!to->member)
		return -ENOMEM;
	memcpy(to->member, from->member, from->size * sizeof(*to->member));
	return 0;
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

			*to = (struct pp_row_communicator){
			        .id = comm->id, .name = comm->name, .size = comm->size, .kind = comm->kind};
			if (copy_members(to, comm) < 0)
				return -ENOMEM;
		}
	}
	pp_communicators_fold(d);
	return 0;
}
