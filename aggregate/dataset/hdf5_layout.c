/* Rows of hdf5_layout.def. Called by hdf5.c and tests. */
#include "aggregate/dataset/hdf5_layout.h"

#include <string.h>

const struct pp_h5_row pp_h5_layout[] = {
#define PP_H5(group, variable, dims, type, unit, what) {group, variable, dims, PP_H5_##type, unit, what, NULL},
#include "aggregate/dataset/hdf5_layout.def"
#undef PP_H5
        {NULL, NULL, NULL, PP_H5_I8, NULL, NULL, NULL},
};

const struct pp_h5_row *pp_h5_find(const char *group, const char *variable)
{
	for (const struct pp_h5_row *r = pp_h5_layout; r->group; r++)
		if (!strcmp(r->group, group) && !strcmp(r->variable, variable))
			return r;
	return NULL;
}
