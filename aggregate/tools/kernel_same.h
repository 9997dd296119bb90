/* When two rows of /kernel are of one kernel. Used by kernel_stats.c and device_speed.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* Rows of one kernel on several workers stand together: these are such, but for the worker. */
static inline int pp_kernel_is_same(const struct pp_row_kernel *k, const struct pp_row_kernel *before)
{
	return k->name == before->name && k->op == before->op && k->activity == before->activity &&
	       k->precision == before->precision && k->registers == before->registers &&
	       k->static_shared_bytes == before->static_shared_bytes && k->dynamic_shared_bytes == before->dynamic_shared_bytes &&
	       k->block_x == before->block_x && k->block_y == before->block_y && k->block_z == before->block_z &&
	       k->grid_x == before->grid_x && k->grid_y == before->grid_y && k->grid_z == before->grid_z;
}
