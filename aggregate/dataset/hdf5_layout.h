/* The layout of pod.h5 as a table. In: hdf5_layout.def. Out: rows. Used by reader and writer of pod.h5 and by the tests of
 * docs/formats.md. */
#pragma once

#include <stddef.h>

enum { PP_H5_FORMAT_VERSION = 2, PP_H5_MOST_DIMS = 3 };

enum pp_h5_type { PP_H5_I8, PP_H5_I32, PP_H5_I64, PP_H5_U32, PP_H5_U64, PP_H5_F64, PP_H5_STR };

struct pp_h5_row {
	const char *group, *variable;
	const char *dims; /* names, blank between; "": scalar */
	enum pp_h5_type type;
	const char *unit, *what;
	const char *words; /* of a code: what 0, 1 .. mean, blank between; NULL: it is none */
};

/* All rows; ends with group NULL. */
extern const struct pp_h5_row pp_h5_layout[];
const struct pp_h5_row *pp_h5_find(const char *group, const char *variable);
