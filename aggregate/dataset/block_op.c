/* Operators in a block: rows of one operator stand together, so its name is there once. Called by block_fields.c. */
#include <errno.h>

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/dataset.h"

/* Bit 0: another name than the row before. */
static void do_name(struct pp_block_io *io, struct pp_op *op, const struct pp_op *before)
{
	uint64_t is_new = !before || before->name != op->name;

	pp_block_u(io, &is_new);
	if (is_new > 1 || (!is_new && !before))
		pp_block_fault(io, -EBADMSG, "a name of an operator");
	if (is_new)
		pp_block_name(io, &op->name);
	else if (before)
		op->name = before->name;
}

void pp_block_ops(struct pp_block_io *io, struct pp_dataset *d)
{
	PP_BLOCK_U(io, d->ops_cut);
	PP_BLOCK_U(io, d->ops_rest);
	PP_BLOCK_T(io, d->ops_rest_ns, 0);
	d->op = pp_block_array(io, d->op, &d->ops, sizeof(*d->op), 9);
	for (size_t i = 0; i < d->ops; i++) {
		struct pp_op *op = &d->op[i];

		do_name(io, op, i ? op - 1 : NULL);
		PP_BLOCK_S(io, op->worker);
		PP_BLOCK_U(io, op->category);
		PP_BLOCK_U(io, op->source);
		PP_BLOCK_U(io, op->steps);
		PP_BLOCK_U(io, op->calls);
		PP_BLOCK_T(io, op->total_ns, 0);
		PP_BLOCK_T(io, op->self_ns, op->total_ns);
		PP_BLOCK_T(io, op->max_ns, op->total_ns);
		if (!op->category || op->category > PP_CATEGORIES)
			pp_block_fault(io, -EBADMSG, "a category");
		if (!io->fault && pp_dataset_worker(d, op->worker) == SIZE_MAX)
			pp_block_fault(io, -EBADMSG, "a rank that is not in it");
	}
}
