/* A variable of pod.h5 as its reader and writer know it, made of a column of a table; see write/h5/table_write.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_H5_FORMAT_VERSION = 3, PP_H5_MOST_DIMS = 3 };

enum pp_h5_type { PP_H5_I8, PP_H5_I32, PP_H5_I64, PP_H5_U32, PP_H5_U64, PP_H5_F64, PP_H5_STR };

struct pp_h5_row {
	const char *group, *variable;
	const char *dims; /* names, blank between; "": scalar */
	enum pp_h5_type type;
	const char *unit, *what;
	const char *words; /* of a code: meanings of 0, 1 .., blank between; NULL: no code */
	int is_maybe;      /* has `_FillValue`: values can be unknown, which is: */
	int64_t unknown;   /* as bits */
};
