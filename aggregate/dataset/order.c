/* Orders and folds of tables; see order.h. Called by aggregate/analyze and by the merge. */
#include "aggregate/dataset/order.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/capture/capture.h"
#include "core/ring/intern.h"

int pp_operation_compare(const struct pp_operation_key *x, const struct pp_operation_key *y)
{
	if (x->communicator != y->communicator)
		return x->communicator < y->communicator ? -1 : 1;
	if (x->is_message != y->is_message)
		return x->is_message < y->is_message ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->destination != y->destination)
		return x->destination < y->destination ? -1 : 1;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The longer list first, then by content: the result does not depend on the order of parts. */
PP_COMPARE(compare_communicator, struct pp_row_communicator,
           PP_UP(id) ?: PP_ORDER(!x->member, !y->member) ?: PP_DOWN(size) ?:
           (x->member && x->size ? memcmp(x->member, y->member, x->size * sizeof(*x->member)) : 0))

/* The least of the names that ranks gave it. */
static uint32_t better_name(const struct pp_dataset *d, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a ? a : b;
	return strcmp(pp_intern_text(d->names, b, NULL), pp_intern_text(d->names, a, NULL)) < 0 ? b : a;
}

static const char *role_of(const struct pp_row_communicator *c, int32_t world)
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

/* Members of NCCL's communicators come from each member itself: -1 where it has not come. */
static void fill_members(struct pp_row_communicator *to, const struct pp_row_communicator *from)
{
	for (uint32_t i = 0; to->member && from->member && i < to->size && i < from->size; i++)
		if (to->member[i] < 0)
			to->member[i] = from->member[i];
}

void pp_communicators_fold(struct pp_dataset *d)
{
	size_t kept = 0;

	if (!d->communicators)
		return;
	qsort(d->communicator, d->communicators, sizeof(*d->communicator), compare_communicator);
	for (size_t i = 0; i < d->communicators; i++) {
		struct pp_row_communicator *last = kept ? &d->communicator[kept - 1] : NULL, *one = &d->communicator[i];

		if (!last || last->id != one->id) {
			d->communicator[kept++] = *one;
			continue;
		}
		last->name = better_name(d, last->name, one->name);
		fill_members(last, one);
		if (one->kind > last->kind)
			last->kind = one->kind;
		free(one->member);
	}
	d->communicators = kept;
	for (size_t i = 0; i < kept; i++)
		snprintf(d->communicator[i].role, sizeof(d->communicator[i].role), "%s",
		         role_of(&d->communicator[i], d->ranks_asked));
}

int pp_op_is_same(const struct pp_row_op *a, const struct pp_row_op *b)
{
	return a->name == b->name && a->category == b->category && a->source == b->source && a->side == b->side;
}

/* The origin in a name: "aten" of "aten::mm", "Optimizer" of "Optimizer.step#SGD.step". */
size_t pp_op_type(const char *name, size_t length)
{
	size_t n = strcspn(name, ":.#");

	if (length > 4 && !strncmp(name, "MPI_", 4))
		return 3;
	return n + 1 < length && isalpha((unsigned char)name[0]) && !memchr(name, ' ', n) ? n : 0;
}

/* As TensorFlow's profiler has it: OP:TYPE, where OP has letters, digits and _ . - / and TYPE is an identifier with a capital. */
size_t pp_op_tensorflow_type(const char *name, size_t length)
{
	size_t colon = length;

	while (colon && (isalnum((unsigned char)name[colon - 1]) || name[colon - 1] == '_'))
		colon--;
	if (colon < 2 || colon == length || name[colon - 1] != ':' || !(isupper((unsigned char)name[colon]) || name[colon] == '_'))
		return 0;
	for (size_t i = 0; i + 1 < colon; i++)
		if (!isalnum((unsigned char)name[i]) && !(name[i] && strchr("_.-/", name[i])))
			return 0;
	return colon;
}

void pp_c10d_add(struct pp_c10d_count *to, const struct pp_c10d_count *from)
{
	to->calls += from->calls;
	to->unannotated += from->unannotated;
	to->recorder_off += from->recorder_off;
	to->unended += from->unended;
	to->enqueued += from->enqueued;
	to->rootless += from->rootless;
}
