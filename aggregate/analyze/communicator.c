/* Communicators of all ranks, each once. Called by dataset.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/join.h"
#include "core/ring/intern.h"

/* One who says more before one who says less, then by what they say: whoever tells first changes nothing. */
static int compare_id(const void *a, const void *b)
{
	const struct pp_communicator *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (!x->member != !y->member)
		return !x->member ? 1 : -1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->member && x->size ? memcmp(x->member, y->member, x->size * sizeof(*x->member)) : 0;
}

/* The least of the names that ranks gave it. */
static uint32_t better_name(const struct pp_dataset *d, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a ? a : b;
	return strcmp(pp_intern_text(d->names, b, NULL), pp_intern_text(d->names, a, NULL)) < 0 ? b : a;
}

static int copy_members(struct pp_communicator *to, const struct pp_comm *from)
{
	if (to->member || !from->member || !from->size)
		return 0;
	to->member = malloc(from->size * sizeof(*to->member));
	if (!to->member)
		return -ENOMEM;
	memcpy(to->member, from->member, from->size * sizeof(*to->member));
	return 0;
}

static const char *role_of(const struct pp_communicator *c, int32_t world)
{
	if (c->kind == PP_COMM_FILE)
		return "file";
	if (c->kind == PP_COMM_WINDOW)
		return "window";
	if (c->kind == PP_COMM_UNKNOWN)
		return "unknown";
	if (c->size == (uint32_t)world)
		return "world";
	return c->size == 1 ? "self" : "part";
}

void pp_communicators_fold(struct pp_dataset *d)
{
	size_t kept = 0;

	if (!d->communicators)
		return;
	qsort(d->communicator, d->communicators, sizeof(*d->communicator), compare_id);
	for (size_t i = 0; i < d->communicators; i++) {
		struct pp_communicator *last = kept ? &d->communicator[kept - 1] : NULL, *one = &d->communicator[i];

		if (!last || last->id != one->id) {
			d->communicator[kept++] = *one;
			continue;
		}
		last->name = better_name(d, last->name, one->name);
		if (one->kind > last->kind)
			last->kind = one->kind;
		free(one->member);
	}
	d->communicators = kept;
	for (size_t i = 0; i < kept; i++)
		snprintf(d->communicator[i].role, sizeof(d->communicator[i].role), "%s",
		         role_of(&d->communicator[i], d->ranks_asked));
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
			struct pp_communicator *to = &d->communicator[d->communicators++];

			*to = (struct pp_communicator){.id = comm->id, .name = comm->name, .size = comm->size, .kind = comm->kind};
			if (copy_members(to, comm) < 0)
				return -ENOMEM;
		}
	}
	pp_communicators_fold(d);
	return 0;
}
